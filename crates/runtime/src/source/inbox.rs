//! What waits for an operator: the last known state of each object of each input.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dataflow::fields::{Fields, needs};
use dataflow::{ObjectName, SourceEvent};
use document::{Key, Map, Value};
use operator::object::Entry;
use operator::spec::{Controller, Source};
use tokio::sync::Notify;

use super::{Sink, Unavailable};
use crate::object::Unreadable;

/// The inputs of an operator's controllers.
#[derive(Debug, Default)]
pub struct Inbox {
    state: Mutex<State>,
    notify: Notify,
}

/// An input: controller and input of its pipeline, by position.
pub type Port = (usize, usize);

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<Port, HashMap<ObjectName, Option<Value>>>,
    ports: BTreeMap<Port, PortState>,
    /// The objects whose last version cannot be read.
    unreadable: UnreadableObjects,
    /// Whether these have changed since they were last taken.
    unreadable_changed: bool,
    /// The controllers for which something of a list waits.
    bulk: BTreeSet<usize>,
    changed: bool,
}

impl State {
    fn readable(&mut self, port: Port, name: &ObjectName) {
        if !self.unreadable.is_empty() {
            let readable = self.unreadable.remove(&(port, name.clone()));
            self.unreadable_changed |= readable.is_some();
        }
    }
}

/// Objects that cannot be read, by input and name.
pub type UnreadableObjects = BTreeMap<(Port, ObjectName), Unreadable>;

/// How an input stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortState {
    /// Whether all of its objects have been told at least once.
    pub listed: bool,
    /// Whether a list has begun and is not complete.
    pub listing: bool,
    /// Why it cannot be read now.
    pub unavailable: Option<Unavailable>,
    /// Of a view: all changes up to this version have been told.
    pub version: u64,
}

impl PortState {
    /// Whether what was told is all there is.
    pub fn synced(&self) -> bool {
        self.listed && self.unavailable.is_none()
    }

    /// Whether, besides, no list is on its way.
    pub fn complete(&self) -> bool {
        self.synced() && !self.listing
    }
}

/// What was taken out of an [`Inbox`].
#[derive(Debug, Default)]
pub struct Taken {
    /// The events of each controller.
    pub events: BTreeMap<usize, Vec<SourceEvent>>,
    /// The controllers whose events hold a list, a re-list, or what such
    /// a batch changed in a view; those of the others are single events.
    pub bulk: BTreeSet<usize>,
    /// How all inputs stand; with `listed`, the events of the list are among those that
    /// were taken now or before.
    pub ports: BTreeMap<Port, PortState>,
    /// All objects that cannot be read; `None` if they are the same as before.
    pub unreadable: Option<UnreadableObjects>,
}

impl Inbox {
    /// An inbox with these inputs.
    pub fn new(ports: impl IntoIterator<Item = Port>) -> Self {
        let ports = ports.into_iter().map(|port| (port, PortState::default()));
        let inbox = Self::default();
        inbox.state().ports = ports.collect();
        inbox
    }

    /// Waits until something has changed since the last [`Inbox::take`].
    pub async fn changed(&self) {
        loop {
            let notified = self.notify.notified();
            if self.state().changed {
                return;
            }
            notified.await;
        }
    }

    /// Takes all that waits.
    pub fn take(&self) -> Taken {
        let mut state = self.state();
        state.changed = false;
        let objects = std::mem::take(&mut state.objects);
        let bulk = std::mem::take(&mut state.bulk);
        let ports = state.ports.clone();
        let changed = std::mem::take(&mut state.unreadable_changed);
        let unreadable = changed.then(|| state.unreadable.clone());
        drop(state);
        let mut events: BTreeMap<usize, Vec<SourceEvent>> = BTreeMap::new();
        for ((controller, source), objects) in objects {
            let mut objects: Vec<_> = objects.into_iter().collect();
            objects.sort_by(|a, b| a.0.cmp(&b.0));
            let objects = objects.into_iter().map(|(name, object)| SourceEvent {
                source,
                name,
                object,
            });
            events.entry(controller).or_default().extend(objects);
        }
        Taken {
            events,
            bulk,
            ports,
            unreadable,
        }
    }

    /// Puts in that an object cannot be read. The last state that was put in stays.
    pub fn put_unreadable(&self, port: Port, name: ObjectName, why: Unreadable) {
        self.change(|state| {
            let old = state.unreadable.insert((port, name), why.clone());
            state.unreadable_changed |= old != Some(why);
        });
    }

    /// Puts the state of an object in; `bulk` says whether it is no single event.
    pub fn put(&self, port: Port, name: ObjectName, object: Option<Value>, bulk: bool) {
        self.change(|state| {
            state.readable(port, &name);
            state.objects.entry(port).or_default().insert(name, object);
            if bulk {
                state.bulk.insert(port.0);
            }
        });
    }

    /// An object can be read again, and its state stays as it was.
    fn put_readable(&self, port: Port, name: &ObjectName) {
        if !self.state().unreadable.is_empty() {
            self.change(|state| state.readable(port, name));
        }
    }

    /// Says how an input stands.
    pub fn set(&self, port: Port, set: impl FnOnce(&mut PortState)) {
        self.change(|state| set(state.ports.entry(port).or_default()));
    }

    /// Makes [`Inbox::changed`] return: something else is to be looked at.
    pub fn poke(&self) {
        self.change(|_| {});
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        let first = !std::mem::replace(&mut state.changed, true);
        drop(state);
        if first {
            self.notify.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One input of a controller: what it lets through of what a watch tells.
pub struct Input {
    inbox: Arc<Inbox>,
    port: Port,
    source: Source,
    entry: Entry,
    /// What the pipeline reads.
    fields: Fields,
    /// The metadata that the predicate compares, of each object.
    seen: Mutex<HashMap<ObjectName, Value>>,
    /// Whether what comes now is part of a list, or of a batch that was.
    bulk: AtomicBool,
}

impl Input {
    /// The input of a controller.
    pub fn new(inbox: Arc<Inbox>, port: Port, controller: &Controller, source: &Source) -> Self {
        Self {
            inbox,
            port,
            entry: controller.entry(source),
            fields: needs(&controller.pipeline).swap_remove(port.1),
            source: source.clone(),
            seen: Mutex::default(),
            bulk: AtomicBool::new(false),
        }
    }

    /// Says whether what comes next is no single event.
    pub(super) fn bulk(&self, bulk: bool) {
        self.bulk.store(bulk, Ordering::SeqCst);
    }

    fn put(&self, name: &ObjectName, object: Option<Value>) {
        let bulk = self.bulk.load(Ordering::SeqCst);
        self.inbox.put(self.port, name.clone(), object, bulk);
    }

    /// All changes of the view up to this version have been told.
    pub(super) fn told(&self, version: u64) {
        self.inbox.set(self.port, |state| state.version = version);
    }

    /// Makes the operator look at what else has changed.
    pub(super) fn poke(&self) {
        self.inbox.poke();
    }

    /// Whether the predicate lets this version of an object through.
    fn passes(&self, name: &ObjectName, object: &Value, listing: bool) -> bool {
        let Some(predicate) = &self.source.predicate else {
            return true;
        };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // Against the version before this one, whether that passed or not.
        let old = seen.insert(name.clone(), compared(object));
        listing || old.is_none_or(|old| predicate.passes(&old, object))
    }

    fn forget(&self, name: &ObjectName) {
        if self.source.predicate.is_some() {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.remove(name);
        }
    }
}

/// What predicates look at.
fn compared(object: &Value) -> Value {
    let metadata = object.get("metadata");
    let fields = ["annotations", "generation", "labels", "resourceVersion"];
    let fields = fields.map(|field| (Key::new(field), metadata.get(field).clone()));
    let metadata: Map = fields.into_iter().collect();
    let object: Map = [(Key::new("metadata"), metadata.into())]
        .into_iter()
        .collect();
    object.into()
}

impl Sink for Input {
    fn fields(&self) -> Fields {
        self.fields.clone()
    }

    fn apply(&self, name: &ObjectName, object: &Value, listing: bool) {
        if !self.source.admits(object) {
            self.delete(name, None);
        } else if self.passes(name, object, listing) {
            self.put(name, Some(self.entry.clean(object)));
        } else {
            self.inbox.put_readable(self.port, name);
        }
    }

    /// The predicate compares the next version with the last that could be read.
    fn unreadable(&self, name: &ObjectName, object: &Value, why: &Unreadable) {
        if self.source.admits(object) {
            self.inbox
                .put_unreadable(self.port, name.clone(), why.clone());
        } else {
            self.delete(name, None);
        }
    }

    fn delete(&self, name: &ObjectName, _last: Option<&Value>) {
        self.forget(name);
        self.put(name, None);
    }

    fn listing(&self) {
        self.bulk(true);
        self.inbox.set(self.port, |state| state.listing = true);
    }

    fn synced(&self) {
        self.bulk(false);
        self.inbox.set(self.port, |state| {
            state.listed = true;
            state.listing = false;
            state.unavailable = None;
        });
    }

    fn unavailable(&self, why: &Unavailable) {
        self.inbox
            .set(self.port, |state| state.unavailable = Some(why.clone()));
    }
}
