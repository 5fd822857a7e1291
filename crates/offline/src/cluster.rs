//! The cluster in memory: the objects, and their changes in a batch.

use std::collections::{BTreeMap, BTreeSet};

use document::Value;
use object::{GroupKind, ObjectKey};
use operator::spec::Operator;
use triomphe::Arc;

use super::{Event, EventType};

/// A key that several tables have, in memory once.
pub(super) type SharedKey = Arc<ObjectKey>;

/// The objects by key.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    objects: BTreeMap<SharedKey, Value>,
    /// The kinds that a controller reads.
    read: BTreeSet<GroupKind>,
    /// The former states of the objects of these kinds that changed since the last
    /// [`Cluster::take_changes`].
    changes: BTreeMap<SharedKey, Option<Value>>,
    /// The states at the start of the batch of the objects that we wrote in it.
    written: BTreeMap<SharedKey, Option<Value>>,
    /// The objects that arrived in this batch and are to be written again.
    touched: BTreeSet<SharedKey>,
}

impl Cluster {
    /// Without objects.
    pub(super) fn new(operator: &Operator) -> Self {
        let sources = operator.controllers.iter().flat_map(|of| &of.sources);
        Self {
            read: sources.map(|source| source.resource.group_kind()).collect(),
            ..Self::default()
        }
    }

    /// Ends a batch. Returns the watch events of its writes: deletes first, in key order.
    pub(super) fn end(&mut self) -> Vec<Event> {
        let written = std::mem::take(&mut self.written);
        let (mut deleted, mut others) = (Vec::new(), Vec::new());
        for (key, old) in written {
            match (old, self.objects.get(&key)) {
                (None, Some(new)) => others.push(event(EventType::Added, new)),
                (Some(old), Some(new)) if old != *new => {
                    others.push(event(EventType::Modified, new));
                }
                (Some(old), None) => deleted.push(event(EventType::Deleted, &old)),
                _ => {}
            }
        }
        if deleted.is_empty() {
            return others;
        }
        deleted.append(&mut others);
        deleted
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Value> {
        self.objects.get(key)
    }

    /// Stores an object that arrives from outside; `None` deletes it. `is_derived` tells whether
    /// it has to be written again.
    pub(super) fn input(&mut self, key: SharedKey, object: Option<Value>, is_derived: bool) {
        if is_derived {
            self.touched.insert(key.clone());
        }
        self.set(key, object);
    }

    /// Stores an object that a controller writes; `None` deletes it.
    pub(super) fn write(&mut self, key: &SharedKey, object: Option<Value>) {
        self.written
            .entry(key.clone())
            .or_insert_with(|| self.objects.get(key).cloned());
        self.set(key.clone(), object);
    }

    fn set(&mut self, key: SharedKey, object: Option<Value>) {
        let noted = self.read.contains(&key.kind).then(|| key.clone());
        let old = match object {
            Some(object) => self.objects.insert(key, object),
            None => self.objects.remove(&key),
        };
        if let Some(key) = noted {
            self.changes.entry(key).or_insert(old);
        }
    }

    /// The objects that a controller reads and that changed since the last call, with their former states.
    pub(super) fn take_changes(&mut self) -> Vec<(SharedKey, Option<Value>)> {
        let changes = std::mem::take(&mut self.changes);
        changes
            .into_iter()
            .filter(|(key, old)| old.as_ref() != self.objects.get(key))
            .collect()
    }

    /// The objects that arrived in this batch and are to be written again.
    pub(super) fn take_touched(&mut self) -> BTreeSet<SharedKey> {
        std::mem::take(&mut self.touched)
    }
}

fn event(kind: EventType, object: &Value) -> Event {
    Event {
        kind,
        object: object.clone(),
    }
}
