//! The scheduler: decides when a key runs, without a clock and without I/O.
//!
//! [`Scheduler::trigger`] requests a run of a key for a reason. [`Scheduler::start`] returns the
//! keys that are due, one at a time, and [`Scheduler::finish`] ends a run. The caller passes the
//! current time. With a debounce window of 100 ms:
//!
//! ```text
//! ms   0          60         100       120        150     220
//!      trigger a  trigger a  a starts  trigger a  a ends  a starts
//!                 (merged)             (held)
//! ```
//!
//! - A key is scheduled once. Of several triggers the one with the earliest run time is kept,
//!   with its reason; of equal run times, the first that arrived.
//! - The run time of a trigger is `now + max(delay, debounce)`. So the debounce window opens
//!   with the first trigger and later ones do not extend it: under constant triggers a key runs
//!   once per window. A delay longer than the window is kept as it is.
//! - While a key runs, its triggers are held and merged: however many there are, they cause one
//!   more run.
//! - Keys start in the order of their run times, equal ones in the order of arrival.
//! - Keys may be split into pools, each with a limit on how many run at a time
//!   ([`Scheduler::set_pools`]). A full pool does not delay keys of other pools.
//!
//! Every operation costs O(log n). Memory is proportional to the number of keys that are scheduled
//! or running, not to the number of triggers.

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

use crate::pool::Pools;

/// The longest delay: half a year. A longer one is shortened to it, so that no sum of times
/// overflows and every timer accepts it. The key then runs earlier than requested, which is
/// harmless.
pub const MAX_DELAY: Duration = Duration::from_hours(180 * 24);
/// For about how many keys a scheduler keeps memory while fewer are scheduled.
const MAX_IDLE: usize = 1024;

/// Decides which key runs when. See the [module](self) for the rules.
#[derive(Debug)]
pub struct Scheduler<T, R> {
    debounce: Duration,
    /// Every key that is scheduled or running, and no other.
    entries: HashMap<T, QueuedKey<R>>,
    /// The waiting keys in the order in which they start: one for each `QueuedKey::Waiting`, at its
    /// position, or parked in its pool.
    order: BTreeMap<Position, (T, R)>,
    /// The running keys, and the due keys whose pool is full.
    pools: Pools<Position, (T, R)>,
    running: usize,
    /// The number of running keys that are scheduled for one more run.
    held: usize,
    arrivals: u64,
}

/// The state of one key.
#[derive(Debug)]
enum QueuedKey<R> {
    /// Scheduled: it is in `order`, or parked. A parked key is due, so no trigger can advance it.
    Waiting(Position),
    /// Running in this pool, and perhaps scheduled for one more run. It is not in `order`, so that
    /// it cannot start.
    Running(usize, Option<(Position, R)>),
}

/// The position in the order of starts: run time, then arrival. Positions are unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    at: Instant,
    arrival: u64,
}

/// A key that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due<T, R> {
    /// The key.
    pub key: T,
    /// The reason of the trigger that set the run time.
    pub reason: R,
    /// The run time; in the past if the key had to wait for a free slot.
    pub at: Instant,
}

/// The effect of a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Triggered {
    /// The key was not scheduled and is now.
    Added,
    /// The key was scheduled for later; it now runs at the trigger's time and for its reason.
    Advanced,
    /// The key was already scheduled for the same time or earlier: nothing changed.
    Merged,
}

impl<T, R> Scheduler<T, R> {
    /// A scheduler without keys. Each trigger waits for at least `debounce`.
    pub fn new(debounce: Duration) -> Self {
        Self {
            debounce,
            entries: HashMap::new(),
            order: BTreeMap::new(),
            pools: Pools::new([]),
            running: 0,
            held: 0,
            arrivals: 0,
        }
    }

    /// Sets the debounce window of later triggers.
    pub fn set_debounce(&mut self, debounce: Duration) {
        self.debounce = debounce;
    }

    /// Splits the keys into pools, each with a limit on how many keys run at a time. Must be called
    /// before the first key starts.
    pub fn set_pools(&mut self, limits: impl IntoIterator<Item = usize>) {
        self.pools = Pools::new(limits);
    }

    /// When the next key becomes due, if any is scheduled for later.
    pub fn next_at(&self) -> Option<Instant> {
        self.order
            .first_key_value()
            .map(|(position, _)| position.at)
    }

    /// The number of running keys.
    pub fn running(&self) -> usize {
        self.running
    }

    /// The number of running keys that are scheduled for one more run.
    pub fn held(&self) -> usize {
        self.held
    }

    /// The number of keys that are scheduled and not running.
    pub fn waiting(&self) -> usize {
        self.order.len() + self.pools.parked()
    }

    /// The number of waiting keys that are due. Takes time proportional to it.
    pub fn due(&self, now: Instant) -> usize {
        let end = Position {
            at: now,
            arrival: u64::MAX,
        };
        self.order.range(..=end).count() + self.pools.parked()
    }

    /// Whether nothing is scheduled and nothing runs.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl<T: Hash + Eq + Clone, R> Scheduler<T, R> {
    /// Requests a run of `key`, `delay` from now or at the end of the debounce window, whichever is
    /// later. If the key is already scheduled for that time or earlier, nothing changes.
    pub fn trigger(&mut self, key: T, reason: R, now: Instant, delay: Duration) -> Triggered {
        let delay = delay.max(self.debounce).min(MAX_DELAY);
        let at = now.checked_add(delay).unwrap_or(now);
        let position = Position {
            at,
            arrival: self.arrivals,
        };
        self.arrivals += 1;
        let mut slot = match self.entries.entry(key) {
            Slot::Occupied(slot) => slot,
            Slot::Vacant(slot) => {
                self.order.insert(position, (slot.key().clone(), reason));
                slot.insert(QueuedKey::Waiting(position));
                return Triggered::Added;
            }
        };
        match slot.get_mut() {
            QueuedKey::Waiting(old) | QueuedKey::Running(_, Some((old, _))) if old.at <= at => {
                Triggered::Merged
            }
            QueuedKey::Waiting(old) => {
                if let Some((key, _)) = self.order.remove(old) {
                    self.order.insert(position, (key, reason));
                }
                *old = position;
                Triggered::Advanced
            }
            QueuedKey::Running(_, next) => {
                let triggered = if next.is_some() {
                    Triggered::Advanced
                } else {
                    Triggered::Added
                };
                self.held += usize::from(next.is_none());
                *next = Some((position, reason));
                triggered
            }
        }
    }

    /// Takes the first key that is due and marks it as running.
    pub fn start(&mut self, now: Instant) -> Option<Due<T, R>> {
        self.start_in(now, |_| 0)
    }

    /// As [`Scheduler::start`]; `pool_of` returns the position of a key's pool. It is called each
    /// time the key could start, because keys may change pools while they wait.
    pub fn start_in(
        &mut self,
        now: Instant,
        mut pool_of: impl FnMut(&T) -> usize,
    ) -> Option<Due<T, R>> {
        loop {
            let (position, (key, reason)) = self.take_due(now)?;
            let pool = self.pools.number(pool_of(&key));
            if !self.pools.enter(pool) {
                self.pools.park(pool, position, (key, reason));
                continue;
            }
            if let Some(entry) = self.entries.get_mut(&key) {
                *entry = QueuedKey::Running(pool, None);
                self.running += 1;
            }
            let at = position.at;
            return Some(Due { key, reason, at });
        }
    }

    /// Takes the first key that is due, unless it is parked in a full pool.
    fn take_due(&mut self, now: Instant) -> Option<(Position, (T, R))> {
        let first = self.order.first_key_value();
        let due = first.map(|(position, _)| *position);
        let due = due.filter(|position| position.at <= now);
        let parked = self.pools.unpark_before(due.as_ref());
        parked.or_else(|| due.and_then(|_| self.order.pop_first()))
    }

    /// Ends the run of `key`. If it was triggered meanwhile, it may start again. Does nothing if
    /// the key does not run.
    pub fn finish(&mut self, key: &T) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let QueuedKey::Running(pool, next) = entry else {
            return;
        };
        self.running -= 1;
        self.pools.leave(*pool);
        match next.take() {
            Some((position, reason)) => {
                *entry = QueuedKey::Waiting(position);
                self.order.insert(position, (key.clone(), reason));
                self.held -= 1;
            }
            None => {
                self.entries.remove(key);
                // Frees the memory of a burst, also while a few keys wait for a long time.
                let enough = MAX_IDLE.max(2 * self.entries.len());
                if self.entries.capacity() > 4 * enough {
                    self.entries.shrink_to(enough);
                }
            }
        }
    }

    /// Drops all scheduled keys; current runs are not affected.
    pub fn clear(&mut self) {
        self.order.clear();
        self.pools.clear();
        self.held = 0;
        self.entries.retain(|_, entry| match entry {
            QueuedKey::Waiting(_) => false,
            QueuedKey::Running(_, next) => {
                *next = None;
                true
            }
        });
    }
}

#[cfg(test)]
mod tests;
