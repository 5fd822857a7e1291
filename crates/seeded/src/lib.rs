//! Random choices for tests and benchmarks. The same seed gives the same choices, on every
//! machine.
//!
//! A random test runs a check with many seeds. If one fails, the message contains its seed, and
//! `RANDOM_SEED` runs it alone:
//!
//! ```
//! use seeded::Random;
//!
//! seeded::check(100, |random: &mut Random| {
//!     let mut list: Vec<usize> = (0..random.below(10)).collect();
//!     let length = list.len();
//!     random.shuffle(&mut list);
//!     list.sort_unstable();
//!     assert!(list.into_iter().eq(0..length));
//! });
//! ```
//!
//! Only tests and benchmarks depend on this crate.

pub mod memory;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A pseudorandom sequence: `SplitMix64`.
#[derive(Clone, Debug, Default)]
pub struct Random(u64);

/// The increment of the state.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The sequence of a seed. Neighbouring seeds have unrelated sequences.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// The sequence of several numbers. Different numbers have unrelated sequences.
    pub fn of(parts: &[u64]) -> Self {
        let mut random = Self(0x5bd1_e995_9e37_79b9);
        for part in parts {
            random.0 ^= part.wrapping_mul(GOLDEN);
            random.0 = random.bits();
        }
        random
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which must not be 0. Small numbers are slightly more likely than
    /// large ones, by less than `limit` in 2⁶⁴.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.bits() % limit as u64) as usize
    }

    /// A number in a range, which must not be empty.
    pub fn range(&mut self, range: Range<u64>) -> u64 {
        range.start + self.bits() % (range.end - range.start)
    }

    /// True with this probability in percent.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the items, which must not be empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A position in a list of weights, chosen by weight. Their sum must not be 0.
    pub fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut rest = self.below(weights.iter().sum());
        let found = weights.iter().position(|weight| {
            let here = rest < *weight;
            rest = rest.saturating_sub(*weight);
            here
        });
        // Always found: the number is below the sum.
        found.unwrap_or_default()
    }

    /// Shuffles the items.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// Random bytes.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.bits() as u8).collect()
    }

    /// A text of `length` parts.
    pub fn text(&mut self, length: usize, parts: &[&str]) -> String {
        (0..length).map(|_| *self.pick(parts)).collect()
    }
}

/// The seeds of a random test: only `RANDOM_SEED`, or `RANDOM_RUNS` seeds from `RANDOM_FIRST`
/// on. The defaults are `runs` and 0.
pub fn seeds(runs: u64) -> Range<u64> {
    if let Some(seed) = variable("RANDOM_SEED") {
        return seed..seed + 1;
    }
    let first = variable("RANDOM_FIRST").unwrap_or(0);
    first..first + variable("RANDOM_RUNS").unwrap_or(runs)
}

/// Whether `RANDOM_SEED` runs a single seed, so that a test cannot check what its runs cover.
pub fn alone() -> bool {
    variable("RANDOM_SEED").is_some()
}

/// The seed of a test that uses only one: `RANDOM_SEED`, or this default. It is printed.
#[allow(clippy::print_stderr, reason = "a random test prints its seed")]
pub fn seed(default: u64) -> u64 {
    let seed = variable("RANDOM_SEED").unwrap_or(default);
    eprintln!("RANDOM_SEED={seed}");
    seed
}

/// Runs a check with all [`seeds`].
///
/// # Panics
/// If the check panics. The message contains the seed.
pub fn check(runs: u64, check: impl Fn(&mut Random)) {
    for seed in seeds(runs) {
        let result = catch_unwind(AssertUnwindSafe(|| check(&mut Random::new(seed))));
        assert!(result.is_ok(), "run it alone with RANDOM_SEED={seed}");
    }
}

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("the environment variable {name} must be a number")),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_seed_repeats_its_sequence() {
        let sequence = |mut random: Random| [random.bits(), random.bits(), random.bits()];
        assert_eq!(sequence(Random::new(7)), sequence(Random::new(7)));
        assert_ne!(sequence(Random::new(7)), sequence(Random::new(8)));
        assert_eq!(sequence(Random::of(&[1, 2])), sequence(Random::of(&[1, 2])));
        assert_ne!(sequence(Random::of(&[1, 2])), sequence(Random::of(&[2, 1])));
        assert_ne!(sequence(Random::of(&[1, 2])), sequence(Random::of(&[1, 3])));
        // The first numbers of SplitMix64 with the state 0.
        let expect = [
            0xe220_a839_7b1d_cdaf,
            0x6e78_9e6a_a1b9_65f4,
            0x06c4_5d18_8009_454f,
        ];
        assert_eq!(sequence(Random::new(0)), expect);
    }

    #[test]
    fn numbers_are_within_their_bounds_and_all_of_them_occur() {
        let mut random = Random::new(1);
        let below: BTreeSet<usize> = (0..1000).map(|_| random.below(7)).collect();
        assert!(below.into_iter().eq(0..7));
        let range: BTreeSet<u64> = (0..1000).map(|_| random.range(5..9)).collect();
        assert!(range.into_iter().eq(5..9));
        let picked: BTreeSet<&str> = (0..100).map(|_| *random.pick(&["a", "b"])).collect();
        assert!(picked.into_iter().eq(["a", "b"]));
        let weighted: BTreeSet<usize> = (0..1000).map(|_| random.weighted(&[0, 1, 0, 9])).collect();
        assert!(weighted.into_iter().eq([1, 3]));
        assert!((0..100).all(|_| random.chance(100) && !random.chance(0)));
        let often = (0..10_000).filter(|_| random.chance(30)).count();
        assert!((2_800..3_200).contains(&often), "{often}");
    }

    #[test]
    fn lists_bytes_and_texts_have_the_requested_content() {
        let mut random = Random::new(1);
        let mut list: Vec<usize> = (0..50).collect();
        random.shuffle(&mut list);
        assert!(!list.is_sorted());
        list.sort_unstable();
        assert!(list.into_iter().eq(0..50));
        assert_eq!(random.bytes(20).len(), 20);
        let text = random.text(20, &["a", "bc"]);
        assert_eq!(text.replace("bc", "a"), "a".repeat(20));
    }

    #[test]
    fn a_failing_check_names_its_seed() {
        let failing = || check(50, |random| assert!(!random.chance(10)));
        let message = catch_unwind(failing).unwrap_err();
        let message = message.downcast_ref::<String>().unwrap();
        let seed = message
            .strip_prefix("run it alone with RANDOM_SEED=")
            .unwrap();
        assert!(Random::new(seed.parse().unwrap()).chance(10));
    }
}
