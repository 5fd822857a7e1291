//! One Operator in random histories with faults, crashes and restarts. At the end of each
//! history the cluster has the state that `render` derives, no object of others was touched,
//! and there are no more writes. [`simulation::histories`] explains how to repeat a failure.

use seeded::memory::Counting;
use simulation::histories::Histories;
use simulation::run::{simulate, steps};
use simulation::shape::SHAPES;
use simulation::steps::Step;

/// The simulation bounds the memory of each history.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// This many histories take about two minutes on two cores.
const RUNS: u64 = 2_900;

const HISTORIES: Histories<Step> = Histories {
    test: "one_operator",
    steps,
    simulate,
    required: REQUIRED,
};

const REQUIRED: &[&str] = &["Namespace"];

#[test]
fn every_history_ends_in_the_derived_state() {
    HISTORIES.check(RUNS, SHAPES.iter().map(|shape| shape.name));
}

#[test]
fn a_seed_determines_the_history() {
    HISTORIES.check_determinism(0..SHAPES.len() as u64);
}

/// While the server lists Items again, one leaves a zone before another joins it. The zone is derived
/// before and after the list, and must stay.
#[test]
fn a_source_that_is_listed_again_changes_at_once() {
    use Step::{Compact, CrashWithWrite, Faults, PutItem, Wait};
    let steps = [
        PutItem(11_349_769_602_597_847_765),
        PutItem(10_418_658_192_663_792_525),
        PutItem(6_557_997_655_431_025_359),
        CrashWithWrite,
        PutItem(16_460_098_363_627_242_259),
        Wait(20_000),
        PutItem(7_547_984_899_642_731_268),
        Faults(60),
        Wait(5),
        PutItem(2_575_126_314_351_037_430),
        Compact,
        Faults(0),
        PutItem(1_404_880_299_077_642_161),
        Wait(20_000),
        Step::Check,
    ];
    let outcome = simulate(3_894, &steps);
    assert_eq!(outcome.failure, None, "{}", outcome.last.join("\n"));
}
