//! What waits for an operator: the last known state of each object of each input.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cluster::object::Unreadable;
use cluster::source::{Arrival, Reads, Sink, Unavailable};
use dataflow::SourceEvent;
use dataflow::fields::{Header, Keep, Kept};
use document::Value;
use hashbrown::HashTable;
use object::ObjectName;
use operator::predicate::Update;
use operator::spec::Source;
use tokio::sync::Notify;

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
    objects: Waiting,
    ports: BTreeMap<Port, PortState>,
    /// Whether these have changed since they were last taken.
    ports_changed: bool,
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

/// The last known states of objects, in the order in which they came first.
#[derive(Debug, Default)]
struct Waiting {
    objects: Vec<(Port, ObjectName, Option<Kept>)>,
    /// Their positions, by port and name.
    positions: HashTable<usize>,
    hasher: foldhash::fast::RandomState,
}

/// An index with room for more than this is freed when it is taken.
const LARGE: usize = 256;

impl Waiting {
    fn insert(&mut self, port: Port, name: ObjectName, object: Option<Kept>) {
        let Self {
            objects,
            positions,
            hasher,
        } = self;
        let is = |at: &usize| objects[*at].0 == port && objects[*at].1 == name;
        let hash = hasher.hash_one((port, &name));
        if let Some(&at) = positions.find(hash, is) {
            objects[at].2 = object;
            return;
        }
        positions.insert_unique(hash, objects.len(), |at| {
            hasher.hash_one((objects[*at].0, &objects[*at].1))
        });
        objects.push((port, name, object));
    }

    fn take(&mut self) -> Vec<(Port, ObjectName, Option<Kept>)> {
        if self.positions.capacity() > LARGE {
            self.positions = HashTable::new();
        }
        self.positions.clear();
        std::mem::take(&mut self.objects)
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
    /// The events of each controller that has some.
    pub events: Vec<(usize, Vec<SourceEvent>)>,
    /// The controllers whose events hold a list, a re-list, or what such
    /// a batch changed in a view; those of the others are single events.
    pub bulk: BTreeSet<usize>,
    /// How all inputs stand; with `listed`, the events of the list are among those that
    /// were taken now or before. `None` if they stand as before.
    pub ports: Option<BTreeMap<Port, PortState>>,
    /// All objects that cannot be read; `None` if they are the same as before.
    pub unreadable: Option<UnreadableObjects>,
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
        let objects = state.objects.take();
        let bulk = std::mem::take(&mut state.bulk);
        let changed = std::mem::take(&mut state.ports_changed);
        let ports = changed.then(|| state.ports.clone());
        let changed = std::mem::take(&mut state.unreadable_changed);
        let unreadable = changed.then(|| state.unreadable.clone());
        drop(state);
        Taken {
            events: by_controller(objects),
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
    pub fn put(&self, port: Port, name: ObjectName, object: Option<Kept>, bulk: bool) {
        self.change(|state| {
            state.readable(port, &name);
            state.objects.insert(port, name, object);
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
        self.change(|state| {
            state.ports_changed = true;
            set(state.ports.entry(port).or_default());
        });
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

/// The events for each controller, in the order in which they came.
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

/// One input of a controller: what it lets through of what a watch delivers.
pub struct Input {
    inbox: Arc<Inbox>,
    port: Port,
    source: Source,
    /// What is stored of the objects.
    keep: Keep,
    /// What the predicate compares, of each object.
    seen: Mutex<HashMap<ObjectName, Header>>,
    /// Whether what comes now is part of a list, or of a batch that was.
    bulk: AtomicBool,
}

impl Input {
    /// An input that stores this of the objects of a source.
    pub fn new(inbox: Arc<Inbox>, port: Port, source: Source, keep: Keep) -> Self {
        Self {
            inbox,
            port,
            source,
            keep,
            seen: Mutex::default(),
            bulk: AtomicBool::new(false),
        }
    }

    /// Says whether what comes next is no single event.
    pub(super) fn bulk(&self, bulk: bool) {
        self.bulk.store(bulk, Ordering::SeqCst);
    }

    fn put(&self, name: &ObjectName, object: Option<Kept>) {
        let bulk = self.bulk.load(Ordering::SeqCst);
        self.inbox.put(self.port, name.clone(), object, bulk);
    }

    /// An object of a view is there, in this state. The store may replace it while this input
    /// keeps a part of it, which therefore is copied.
    pub(super) fn apply_stored(&self, name: &ObjectName, object: &Value, listing: bool) {
        let header = Header::of(object);
        self.update(name, &header, listing, || {
            Ok(self.keep.of(object).detached())
        });
    }

    /// All changes of the view up to this version have been told.
    pub(super) fn told(&self, version: u64) {
        self.inbox.set(self.port, |state| state.version = version);
    }

    /// Makes the operator look at what else has changed.
    pub(super) fn poke(&self) {
        self.inbox.poke();
    }

    /// Puts an object in that the source admits and that the predicate lets through.
    fn update(
        &self,
        name: &ObjectName,
        header: &Header,
        listing: bool,
        kept: impl FnOnce() -> Result<Kept, Unreadable>,
    ) {
        if !self.source.admits(header) {
            return self.delete(name, None);
        }
        let kept = match kept() {
            Ok(kept) => kept,
            // The predicate compares the next version with the last that could be read.
            Err(why) => return self.inbox.put_unreadable(self.port, name.clone(), why),
        };
        if self.passes(name, header, listing) {
            self.put(name, Some(kept));
        } else {
            self.inbox.put_readable(self.port, name);
        }
    }

    /// Whether the predicate lets this version of an object through.
    fn passes(&self, name: &ObjectName, new: &Header, listing: bool) -> bool {
        let Some(predicate) = &self.source.predicate else {
            return true;
        };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // Against the version before this one, whether that passed or not.
        let old = seen.insert(name.clone(), new.detached());
        let passes = |old: &Header| {
            let whole = None;
            predicate.passes(&Update { old, new, whole })
        };
        listing || old.as_ref().is_none_or(passes)
    }

    fn forget(&self, name: &ObjectName) {
        if self.source.predicate.is_some() {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.remove(name);
        }
    }
}

impl Sink for Input {
    fn reads(&self) -> Reads {
        Reads::Kept(self.keep.clone(), self.source.header())
    }

    fn apply(&self, name: &ObjectName, object: &Arrival, listing: bool) {
        self.update(name, &object.header, listing, || object.kept(&self.keep));
    }

    fn delete(&self, name: &ObjectName, _last: Option<&Arrival>) {
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

#[cfg(test)]
mod tests;
