//! The cluster in memory: the objects, and their changes in a batch.

use std::collections::{BTreeMap, BTreeSet};

use document::Value;
use object::ObjectKey;

use super::{Event, EventType};

/// The objects by key.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    objects: BTreeMap<ObjectKey, Value>,
    /// The former states of the objects that changed since the last [`Cluster::take_changes`].
    changes: BTreeMap<ObjectKey, Option<Value>>,
    /// The states at the start of the batch of the objects that we wrote in it.
    written: BTreeMap<ObjectKey, Option<Value>>,
    /// The objects that arrived in this batch.
    touched: BTreeSet<ObjectKey>,
}

impl Cluster {
    /// Ends a batch. Returns the events of its writes.
    pub(super) fn end(&mut self) -> Vec<Event> {
        let events = self.events();
        self.written.clear();
        self.touched.clear();
        events
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Value> {
        self.objects.get(key)
    }

    /// Stores an object that arrives from outside; `None` deletes it.
    pub(super) fn input(&mut self, key: ObjectKey, object: Option<Value>) {
        self.touched.insert(key.clone());
        self.set(key, object);
    }

    /// Stores an object that a controller writes; `None` deletes it.
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

    /// The objects that changed since the last call, with their former states.
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

    /// The watch events of our writes in this batch: deletes first, in key order.
    fn events(&self) -> Vec<Event> {
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
