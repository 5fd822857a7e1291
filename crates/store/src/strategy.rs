//! Strategies: what is special about the objects of a collection.

use std::fmt;
use std::sync::Arc;

use document::Value;
use object::{GroupKind, ObjectName};

use crate::caller::Caller;
use crate::completeness::{Basis, Completeness};
use crate::draft::draft;
use crate::error::Error;

/// What is special about the objects of a collection.
///
/// The store itself gives objects their identity and version, checks preconditions, waits
/// for finalizers, and keeps history. A strategy decides who may write what. What is given
/// here are objects of users with a status subresource, as custom resources have it:
///
/// ```
/// #[derive(Debug)]
/// struct Plain;
/// impl store::Strategy for Plain {}
/// ```
///
/// All functions are pure: they run under the lock of the store.
pub trait Strategy: Send + Sync + fmt::Debug {
    /// What a caller says of an object, as a *draft*: its metadata checked and in normal
    /// form, without the fields that the store sets.
    fn normalize(&self, collection: &GroupKind, object: &Value) -> Result<Value, Error> {
        draft(object, collection)
    }

    /// Whether the status is written by itself ([`Write::Status`](crate::Write::Status)):
    /// then other writes leave it as it is, and it counts for no generation.
    fn has_status(&self) -> bool {
        true
    }

    /// A new object.
    fn create(&self, _request: &Request<'_>, new: Value) -> Result<Admitted, Error> {
        Ok(Admitted {
            draft: new,
            marks: Value::NULL,
        })
    }

    /// Another content for an object.
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

    /// An object that a controller derives; `live` is the object as it is, if there is one.
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

    /// Whether the status of an object may be written.
    fn write_status(&self, _request: &Request<'_>, _live: &Live<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Whether an object may be deleted.
    fn delete(&self, _request: &Request<'_>, _live: &Live<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Whether the collection is complete while no producer speaks for its group.
    fn completeness(&self) -> Completeness {
        Completeness::Complete(Basis::USERS)
    }
}

/// A write that is to be admitted.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The collection.
    pub collection: &'a GroupKind,
    /// The object.
    pub key: &'a ObjectName,
    /// Who writes.
    pub caller: &'a Caller,
}

/// An object that a controller derives.
#[derive(Clone, Debug)]
pub struct Derived {
    /// The object as it should be, as a draft.
    pub object: Value,
    /// What the controller yields of it, as a draft.
    pub document: Value,
}

/// An object as it is before a write.
#[derive(Clone, Debug)]
pub struct Live<'a> {
    /// The draft that it was made of.
    pub draft: Value,
    /// What the strategy keeps beside it.
    pub marks: &'a Value,
    /// Whether it is being deleted.
    pub terminating: bool,
}

/// An object as a strategy admits it.
#[derive(Clone, Debug)]
pub struct Admitted {
    /// The object, without the fields that the store sets.
    pub draft: Value,
    /// What the strategy keeps beside it; readers do not see it, and a change of it alone
    /// makes no version.
    pub marks: Value,
}

/// Which strategy a collection has.
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
