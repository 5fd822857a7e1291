//! All collections, and how a decided write becomes a new version.

use std::collections::BTreeMap;
use std::sync::Arc;

use document::Value;
use object::metadata::KEYS;
use object::{GroupKind, ObjectName};

use crate::caller::Caller;
use crate::completeness::{CollectionStatus, Completenesses};
use crate::decide::{Case, Decision, Entry, key_of_write};
use crate::draft::{System, at_version, content_differs, field, key_of, unseal};
use crate::error::Error;
use crate::history::{History, Record, Window};
use crate::notice::Notice;
use crate::store::{Config, Env};
use crate::strategy::{Admitted, Strategies, Strategy};
use crate::version::Version;
use crate::write::{Change, Write, Written};

/// The state of a store.
#[derive(Debug)]
pub(crate) struct State {
    /// Invariant: no object and no record has a greater version.
    pub(crate) version: Version,
    /// The version before the first write.
    first: Version,
    /// How much the history of a collection keeps. It has at least as many changes as objects if
    /// their size allows.
    history: Window,
    strategies: Strategies,
    pub(crate) collections: BTreeMap<GroupKind, Objects>,
    /// The completeness that producers have set, also for collections that do not exist yet.
    completenesses: Completenesses,
}

/// The objects of one collection.
#[derive(Debug)]
pub(crate) struct Objects {
    strategy: Arc<dyn Strategy>,
    pub(crate) entries: BTreeMap<ObjectName, Entry>,
    /// The number of entries in each namespace.
    pub(crate) namespaces: BTreeMap<Box<str>, usize>,
    pub(crate) history: History,
    /// Wakes the watches of the collection. The value is not used.
    pub(crate) changed: Notice<Version>,
    /// Notifies readers whether the collection is complete.
    pub(crate) status: Notice<CollectionStatus>,
}

impl Objects {
    /// Counts an object that was added or removed.
    fn count(&mut self, key: &ObjectName, added: bool) {
        let namespace = key.namespace();
        let number = self.namespaces.get(namespace).copied().unwrap_or_default();
        match (number, added) {
            (0 | 1, false) => self.namespaces.remove(namespace),
            (_, false) => self.namespaces.insert(namespace.into(), number - 1),
            (_, true) => self.namespaces.insert(namespace.into(), number + 1),
        };
    }
}

/// The effect of a write that may be carried out.
pub(crate) struct Effect {
    key: ObjectName,
    /// The object afterwards; `None` if it is removed.
    entry: Option<Entry>,
    pub(crate) written: Written,
}

impl State {
    pub(crate) fn new(config: Config, strategies: Strategies) -> Self {
        Self {
            version: config.first_version,
            first: config.first_version,
            history: Window {
                changes: config.history,
                bytes: config.history_bytes,
            },
            strategies,
            collections: BTreeMap::new(),
            completenesses: Completenesses::default(),
        }
    }

    /// A collection. It is created when it is first written to or watched.
    pub(crate) fn objects(&mut self, collection: &GroupKind) -> &mut Objects {
        let first = self.first;
        if !self.collections.contains_key(collection) {
            let strategy = self.strategies.of(collection);
            let said = self.completenesses.of(collection).cloned();
            let completeness = said.unwrap_or_else(|| strategy.completeness());
            let objects = Objects {
                strategy,
                entries: BTreeMap::new(),
                namespaces: BTreeMap::new(),
                history: History::new(first),
                changed: Notice::new(first),
                status: Notice::new(CollectionStatus::new(completeness)),
            };
            self.collections.insert(collection.clone(), objects);
        }
        self.collections
            .get_mut(collection)
            .expect("the collection was inserted above")
    }

    /// Changes the completeness of collections, and notifies readers where it has changed.
    pub(crate) fn set_completeness(&mut self, set: impl FnOnce(&mut Completenesses)) {
        set(&mut self.completenesses);
        for (collection, objects) in &mut self.collections {
            let said = self.completenesses.of(collection).cloned();
            let new = said.unwrap_or_else(|| objects.strategy.completeness());
            let mut status = objects.status.value().clone();
            if status.set(new) {
                objects.status.set(status);
            }
        }
    }

    /// Carries out one write.
    pub(crate) fn write(
        &mut self,
        env: &dyn Env,
        caller: &Caller,
        collection: &GroupKind,
        write: &Write,
    ) -> Result<Written, Error> {
        let Effect {
            key,
            entry,
            written,
        } = self.effect(env, caller, collection, write)?;
        let objects = self.objects(collection);
        let new = entry.as_ref().map(|entry| entry.object.clone());
        let old = match entry {
            Some(entry) => objects.entries.insert(key.clone(), entry),
            None => objects.entries.remove(&key),
        };
        if old.is_some() != new.is_some() {
            objects.count(&key, new.is_some());
        }
        if written.change != Change::Unchanged {
            let record = Record {
                version: self.version.next(),
                key,
                old: old.map(|entry| entry.object),
                new,
            };
            self.record(collection, record);
        }
        Ok(written)
    }

    /// Stores an object as another server has it.
    pub(crate) fn import(
        &mut self,
        collection: &GroupKind,
        object: &Value,
    ) -> Result<Written, Error> {
        let key = key_of(object)?;
        let version = self.version.next();
        let objects = self.objects(collection);
        let draft = objects.strategy.normalize(collection, object)?;
        let live = objects.entries.get(&key);
        let system = System::of(object);
        let entry = Entry {
            object: system.seal(&draft, version),
            system,
            marks: live.map(|live| live.marks.clone()).unwrap_or_default(),
        };
        let new = entry.object.clone();
        let old = objects.entries.insert(key.clone(), entry);
        if old.is_none() {
            objects.count(&key, true);
        }
        let change = if old.is_some() {
            Change::Updated
        } else {
            Change::Created
        };
        let record = Record {
            version,
            key,
            old: old.map(|entry| entry.object),
            new: Some(new.clone()),
        };
        self.record(collection, record);
        Ok(Written {
            object: new,
            change,
        })
    }

    /// The effect of a write at the next version.
    pub(crate) fn effect(
        &self,
        env: &dyn Env,
        caller: &Caller,
        collection: &GroupKind,
        write: &Write,
    ) -> Result<Effect, Error> {
        let key = key_of_write(write)?;
        let objects = self.collections.get(collection);
        let strategy = objects.map(|objects| objects.strategy.clone());
        let strategy = strategy.unwrap_or_else(|| self.strategies.of(collection));
        let case = Case {
            collection,
            key: &key,
            caller,
            strategy: &*strategy,
            live: objects.and_then(|objects| objects.entries.get(&key)),
        };
        let (entry, written) = match case.decide(write)? {
            Decision::Remove => (None, self.removed(case.live)),
            Decision::Set { admitted, delete } => {
                let with_status = !strategy.has_status();
                let (entry, change) =
                    self.next_entry(env, case.live, admitted, delete, with_status);
                let object = entry.object.clone();
                (Some(entry), Written { object, change })
            }
        };
        Ok(Effect {
            key,
            entry,
            written,
        })
    }

    fn next_entry(
        &self,
        env: &dyn Env,
        live: Option<&Entry>,
        Admitted { draft, marks }: Admitted,
        delete: bool,
        with_status: bool,
    ) -> (Entry, Change) {
        let (system, change) = match live {
            None => {
                let system = System {
                    uid: env.uid().into(),
                    created: env.now().into(),
                    generation: 1,
                    deleted: None,
                };
                (system, Change::Created)
            }
            Some(entry) => {
                let before = unseal(&entry.object);
                let mut system = entry.system.clone();
                if before == draft && !delete {
                    let object = entry.object.clone();
                    let entry = Entry {
                        object,
                        system,
                        marks,
                    };
                    return (entry, Change::Unchanged);
                }
                // As in Kubernetes, where a deletion increments the generation.
                if delete || differs(&before, &draft, with_status) {
                    system.generation += 1;
                }
                if delete {
                    system.deleted = Some(env.now().into());
                }
                (system, Change::Updated)
            }
        };
        let object = system.seal(&draft, self.version.next());
        let entry = Entry {
            object,
            system,
            marks,
        };
        (entry, change)
    }

    fn removed(&self, live: Option<&Entry>) -> Written {
        let old = live.map(|entry| entry.object.clone()).unwrap_or_default();
        Written {
            object: at_version(&old, self.version.next()),
            change: Change::Deleted,
        }
    }

    /// Adds a change to the history. The window is at least as long as the collection: a reader
    /// that falls behind has to list again, which costs about as much as reading that many
    /// changes.
    fn record(&mut self, collection: &GroupKind, record: Record) {
        let version = record.version;
        self.version = version;
        let Window { changes, bytes } = self.history;
        let objects = self.objects(collection);
        let window = Window {
            changes: changes.max(objects.entries.len()),
            bytes,
        };
        objects.history.push(record, window);
        objects.changed.set(version);
    }
}

/// Whether two drafts differ in fields that increment the generation.
fn differs(one: &Value, other: &Value, with_status: bool) -> bool {
    let status = |draft: &Value| field(draft, &KEYS.status).cloned();
    content_differs(one, other).is_some() || (with_status && status(one) != status(other))
}
