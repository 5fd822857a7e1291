//! One object of a view: the driver of the target model for the store.
//!
//! The store answers a write at once. So [`settle`] decides the complete next state of the object,
//! and one write establishes it. Deciding ([`ViewObject::plan`]) and writing
//! ([`ViewObject::carry_out`]) are two steps: in a batch, all objects are decided before any of
//! them is written. If somebody else changes the object in between, both are repeated.
//!
//! The process remembers which values the writers of an Operator have set on an object, for as long
//! as it has the views. After an edit of the Operator, values that it no longer derives are taken
//! back, unless somebody else has changed them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use document::Value;
use fieldset::{FieldPath, MergeKeys};
use object::ObjectKey;
use operator::Operator;
use store::{Caller, Change, Error, Holder, Preconditions, Store, Write, Written};
use target::batch::{BatchObject, BatchWriter, Clash, Memory, Settled, settle};
use target::problem::{Cause, without_key_values};

use super::{At, target};

/// The values that Operators have set on objects of views. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memories(Arc<Mutex<BTreeMap<WrittenObject, Remembered>>>);

/// An object that an Operator writes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WrittenObject {
    pub(crate) operator: String,
    pub(crate) key: ObjectKey,
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
    /// The objects on which Patchers and Appliers of an Operator have set something, each with the names
    /// of these writers.
    pub(super) fn patched(&self, operator: &str) -> Vec<(WrittenObject, Vec<String>)> {
        let all = self.lock();
        let own = all.iter().filter(|(object, _)| object.operator == operator);
        let patched = own.map(|(object, remembered)| {
            let writers = remembered.memory.layers().cloned();
            (object.clone(), writers.collect::<Vec<String>>())
        });
        patched.filter(|(_, writers)| !writers.is_empty()).collect()
    }

    /// What an Operator has set on an object of a view.
    pub(crate) fn on(&self, operator: &str, key: &ObjectKey, object: Option<&Value>) -> Memory {
        let written = WrittenObject {
            operator: operator.to_owned(),
            key: key.clone(),
        };
        self.of(&written, &uid_of(object))
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

/// Why a write was refused.
#[derive(Clone, Debug)]
pub(crate) struct RefusedWrite {
    /// The stable code.
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// The message without the values of key fields in paths.
    pub(crate) hidden: String,
}

impl RefusedWrite {
    /// A message that names no field.
    pub(crate) fn new(code: &'static str, message: String) -> Self {
        Self {
            code,
            hidden: message.clone(),
            message,
        }
    }
}

/// The next state of an object, which is decided and not written yet.
#[derive(Debug)]
pub(super) struct ViewPlan {
    /// The controller that writes it, by position.
    pub(super) controller: Option<usize>,
    /// The first controller whose values are not written, by position, with the code and the
    /// reason.
    pub(super) conflict: Option<(usize, RefusedWrite)>,
    /// The object as it will be; `None` if there will be none.
    pub(super) object: Option<Value>,
    /// The values that are set on it then.
    pub(super) memory: Memory,
    /// Whether these, or the object, differ from what is stored.
    pub(super) changes: bool,
    live: Option<Value>,
    write: Option<Write>,
}

/// The result of writing an object.
pub(super) struct Outcome {
    /// The controller that writes it, by position.
    pub(super) controller: Option<usize>,
    /// The write, if there was one.
    pub(super) written: Option<Written>,
    /// The first controller whose values were not written, by position, with the code and the
    /// reason.
    pub(super) conflict: Option<(usize, RefusedWrite)>,
}

/// Whether somebody else has changed the object since it was read.
pub(super) fn is_outdated(error: &Error) -> bool {
    matches!(
        error,
        Error::Changed { .. } | Error::AlreadyExists { .. } | Error::NotFound { .. }
    )
}

/// Tries a write again while others change the object.
pub(super) fn repeat(attempt: impl Fn() -> Result<Outcome, Error>) -> Result<Outcome, Error> {
    for _ in 1..ATTEMPTS {
        match attempt() {
            Err(error) if is_outdated(&error) => {}
            result => return result,
        }
    }
    attempt()
}

impl<'a> ViewObject<'a> {
    pub(super) fn new(
        store: &'a Store,
        operator: &'a Operator,
        memories: &'a Memories,
        key: &ObjectKey,
    ) -> Self {
        Self {
            store,
            operator,
            memories,
            object: WrittenObject {
                operator: operator.name.clone(),
                key: key.clone(),
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
        repeat(|| self.carry_out(self.plan(derived, former)?))
    }

    /// Decides the next state of the object.
    pub(super) fn plan(
        &self,
        derived: Option<&BTreeMap<At, Option<Value>>>,
        former: &[String],
    ) -> Result<ViewPlan, Error> {
        let derived: Vec<(At, Option<&Value>)> = derived
            .into_iter()
            .flatten()
            .map(|(at, document)| (*at, document.as_ref()))
            .collect();
        let named = derived.iter().map(|(at, document)| {
            let name = writer_name(self.operator, *at);
            BatchWriter::new(name, target(self.operator, *at), *document)
        });
        let former = former.iter().cloned().map(BatchWriter::former_patcher);
        let writers: Vec<BatchWriter> = named.chain(former).collect();
        let ranks: Vec<usize> = derived.iter().map(|(at, _)| at.0).collect();
        let key = &self.object.key;
        let live = self.store.get(&key.kind, &key.name);
        let before = self.memories.of(&self.object, &uid_of(live.as_ref()));
        let mut memory = before.clone();
        memory.created = self.is_created_by_us(&ranks)?;
        let keys = MergeKeys::of_group(key.group().as_str());
        let object = BatchObject {
            key,
            operator: &self.operator.name,
            keys: &keys,
        };
        let settled = settle(live.as_ref(), &writers, &mut memory, object);
        let controller = settled.yielded.as_ref().map(|(at, _)| *at).or(Some(0));
        let controller = controller.and_then(|at| ranks.get(at).copied());
        let conflict = self.conflict(&settled, &ranks);
        let write = self.write_of(live.as_ref(), settled);
        let caller = self.caller(controller);
        let next = write.as_ref();
        let next = next.map(|write| self.store.dry_run(&caller, &key.kind, write));
        let next = next.transpose()?;
        let changed = |next: &Written| next.change != Change::Unchanged;
        Ok(ViewPlan {
            controller,
            conflict,
            changes: next.as_ref().is_some_and(changed) || !memory.has_same_layers(&before),
            object: match next {
                None => live.clone(),
                Some(next) => Some(next.object).filter(|_| next.change != Change::Deleted),
            },
            memory,
            live,
            write,
        })
    }

    /// Decides to remove the object, because an earlier generation left it.
    pub(super) fn plan_removal(&self) -> Result<ViewPlan, Error> {
        let ObjectKey { kind, name } = &self.object.key;
        let live = self.store.get(kind, name);
        let write = live.as_ref().map(|live| self.delete(live));
        let next = write.as_ref();
        let next = next.map(|write| self.store.dry_run(&self.caller(None), kind, write));
        let next = next.transpose()?;
        let kept = next.filter(|next| next.change != Change::Deleted);
        Ok(ViewPlan {
            controller: None,
            conflict: None,
            changes: live.is_some(),
            object: kept.map(|next| next.object),
            memory: Memory::default(),
            live,
            write,
        })
    }

    fn delete(&self, live: &Value) -> Write {
        let version = live.get("metadata").get("resourceVersion").as_str();
        let preconditions = Preconditions {
            uid: None,
            version: version.map(str::to_owned),
        };
        Write::Delete(self.object.key.name.clone(), preconditions)
    }

    /// Writes the object as it was planned. It fails if somebody else has changed it since.
    pub(super) fn carry_out(&self, plan: ViewPlan) -> Result<Outcome, Error> {
        let caller = self.caller(plan.controller);
        let send = || {
            let (write, kind) = (plan.write.as_ref(), &self.object.key.kind);
            let written = write.map(|write| self.store.write(&caller, kind, write));
            written.transpose()
        };
        let live = plan.live.as_ref();
        let written = self.memories.write(&self.object, live, plan.memory, send)?;
        Ok(Outcome {
            controller: plan.controller,
            written,
            conflict: plan.conflict,
        })
    }

    fn caller(&self, controller: Option<usize>) -> Caller {
        let controller = controller.map(|number| self.operator.controllers[number].name.as_str());
        Caller::controller(&self.operator.name, controller.unwrap_or_default())
    }

    /// Whether a controller of this Operator derives the object; an error if one of another
    /// Operator does.
    fn is_created_by_us(&self, ranks: &[usize]) -> Result<bool, Error> {
        let ObjectKey { kind, name } = &self.object.key;
        match self.store.holder(kind, name) {
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
            key: self.object.key.name.clone(),
            holder,
        }
    }

    /// The write that establishes a state.
    fn write_of(&self, live: Option<&Value>, settled: Settled) -> Option<Write> {
        match (live, settled.object, settled.yielded) {
            (Some(live), None, _) => Some(self.delete(live)),
            (_, Some(object), Some((_, document))) => Some(Write::Derive { object, document }),
            (Some(live), Some(object), None) => (*live != object).then_some(Write::Patch(object)),
            // Only the writer that yields an object creates it.
            (None, None, _) | (None, Some(_), None) => None,
        }
    }

    fn conflict(&self, settled: &Settled, ranks: &[usize]) -> Option<(usize, RefusedWrite)> {
        let (loser, clash) = settled.conflicts.first()?;
        let name = |writer: &usize| {
            let controller = ranks.get(*writer)?;
            Some(self.operator.controllers[*controller].name.as_str())
        };
        let message = |show: fn(&str) -> String| {
            let shown = |field: &FieldPath| show(&field.to_string());
            Some(match clash {
                Clash::Object { winner } => format!(
                    "also written by controller {}, which comes first",
                    name(winner)?
                ),
                Clash::Field { field, winner } => format!(
                    "{} is also set by controller {}, which comes first",
                    shown(field),
                    name(winner)?
                ),
                Clash::Others { field } => format!(
                    "{} is set by others; an Applier with target.force takes it",
                    shown(field)
                ),
                Clash::Existing => self.held(name(loser)?, Holder::User).to_string(),
                Clash::Record { field, theirs } => format!(
                    "{} is set by Operator {theirs}, and is left to it",
                    shown(field)
                ),
                Clash::NotKept { field } => {
                    let field = shown(field);
                    Cause::NotKept { field }.to_string()
                }
                Clash::RecordTooLarge { size } => Cause::RecordTooLarge { size: *size }.to_string(),
            })
        };
        let refused = RefusedWrite {
            code: clash.code(),
            message: message(str::to_owned)?,
            hidden: message(without_key_values)?,
        };
        Some((*ranks.get(*loser)?, refused))
    }
}

/// The name of a writer in [`Memories`]. It stays the same after an edit of the Operator.
pub(super) fn writer_name(operator: &Operator, at: At) -> String {
    format!("{}/{}", operator.controllers[at.0].name, at.1)
}

/// The controller of a writer with this name.
pub(crate) fn controller_of(writer: &str) -> &str {
    writer.rsplit_once('/').map_or(writer, |(name, _)| name)
}

fn uid_of(object: Option<&Value>) -> Value {
    object.map_or(Value::NULL, |object| {
        object.get("metadata").get("uid").clone()
    })
}

#[cfg(test)]
mod tests;
