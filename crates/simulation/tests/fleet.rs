//! Several Operators with views between them, on one or two replicas, in random histories. At
//! the end of each history the cluster has the state that the offline runner derives, and stays
//! so. [`simulation::fleet`] has the invariants that hold in between, and
//! [`simulation::histories`] explains how to repeat a failure.

use seeded::memory::Counting;
use simulation::fleet::member::FLEETS;
use simulation::fleet::{FleetStep as Step, Source, simulate, steps};
use simulation::histories::Histories;

/// The simulation bounds the memory of each history, and compares that of processes.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// This many histories take about three minutes on two cores.
const RUNS: u64 = 2_000;

const HISTORIES: Histories<Step> = Histories {
    test: "fleet",
    steps,
    simulate,
    required: REQUIRED,
};

const REQUIRED: &[&str] = &[
    "Partition",
    "ServerRestart",
    "Refuse",
    "Deny",
    "ClockStep",
    "Spoil",
    "Lose",
    "RenameOperator",
    "Restore",
];

#[test]
fn every_history_ends_in_the_derived_state() {
    HISTORIES.check(RUNS, FLEETS.iter().map(|(name, _)| *name));
}

#[test]
fn a_seed_determines_the_history() {
    HISTORIES.check_determinism(0..2 * FLEETS.len() as u64);
}

/// The fields and the label that the Operator applied under its old name are those of a field manager
/// that nobody runs any more.
#[test]
fn an_operator_with_another_name_takes_over_what_it_applied() {
    let steps = [
        Step::Put(Source::Item, 5_127_483_714_359_444_684),
        Step::Wait(2_000),
        Step::RenameOperator(2),
        Step::Check,
    ];
    let outcome = simulate(674, &steps);
    assert_eq!(outcome.failure, None, "{}", outcome.last.join("\n"));
}
