//! The search for the tuples of one document.
//!
//! It is a depth-first search along the probes of the plan: each probe adds a document of one
//! more table to the tuple, and candidates for which a conjunct is false are dropped early.

use expr::Env;
use smallvec::SmallVec;

use super::plan::Probe;
use super::status::KeyStatus;
use super::{Found, HardJoin, Tuple};
use crate::circuit::meter::Meter;
use crate::failure::Failure;
use crate::running::join_table::{LocalStatus, Slot};
use crate::running::side::{SideValue, key_hashes};

/// The search for all tuples of a document in the table `start`.
pub(super) struct TupleSearch<'a> {
    pub(super) join: &'a HardJoin,
    pub(super) start: usize,
    pub(super) env: &'a Env,
    pub(super) meter: &'a mut Meter,
    pub(super) found: &'a mut Vec<Found>,
}

/// The failure of a conjunct, with its position.
type NumberedFailure = (usize, Failure);

/// The failure of the earlier conjunct. The order in which failures are found does not matter.
fn first(one: Option<NumberedFailure>, other: NumberedFailure) -> NumberedFailure {
    match one {
        Some(one) if one.0 < other.0 => one,
        _ => other,
    }
}

impl TupleSearch<'_> {
    pub(super) fn extend(
        &mut self,
        tuple: &mut Tuple,
        depth: usize,
        failure: Option<NumberedFailure>,
    ) {
        let join = self.join;
        let Some(probe) = join.plan.probes[self.start].get(depth) else {
            self.finish(tuple, failure);
            return;
        };
        match &probe.index {
            Some(index) => {
                let sides: SmallVec<[&SideValue; 4]> = index
                    .from
                    .iter()
                    .map(|(table, side)| &join.tables[*table].entry(tuple[*table]).sides[*side])
                    .collect();
                for hash in key_hashes(&sides) {
                    for &slot in join.tables[probe.table].lookup(index.number, hash) {
                        if !self.meter.goes_on() {
                            break;
                        }
                        self.candidate(tuple, depth, probe, slot, failure.as_ref());
                    }
                }
            }
            None => {
                for slot in join.tables[probe.table].slots() {
                    if !self.meter.goes_on() {
                        break;
                    }
                    self.candidate(tuple, depth, probe, slot, failure.as_ref());
                }
            }
        }
        tuple[probe.table] = Slot::MAX;
    }

    fn candidate(
        &mut self,
        tuple: &mut Tuple,
        depth: usize,
        probe: &Probe,
        slot: Slot,
        failure: Option<&NumberedFailure>,
    ) {
        let join = self.join;
        if !self.meter.candidate(self.env) {
            return;
        }
        let entry = join.tables[probe.table].entry(slot);
        if entry.local != LocalStatus::Pass {
            return;
        }
        // If several documents of a tuple change, the tuple is found from the first of them.
        if entry.changed == join.step && probe.table < self.start {
            return;
        }
        tuple[probe.table] = slot;
        let mut failure = failure.cloned();
        for &number in &probe.keys {
            match join.key_status(number, tuple) {
                Some(KeyStatus::True) | None => {}
                Some(KeyStatus::False | KeyStatus::Failed) => return,
            }
        }
        if !probe.filters.is_empty() {
            let compound = join.compound(tuple);
            for &number in &probe.filters {
                match join.condition(number, &compound, self.env) {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(error) => failure = Some(first(failure, (number, error))),
                }
            }
        }
        self.extend(tuple, depth + 1, failure);
        tuple[probe.table] = slot;
    }

    fn finish(&mut self, tuple: &Tuple, failure: Option<NumberedFailure>) {
        let join = self.join;
        let compound = join.compound(tuple);
        let mut failure = failure;
        for &number in &join.plan.constants {
            match join.condition(number, &compound, self.env) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => failure = Some(first(failure, (number, error))),
            }
        }
        if !self.meter.joined() {
            return;
        }
        if failure.is_none()
            && let Err(error) = join.admit(tuple, self.env)
        {
            failure = Some((join.rule.conjuncts.len(), error));
        }
        self.found.push(Found {
            tuple: tuple.clone(),
            compound,
            failure: failure.map(|(_, failure)| failure),
        });
    }
}
