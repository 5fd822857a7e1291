//! The events that wait for an Operator: for each object of each input, its latest state.
//!
//! Watches deliver at their own pace, and a batch may take a while. Events for one object
//! therefore do not queue up; a newer one replaces the one that still waits:
//!
//! ```text
//! put(pod a, v1)  put(pod b, v1)  put(pod a, v2)   take() ──▶ [pod a v2, pod b v1]
//! ```
//!
//! An [`Input`] is the end of a watch: it passes on the objects that the source admits and
//! whose change its predicate lets through. The [`Inbox`] is shared by all inputs of an
//! Operator, whose task takes everything that waits as one batch.

mod input;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cluster::object::Unreadable;
use cluster::source::Unavailable;
use dataflow::SourceEvent;
use dataflow::fields::Kept;
use hashbrown::HashTable;
pub(crate) use input::{Admission, Admitted};
pub use input::{Input, TakeBack};
use object::ObjectName;
use tokio::sync::Notify;

use crate::guard::Guard;

/// Events of all inputs of an Operator's controllers, and the state of these inputs.
#[derive(Debug, Default)]
pub struct Inbox {
    state: Mutex<State>,
    notify: Notify,
    guard: Guard,
}

/// An input: the position of the controller, and that of the input in its pipeline.
pub type Port = (usize, usize);

#[derive(Debug, Default)]
struct State {
    objects: Waiting,
    ports: BTreeMap<Port, PortState>,
    /// Whether `ports` has changed since the last [`Inbox::take`].
    ports_changed: bool,
    /// The objects whose latest version cannot be read.
    unreadable: UnreadableObjects,
    /// Whether `unreadable` has changed since the last [`Inbox::take`].
    unreadable_changed: bool,
    /// The controllers for which events of a list wait.
    bulk: BTreeSet<usize>,
    /// The objects that wait as this process wrote them, with the depth of that write.
    echoes: EchoedObjects,
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

/// The latest states of objects, in the order of each object's first event.
#[derive(Debug, Default)]
struct Waiting {
    objects: Vec<(Port, ObjectName, Option<Kept>)>,
    /// Positions in `objects`, by port and name, if there are more than [`FEW`].
    positions: HashTable<usize>,
    hasher: foldhash::fast::RandomState,
}

/// Up to this many objects are searched one by one: a single event needs no index.
const FEW: usize = 8;

/// An index with a larger capacity is freed after a batch instead of being reused.
const LARGE: usize = 256;

impl Waiting {
    fn insert(&mut self, port: Port, name: ObjectName, object: Option<Kept>) {
        if let Some(at) = self.position(port, &name) {
            self.objects[at].2 = object;
            return;
        }
        self.objects.push((port, name, object));
        if self.objects.len() > FEW {
            self.index();
        }
    }

    fn position(&self, port: Port, name: &ObjectName) -> Option<usize> {
        let is = |at: &usize| self.objects[*at].0 == port && self.objects[*at].1 == *name;
        if self.objects.len() <= FEW {
            return (0..self.objects.len()).find(is);
        }
        let hash = self.hasher.hash_one((port, name));
        self.positions.find(hash, is).copied()
    }

    /// Adds the objects to the index that are not there yet.
    fn index(&mut self) {
        let (objects, hasher) = (&self.objects, &self.hasher);
        let hash = |at: &usize| hasher.hash_one((objects[*at].0, &objects[*at].1));
        for at in self.positions.len()..objects.len() {
            self.positions.insert_unique(hash(&at), at, hash);
        }
    }

    fn take(&mut self) -> Vec<(Port, ObjectName, Option<Kept>)> {
        if self.positions.capacity() > LARGE {
            self.positions = HashTable::new();
        }
        self.positions.clear();
        mem::take(&mut self.objects)
    }
}

/// Objects that cannot be read, by input and name.
pub type UnreadableObjects = BTreeMap<(Port, ObjectName), Unreadable>;

/// Objects that are as this process wrote them, by input and name, with the depth of that write.
pub type EchoedObjects = BTreeMap<(Port, ObjectName), u32>;

/// The state of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortState {
    /// Whether a list has completed at least once.
    pub listed: bool,
    /// Whether a list has started and has not completed.
    pub listing: bool,
    /// Why it cannot be read now.
    pub unavailable: Option<Unavailable>,
    /// Of another Operator's view: all changes up to this version have been delivered.
    pub version: u64,
}

impl PortState {
    /// Whether all objects that exist have been delivered.
    pub fn synced(&self) -> bool {
        self.listed && self.unavailable.is_none()
    }

    /// Whether it is synced, and no list is in progress.
    pub fn complete(&self) -> bool {
        self.synced() && !self.listing
    }
}

/// A batch taken out of an [`Inbox`].
#[derive(Debug, Default)]
pub struct Taken {
    /// The events of each controller that has any.
    pub events: Vec<(usize, Vec<SourceEvent>)>,
    /// The controllers whose events include a list, a re-list, or changes that such a batch
    /// made in a view. All other events are single watch events.
    pub bulk: BTreeSet<usize>,
    /// The states of all inputs, or `None` if none has changed. If an input is `listed`, this
    /// batch or an earlier one contains all events of its list.
    pub ports: Option<BTreeMap<Port, PortState>>,
    /// All objects that cannot be read, or `None` if they have not changed.
    pub unreadable: Option<UnreadableObjects>,
    /// The objects of `events` that are as this process wrote them.
    pub echoes: EchoedObjects,
}

impl Taken {
    /// Takes the objects of a controller that are as this process wrote them.
    pub(crate) fn echoes_of(&mut self, number: usize) -> EchoedObjects {
        let echoes = mem::take(&mut self.echoes);
        let (own, others) = echoes
            .into_iter()
            .partition(|((port, _), _)| port.0 == number);
        self.echoes = others;
        own
    }
}

impl Inbox {
    /// An inbox with these inputs.
    pub fn new(ports: impl IntoIterator<Item = Port>) -> Self {
        let ports = ports.into_iter().map(|port| (port, PortState::default()));
        let inbox = Self::default();
        inbox.state().ports = ports.collect();
        inbox.state().ports_changed = true;
        inbox
    }

    /// Sets what gets the panics of the inputs.
    #[must_use]
    pub(crate) fn guarded(self, guard: Guard) -> Self {
        Self { guard, ..self }
    }

    pub(crate) fn guard(&self) -> &Guard {
        &self.guard
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

    /// Takes everything that waits.
    pub fn take(&self) -> Taken {
        let mut state = self.state();
        state.changed = false;
        let objects = state.objects.take();
        let bulk = mem::take(&mut state.bulk);
        let changed = mem::take(&mut state.ports_changed);
        let ports = changed.then(|| state.ports.clone());
        let changed = mem::take(&mut state.unreadable_changed);
        let unreadable = changed.then(|| state.unreadable.clone());
        let echoes = mem::take(&mut state.echoes);
        drop(state);
        Taken {
            events: by_controller(objects),
            bulk,
            ports,
            unreadable,
            echoes,
        }
    }

    /// Records that an object cannot be read. If an earlier state of it waits, it stays.
    pub fn put_unreadable(&self, port: Port, name: ObjectName, why: Unreadable) {
        self.change(|state| {
            let old = state.unreadable.insert((port, name), why.clone());
            state.unreadable_changed |= old != Some(why);
        });
    }

    /// Adds the state of an object (`None` if it is gone). `bulk` is false for a single watch
    /// event.
    pub fn put(&self, port: Port, name: ObjectName, object: Option<Kept>, bulk: bool) {
        self.put_caused(port, name, object, bulk, None);
    }

    /// As [`Inbox::put`]; `depth` is that of the write that the state shows, if this process
    /// wrote it.
    pub(crate) fn put_caused(
        &self,
        port: Port,
        name: ObjectName,
        object: Option<Kept>,
        bulk: bool,
        depth: Option<u32>,
    ) {
        self.change(|state| {
            state.readable(port, &name);
            if let Some(depth) = depth {
                state.echoes.insert((port, name.clone()), depth);
            } else if !state.echoes.is_empty() {
                state.echoes.remove(&(port, name.clone()));
            }
            state.objects.insert(port, name, object);
            if bulk {
                state.bulk.insert(port.0);
            }
        });
    }

    /// Records that an object can be read again, without a new state.
    fn put_readable(&self, port: Port, name: &ObjectName) {
        if !self.state().unreadable.is_empty() {
            self.change(|state| state.readable(port, name));
        }
    }

    /// Changes the state of an input.
    pub fn set(&self, port: Port, set: impl FnOnce(&mut PortState)) {
        self.change(|state| {
            state.ports_changed = true;
            set(state.ports.entry(port).or_default());
        });
    }

    /// Makes [`Inbox::changed`] return, because something outside of the inbox has changed.
    pub fn poke(&self) {
        self.change(|_| {});
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        let first = !mem::replace(&mut state.changed, true);
        drop(state);
        if first {
            self.notify.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The events of each controller, in the order in which they were added.
fn by_controller(objects: Vec<(Port, ObjectName, Option<Kept>)>) -> Vec<(usize, Vec<SourceEvent>)> {
    let mut events: Vec<(usize, Vec<SourceEvent>)> = Vec::new();
    for ((controller, source), name, object) in objects {
        let event = SourceEvent {
            source,
            name,
            object,
        };
        match events.iter_mut().find(|(other, _)| *other == controller) {
            Some((_, events)) => events.push(event),
            None => events.push((controller, vec![event])),
        }
    }
    events
}

#[cfg(test)]
mod tests;
