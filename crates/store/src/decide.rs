//! The effect of a write on an object. This is a pure function of the write and the stored object.
//! The strategy of the collection decides what a caller may change.

use document::Value;
use object::metadata::KEYS;
use object::{GroupKind, ObjectName};

use crate::caller::Caller;
use crate::draft::{System, field, key_of, rule, unseal, with_or_without};
use crate::error::Error;
use crate::strategy::{Admitted, Derived, Live, Request, Strategy};
use crate::write::{Preconditions, Write};

/// A stored object.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The object as readers get it.
    pub(crate) object: Value,
    pub(crate) system: System,
    /// Data of the strategy, which readers do not get.
    pub(crate) marks: Value,
}

impl Entry {
    fn live(&self) -> Live<'_> {
        Live {
            draft: unseal(&self.object),
            marks: &self.marks,
            terminating: self.system.deleted.is_some(),
        }
    }
}

/// The effect of a write.
#[derive(Debug)]
pub(crate) enum Decision {
    /// The object is stored like this. `delete` is set if its deletion begins.
    Set { admitted: Admitted, delete: bool },
    /// The object is removed.
    Remove,
}

/// The key of the object that is written.
pub(crate) fn key_of_write(write: &Write) -> Result<ObjectName, Error> {
    match write {
        Write::Create(object)
        | Write::Replace(object)
        | Write::Patch(object)
        | Write::Status(object)
        | Write::Put(object)
        | Write::Derive { object, .. } => key_of(object),
        Write::Delete(key, _) => Ok(key.clone()),
    }
}

/// A write to be decided, with everything that the decision depends on.
pub(crate) struct Case<'a> {
    pub(crate) collection: &'a GroupKind,
    pub(crate) key: &'a ObjectName,
    pub(crate) caller: &'a Caller,
    pub(crate) strategy: &'a dyn Strategy,
    pub(crate) live: Option<&'a Entry>,
}

impl Case<'_> {
    pub(crate) fn decide(&self, write: &Write) -> Result<Decision, Error> {
        match write {
            Write::Status(object) => self.status(object),
            Write::Replace(object) => self.replace(object, false),
            Write::Put(object) if self.live.is_some() => self.replace(object, false),
            Write::Patch(object) => self.replace(object, true),
            Write::Create(object) | Write::Put(object) => self.create(object),
            Write::Derive { object, document } => self.derive(object, document),
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
        let mut new = self.strategy.normalize(self.collection, object)?;
        if wanted(object, "resourceVersion").is_some() {
            return Err(rule(
                "metadata.resourceVersion",
                "must not be set on an object that is created",
            ));
        }
        if self.strategy.has_status() {
            new = with_or_without(&new, &KEYS.status, None);
        }
        self.strategy.create(&self.request(), new).map(set)
    }

    fn replace(&self, object: &Value, with_status: bool) -> Result<Decision, Error> {
        let entry = self.live()?;
        self.check_identity(entry, object)?;
        let live = entry.live();
        let mut new = self.strategy.normalize(self.collection, object)?;
        if with_status {
            self.strategy.write_status(&self.request(), &live)?;
        } else if self.strategy.has_status() {
            let status = field(&live.draft, &KEYS.status).cloned();
            new = with_or_without(&new, &KEYS.status, status);
        }
        let admitted = self.strategy.replace(&self.request(), &live, new)?;
        if !live.terminating {
            return Ok(set(admitted));
        }
        let (before, after) = (finalizers(&live.draft), finalizers(&admitted.draft));
        if after.is_empty() {
            return Ok(Decision::Remove);
        }
        if after.iter().any(|finalizer| !before.contains(finalizer)) {
            return Err(rule(
                "metadata.finalizers",
                "no finalizer can be added to an object that is being deleted",
            ));
        }
        Ok(set(admitted))
    }

    fn status(&self, object: &Value) -> Result<Decision, Error> {
        if !self.strategy.has_status() {
            return Err(rule("status", "is not written by itself"));
        }
        let entry = self.live()?;
        self.check_identity(entry, object)?;
        let live = entry.live();
        self.strategy.write_status(&self.request(), &live)?;
        let status = field(object, &KEYS.status).filter(|status| !status.is_null());
        let draft = with_managers(&live.draft, object);
        Ok(set(Admitted {
            draft: with_or_without(&draft, &KEYS.status, status.cloned()),
            marks: entry.marks.clone(),
        }))
    }

    fn derive(&self, object: &Value, document: &Value) -> Result<Decision, Error> {
        let new = self.strategy.normalize(self.collection, object)?;
        let document = self.strategy.normalize(self.collection, document)?;
        match self.live {
            Some(entry) => self.check_identity(entry, object)?,
            // The caller has read the object, and it was deleted since.
            None if wanted(object, "resourceVersion").is_some() => {
                return Err(self.not_found());
            }
            None => {}
        }
        let live = self.live.map(Entry::live);
        let derived = Derived {
            object: new,
            document,
        };
        let admitted = self
            .strategy
            .derive(&self.request(), live.as_ref(), derived);
        admitted.map(set)
    }

    fn delete(&self, preconditions: &Preconditions) -> Result<Decision, Error> {
        let entry = self.live()?;
        if let Some(uid) = &preconditions.uid {
            self.check(entry, "uid", uid)?;
        }
        if let Some(version) = &preconditions.version {
            self.check(entry, "resourceVersion", version)?;
        }
        let live = entry.live();
        self.strategy.delete(&self.request(), &live)?;
        if finalizers(&live.draft).is_empty() {
            return Ok(Decision::Remove);
        }
        Ok(Decision::Set {
            delete: !live.terminating,
            admitted: Admitted {
                draft: live.draft,
                marks: entry.marks.clone(),
            },
        })
    }

    fn request(&self) -> Request<'_> {
        Request {
            collection: self.collection,
            key: self.key,
            caller: self.caller,
        }
    }

    fn live(&self) -> Result<&Entry, Error> {
        self.live.ok_or_else(|| self.not_found())
    }

    fn not_found(&self) -> Error {
        Error::NotFound {
            collection: self.collection.clone(),
            key: self.key.clone(),
        }
    }

    /// Checks the uid and the version of the written object, if it has them.
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
}

fn set(admitted: Admitted) -> Decision {
    Decision::Set {
        admitted,
        delete: false,
    }
}

/// The draft with the managers of a written object, if it has any: who has set the status is
/// stored with it. An empty list removes them.
fn with_managers(draft: &Value, object: &Value) -> Value {
    let sent = object.get_key(&KEYS.metadata).get_key(&KEYS.managed_fields);
    let Some(list) = sent.as_list() else {
        return draft.clone();
    };
    let managers = (!list.is_empty()).then(|| sent.clone());
    let metadata = draft.get_key(&KEYS.metadata);
    let metadata = with_or_without(metadata, &KEYS.managed_fields, managers);
    with_or_without(draft, &KEYS.metadata, Some(metadata))
}

fn finalizers(draft: &Value) -> Vec<Value> {
    let list = draft.get_key(&KEYS.metadata).get_key(&KEYS.finalizers);
    list.as_list().map_or(Vec::new(), document::ListRef::to_vec)
}

/// The value that a write expects for a field that the store sets, if it has one.
fn wanted<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    let value = object.get_key(&KEYS.metadata).get(field).as_str();
    value.filter(|value| !value.is_empty())
}
