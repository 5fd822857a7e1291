//! Compares the incremental engine with the from-scratch evaluator, on random pipelines, objects
//! and histories.
//!
//! `RANDOM_RUNS` sets the number of seeds, `RANDOM_FIRST` the first of them, and `RANDOM_SEED`
//! runs a single one. A case that fails is printed shrunk and in full.

// The counts of the runs are printed for the reader.
#![allow(clippy::print_stdout)]

mod random;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use random::{Case, Coverage, check, shrink};

/// The number of seeds of a normal test run.
const RUNS: u64 = 12_000;

/// From this number of seeds on, the runs must have reached all of [`REACHED`].
const ENOUGH: u64 = 5_000;

/// The situations that must have occurred.
const REACHED: [&str; 68] = [
    "batches without a failure so far",
    "batches with nothing to do",
    "deadlines",
    "ticks",
    "held results over time",
    "held results",
    "rows without a soft partner",
    "target object added",
    "target object deleted",
    "target object updated",
    "target object from another origin",
    "runs with branches",
    "branch of 1 inputs",
    "branch of 2 inputs",
    "branch of 3 inputs",
    "stage @join",
    "stage @select",
    "stage @project",
    "stage @unwind",
    "stage @gather",
    "stage @groupBy",
    "stage @distinct",
    "stage @patch",
    "stages @join @gather",
    "stages @join @unwind",
    "stages @join @groupBy",
    "stages @unwind @unwind",
    "stages @unwind @gather",
    "stages @gather @unwind",
    "stages @gather @gather",
    "stages @groupBy @groupBy",
    "stages @join @patch",
    "stages @unwind @patch",
    "stages @patch @gather",
    "error at @join",
    "error at @select",
    "error at @project",
    "error at @unwind",
    "error at @gather",
    "error at @groupBy",
    "error at @patch",
    "error at output",
    "error conflict",
    "error type",
    "error text",
    "error incomparable",
    "error arity",
    "error selector",
    "error empty-range",
    "error no-list",
    "error limit",
    "error too-deep",
    "error too-large",
    "out of bounds at @join",
    "out of bounds at @gather",
    "out of bounds at @groupBy",
    "out of bounds at @patch",
    "error cel-type",
    "error patch-no-match",
    "error patch-no-place",
    "error patch-not-found",
    "error patch-test-failed",
    "error unwind-without-name",
    "error output-no-metadata",
    "error output-no-name",
    "error output-bad-namespace",
    "error outside-namespace",
    "error wrong-scope",
];

/// Runs a case. A panic counts as a failure.
fn outcome(case: &Case) -> Result<Option<Coverage>, String> {
    catch_unwind(AssertUnwindSafe(|| check(case))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panic: {}", text.unwrap_or("without a message")))
    })
}

fn run(seed: u64) -> Result<Coverage, String> {
    let case = Case::generate(seed);
    match outcome(&case) {
        Ok(Some(coverage)) => Ok(coverage),
        Ok(None) => Err(format!("seed {seed}: the pipeline is refused\n{case}")),
        Err(error) => {
            let small = shrink(&case, |case| outcome(case).is_err());
            let small_error = outcome(&small).err().unwrap_or_default();
            Err(format!(
                "seed {seed}: {error}\n{case}\nmade small: {small_error}\n{small}\nrun it alone with RANDOM_SEED={seed}",
            ))
        }
    }
}

#[test]
fn every_step_gives_what_a_fresh_evaluation_gives() {
    let seeds = seeded::seeds(RUNS);
    let runs = seeds.end - seeds.start;
    let next = AtomicU64::new(seeds.start);
    let coverage = Mutex::new(Coverage::default());
    let failures = Mutex::new(Vec::new());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end || !failures.lock().unwrap().is_empty() {
                return;
            }
            match run(seed) {
                Ok(seen) => coverage.lock().unwrap().add(&seen),
                Err(failure) => failures.lock().unwrap().push(failure),
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    let coverage = coverage.into_inner().unwrap();
    for (what, times) in &coverage.0 {
        println!("{times:>9} {what}");
    }
    println!("{runs} random runs, no mismatch");
    if runs >= ENOUGH {
        let missed: Vec<_> = REACHED
            .iter()
            .filter(|what| !coverage.0.contains_key(**what))
            .collect();
        assert!(missed.is_empty(), "never reached: {missed:?}");
    }
}
