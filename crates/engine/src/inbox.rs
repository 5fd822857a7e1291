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
//!
//! If a source that was complete is listed again, its objects are taken apart from the events
//! ([`Taken::relisted`]) until the list completes: a part of a list is no state of the cluster.

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
pub(crate) use input::{Admission, Admittance};
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
    /// The objects of sources that are being listed again.
    relisted: Waiting,
    /// The objects among these that can be read again, if they could not before. They count as
    /// unreadable until the list completes.
    readable: BTreeSet<(Port, ObjectName)>,
    ports: BTreeMap<Port, PortState>,
    /// Whether `ports` has changed since the last [`Inbox::take`].
    ports_changed: bool,
    /// The objects whose latest version cannot be read.
    unreadable: UnreadableObjects,
    /// Whether `unreadable` has changed since the last [`Inbox::take`].
    unreadable_changed: bool,
    /// The controllers for which events of a list wait.
    bulk: BTreeSet<usize>,
    changed: bool,
}

impl State {
    fn is_relisting(&self, port: Port) -> bool {
        self.ports.get(&port).is_some_and(PortState::is_relisting)
    }

    fn readable(&mut self, port: Port, name: &ObjectName) {
        if self.unreadable.is_empty() {
            return;
        }
        let object = (port, name.clone());
        if self.is_relisting(port) {
            self.readable.insert(object);
        } else {
            self.unreadable_changed |= self.unreadable.remove(&object).is_some();
        }
    }

    /// The list of an input that was listed again is complete: its objects become events.
    fn relisted(&mut self, port: Port) {
        self.bulk.insert(port.0);
        let listed = self.relisted.take().into_iter();
        let (complete, others): (Vec<_>, Vec<_>) = listed.partition(|event| event.port == port);
        for event in complete {
            self.objects.insert(event);
        }
        for event in others {
            self.relisted.insert(event);
        }
        let all = mem::take(&mut self.readable).into_iter();
        let (readable, others): (BTreeSet<_>, BTreeSet<_>) = all.partition(|(of, _)| *of == port);
        self.readable = others;
        for object in readable {
            self.unreadable_changed |= self.unreadable.remove(&object).is_some();
        }
    }
}

/// The latest state of an object.
#[derive(Debug)]
pub(crate) struct WaitingEvent {
    pub(crate) port: Port,
    pub(crate) name: ObjectName,
    /// `None` if it is gone.
    pub(crate) object: Option<Kept>,
    /// The depth of a step that only this event causes; `None` if others wrote the state.
    pub(crate) depth: Option<u32>,
}

/// The latest states of objects, in the order of each object's first event.
#[derive(Debug, Default)]
struct Waiting {
    objects: Vec<WaitingEvent>,
    /// Positions in `objects`, by port and name, if there are more than [`FEW`].
    positions: HashTable<usize>,
    hasher: foldhash::fast::RandomState,
}

/// Up to this many objects are searched one by one: a single event needs no index.
const FEW: usize = 8;

/// An index with a larger capacity is freed after a batch instead of being reused.
const LARGE: usize = 256;

impl Waiting {
    fn insert(&mut self, event: WaitingEvent) {
        if let Some(at) = self.position(event.port, &event.name) {
            self.objects[at] = event;
            return;
        }
        self.objects.push(event);
        if self.objects.len() > FEW {
            self.index();
        }
    }

    fn position(&self, port: Port, name: &ObjectName) -> Option<usize> {
        let is = |at: &usize| self.objects[*at].port == port && self.objects[*at].name == *name;
        if self.objects.len() <= FEW {
            return (0..self.objects.len()).find(is);
        }
        let hash = self.hasher.hash_one((port, name));
        self.positions.find(hash, is).copied()
    }

    /// Adds the objects to the index that are not there yet.
    fn index(&mut self) {
        let (objects, hasher) = (&self.objects, &self.hasher);
        let hash = |at: &usize| hasher.hash_one((objects[*at].port, &objects[*at].name));
        for at in self.positions.len()..objects.len() {
            self.positions.insert_unique(hash(&at), at, hash);
        }
    }

    fn take(&mut self) -> Vec<WaitingEvent> {
        if self.positions.capacity() > LARGE {
            self.positions = HashTable::new();
        }
        self.positions.clear();
        mem::take(&mut self.objects)
    }
}

/// Objects that cannot be read, by input and name.
pub type UnreadableObjects = BTreeMap<(Port, ObjectName), Unreadable>;

/// Objects that are as this process wrote them, by input and name, with the depth of a step that
/// only these events cause.
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

    /// Whether its objects are listed again, after a list that has completed.
    pub fn is_relisting(&self) -> bool {
        self.listed && self.listing
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
    /// The objects of lists that are in progress, of inputs that were complete before. They are not
    /// events before the list completes.
    pub(crate) relisted: Vec<WaitingEvent>,
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
    /// The objects of the events.
    pub(crate) fn objects(&self) -> BTreeSet<(Port, ObjectName)> {
        let events = self.events.iter();
        let objects = events.flat_map(|(number, events)| {
            let object = move |event: &SourceEvent| ((*number, event.source), event.name.clone());
            events.iter().map(object)
        });
        objects.collect()
    }

    /// Adds an event after the others of its controller: of an object's events, the last counts.
    pub(crate) fn add(&mut self, event: WaitingEvent) {
        let WaitingEvent {
            port: (controller, source),
            name,
            object,
            depth,
        } = event;
        let object_at = || ((controller, source), name.clone());
        match depth {
            Some(depth) => drop(self.echoes.insert(object_at(), depth)),
            None if self.echoes.is_empty() => {}
            None => drop(self.echoes.remove(&object_at())),
        }
        let event = SourceEvent {
            source,
            name,
            object,
        };
        let mut of_controllers = self.events.iter_mut();
        match of_controllers.find(|(other, _)| *other == controller) {
            Some((_, events)) => events.push(event),
            None => self.events.push((controller, vec![event])),
        }
    }

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

    /// Lets [`Inbox::changed`] wait until something changes after this, although nothing is taken.
    pub(crate) fn noticed(&self) {
        self.state().changed = false;
    }

    /// Takes everything that waits.
    pub fn take(&self) -> Taken {
        let mut state = self.state();
        state.changed = false;
        let objects = state.objects.take();
        let relisted = state.relisted.take();
        let bulk = mem::take(&mut state.bulk);
        let changed = mem::take(&mut state.ports_changed);
        let ports = changed.then(|| state.ports.clone());
        let changed = mem::take(&mut state.unreadable_changed);
        let unreadable = changed.then(|| state.unreadable.clone());
        drop(state);
        let mut taken = Taken {
            relisted,
            bulk,
            ports,
            unreadable,
            ..Taken::default()
        };
        for event in objects {
            taken.add(event);
        }
        taken
    }

    /// Records that an object cannot be read. If an earlier state of it waits, it stays.
    pub fn put_unreadable(&self, port: Port, name: ObjectName, why: Unreadable) {
        self.change(|state| {
            state.readable.remove(&(port, name.clone()));
            let old = state.unreadable.insert((port, name), why.clone());
            state.unreadable_changed |= old != Some(why);
        });
    }

    /// Adds the state of an object (`None` if it is gone). `bulk` is false for a single watch
    /// event.
    pub fn put(&self, port: Port, name: ObjectName, object: Option<Kept>, bulk: bool) {
        self.put_caused(port, name, object, bulk, None);
    }

    /// As [`Inbox::put`]; `depth` is that of a step that only this event causes, `None` if others
    /// wrote the state.
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
            let event = WaitingEvent {
                port,
                name,
                object,
                depth,
            };
            if state.is_relisting(port) {
                return state.relisted.insert(event);
            }
            state.objects.insert(event);
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
            let was_relisting = state.is_relisting(port);
            set(state.ports.entry(port).or_default());
            if was_relisting && !state.is_relisting(port) {
                state.relisted(port);
            }
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

#[cfg(test)]
mod tests;
