//! What the Operators of a fleet derive at every moment, to judge removals when they happen.
//!
//! A process knows each source as it was at some moment since the process started. So it must
//! not remove an object that was derived all this time. Which changes count depends on the
//! Operator: if each of its targets derives from one object, only the changes of that object do;
//! if it joins or groups, a process may combine an old state of one object with a new state of
//! another one, so that any change of its sources counts.
//!
//! An Operator that is invalid or gone derives nothing new, and neither do the readers of its
//! views. What they derived before is still derived: unavailable is not empty.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dataflow::Budget;
use document::Value;
use object::ObjectKey;
use offline::{Event, EventType, Offline};
use tokio::time::Instant;

use super::member::{Edits, Member, merged};
use crate::clock::WallClock;
use crate::truth::env_at;

/// The state of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It exists and is valid.
    Runs(Edits),
    /// It is invalid or gone; its objects stay.
    Down,
    /// It is being deleted together with its objects.
    Leaves,
}

/// The derived objects. Clones share them.
#[derive(Clone, Debug)]
pub struct Truth(Arc<Mutex<Derived>>);

#[derive(Debug)]
struct Derived {
    fleet: &'static [Member],
    offline: Offline,
    /// The members that the offline runner runs: they and all upstream of them are valid.
    running: Vec<Member>,
    /// Since when each object has been derived.
    since: BTreeMap<ObjectKey, Instant>,
    /// When each object that is no longer derived was last derived. Objects of which only a list
    /// shows this are missing.
    until: BTreeMap<ObjectKey, Instant>,
    /// Whether only a list shows the current changes.
    hidden: bool,
    /// When a spec of a member or upstream of it last changed what is derived.
    specs: BTreeMap<&'static str, Instant>,
    /// When an object that a member reads, directly or not, last changed.
    inputs: BTreeMap<&'static str, Instant>,
    /// The members that are being deleted together with their objects.
    leaving: BTreeSet<&'static str>,
    /// When each process started.
    starts: BTreeMap<String, Instant>,
    time: WallClock,
}

impl Truth {
    /// No Operators yet.
    pub fn new(fleet: &'static [Member], time: WallClock) -> Self {
        Self(Arc::new(Mutex::new(Derived {
            fleet,
            offline: Offline::new(merged(Vec::new()), Budget::default()),
            running: Vec::new(),
            since: BTreeMap::new(),
            until: BTreeMap::new(),
            hidden: false,
            specs: BTreeMap::new(),
            inputs: BTreeMap::new(),
            leaving: BTreeSet::new(),
            starts: BTreeMap::new(),
            time,
        })))
    }

    fn derived(&self) -> MutexGuard<'_, Derived> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process starts.
    pub fn start(&self, process: &str) {
        let mut derived = self.derived();
        derived.starts.insert(process.to_owned(), Instant::now());
    }

    /// When a process started.
    pub fn started(&self, process: &str) -> Option<Instant> {
        self.derived().starts.get(process).copied()
    }

    /// The spec of a member has changed, in a way that matters if `decisive`. `last_good` are
    /// the last valid states of the objects of users, so that errors hold as before.
    pub fn operator(
        &self,
        changed: &Member,
        decisive: bool,
        standings: &BTreeMap<&'static str, Standing>,
        last_good: Vec<Value>,
        current: Vec<Value>,
    ) {
        let mut derived = self.derived();
        if decisive {
            derived.touch_specs(changed);
        }
        let leaving = standings.iter().filter(|(_, s)| **s == Standing::Leaves);
        derived.leaving = leaving.map(|(name, _)| *name).collect();
        derived.rebuild(standings);
        derived.step(last_good, EventType::Added);
        derived.step(current, EventType::Modified);
        derived.note();
    }

    /// An object of a user was changed or deleted. An unreadable one counts as unchanged.
    pub fn change(&self, key: &ObjectKey, object: Value, kind: EventType, readable: bool) {
        let mut derived = self.derived();
        derived.touch_inputs(key);
        if readable {
            derived.step(vec![object], kind);
        }
        derived.note();
    }

    /// Whether an object was derived all the time that a process can know of.
    pub fn always_had(&self, process: &str, key: &ObjectKey) -> bool {
        let mut derived = self.derived();
        let Some(member) = derived.fleet.iter().find(|member| member.derives(key)) else {
            return false;
        };
        // What no longer derives at the latest time need not derive for any process.
        if member.reads_time() {
            derived.step(Vec::new(), EventType::Modified);
            derived.note();
        }
        let Some(start) = derived.starts.get(process) else {
            return false;
        };
        let before = |time: Option<&Instant>| time.is_none_or(|time| time < start);
        let since = derived.since.get(key);
        since.is_some_and(|since| since < start)
            && before(derived.specs.get(member.name))
            && (member.one_to_one || before(derived.inputs.get(member.name)))
    }

    /// Sets whether only a list shows the following changes.
    pub fn hide(&self, hidden: bool) {
        self.derived().hidden = hidden;
    }

    /// Whether a watch can have told a process that an object is no longer derived. Otherwise the
    /// process knows it from a list, such as the one at its start. If a spec has changed since the
    /// start, or the object goes with its Operator, the answer is yes.
    pub fn was_told(&self, process: &str, key: &ObjectKey) -> bool {
        let derived = self.derived();
        let start = derived.starts.get(process);
        let mut fleet = derived.fleet.iter();
        let member = fleet.find(|member| member.derives(key));
        let edited = member.and_then(|member| derived.specs.get(member.name));
        // An engine goes on with the last valid spec, whose output is not known here.
        if derived.leaves(key) || edited.is_some_and(|edited| Some(edited) >= start) {
            return true;
        }
        let until = derived.until.get(key);
        until.is_some_and(|until| Some(until) >= start)
    }
}

impl Derived {
    fn touch_specs(&mut self, changed: &Member) {
        let now = Instant::now();
        let fleet = self.fleet;
        let below = |member: &&Member| is_upstream(changed, member, fleet);
        for member in fleet.iter().filter(below) {
            self.specs.insert(member.name, now);
        }
    }

    fn touch_inputs(&mut self, key: &ObjectKey) {
        let kind = key.kind.kind.as_str();
        let fleet = self.fleet;
        for member in fleet.iter().filter(|member| member.reads(fleet, kind)) {
            self.inputs.insert(member.name, Instant::now());
        }
    }

    fn rebuild(&mut self, standings: &BTreeMap<&'static str, Standing>) {
        let fleet = self.fleet;
        let runs = |member: &Member| matches!(standings.get(member.name), Some(Standing::Runs(_)));
        let all_run = |member: &&Member| {
            let mut upstream = fleet.iter();
            upstream.all(|other| !is_upstream(other, member, fleet) || runs(other))
        };
        self.running = fleet.iter().filter(all_run).copied().collect();
        let controllers = self.running.iter().flat_map(|member| {
            let edits = match standings.get(member.name) {
                Some(Standing::Runs(edits)) => *edits,
                _ => Edits::default(),
            };
            member.controllers(edits)
        });
        self.offline = Offline::new(merged(controllers.collect()), Budget::default());
    }

    fn step(&mut self, objects: Vec<Value>, kind: EventType) {
        let events: Vec<Event> = objects
            .into_iter()
            .map(|object| Event { kind, object })
            .collect();
        // Errors of single objects hold. The check at the end finds others.
        let _ = self.offline.batch(&events, &env_at(self.time.latest()));
    }

    /// Records what is derived now.
    fn note(&mut self) {
        let now = Instant::now();
        let targets = self.offline.targets();
        let keys = targets.iter().filter_map(ObjectKey::of);
        let mut since: BTreeMap<ObjectKey, Instant> = keys
            .map(|key| {
                let since = self.since.get(&key).copied().unwrap_or(now);
                (key, since)
            })
            .collect();
        for (key, time) in std::mem::take(&mut self.since) {
            let mut running = self.running.iter();
            let frozen = !running.any(|member| member.derives(&key));
            if frozen && !self.leaves(&key) {
                since.insert(key, time);
            } else if !since.contains_key(&key) && !self.hidden {
                self.until.insert(key, now);
            }
        }
        self.since = since;
    }
}

impl Derived {
    /// Whether an object is deleted together with its Operator.
    fn leaves(&self, key: &ObjectKey) -> bool {
        let mut fleet = self.fleet.iter();
        fleet.any(|member| member.derives(key) && self.leaving.contains(member.name))
    }
}

/// Whether a member is another one, or upstream of it.
fn is_upstream(member: &Member, of: &Member, fleet: &[Member]) -> bool {
    let mut upstream = of.upstream(fleet).into_iter();
    member == of || upstream.any(|next| is_upstream(member, next, fleet))
}
