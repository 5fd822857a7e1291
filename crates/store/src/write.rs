//! Writes: what is written, and what came of it.

use document::Value;
use object::ObjectName;

use crate::version::Version;

/// One write to a collection. An object's key is in its metadata; what the store itself
/// sets there (uid, generation, timestamps) is ignored on the way in.
#[derive(Clone, Debug)]
pub enum Write {
    /// A new object. A user's status is left out, as it has an endpoint of its own.
    Create(Value),
    /// Another content for an object that exists; its status stays. A
    /// `metadata.resourceVersion` or `uid` in it must be the object's.
    Replace(Value),
    /// Another status for an object that exists; all else in it but
    /// `metadata.resourceVersion` and `uid` is ignored.
    Status(Value),
    /// `Create` if there is no such object, `Replace` if there is.
    Put(Value),
    /// An object that a controller derives, whether or not it exists, with its status.
    Derive {
        /// The object as it should be. A `metadata.resourceVersion` or `uid` in it must be
        /// the object's.
        object: Value,
        /// What the controller yields of it: users may not change that.
        document: Value,
    },
    /// The object is to go; with finalizers it goes when they are gone. By a controller:
    /// it no longer yields it.
    Delete(ObjectName, Preconditions),
}

/// What must be so for a delete to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// The object's uid.
    pub uid: Option<String>,
    /// The object's resourceVersion.
    pub version: Option<Version>,
}

/// What a write did.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The object as it is now; after a delete, as it last was, with the version of its
    /// deletion.
    pub object: Value,
    /// What became of it.
    pub change: Change,
}

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Created,
    /// It changed; this includes that it is now being deleted.
    Updated,
    /// It was so already: no event, no new version.
    Unchanged,
    /// It is gone.
    Deleted,
}
