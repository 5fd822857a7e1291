//! Runs the histories of many seeds, and shows the shortest one that fails.
//!
//! `RANDOM_RUNS` sets the number of seeds, `RANDOM_SEED` runs a single one, and `SIM_STEPS` only
//! some of its steps. `SIM_NO_SHRINK` shows a failing history as it is, `SIM_TRACE` shows more lines,
//! and those of a single history even if it does not fail. With `SIM_KEEP_GOING`, the other seeds run after a failure, and
//! all failing seeds are listed.

#![allow(clippy::print_stderr)] // Tests print how to repeat a failure.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::run::Outcome;
use crate::shrink::{chosen, shrink};

/// How many lines of a failing history are shown.
const SHOWN: usize = 60;
/// How often every required event must happen.
const MIN_COUNT: u64 = 10;

/// Answers, faults and actions that every kind of histories must contain.
const COMMON: &[&str] = &[
    "201",
    "403",
    "404",
    "409",
    "410",
    "422",
    "429",
    "500",
    "503",
    "504",
    "Slow",
    "SlowAnswer",
    "Lost",
    "LostAnswer",
    "Silence",
    "SilentAnswer",
    "Crash",
    "Restart",
    "EditOperator",
    "DeleteOperator",
    "Empty",
    "StreamingLists",
    "Compact",
    "Cut",
    "Vandalise",
    "DeleteDerived",
];

/// A kind of histories.
#[derive(Clone, Copy, Debug)]
pub struct Histories<S: 'static> {
    /// The test that runs them.
    pub test: &'static str,
    /// The steps of a seed.
    pub steps: fn(u64) -> Vec<S>,
    /// Runs the steps of a seed.
    pub simulate: fn(u64, &[S]) -> Outcome,
    /// Events that must occur in all histories together, besides the common ones. Otherwise they
    /// prove little.
    pub required: &'static [&'static str],
}

impl<S: Copy + Debug + Sync> Histories<S> {
    /// Runs this many histories.
    ///
    /// # Panics
    ///
    /// If one of them fails, or if a required event is missing.
    pub fn check(&self, runs: u64, required: impl Iterator<Item = &'static str>) {
        let seeds = seeded::seeds(runs);
        if seeded::alone() {
            return self.one(seeds.start);
        }
        let (next, failed) = (AtomicU64::new(seeds.start), Mutex::new(Vec::new()));
        let counts = Mutex::new(BTreeMap::new());
        let keep_going = std::env::var("SIM_KEEP_GOING").is_ok();
        let work = || {
            loop {
                let seed = next.fetch_add(1, Ordering::SeqCst);
                if seed >= seeds.end || !keep_going && !lock(&failed).is_empty() {
                    return;
                }
                let outcome = (self.simulate)(seed, &(self.steps)(seed));
                if let Some(failure) = &outcome.failure {
                    let first = failure.lines().next().unwrap_or_default();
                    eprintln!("seed {seed}: {first:.200}");
                    lock(&failed).push(seed);
                }
                add(&mut lock(&counts), &outcome);
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
        if let Some(seed) = lock(&failed).first() {
            self.fail(*seed);
        }
        let counts = lock(&counts).clone();
        let ran = seeds.end - seeds.start;
        let requests = counts.get("requests").copied().unwrap_or_default();
        eprintln!("{ran} histories, {requests} requests");
        if ran >= runs {
            let own = COMMON.iter().chain(self.required).copied();
            happened(&counts, own.chain(required));
        }
    }

    /// Runs the history of one seed, or some of its steps.
    fn one(&self, seed: u64) {
        let all = (self.steps)(seed);
        let Ok(text) = std::env::var("SIM_STEPS") else {
            let outcome = (self.simulate)(seed, &all);
            if outcome.failure.is_some() {
                self.fail(seed);
            } else if std::env::var("SIM_TRACE").is_ok() {
                eprintln!("{all:?}\n{}", outcome.last.join("\n"));
            }
            return;
        };
        let kept = text.split(',').filter_map(|at| at.trim().parse().ok());
        self.show(seed, &kept.collect::<Vec<usize>>());
    }

    /// Shows the shortest history that fails.
    fn fail(&self, seed: u64) {
        let all = (self.steps)(seed);
        let kept = if std::env::var("SIM_NO_SHRINK").is_ok() {
            (0..all.len()).collect()
        } else {
            shrink(&all, |steps| (self.simulate)(seed, steps).failure.is_some())
        };
        self.show(seed, &kept);
    }

    fn show(&self, seed: u64, kept: &[usize]) {
        let steps = chosen(&(self.steps)(seed), kept);
        let outcome = (self.simulate)(seed, &steps);
        let Some(failure) = &outcome.failure else {
            if std::env::var("SIM_TRACE").is_ok() {
                eprintln!("{steps:?}\n{}", outcome.last.join("\n"));
            }
            return;
        };
        let positions: Vec<String> = kept.iter().map(ToString::to_string).collect();
        let shown = std::env::var("SIM_TRACE").map_or(SHOWN, |_| usize::MAX);
        let skipped = outcome.last.len().saturating_sub(shown);
        panic!(
            "{}\n\n{steps:?}\n\n{failure}\n\n\
             RANDOM_SEED={seed} SIM_STEPS={} cargo test -p simulation --test {}\n",
            outcome.last[skipped..].join("\n"),
            positions.join(","),
            self.test,
        );
    }

    /// Checks that the same seed gives the same history, down to the last request.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn check_determinism(&self, seeds: std::ops::Range<u64>) {
        for seed in seeds {
            let [first, second] = [(); 2].map(|()| (self.simulate)(seed, &(self.steps)(seed)));
            assert_eq!(first.last, second.last, "seed {seed}");
            assert_eq!(first.hash, second.hash, "seed {seed}");
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn add(counts: &mut BTreeMap<String, u64>, outcome: &Outcome) {
    for (what, count) in &outcome.counts {
        *counts.entry(what.clone()).or_default() += count;
    }
}

fn happened(counts: &BTreeMap<String, u64>, required: impl Iterator<Item = &'static str>) {
    for what in required {
        let count = counts.get(what).copied().unwrap_or(0);
        assert!(count >= MIN_COUNT, "{what} happened {count} times");
    }
}
