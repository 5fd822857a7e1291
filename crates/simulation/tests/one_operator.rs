//! One Operator in random histories with faults, crashes and restarts. At the end of each
//! history the cluster has the state that `render` derives, no object of others was touched,
//! and there are no more writes.
//!
//! `RANDOM_RUNS` sets the number of histories, `RANDOM_SEED` runs a single one, and `SIM_STEPS`
//! only some of its steps.

#![allow(clippy::print_stderr)] // A failing test prints how to repeat it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use simulation::run::{Outcome, simulate, steps};
use simulation::shape::SHAPES;
use simulation::shrink::{chosen, shrink};

/// This many histories take less than a minute on two cores.
const RUNS: u64 = 250;
/// How many lines of a failing history are shown.
const SHOWN: usize = 60;

/// Events that must occur in all histories together. Otherwise the test proves little.
const REQUIRED: &[&str] = &[
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
    "Namespace",
    "StreamingLists",
    "Compact",
    "Cut",
    "Vandalise",
    "DeleteDerived",
];

#[test]
fn every_history_ends_in_the_derived_state() {
    let seeds = seeded::seeds(RUNS);
    if seeded::alone() {
        return one(seeds.start);
    }
    let (next, failed) = (AtomicU64::new(seeds.start), Mutex::new(None));
    let counts = Mutex::new(BTreeMap::new());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::SeqCst);
            if seed >= seeds.end || failed.lock().unwrap().is_some() {
                return;
            }
            let outcome = simulate(seed, &steps(seed));
            if outcome.failure.is_some() {
                failed.lock().unwrap().get_or_insert(seed);
            }
            add(&mut counts.lock().unwrap(), &outcome);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    if let Some(seed) = *failed.lock().unwrap() {
        fail(seed);
    }
    let counts = counts.into_inner().unwrap();
    let runs = seeds.end - seeds.start;
    eprintln!("{runs} histories, {} requests", counts["requests"]);
    if runs >= RUNS {
        happened(&counts);
    }
}

fn add(counts: &mut BTreeMap<String, u64>, outcome: &Outcome) {
    for (what, count) in &outcome.counts {
        *counts.entry(what.clone()).or_default() += count;
    }
}

fn happened(counts: &BTreeMap<String, u64>) {
    let shapes = SHAPES.iter().map(|shape| shape.name);
    for what in REQUIRED.iter().copied().chain(shapes) {
        let count = counts.get(what).copied().unwrap_or(0);
        assert!(count >= 10, "{what} happened {count} times");
    }
}

/// Runs the history of one seed, or some of its steps.
fn one(seed: u64) {
    let all = steps(seed);
    let Ok(text) = std::env::var("SIM_STEPS") else {
        if simulate(seed, &all).failure.is_some() {
            fail(seed);
        }
        return;
    };
    let kept = text.split(',').filter_map(|at| at.trim().parse().ok());
    let kept: Vec<usize> = kept.collect();
    show(seed, &kept, &simulate(seed, &chosen(&all, &kept)));
}

/// Shows the shortest history that fails.
fn fail(seed: u64) {
    let all = steps(seed);
    let kept = if std::env::var("SIM_NO_SHRINK").is_ok() {
        (0..all.len()).collect()
    } else {
        shrink(seed, &all)
    };
    show(seed, &kept, &simulate(seed, &chosen(&all, &kept)));
}

fn show(seed: u64, kept: &[usize], outcome: &Outcome) {
    let Some(failure) = &outcome.failure else {
        return;
    };
    let steps: Vec<String> = kept.iter().map(ToString::to_string).collect();
    let skipped = outcome.last.len().saturating_sub(SHOWN);
    panic!(
        "{}\n\n{failure}\n\nRANDOM_SEED={seed} SIM_STEPS={} cargo test -p simulation\n",
        outcome.last[skipped..].join("\n"),
        steps.join(",")
    );
}

#[test]
fn a_seed_determines_the_history() {
    for seed in 0..SHAPES.len() as u64 {
        let [first, second] = [(); 2].map(|()| simulate(seed, &steps(seed)));
        assert_eq!(first.hash, second.hash, "seed {seed}");
        assert_eq!(first.last, second.last, "seed {seed}");
    }
}
