//! Exponential back-off after failures, with jitter, for each key.
//!
//! [`Backoff`] computes pauses and is pure; [`Retries`] counts the failures of each key. The jitter
//! comes from a seed.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use crate::queue::Next;

/// The shortest pause, even if a shorter one is configured: a failing key never runs in a tight
/// loop.
pub const MIN_PAUSE: Duration = Duration::from_millis(1);

/// Pauses that double with each failure, from `initial` up to `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The pause after the first failure.
    pub initial: Duration,
    /// The longest pause.
    pub max: Duration,
}

impl Backoff {
    /// A back-off with these limits.
    pub const fn new(initial: Duration, max: Duration) -> Self {
        Self { initial, max }
    }

    /// The pause after `failures` failures in a row, without jitter; zero without a failure.
    pub fn after(&self, failures: u32) -> Duration {
        match failures {
            0 => Duration::ZERO,
            failures => self.pause(failures, 0),
        }
    }

    /// The pause after `failures` failures in a row: `initial · 2^(failures − 1)`, at most `max`.
    /// `random` shortens it by up to half, so that keys that failed together are not retried
    /// together.
    pub fn pause(&self, failures: u32, random: u64) -> Duration {
        let doublings = failures.saturating_sub(1).min(63);
        let full = self
            .initial
            .max(MIN_PAUSE)
            .as_nanos()
            .saturating_mul(1 << doublings);
        let full = full.min(self.max.max(MIN_PAUSE).as_nanos());
        // A `Duration` is below 2^94 ns: times a 32-bit fraction it stays in 128 bits.
        let cut = (full / 2 * u128::from(random >> 32)) >> 32;
        let nanos = full - cut;
        let secs = u64::try_from(nanos / 1_000_000_000).unwrap_or(u64::MAX);
        Duration::new(secs, (nanos % 1_000_000_000) as u32)
    }
}

/// The growing pauses of a single task that fails repeatedly, without jitter.
///
/// ```
/// use std::time::Duration;
/// use controller::{Backoff, Pause};
///
/// let mut pause = Pause::new(Backoff::new(Duration::from_secs(1), Duration::from_secs(3)));
/// let seconds: Vec<u64> = (0..3).map(|_| pause.grow().as_secs()).collect();
/// assert_eq!(seconds, [1, 2, 3]);
/// pause.reset();
/// assert_eq!(pause.grow().as_secs(), 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    backoff: Backoff,
    failures: u32,
}

impl Pause {
    /// Starts without a failure.
    pub const fn new(backoff: Backoff) -> Self {
        Self {
            backoff,
            failures: 0,
        }
    }

    /// Counts a failure. Returns the pause that follows, longer each time.
    pub fn grow(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.backoff.after(self.failures)
    }

    /// Counts a success: the next failure is the first again.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// The pause after the last failure; zero after a success.
    pub fn current(&self) -> Duration {
        self.backoff.after(self.failures)
    }
}

/// Counts the consecutive failures of each key and computes the pauses.
///
/// Stores only keys whose last run failed.
#[derive(Debug)]
pub struct Retries<T> {
    backoff: Backoff,
    failures: HashMap<T, u32>,
    random: u64,
}

impl<T: Hash + Eq + Clone> Retries<T> {
    /// Starts without failures. The same `seed` gives the same pauses.
    pub fn new(backoff: Backoff, seed: u64) -> Self {
        Self {
            backoff,
            failures: HashMap::new(),
            random: seed,
        }
    }

    /// Counts a failure of `key`. Returns how long to wait.
    pub fn failed(&mut self, key: &T) -> Duration {
        let backoff = self.backoff;
        self.failed_with(key, backoff)
    }

    /// As [`Retries::failed`], with a back-off for this key.
    pub fn failed_with(&mut self, key: &T, backoff: Backoff) -> Duration {
        let failures = match self.failures.get_mut(key) {
            Some(failures) => {
                *failures = failures.saturating_add(1);
                *failures
            }
            None => {
                self.failures.insert(key.clone(), 1);
                1
            }
        };
        let random = self.next_random();
        backoff.pause(failures, random)
    }

    /// Forgets the failures of `key`, after a success or when it is gone.
    pub fn reset(&mut self, key: &T) {
        self.failures.remove(key);
    }

    /// The number of consecutive failures of `key`.
    pub fn failures(&self, key: &T) -> u32 {
        self.failures.get(key).copied().unwrap_or(0)
    }

    /// What follows from a run: after a success, a requeue if it requested one; after a failure, a
    /// retry with back-off.
    pub fn settle<E>(&mut self, key: &T, result: &Result<Option<Duration>, E>) -> Next {
        match result {
            Ok(requeue) => {
                self.reset(key);
                requeue.map_or(Next::Done, Next::Requeue)
            }
            Err(_) => Next::Retry(self.failed(key)),
        }
    }

    /// `SplitMix64`: jitter must be spread evenly, not unpredictable.
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Backoff = Backoff {
        initial: Duration::from_millis(100),
        max: Duration::from_secs(2),
    };

    fn check(rule: Backoff, failures: u32, random: u64, expect_ms: u64) {
        assert_eq!(
            rule.pause(failures, random).as_millis(),
            u128::from(expect_ms)
        );
    }

    #[test]
    fn pauses_double_up_to_the_maximum() {
        for (failures, ms) in [
            (1, 100),
            (2, 200),
            (3, 400),
            (5, 1600),
            (6, 2000),
            (u32::MAX, 2000),
        ] {
            check(RULE, failures, 0, ms);
        }
    }

    #[test]
    fn jitter_shortens_by_half_at_most() {
        check(RULE, 2, u64::MAX, 100);
        check(RULE, 2, u64::MAX / 2, 150);
    }

    #[test]
    fn extremes_do_not_overflow() {
        let endless = Backoff {
            initial: Duration::MAX,
            max: Duration::MAX,
        };
        assert_eq!(endless.pause(u32::MAX, 0), Duration::MAX);
        assert!(endless.pause(1, u64::MAX) >= Duration::MAX / 2);
        let nothing = Backoff {
            initial: Duration::ZERO,
            max: Duration::ZERO,
        };
        assert_eq!(nothing.pause(9, 0), MIN_PAUSE);
    }

    #[test]
    fn each_key_has_its_own_failures_and_success_resets_them() {
        let mut retries = Retries::new(RULE, 7);
        let failed: Result<_, ()> = Err(());
        for pause in [100, 200, 400] {
            let Next::Retry(got) = retries.settle(&'a', &failed) else {
                panic!("a failure is retried")
            };
            assert!(
                (pause / 2..=pause).contains(&(got.as_millis() as u64)),
                "{got:?} of {pause} ms"
            );
        }
        retries.settle(&'b', &failed);
        assert_eq!((retries.failures(&'a'), retries.failures(&'b')), (3, 1));
        let minute = Duration::from_mins(1);
        assert_eq!(
            retries.settle::<()>(&'a', &Ok(Some(minute))),
            Next::Requeue(minute)
        );
        assert_eq!(retries.settle::<()>(&'b', &Ok(None)), Next::Done);
        assert_eq!((retries.failures(&'a'), retries.failures.len()), (0, 0));
    }

    #[test]
    fn the_seed_decides_the_pauses() {
        let pauses = |seed| {
            let mut retries = Retries::new(RULE, seed);
            (0..5).map(|_| retries.failed(&'a')).collect::<Vec<_>>()
        };
        assert_eq!(pauses(1), pauses(1));
        assert_ne!(pauses(1), pauses(2));
    }
}
