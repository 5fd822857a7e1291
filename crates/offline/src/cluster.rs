//! The objects in memory, and what a batch did to them.

use std::collections::{BTreeMap, BTreeSet};

use document::Value;
use object::ObjectKey;

use super::{Event, EventType};

/// All objects.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    objects: BTreeMap<ObjectKey, Value>,
    /// What objects were before they changed, since the changes were last taken.
    changes: BTreeMap<ObjectKey, Option<Value>>,
    /// What objects were before we wrote them in this batch.
    written: BTreeMap<ObjectKey, Option<Value>>,
    /// The objects that arrived in this batch.
    touched: BTreeSet<ObjectKey>,
}

impl Cluster {
    /// Starts a batch.
    pub(super) fn begin(&mut self) {
        self.written.clear();
        self.touched.clear();
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Value> {
        self.objects.get(key)
    }

    /// An object that arrives from outside.
    pub(super) fn input(&mut self, key: ObjectKey, object: Option<Value>) {
        self.touched.insert(key.clone());
        self.set(key, object);
    }

    /// An object that we write.
    pub(super) fn write(&mut self, key: &ObjectKey, object: Option<Value>) {
        self.written
            .entry(key.clone())
            .or_insert_with(|| self.objects.get(key).cloned());
        self.set(key.clone(), object);
    }

    fn set(&mut self, key: ObjectKey, object: Option<Value>) {
        let old = match object {
            Some(object) => self.objects.insert(key.clone(), object),
            None => self.objects.remove(&key),
        };
        self.changes.entry(key).or_insert(old);
    }

    /// The objects that changed since the last call, with what they were.
    pub(super) fn take_changes(&mut self) -> Vec<(ObjectKey, Option<Value>)> {
        let changes = std::mem::take(&mut self.changes);
        changes
            .into_iter()
            .filter(|(key, old)| old.as_ref() != self.objects.get(key))
            .collect()
    }

    /// The objects that arrived in this batch.
    pub(super) fn touched(&self) -> impl Iterator<Item = &ObjectKey> {
        self.touched.iter()
    }

    /// What we did to objects in this batch: deletes first, in key order.
    pub(super) fn events(&self) -> Vec<Event> {
        let mut events: Vec<Event> = self
            .written
            .iter()
            .filter_map(|(key, old)| match (old, self.objects.get(key)) {
                (None, Some(new)) => Some(event(EventType::Added, new)),
                (Some(old), Some(new)) if old != new => Some(event(EventType::Modified, new)),
                (Some(old), None) => Some(event(EventType::Deleted, old)),
                _ => None,
            })
            .collect();
        events.sort_by_key(|event| event.kind != EventType::Deleted);
        events
    }
}

fn event(kind: EventType, object: &Value) -> Event {
    Event {
        kind,
        object: object.clone(),
    }
}
