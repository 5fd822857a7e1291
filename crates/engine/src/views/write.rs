//! One object of a view: the driver of the target model for the store.
//!
//! The store answers a write at once. So [`settle`] decides the complete next state of the object,
//! and one or two writes establish it. If somebody else changes the object between reading and
//! writing, both are repeated.
//!
//! The process remembers which values the writers of an Operator have set on an object, for as long
//! as it has the views. After an edit of the Operator, values that it no longer derives are taken
//! back, unless somebody else has changed them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use document::{Key, Value};
use fieldset::MergeKeys;
use object::{GroupKind, ObjectKey, ObjectName};
use operator::Operator;
use store::{Caller, Error, Holder, Preconditions, Store, Version, Write, Written};
use target::batch::{BatchObject, Clash, Memory, Settled, Writer, settle};
use target::in_place::Own;
use target::problem::Cause;

use super::{At, target};

/// The values that Operators have set on objects of views. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memories(Arc<Mutex<BTreeMap<WrittenObject, Remembered>>>);

/// An object that an Operator writes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WrittenObject {
    pub(crate) operator: String,
    pub(crate) collection: GroupKind,
    pub(crate) name: ObjectName,
}

#[derive(Debug)]
struct Remembered {
    /// The uid of the object. A later object with the same name has no values of ours.
    uid: Value,
    memory: Memory,
}

/// A write is tried this often while others change the object. After that it waits for the next
/// change.
const ATTEMPTS: usize = 5;

impl Memories {
    /// The objects of users on which an Operator has set something.
    pub(super) fn patched(&self, operator: &str) -> Vec<WrittenObject> {
        let all = self.lock();
        let own = all.iter().filter(|(object, remembered)| {
            object.operator == operator && !remembered.memory.created
        });
        own.map(|(object, _)| object.clone()).collect()
    }

    /// The names of the writers that have set something on an object.
    pub(super) fn patchers(&self, object: &WrittenObject) -> Vec<String> {
        let all = self.lock();
        let remembered = all.get(object).into_iter();
        remembered
            .flat_map(|remembered| remembered.memory.layers().cloned())
            .collect()
    }

    /// An object of a view as it enters the pipeline of a controller: without what the `own`
    /// controllers have set on it.
    pub(crate) fn entered(
        &self,
        operator: &str,
        own: &Own,
        collection: &GroupKind,
        name: &ObjectName,
        object: &Value,
    ) -> Value {
        let written = WrittenObject {
            operator: operator.to_owned(),
            collection: collection.clone(),
            name: name.clone(),
        };
        let memory = self.of(&written, &uid_of(Some(object)));
        memory.without(object, |writer| own.has(controller_of(writer)))
    }

    fn of(&self, object: &WrittenObject, uid: &Value) -> Memory {
        let all = self.lock();
        let known = all.get(object).filter(|known| known.uid == *uid);
        known.map(|known| known.memory.clone()).unwrap_or_default()
    }

    /// Writes an object, and remembers what was set on it. No reader sees the one without the
    /// other.
    fn write(
        &self,
        object: &WrittenObject,
        live: Option<&Value>,
        memory: Memory,
        write: impl FnOnce() -> Result<Option<Written>, Error>,
    ) -> Result<Option<Written>, Error> {
        let mut all = self.lock();
        let written = write()?;
        if memory.is_empty() {
            all.remove(object);
        } else {
            let now = written.as_ref().map(|written| &written.object);
            let uid = uid_of(now.or(live));
            all.insert(object.clone(), Remembered { uid, memory });
        }
        Ok(written)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<WrittenObject, Remembered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An object of a view, about to be written.
pub(super) struct ViewObject<'a> {
    pub(super) store: &'a Store,
    pub(super) operator: &'a Operator,
    pub(super) memories: &'a Memories,
    pub(super) object: WrittenObject,
}

/// The code and the message of a write that was refused.
pub(super) type Refused = (&'static str, String);

/// The result of writing an object.
pub(super) struct Outcome {
    /// The controller that writes it, by position.
    pub(super) controller: Option<usize>,
    /// The last write, if there was one.
    pub(super) written: Option<Written>,
    /// Whether other values are recorded than before.
    pub(super) remembers: bool,
    /// The first controller whose values were not written, by position, with the code and the
    /// reason.
    pub(super) conflict: Option<(usize, Refused)>,
}

impl<'a> ViewObject<'a> {
    pub(super) fn new(
        store: &'a Store,
        operator: &'a Operator,
        memories: &'a Memories,
        collection: &GroupKind,
        name: &ObjectName,
    ) -> Self {
        Self {
            store,
            operator,
            memories,
            object: WrittenObject {
                operator: operator.name.clone(),
                collection: collection.clone(),
                name: name.clone(),
            },
        }
    }

    /// Writes the derived documents to the object. `former` are Patchers of an earlier generation
    /// whose patches are taken back.
    pub(super) fn write(
        &self,
        derived: Option<&BTreeMap<At, Option<Value>>>,
        former: &[String],
    ) -> Result<Outcome, Error> {
        let derived: Vec<(At, Option<&Value>)> = derived
            .into_iter()
            .flatten()
            .map(|(at, document)| (*at, document.as_ref()))
            .collect();
        let named = derived.iter().map(|(at, document)| {
            let name = writer_name(self.operator, *at);
            Writer::new(name, target(self.operator, *at), *document)
        });
        let former = former.iter().cloned().map(Writer::former_patcher);
        let writers: Vec<Writer> = named.chain(former).collect();
        let ranks: Vec<usize> = derived.iter().map(|(at, _)| at.0).collect();
        for _ in 1..ATTEMPTS {
            match self.attempt(&writers, &ranks) {
                Err(Error::Changed { .. } | Error::AlreadyExists { .. }) => {}
                result => return result,
            }
        }
        self.attempt(&writers, &ranks)
    }

    /// Decides and writes once. `ranks` are the positions of the writers' controllers.
    fn attempt(&self, writers: &[Writer], ranks: &[usize]) -> Result<Outcome, Error> {
        let (collection, name) = (&self.object.collection, &self.object.name);
        let live = self.store.get(collection, name);
        let uid = uid_of(live.as_ref());
        let mut memory = self.memories.of(&self.object, &uid);
        let before = memory.clone();
        memory.created = self.is_created_by_us(ranks)?;
        let keys = MergeKeys::of_group(collection.group.as_str());
        let key = ObjectKey {
            kind: collection.clone(),
            name: name.clone(),
        };
        let object = BatchObject {
            key: &key,
            operator: &self.operator.name,
            keys: &keys,
        };
        let settled = settle(live.as_ref(), writers, &mut memory, object);
        let controller = settled.yielded.as_ref().map(|(at, _)| *at).or(Some(0));
        let controller = controller.and_then(|at| ranks.get(at).copied());
        let conflict = self.conflict(&settled, ranks);
        let remembers = !memory.has_same_layers(&before);
        let live = live.as_ref();
        let send = || self.send(live, settled, controller);
        let written = self.memories.write(&self.object, live, memory, send)?;
        Ok(Outcome {
            controller,
            written,
            remembers,
            conflict,
        })
    }

    /// Whether a controller of this Operator derives the object; an error if one of another
    /// Operator does.
    fn is_created_by_us(&self, ranks: &[usize]) -> Result<bool, Error> {
        match self
            .store
            .holder(&self.object.collection, &self.object.name)
        {
            None | Some(Holder::User) => Ok(false),
            Some(Holder::Controller(by)) if by.operator == self.operator.name => Ok(true),
            Some(holder) => {
                let first = ranks
                    .first()
                    .map(|number| &self.operator.controllers[*number]);
                let first = first.map_or("", |controller| controller.name.as_str());
                Err(self.held(first, holder))
            }
        }
    }

    fn held(&self, controller: &str, holder: Holder) -> Error {
        let caller = Caller::controller(&self.operator.name, controller);
        Error::Held {
            caller: caller.to_string().into(),
            key: self.object.name.clone(),
            holder,
        }
    }

    fn send(
        &self,
        live: Option<&Value>,
        settled: Settled,
        controller: Option<usize>,
    ) -> Result<Option<Written>, Error> {
        let controller = controller.map(|number| self.operator.controllers[number].name.as_str());
        let caller = Caller::controller(&self.operator.name, controller.unwrap_or_default());
        let write = |write: &Write| self.store.write(&caller, &self.object.collection, write);
        match (live, settled.object, settled.yielded) {
            (Some(live), None, _) => {
                let preconditions = Preconditions {
                    uid: None,
                    version: version_of(live),
                };
                write(&Write::Delete(self.object.name.clone(), preconditions)).map(Some)
            }
            (_, Some(object), Some((_, document))) => {
                write(&Write::Derive { object, document }).map(Some)
            }
            (Some(live), Some(object), None) => patch(live, &object, write),
            // Only the writer that yields an object creates it.
            (None, None, _) | (None, Some(_), None) => Ok(None),
        }
    }

    fn conflict(&self, settled: &Settled, ranks: &[usize]) -> Option<(usize, Refused)> {
        let (loser, clash) = settled.conflicts.first()?;
        let name = |writer: &usize| {
            let controller = ranks.get(*writer)?;
            Some(self.operator.controllers[*controller].name.as_str())
        };
        let message = match clash {
            Clash::Object { winner } => format!(
                "also written by controller {}, which comes first",
                name(winner)?
            ),
            Clash::Field { field, winner } => format!(
                "{field} is also set by controller {}, which comes first",
                name(winner)?
            ),
            Clash::Others { field } => {
                format!("{field} is set by others; an Applier with target.force takes it")
            }
            Clash::Existing => self.held(name(loser)?, Holder::User).to_string(),
            Clash::Record { field, theirs } => {
                format!("{field} is set by a Patcher of Operator {theirs}, and is left to it")
            }
            Clash::NotKept { field } => {
                let field = field.to_string();
                Cause::NotKept { field }.to_string()
            }
            Clash::RecordTooLarge { size } => Cause::RecordTooLarge { size: *size }.to_string(),
        };
        Some((*ranks.get(*loser)?, (clash.code(), message)))
    }
}

/// Writes the differences. The status is written separately, as on an API server.
fn patch(
    live: &Value,
    new: &Value,
    write: impl Fn(&Write) -> Result<Written, Error>,
) -> Result<Option<Written>, Error> {
    let bare = |object: &Value| {
        let fields = object.as_map();
        fields.map(|fields| Value::from(fields.without("status")))
    };
    let mut written = None;
    if bare(live) != bare(new) {
        written = Some(write(&Write::Replace(new.clone()))?);
    }
    let status = new.get("status");
    if status != live.get("status") {
        let now = written.as_ref().map_or(live, |written| &written.object);
        let now = now
            .as_map()
            .map(|map| map.with(Key::new("status"), status.clone()));
        let status = Write::Status(now.map_or(Value::NULL, Value::from));
        written = Some(write(&status)?);
    }
    Ok(written)
}

/// The name of a writer in [`Memories`]. It stays the same after an edit of the Operator.
pub(super) fn writer_name(operator: &Operator, at: At) -> String {
    format!("{}/{}", operator.controllers[at.0].name, at.1)
}

/// The controller of a writer with this name.
pub(super) fn controller_of(writer: &str) -> &str {
    writer.rsplit_once('/').map_or(writer, |(name, _)| name)
}

fn uid_of(object: Option<&Value>) -> Value {
    object.map_or(Value::NULL, |object| {
        object.get("metadata").get("uid").clone()
    })
}

fn version_of(object: &Value) -> Option<Version> {
    let version = object.get("metadata").get("resourceVersion");
    version.as_str()?.parse().ok().map(Version)
}

#[cfg(test)]
mod tests;
