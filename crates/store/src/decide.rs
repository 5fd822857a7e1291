//! What a write does to an object: pure, from the object as it is to the object as it
//! will be.

use document::Value;
use object::metadata::KEYS;
use object::{GroupKind, ObjectName};

use crate::caller::{Caller, ControllerName};
use crate::converge::{converge, yielded};
use crate::draft::{System, draft, field, key_of, rule, unseal, with_or_without};
use crate::error::{Error, Holder};
use crate::policy::forbidden;
use crate::write::{Preconditions, Write};

/// An object that is stored.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// As readers see it.
    pub(crate) object: Value,
    pub(crate) system: System,
    /// `None` if a user holds the key.
    pub(crate) owner: Option<Owner>,
}

/// Which controller yields an object, and what it says of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Owner {
    pub(crate) controller: ControllerName,
    pub(crate) yielded: Value,
}

/// What becomes of an object.
#[derive(Debug)]
pub(crate) enum Decision {
    /// It becomes this draft; `delete` if its deletion begins.
    Set {
        draft: Value,
        owner: Option<Owner>,
        delete: bool,
    },
    /// It goes.
    Remove,
}

/// The key of the object that is written.
pub(crate) fn key_of_write(write: &Write) -> Result<ObjectName, Error> {
    match write {
        Write::Create(object)
        | Write::Replace(object)
        | Write::Status(object)
        | Write::Put(object) => key_of(object),
        Write::Delete(key, _) => Ok(key.clone()),
    }
}

/// One write, about to be decided.
pub(crate) struct Case<'a> {
    pub(crate) collection: &'a GroupKind,
    pub(crate) key: &'a ObjectName,
    pub(crate) caller: &'a Caller,
    pub(crate) live: Option<&'a Entry>,
}

impl Case<'_> {
    pub(crate) fn decide(&self, write: &Write) -> Result<Decision, Error> {
        match write {
            Write::Create(object) => self.create(object),
            Write::Replace(object) => self.replace(object),
            Write::Status(object) => self.status(object),
            Write::Put(document) => match (&self.caller.controller, self.live) {
                (_, None) => self.create(document),
                (None, Some(_)) => self.replace(document),
                (Some(by), Some(live)) => self.converge(by, live, document),
            },
            Write::Delete(_, preconditions) => self.delete(preconditions),
        }
    }

    fn create(&self, object: &Value) -> Result<Decision, Error> {
        if self.live.is_some() {
            return Err(Error::AlreadyExists {
                collection: self.collection.clone(),
                key: self.key.clone(),
            });
        }
        let draft = draft(object, self.collection)?;
        let Some(controller) = &self.caller.controller else {
            if wanted(object, "resourceVersion").is_some() {
                return Err(rule(
                    "metadata.resourceVersion",
                    "must not be set on an object that is created",
                ));
            }
            return Ok(set(with_or_without(&draft, &KEYS.status, None), None));
        };
        let draft = yielded(&draft);
        let owner = Owner {
            controller: controller.clone(),
            yielded: draft.clone(),
        };
        Ok(set(draft, Some(owner)))
    }

    fn replace(&self, object: &Value) -> Result<Decision, Error> {
        let live = self.live()?;
        self.check_identity(live, object)?;
        let old = unseal(&live.object);
        let status = field(&old, &KEYS.status).cloned();
        let new = with_or_without(&draft(object, self.collection)?, &KEYS.status, status);
        match (&self.caller.controller, &live.owner) {
            (None, None) => {}
            (None, Some(owner)) => {
                if let Some(what) = forbidden(&owner.yielded, &old, &new) {
                    return Err(self.derived(owner, what));
                }
            }
            (Some(_), _) => self.check_operator(live)?,
        }
        if live.system.deleted.is_none() {
            return Ok(set(new, live.owner.clone()));
        }
        let finalizers = |draft: &Value| {
            let list = draft.get_key(&KEYS.metadata).get_key(&KEYS.finalizers);
            list.as_list().map_or(Vec::new(), document::ListRef::to_vec)
        };
        let (before, after) = (finalizers(&old), finalizers(&new));
        if after.is_empty() {
            return Ok(Decision::Remove);
        }
        if after.iter().any(|finalizer| !before.contains(finalizer)) {
            return Err(rule(
                "metadata.finalizers",
                "no finalizer can be added to an object that is being deleted",
            ));
        }
        Ok(set(new, live.owner.clone()))
    }

    fn status(&self, object: &Value) -> Result<Decision, Error> {
        let live = self.live()?;
        self.check_identity(live, object)?;
        self.check_operator(live)?;
        let status = field(object, &KEYS.status).filter(|status| !status.is_null());
        let draft = with_or_without(&unseal(&live.object), &KEYS.status, status.cloned());
        Ok(set(draft, live.owner.clone()))
    }

    /// A controller yields a document for an object that exists.
    fn converge(
        &self,
        controller: &ControllerName,
        live: &Entry,
        document: &Value,
    ) -> Result<Decision, Error> {
        let Some(owner) = &live.owner else {
            return Err(self.held(live));
        };
        self.check_operator(live)?;
        if live.system.deleted.is_some() {
            return Err(Error::Terminating {
                key: self.key.clone(),
            });
        }
        let yielded = yielded(&draft(document, self.collection)?);
        let draft = converge(&unseal(&live.object), &owner.yielded, &yielded);
        let owner = Owner {
            controller: controller.clone(),
            yielded,
        };
        Ok(set(draft, Some(owner)))
    }

    fn delete(&self, preconditions: &Preconditions) -> Result<Decision, Error> {
        let live = self.live()?;
        if let Some(uid) = &preconditions.uid {
            self.check(live, "uid", uid)?;
        }
        if let Some(version) = preconditions.version {
            self.check(live, "resourceVersion", &version.to_string())?;
        }
        let terminating = live.system.deleted.is_some();
        match (&self.caller.controller, &live.owner) {
            (None, Some(owner)) if !terminating => {
                return Err(self.derived(owner, "the existence".to_owned()));
            }
            (None, _) => {}
            (Some(_), None) => return Err(self.held(live)),
            (Some(_), Some(_)) => self.check_operator(live)?,
        }
        let draft = unseal(&live.object);
        let metadata = draft.get_key(&KEYS.metadata);
        if metadata.get_key(&KEYS.finalizers).is_null() {
            return Ok(Decision::Remove);
        }
        Ok(Decision::Set {
            draft,
            owner: live.owner.clone(),
            delete: !terminating,
        })
    }

    fn live(&self) -> Result<&Entry, Error> {
        self.live.ok_or_else(|| Error::NotFound {
            collection: self.collection.clone(),
            key: self.key.clone(),
        })
    }

    /// A write names the version or the uid that it is meant for, or neither.
    fn check_identity(&self, live: &Entry, object: &Value) -> Result<(), Error> {
        for field in ["uid", "resourceVersion"] {
            if let Some(expected) = wanted(object, field) {
                self.check(live, field, expected)?;
            }
        }
        Ok(())
    }

    fn check(&self, live: &Entry, field: &'static str, expected: &str) -> Result<(), Error> {
        let found = live.object.get_key(&KEYS.metadata).get(field);
        let found = found.as_str().unwrap_or_default();
        if found == expected {
            return Ok(());
        }
        Err(Error::Changed {
            key: self.key.clone(),
            field,
            found: found.to_owned(),
            expected: expected.to_owned(),
        })
    }

    /// A controller writes to what users hold and to what its own operator yields.
    fn check_operator(&self, live: &Entry) -> Result<(), Error> {
        match (&self.caller.controller, &live.owner) {
            (Some(by), Some(owner)) if by.operator != owner.controller.operator => {
                Err(self.held(live))
            }
            _ => Ok(()),
        }
    }

    fn held(&self, live: &Entry) -> Error {
        Error::Held {
            caller: self.caller.to_string(),
            key: self.key.clone(),
            holder: Holder::of(live.owner.as_ref()),
        }
    }

    fn derived(&self, owner: &Owner, what: String) -> Error {
        Error::Derived {
            caller: self.caller.to_string(),
            key: self.key.clone(),
            controller: owner.controller.clone(),
            what,
        }
    }
}

impl Holder {
    pub(crate) fn of(owner: Option<&Owner>) -> Self {
        match owner {
            None => Self::User,
            Some(owner) => Self::Controller(owner.controller.clone()),
        }
    }
}

fn set(draft: Value, owner: Option<Owner>) -> Decision {
    Decision::Set {
        draft,
        owner,
        delete: false,
    }
}

/// What a write says of a field of the store's own, if anything.
fn wanted<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    let value = object.get_key(&KEYS.metadata).get(field).as_str();
    value.filter(|value| !value.is_empty())
}
