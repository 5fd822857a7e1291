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

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
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

/// Events of all inputs of an Operator's controllers, and the state of these inputs.
#[derive(Debug, Default)]
pub struct Inbox {
    state: Mutex<State>,
    notify: Notify,
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
        std::mem::take(&mut self.objects)
    }
}

/// Objects that cannot be read, by input and name.
pub type UnreadableObjects = BTreeMap<(Port, ObjectName), Unreadable>;

/// The state of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortState {
    /// Whether a list has completed at least once.
    pub listed: bool,
    /// Whether a list has started and has not completed.
    pub listing: bool,
    /// Why it cannot be read now.
    pub unavailable: Option<Unavailable>,
    /// Of a view: all changes up to this version have been delivered.
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

    /// Takes everything that waits.
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
        self.change(|state| {
            state.readable(port, &name);
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

/// One input of a controller: passes the objects of a watch on to the [`Inbox`].
pub struct Input {
    inbox: Arc<Inbox>,
    port: Port,
    source: Source,
    /// The fields of an object that are stored.
    keep: Keep,
    /// The last version of each object, as far as the predicate compares it.
    seen: Mutex<HashMap<ObjectName, Header>>,
    /// Whether the current events belong to a list, or to a batch of a view that did.
    bulk: AtomicBool,
    /// Takes back what the controller itself has set on an object, if it patches this kind.
    take_back: Option<TakeBack>,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input")
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

/// Returns an object without the values that a controller has set on it.
pub type TakeBack = Box<dyn Fn(&ObjectName, &Value) -> Value + Send + Sync>;

impl Input {
    /// An input for a source, which stores the fields in `keep`.
    pub fn new(inbox: Arc<Inbox>, port: Port, source: Source, keep: Keep) -> Self {
        Self {
            inbox,
            port,
            source,
            keep,
            seen: Mutex::default(),
            bulk: AtomicBool::new(false),
            take_back: None,
        }
    }

    /// Sets a function that takes back what the controller itself has set on an object. Such an
    /// input needs whole objects.
    #[must_use]
    pub fn taking_back(mut self, take_back: Option<TakeBack>) -> Self {
        self.take_back = take_back;
        self
    }

    /// Sets whether the following events are bulk, and not single watch events.
    pub(super) fn bulk(&self, bulk: bool) {
        self.bulk.store(bulk, Ordering::SeqCst);
    }

    fn put(&self, name: &ObjectName, object: Option<Kept>) {
        let bulk = self.bulk.load(Ordering::SeqCst);
        self.inbox.put(self.port, name.clone(), object, bulk);
    }

    /// Delivers an object of a view. The kept fields are copied, so that they do not keep the
    /// rest of the object in memory after the store has replaced it.
    pub(super) fn apply_stored(&self, name: &ObjectName, object: &Value, listing: bool) {
        match &self.take_back {
            Some(take_back) => self.apply_whole(name, &take_back(name, object), listing),
            None => self.apply_whole(name, object, listing),
        }
    }

    fn apply_whole(&self, name: &ObjectName, object: &Value, listing: bool) {
        let header = Header::of(object);
        self.update(name, &header, listing, || {
            Ok(self.keep.of(object).detached())
        });
    }

    /// Records that all changes of the view up to this version have been delivered.
    pub(super) fn told(&self, version: u64) {
        self.inbox.set(self.port, |state| state.version = version);
    }

    /// Wakes the Operator's task.
    pub(super) fn poke(&self) {
        self.inbox.poke();
    }

    /// Puts an object into the inbox if the source admits it and the predicate passes.
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
            // `seen` stays: the predicate compares the next version with the last readable one.
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
        // The previous version counts, whether it passed or not.
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
        match self.take_back {
            Some(_) => Reads::Everything,
            None => Reads::Kept(self.keep.clone(), self.source.header()),
        }
    }

    fn apply(&self, name: &ObjectName, object: &Arrival, listing: bool) {
        let Some(take_back) = &self.take_back else {
            return self.update(name, &object.header, listing, || object.kept(&self.keep));
        };
        match object.whole() {
            Ok(whole) => self.apply_whole(name, &take_back(name, &whole), listing),
            Err(why) => self.update(name, &object.header, listing, || Err(why)),
        }
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
