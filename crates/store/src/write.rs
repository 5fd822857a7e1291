//! Writes and their results.

use document::Value;
use object::ObjectName;

/// One write to a collection. The key of the object is in its metadata. Fields that the store sets
/// (uid, generation, timestamps) are not taken from a written object.
#[derive(Clone, Debug)]
pub enum Write {
    /// Creates an object. Its status is ignored if the collection has a status subresource.
    Create(Value),
    /// Replaces the content of an object, except for its status. If it contains
    /// `metadata.resourceVersion` or `uid`, these must match the stored object.
    Replace(Value),
    /// Replaces the content of an object and its status in one write, as a controller that
    /// patches an object of a user does. If it contains `metadata.resourceVersion` or `uid`, these must
    /// match the stored object.
    Patch(Value),
    /// Replaces the status of an object. Of the other fields, only `metadata.resourceVersion` and
    /// `uid` are read, which must match.
    Status(Value),
    /// `Replace` if the object exists, otherwise `Create`.
    Put(Value),
    /// Creates or replaces an object that a controller derives, including its status.
    Derive {
        /// The whole object. If it contains `metadata.resourceVersion` or `uid`, these must match
        /// the stored object.
        object: Value,
        /// The part that the controller yields. Users may not change it.
        document: Value,
    },
    /// Deletes an object. If it has finalizers, it is removed with the last of them. A controller
    /// deletes objects that it no longer yields.
    Delete(ObjectName, Preconditions),
}

/// The conditions under which an object is deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// The object must have this uid.
    pub uid: Option<String>,
    /// The object must have this resourceVersion. A text that is not a number never
    /// matches.
    pub version: Option<String>,
}

/// The result of a write.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The object after the write; if it was removed, its last state with the version of the
    /// removal.
    pub object: Value,
    /// How it changed.
    pub change: Change,
}

/// How a write changed an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was created.
    Created,
    /// It was changed, or its deletion began.
    Updated,
    /// It stayed the same: there is no event and no new version.
    Unchanged,
    /// It was removed.
    Deleted,
}
