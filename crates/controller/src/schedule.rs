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
/// For about how many keys an empty scheduler keeps memory.
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
                // Frees the memory of a burst.
                if self.entries.is_empty() && self.entries.capacity() > MAX_IDLE {
                    self.entries = HashMap::new();
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
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Checks the start that triggers `(time, delay, reason)` of one key, in ms, lead to.
    fn check(debounce: u64, triggers: &[(u64, u64, &'static str)], expect: (u64, &'static str)) {
        let ms = Duration::from_millis;
        let zero = Instant::now();
        let mut scheduler = Scheduler::new(ms(debounce));
        for &(time, delay, reason) in triggers {
            scheduler.trigger('a', reason, zero + ms(time), ms(delay));
        }
        let at = scheduler.next_at().unwrap();
        assert_eq!(
            scheduler.start(at - ms(1)),
            None,
            "nothing starts before its time"
        );
        let due = scheduler.start(at).unwrap();
        assert_eq!(
            ((at - zero).as_millis(), due.reason),
            (u128::from(expect.0), expect.1)
        );
        assert_eq!(scheduler.start(at + SECOND), None, "scheduled once");
        scheduler.finish(&'a');
        assert!(scheduler.is_empty());
    }

    #[test]
    fn a_trigger_runs_at_its_time() {
        check(0, &[(0, 0, "now")], (0, "now"));
        check(0, &[(0, 500, "later")], (500, "later"));
    }

    #[test]
    fn a_later_trigger_never_postpones() {
        check(
            0,
            &[(0, 500, "first"), (100, 900, "second")],
            (500, "first"),
        );
        check(
            1000,
            &[(0, 0, "first"), (300, 0, "second"), (999, 0, "third")],
            (1000, "first"),
        );
    }

    #[test]
    fn an_earlier_trigger_advances_and_gives_its_reason() {
        check(
            0,
            &[(0, 5000, "requeue"), (100, 0, "update")],
            (100, "update"),
        );
        check(
            1000,
            &[(0, 5000, "requeue"), (100, 0, "update")],
            (1100, "update"),
        );
    }

    #[test]
    fn of_equal_times_the_first_arrival_counts() {
        check(
            0,
            &[(0, 500, "first"), (100, 400, "second")],
            (500, "first"),
        );
    }

    #[test]
    fn a_delay_beyond_the_window_is_not_lengthened_by_it() {
        check(1000, &[(0, 5000, "requeue")], (5000, "requeue"));
        check(1000, &[(0, 200, "requeue")], (1000, "requeue"));
    }

    #[test]
    fn an_endless_delay_is_cut() {
        let now = Instant::now();
        let mut scheduler = Scheduler::new(Duration::ZERO);
        scheduler.trigger('a', (), now, Duration::MAX);
        assert_eq!(scheduler.next_at(), Some(now + MAX_DELAY));
    }

    #[test]
    fn the_window_of_the_specification() {
        let zero = Instant::now();
        let at = |tenths: u32| zero + SECOND * tenths / 10;
        let mut scheduler = Scheduler::new(SECOND);
        assert_eq!(
            scheduler.trigger('a', (), at(0), Duration::ZERO),
            Triggered::Added
        );
        assert_eq!(
            scheduler.trigger('a', (), at(3), Duration::ZERO),
            Triggered::Merged
        );
        assert_eq!(scheduler.start(at(9)), None);
        assert_eq!(scheduler.start(at(10)).unwrap().at, at(10));
        scheduler.finish(&'a');
        assert_eq!(
            scheduler.trigger('a', (), at(12), Duration::ZERO),
            Triggered::Added
        );
        assert_eq!(scheduler.next_at(), Some(at(22)));
    }

    #[test]
    fn keys_start_by_time_and_then_by_arrival() {
        let now = Instant::now();
        let mut scheduler = Scheduler::new(Duration::ZERO);
        for (key, delay) in [('c', 2), ('b', 1), ('a', 1), ('d', 0)] {
            scheduler.trigger(key, (), now, SECOND * delay);
        }
        let later = now + SECOND * 3;
        let order: Vec<char> = std::iter::from_fn(|| scheduler.start(later))
            .map(|due| due.key)
            .collect();
        assert_eq!(order, ['d', 'b', 'a', 'c']);
    }

    #[test]
    fn a_running_key_is_held_and_runs_once_more() {
        let now = Instant::now();
        let mut scheduler = Scheduler::new(Duration::ZERO);
        scheduler.trigger('a', 1, now, Duration::ZERO);
        scheduler.start(now).unwrap();
        assert_eq!(
            scheduler.trigger('a', 2, now, Duration::ZERO),
            Triggered::Added
        );
        assert_eq!(
            scheduler.trigger('a', 3, now, Duration::ZERO),
            Triggered::Merged
        );
        assert_eq!(
            (scheduler.running(), scheduler.held(), scheduler.waiting()),
            (1, 1, 0)
        );
        assert_eq!((scheduler.start(now), scheduler.next_at()), (None, None));
        scheduler.finish(&'a');
        assert_eq!(
            (scheduler.running(), scheduler.held(), scheduler.due(now)),
            (0, 0, 1)
        );
        assert_eq!(scheduler.start(now).unwrap().reason, 2);
        scheduler.finish(&'a');
        assert!(scheduler.is_empty());
    }

    #[test]
    fn a_held_trigger_can_be_advanced() {
        let now = Instant::now();
        let mut scheduler = Scheduler::new(Duration::ZERO);
        scheduler.trigger('a', 1, now, Duration::ZERO);
        scheduler.start(now).unwrap();
        scheduler.trigger('a', 2, now, SECOND * 5);
        assert_eq!(scheduler.trigger('a', 3, now, SECOND), Triggered::Advanced);
        scheduler.finish(&'a');
        assert_eq!(scheduler.next_at(), Some(now + SECOND));
    }

    #[test]
    fn finish_of_a_key_that_does_not_run_changes_nothing() {
        let now = Instant::now();
        let mut scheduler = Scheduler::new(Duration::ZERO);
        scheduler.finish(&'a');
        scheduler.trigger('a', (), now, Duration::ZERO);
        scheduler.finish(&'a');
        assert_eq!(scheduler.start(now).unwrap().key, 'a');
    }

    /// Keys that begin with the same letter share a pool.
    fn pool_of(key: &&str) -> usize {
        usize::from(key.starts_with('b'))
    }

    fn start(scheduler: &mut Scheduler<&'static str, ()>, now: Instant) -> Vec<&'static str> {
        let starts = std::iter::from_fn(|| scheduler.start_in(now, pool_of));
        starts.map(|due| due.key).collect()
    }

    #[test]
    fn a_full_pool_does_not_delay_others() {
        let now = Instant::now();
        let mut scheduler = Scheduler::new(Duration::ZERO);
        scheduler.set_pools([1, 2]);
        for key in ["a1", "a2", "a3", "b1", "b2", "b3"] {
            scheduler.trigger(key, (), now, Duration::ZERO);
        }
        assert_eq!(start(&mut scheduler, now), ["a1", "b1", "b2"]);
        assert_eq!((scheduler.waiting(), scheduler.due(now)), (3, 3));
        assert_eq!(scheduler.next_at(), None, "all that waits is due");
        scheduler.finish(&"a1");
        assert_eq!(start(&mut scheduler, now), ["a2"]);
        scheduler.finish(&"b2");
        scheduler.finish(&"a2");
        assert_eq!(start(&mut scheduler, now), ["a3", "b3"]);
        for key in ["a3", "b1", "b3"] {
            scheduler.finish(&key);
        }
        assert!(scheduler.is_empty());
    }

    #[test]
    fn a_parked_key_is_scheduled_once_and_keeps_its_time() {
        let now = Instant::now();
        let mut scheduler = Scheduler::new(Duration::ZERO);
        scheduler.set_pools([1]);
        for key in ["a1", "a2"] {
            scheduler.trigger(key, (), now, Duration::ZERO);
        }
        assert_eq!(start(&mut scheduler, now), ["a1"]);
        let later = now + SECOND;
        let again = scheduler.trigger("a2", (), later, Duration::ZERO);
        assert_eq!(again, Triggered::Merged);
        scheduler.finish(&"a1");
        let due = scheduler.start_in(later, pool_of).unwrap();
        assert_eq!((due.key, due.at), ("a2", now));
        scheduler.finish(&"a2");
        assert!(scheduler.is_empty());
    }

    #[test]
    fn a_parked_key_may_change_its_pool() {
        let now = Instant::now();
        let mut scheduler = Scheduler::new(Duration::ZERO);
        scheduler.set_pools([1, 1]);
        for key in ["a1", "a2", "b1"] {
            scheduler.trigger(key, (), now, Duration::ZERO);
        }
        assert_eq!(start(&mut scheduler, now), ["a1", "b1"]);
        scheduler.finish(&"a1");
        // `a2` is now in the pool of `b1`, which is full.
        assert_eq!(scheduler.start_in(now, |_| 1), None);
        scheduler.finish(&"b1");
        assert_eq!(scheduler.start_in(now, |_| 9).unwrap().key, "a2");
        assert_eq!(scheduler.waiting(), 0);
    }

    #[test]
    fn clear_drops_parked_keys() {
        let now = Instant::now();
        let mut scheduler = Scheduler::new(Duration::ZERO);
        scheduler.set_pools([1]);
        for key in ["a1", "a2"] {
            scheduler.trigger(key, (), now, Duration::ZERO);
        }
        assert_eq!(start(&mut scheduler, now), ["a1"]);
        scheduler.clear();
        scheduler.finish(&"a1");
        assert_eq!(scheduler.start_in(now, pool_of), None);
        assert!(scheduler.is_empty());
    }

    #[test]
    fn clear_keeps_only_running_keys() {
        let now = Instant::now();
        let mut scheduler = Scheduler::new(Duration::ZERO);
        for key in ['a', 'b'] {
            scheduler.trigger(key, (), now, Duration::ZERO);
        }
        scheduler.start(now).unwrap();
        scheduler.trigger('a', (), now, Duration::ZERO);
        scheduler.clear();
        assert_eq!(
            (scheduler.running(), scheduler.held(), scheduler.waiting()),
            (1, 0, 0)
        );
        scheduler.finish(&'a');
        assert!(scheduler.is_empty());
    }
}
