//! One Operator in random histories with faults, crashes and restarts. At the end of each
//! history the cluster has the state that `render` derives, no object of others was touched,
//! and there are no more writes. [`simulation::histories`] explains how to repeat a failure.

use simulation::histories::Histories;
use simulation::run::{simulate, steps};
use simulation::shape::SHAPES;
use simulation::steps::Step;

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
