//! Strategies: the rules that differ between collections.

use std::fmt;
use std::sync::Arc;

use document::Value;
use object::{GroupKind, ObjectName};

use crate::caller::Caller;
use crate::completeness::{Basis, Completeness};
use crate::draft::draft;
use crate::error::Error;

/// The rules for the objects of a collection.
///
/// The store itself gives objects their identity and version, checks preconditions, waits for
/// finalizers, and keeps the history. A strategy decides who may write what. The default functions
/// are for objects of users with a status subresource, like custom resources:
///
/// ```
/// #[derive(Debug)]
/// struct Plain;
/// impl store::Strategy for Plain {}
/// ```
///
/// All functions must be pure, because they run under the lock of the store.
pub trait Strategy: Send + Sync + fmt::Debug {
    /// A written object as a *draft*: its metadata is checked and in normal form, without the
    /// fields that the store sets.
    fn normalize(&self, collection: &GroupKind, object: &Value) -> Result<Value, Error> {
        draft(object, collection)
    }

    /// Whether the status is written separately ([`Write::Status`](crate::Write::Status)). Then
    /// other writes do not change it, and its changes do not increase the generation.
    fn has_status(&self) -> bool {
        true
    }

    /// Admits a new object.
    fn create(&self, _request: &Request<'_>, new: Value) -> Result<Admitted, Error> {
        Ok(Admitted {
            draft: new,
            marks: Value::NULL,
        })
    }

    /// Admits a new content for an object.
    fn replace(
        &self,
        _request: &Request<'_>,
        live: &Live<'_>,
        new: Value,
    ) -> Result<Admitted, Error> {
        Ok(Admitted {
            draft: new,
            marks: live.marks.clone(),
        })
    }

    /// Admits an object that a controller derives. `live` is the stored object, if there is one.
    fn derive(
        &self,
        request: &Request<'_>,
        _live: Option<&Live<'_>>,
        _derived: Derived,
    ) -> Result<Admitted, Error> {
        Err(Error::Forbidden {
            caller: request.caller.to_string().into(),
            key: request.key.clone(),
            why: "objects of this collection are not derived",
        })
    }

    /// Fails if the caller may not write the status of an object.
    fn write_status(&self, _request: &Request<'_>, _live: &Live<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Fails if the caller may not delete an object.
    fn delete(&self, _request: &Request<'_>, _live: &Live<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Whether the collection is complete while its group has no producer.
    fn completeness(&self) -> Completeness {
        Completeness::Complete(Basis::USERS)
    }
}

/// A write to be admitted.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The collection.
    pub collection: &'a GroupKind,
    /// The object.
    pub key: &'a ObjectName,
    /// The caller that writes.
    pub caller: &'a Caller,
}

/// An object that a controller derives.
#[derive(Clone, Debug)]
pub struct Derived {
    /// The whole object, as a draft.
    pub object: Value,
    /// The part that the controller yields, as a draft.
    pub document: Value,
}

/// A stored object, before a write.
#[derive(Clone, Debug)]
pub struct Live<'a> {
    /// The object without the fields that the store sets.
    pub draft: Value,
    /// Data of the strategy, see [`Admitted::marks`].
    pub marks: &'a Value,
    /// Whether it is being deleted.
    pub terminating: bool,
}

/// An object as a strategy admits it.
#[derive(Clone, Debug)]
pub struct Admitted {
    /// The object, without the fields that the store sets.
    pub draft: Value,
    /// Data of the strategy about this object. Readers do not get it, and a change of it alone
    /// creates no version.
    pub marks: Value,
}

/// Chooses the strategy of a collection.
pub(crate) struct Strategies(Box<Choose>);

type Choose = dyn Fn(&GroupKind) -> Arc<dyn Strategy> + Send + Sync;

impl Strategies {
    pub(crate) fn new(
        choose: impl Fn(&GroupKind) -> Arc<dyn Strategy> + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(choose))
    }

    pub(crate) fn of(&self, collection: &GroupKind) -> Arc<dyn Strategy> {
        (self.0)(collection)
    }
}

impl fmt::Debug for Strategies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Strategies").finish_non_exhaustive()
    }
}
