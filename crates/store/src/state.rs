//! All collections, and how a decided write becomes a new version.

use std::collections::BTreeMap;
use std::sync::Arc;

use document::Value;
use object::metadata::KEYS;
use object::{GroupKind, ObjectName};

use crate::caller::Caller;
use crate::completeness::{CollectionStatus, Completenesses};
use crate::decide::{Case, Decision, Entry, key_of_write};
use crate::draft::{System, at_version, content_differs, field, unseal};
use crate::error::Error;
use crate::history::{History, Record};
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
    /// How many changes the history of a collection has at least.
    history: usize,
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
    pub(crate) history: History,
    /// Wakes the watches of the collection. The value is not used.
    pub(crate) changed: Notice<Version>,
    /// Notifies readers whether the collection is complete.
    pub(crate) status: Notice<CollectionStatus>,
}

impl State {
    pub(crate) fn new(config: Config, strategies: Strategies) -> Self {
        Self {
            version: config.first_version,
            first: config.first_version,
            history: config.history,
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
        match case.decide(write)? {
            Decision::Remove => Ok(self.remove(collection, &key)),
            Decision::Set { admitted, delete } => {
                Ok(self.set(env, collection, key, admitted, delete))
            }
        }
    }

    fn set(
        &mut self,
        env: &dyn Env,
        collection: &GroupKind,
        key: ObjectName,
        Admitted { draft, marks }: Admitted,
        delete: bool,
    ) -> Written {
        let version = self.version.next();
        let objects = self.objects(collection);
        let with_status = !objects.strategy.has_status();
        let old = objects.entries.get_mut(&key);
        let system = match old {
            None => System {
                uid: env.uid().into(),
                created: env.now().into(),
                generation: 1,
                deleted: None,
            },
            Some(entry) => {
                let before = unseal(&entry.object);
                if before == draft && !delete {
                    entry.marks = marks;
                    return Written {
                        object: entry.object.clone(),
                        change: Change::Unchanged,
                    };
                }
                let mut system = entry.system.clone();
                // As in Kubernetes, where a deletion increments the generation.
                if delete || differs(&before, &draft, with_status) {
                    system.generation += 1;
                }
                if delete {
                    system.deleted = Some(env.now().into());
                }
                system
            }
        };
        let object = system.seal(&draft, version);
        let entry = Entry {
            object: object.clone(),
            system,
            marks,
        };
        let old = objects.entries.insert(key.clone(), entry);
        let old = old.map(|old| old.object);
        let change = match old {
            None => Change::Created,
            Some(_) => Change::Updated,
        };
        let new = Some(object.clone());
        let record = Record {
            version,
            key,
            old,
            new,
        };
        self.record(collection, record);
        Written { object, change }
    }

    fn remove(&mut self, collection: &GroupKind, key: &ObjectName) -> Written {
        let version = self.version.next();
        let old = self.objects(collection).entries.remove(key);
        let old = old.map(|entry| entry.object).unwrap_or_default();
        let object = at_version(&old, version);
        let record = Record {
            version,
            key: key.clone(),
            old: Some(old),
            new: None,
        };
        self.record(collection, record);
        Written {
            object,
            change: Change::Deleted,
        }
    }

    /// Adds a change to the history. The window is at least as long as the collection: a reader
    /// that falls behind has to list again, which costs about as much as reading that many
    /// changes.
    fn record(&mut self, collection: &GroupKind, record: Record) {
        let version = record.version;
        self.version = version;
        let least = self.history;
        let objects = self.objects(collection);
        let window = least.max(objects.entries.len());
        objects.history.push(record, window);
        objects.changed.set(version);
    }
}

/// Whether two drafts differ in fields that increment the generation.
fn differs(one: &Value, other: &Value, with_status: bool) -> bool {
    let status = |draft: &Value| field(draft, &KEYS.status).cloned();
    content_differs(one, other).is_some() || (with_status && status(one) != status(other))
}
