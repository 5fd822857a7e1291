//! What is derived from the objects of users at every moment, to judge deletions when they
//! happen.
//!
//! A process knows the state of its sources at some moment since it started. So it must not
//! delete an object that was derived at every such moment, however late its information is:
//!
//! ```text
//! process starts ────── item b exists the whole time ──────▶ delete ConfigMap b: wrong
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dataflow::Budget;
use document::Value;
use expr::{Env, Time};
use object::ObjectKey;
use offline::Offline;
use offline::{Event, EventType};
use operator::Operator;
use tokio::time::Instant;

/// The derived objects. Clones share them.
#[derive(Clone, Debug)]
pub struct Truth(Arc<Mutex<Derived>>);

#[derive(Debug)]
struct Derived {
    offline: Option<Offline>,
    /// Since when each object has been derived.
    since: BTreeMap<ObjectKey, Instant>,
    /// When the process started.
    started: Instant,
    /// Whether a process only sees states that existed. Not if it reads several kinds, because
    /// it may read one later than another.
    ordered: bool,
}

/// The time and random numbers for `render`. Nothing here depends on them.
pub(crate) fn env() -> Env {
    env_at(Time::EPOCH.seconds())
}

/// The environment of `render` at a Unix time.
pub(crate) fn env_at(now: i64) -> Env {
    let now = Time::of_unix(now).unwrap_or(Time::EPOCH);
    Env::new(now.to_string().into(), 0)
}

impl Truth {
    /// No derived objects.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Derived {
            offline: None,
            since: BTreeMap::new(),
            started: Instant::now(),
            ordered: false,
        })))
    }

    fn derived(&self) -> MutexGuard<'_, Derived> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The Operator was replaced, or deleted; `objects` are those of users.
    pub fn operator(&self, operator: Option<Operator>, objects: impl Iterator<Item = Value>) {
        let mut derived = self.derived();
        derived.ordered = operator.as_ref().is_some_and(reads_one_kind);
        derived.offline = operator.map(|operator| Offline::new(operator, Budget::default()));
        let added = objects.map(|object| Event {
            kind: EventType::Added,
            object,
        });
        derived.step(&added.collect::<Vec<_>>());
    }

    /// An object of a user was changed or deleted.
    pub fn change(&self, object: Value, gone: bool) {
        let kind = if gone {
            EventType::Deleted
        } else {
            EventType::Modified
        };
        self.derived().step(&[Event { kind, object }]);
    }

    /// A process starts.
    pub fn start(&self) {
        self.derived().started = Instant::now();
    }

    /// Whether an object has been derived ever since the process started.
    pub fn always_had(&self, key: &ObjectKey) -> bool {
        let derived = self.derived();
        let since = derived.since.get(key);
        derived.ordered && since.is_some_and(|since| *since < derived.started)
    }
}

impl Default for Truth {
    fn default() -> Self {
        Self::new()
    }
}

impl Derived {
    fn step(&mut self, events: &[Event]) {
        let Some(offline) = &mut self.offline else {
            return self.since.clear();
        };
        // The check at the end finds errors.
        let _ = offline.batch(events, &env());
        let targets = offline.targets();
        let keys = targets.iter().filter_map(ObjectKey::of);
        let now = Instant::now();
        let since = keys.map(|key| {
            let since = self.since.get(&key).copied().unwrap_or(now);
            (key, since)
        });
        self.since = since.collect();
    }
}

fn reads_one_kind(operator: &Operator) -> bool {
    let sources = operator.controllers.iter().flat_map(|c| &c.sources);
    let mut kinds: Vec<&str> = sources
        .map(|source| source.resource.kind.as_str())
        .collect();
    kinds.dedup();
    kinds.len() == 1
}
