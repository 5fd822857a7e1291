//! The hard part of `@join`: all tuples of documents for which the condition holds.
//!
//! The number of possible tuples is the product of the sizes of the inputs. A change of one
//! document must find its tuples without visiting the others. So the condition is split into
//! conjuncts, and each is used where it is cheapest:
//!
//! ```text
//! @join: {"@and": [
//!   {"@eq": ["$.Pod.ready", true]},                        reads Pod alone: checked when a Pod
//!                                                          is stored
//!   {"@eq": ["$.Pod.spec.node", "$.Node.metadata.name"]},  compares two inputs: a hash index
//!   {"@gt": ["$.Node.cpu", "$.Pod.cpu"]}]}                 anything else: checked on the
//!                                                          candidates that the index finds
//! ```
//!
//! The documents of an input are in a [`JoinTable`] with its indexes. The [`Plan`] says, for a
//! change in each table, in which order to visit the others and through which index.
//!
//! A step compares the tuples of the changed documents before and after the change:
//!
//! ```text
//! before      find the tuples of the documents that change, in the old tables
//! apply       store the new documents
//! enumerate   find the tuples of the changed documents, in the new tables
//! compare     in both: an update; only after: an insert; only before: see below
//! ```
//!
//! If several documents of a tuple change in one step, the tuple is found from the first of them
//! only.
//!
//! # Errors
//!
//! False wins over error, in any order: if one conjunct is false, the tuple is out, even if
//! another one fails. If none is false and one fails, the tuple is in error, and its last output
//! is held. An index cannot see the difference, because a key that fails has no hash. Therefore
//! a tuple that is not found any more is judged by all of its conjuncts together
//! ([`HardJoin::status`]).

pub(crate) mod plan;
mod search;
mod status;
mod update;

use document::{Key, Location, Map, Value};
use expr::Env;
use smallvec::SmallVec;

use super::join_table::{JoinTable, LocalStatus, Slot};
use super::{Batches, Change, HashMap, StepContext};
use crate::circuit::meter::Meter;
use crate::failure::Failure;
use crate::origin::Origin;
use crate::pipeline;
use plan::Plan;
use search::TupleSearch;
use status::Status;

/// A tuple by the slots of its documents.
type Tuple = SmallVec<[Slot; 4]>;

/// A running inner join.
#[derive(Debug)]
pub(crate) struct HardJoin {
    rule: pipeline::Join,
    at: Location,
    /// The hard inputs, by position in the rule.
    inputs: Vec<usize>,
    /// One for each of `inputs`.
    tables: Vec<JoinTable>,
    plan: Plan,
    /// The keys of the joined document in order, each with its table.
    keys: Vec<(Key, usize)>,
    failing: HashMap<Tuple, FailingTuple>,
    /// The failing tuples of each (table, slot).
    failing_of: HashMap<(usize, Slot), Vec<Tuple>>,
    step: u32,
}

#[derive(Debug)]
struct FailingTuple {
    held: Option<Value>,
    /// `None` if a document of the tuple fails by itself: that error is reported for the document.
    failure: Option<Failure>,
}

/// A tuple that the search found.
struct Found {
    tuple: Tuple,
    compound: Value,
    failure: Option<Failure>,
}

impl HardJoin {
    pub(crate) fn new(rule: &pipeline::Join, at: &Location) -> Self {
        let inputs: Vec<usize> = rule.hard().iter().collect();
        let mut tables: Vec<JoinTable> = inputs
            .iter()
            .map(|input| JoinTable::new(rule, *input))
            .collect();
        let plan = Plan::new(rule, &inputs, &mut tables);
        let mut keys: Vec<(Key, usize)> = inputs
            .iter()
            .enumerate()
            .map(|(table, input)| (Key::new(&rule.inputs[*input]), table))
            .collect();
        keys.sort();
        Self {
            rule: rule.clone(),
            at: at.clone(),
            inputs,
            tables,
            plan,
            keys,
            failing: HashMap::default(),
            failing_of: HashMap::default(),
            step: 0,
        }
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The hard inputs, by position in the rule.
    pub(crate) fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// The documents of each of [`HardJoin::inputs`].
    pub(crate) fn tables(&self) -> &[JoinTable] {
        &self.tables
    }

    /// Applies the changes of each input. Returns the changes of the tuples.
    pub(crate) fn step(&mut self, mut changes: Batches, cx: &mut StepContext<'_>) -> Vec<Change> {
        self.step = self.step.wrapping_add(1);
        if let Some(out) = self.same_partners(&mut changes, cx) {
            return out;
        }
        let before = self.before(&changes, cx);
        let touched = self.apply(&mut changes, cx);
        let mut after = Vec::new();
        for (table, slot) in touched {
            if cx.meter.goes_on() && self.tables[table].entry(slot).live {
                self.enumerate(table, slot, cx.env, cx.meter, &mut after);
            }
        }
        let out = self.compare(before, after, cx);
        self.tables.iter_mut().for_each(JoinTable::sweep);
        out
    }

    /// The tuples of the documents that change, with their outputs before the step.
    fn before(
        &mut self,
        changes: &[Vec<Change>],
        cx: &mut StepContext<'_>,
    ) -> Vec<(Tuple, Option<Value>)> {
        let mut slots = Vec::new();
        for (table, changes) in changes.iter().enumerate() {
            for change in changes.iter().filter(|change| change.old.is_some()) {
                if let Some(slot) = self.tables[table].find(&change.origin) {
                    self.tables[table].entries[slot as usize].changed = self.step;
                    slots.push((table, slot));
                }
            }
        }
        let mut before = Vec::new();
        let mut found = Vec::new();
        for (table, slot) in slots {
            if !cx.goes_on() {
                break;
            }
            self.enumerate(table, slot, cx.env, cx.meter, &mut found);
            if let Some(tuples) = self.failing_of.get(&(table, slot)) {
                for tuple in tuples {
                    let held = self
                        .failing
                        .get(tuple)
                        .and_then(|failing| failing.held.clone());
                    before.push((tuple.clone(), held));
                }
            }
        }
        let good = found.into_iter().filter(|found| found.failure.is_none());
        before.extend(good.map(|found| (found.tuple, Some(found.compound))));
        before.sort_by(|a, b| a.0.cmp(&b.0));
        before.dedup_by(|a, b| a.0 == b.0);
        before
    }

    /// Stores the new documents in the tables, and reports the errors of single documents.
    /// Returns the documents that are new or changed.
    fn apply(
        &mut self,
        changes: &mut [Vec<Change>],
        cx: &mut StepContext<'_>,
    ) -> Vec<(usize, Slot)> {
        let mut touched = Vec::new();
        for (number, changes) in changes.iter_mut().enumerate() {
            let table = &mut self.tables[number];
            for change in changes.drain(..) {
                if !cx.goes_on() {
                    break;
                }
                match change.new {
                    Some(document) => {
                        let slot = table.insert(&change.origin, document, self.step, cx.env);
                        if let Some(failure) = &table.entry(slot).failure {
                            cx.report(&change.origin, failure);
                        }
                        touched.push((number, slot));
                    }
                    None => {
                        if let Some(slot) = table.find(&change.origin) {
                            table.remove(slot);
                        }
                    }
                }
            }
        }
        touched
    }

    /// Finds all tuples of a document for which no conjunct is false.
    fn enumerate(
        &self,
        table: usize,
        slot: Slot,
        env: &Env,
        meter: &mut Meter,
        found: &mut Vec<Found>,
    ) {
        if self.tables[table].entry(slot).local != LocalStatus::Pass {
            return;
        }
        let mut tuple: Tuple = smallvec::smallvec![Slot::MAX; self.tables.len()];
        tuple[table] = slot;
        let mut search = TupleSearch {
            join: self,
            start: table,
            env,
            meter,
            found,
        };
        search.extend(&mut tuple, 0, None);
    }

    /// The joined document of a tuple. Inputs without a slot are left out.
    fn compound(&self, tuple: &[Slot]) -> Value {
        let known = |(_, table): &&(Key, usize)| tuple[*table] != Slot::MAX;
        let entries: SmallVec<[(Key, Value); 4]> = self
            .keys
            .iter()
            .filter(known)
            .map(|(key, table)| {
                (
                    key.clone(),
                    self.tables[*table].entry(tuple[*table]).document.clone(),
                )
            })
            .collect();
        Map::from_sorted_iter(entries.into_iter()).into()
    }

    fn origin(&self, tuple: &[Slot]) -> Origin {
        Origin::concat(
            tuple
                .iter()
                .zip(&self.tables)
                .map(|(slot, table)| &table.entry(*slot).origin),
        )
    }

    /// Compares the tuples before and after the step.
    fn compare(
        &mut self,
        mut before: Vec<(Tuple, Option<Value>)>,
        after: Vec<Found>,
        cx: &mut StepContext<'_>,
    ) -> Vec<Change> {
        let mut out = Vec::with_capacity(after.len().max(before.len()));
        let mut seen = vec![false; before.len()];
        for found in after {
            if !cx.goes_on() {
                break;
            }
            let old = match before.binary_search_by(|(tuple, _)| tuple.cmp(&found.tuple)) {
                Ok(at) => {
                    seen[at] = true;
                    before[at].1.take()
                }
                Err(_) => None,
            };
            let origin = self.origin(&found.tuple);
            let held = !self.failing.is_empty() && self.failing.contains_key(&found.tuple);
            if let Some(failure) = found.failure {
                cx.report(&origin, &failure);
                self.fail(&found.tuple, old, Some(failure));
            } else {
                self.recover(&found.tuple);
                // A document of the tuple has changed, so the joined document differs, unless
                // it equals the held one.
                let new = Some(found.compound);
                if !held || old != new {
                    out.push(Change { origin, old, new });
                }
            }
        }
        for ((tuple, old), seen) in before.into_iter().zip(seen) {
            if seen || !cx.goes_on() {
                continue;
            }
            match self.status(&tuple, cx.env) {
                Status::Out => {
                    self.recover(&tuple);
                    out.extend(Change::new(self.origin(&tuple), old, None));
                }
                Status::True => {
                    self.recover(&tuple);
                    let compound = self.compound(&tuple);
                    out.extend(Change::new(self.origin(&tuple), old, Some(compound)));
                }
                Status::Failed(failure) => self.fail(&tuple, old, failure),
            }
        }
        out
    }

    fn fail(&mut self, tuple: &Tuple, held: Option<Value>, failure: Option<Failure>) {
        if held.is_none() && failure.is_none() {
            self.recover(tuple);
            return;
        }
        let known = self
            .failing
            .insert(tuple.clone(), FailingTuple { held, failure });
        if known.is_none() {
            for (table, slot) in tuple.iter().enumerate() {
                self.failing_of
                    .entry((table, *slot))
                    .or_default()
                    .push(tuple.clone());
            }
        }
    }

    fn recover(&mut self, tuple: &Tuple) {
        if self.failing.is_empty() || self.failing.remove(tuple).is_none() {
            return;
        }
        for (table, slot) in tuple.iter().enumerate() {
            if let Some(tuples) = self.failing_of.get_mut(&(table, *slot)) {
                tuples.retain(|other| other != tuple);
                if tuples.is_empty() {
                    self.failing_of.remove(&(table, *slot));
                }
            }
        }
    }

    /// The current joined document of an origin.
    pub(crate) fn current(&self, origin: &Origin, env: &Env) -> Option<Value> {
        let mut rest = origin.components();
        let mut tuple = Tuple::new();
        for table in &self.tables {
            let (slot, used) = (1..=rest.len())
                .find_map(|n| Some((table.find(&Origin::of_slice(&rest[..n]))?, n)))?;
            tuple.push(slot);
            rest = &rest[used..];
        }
        if let Some(failing) = self.failing.get(&tuple) {
            return failing.held.clone();
        }
        matches!(self.status(&tuple, env), Status::True).then(|| self.compound(&tuple))
    }

    /// All current errors, in any order.
    pub(crate) fn errors(&self, report: &mut dyn FnMut(&Origin, &Failure)) {
        for table in &self.tables {
            for slot in table.slots() {
                let entry = table.entry(slot);
                if let Some(failure) = &entry.failure {
                    report(&entry.origin, failure);
                }
            }
        }
        for (tuple, failing) in &self.failing {
            if let Some(failure) = &failing.failure {
                report(&self.origin(tuple), failure);
            }
        }
    }

    /// Whether a document or a tuple fails.
    pub(crate) fn fails(&self) -> bool {
        !self.failing.is_empty() || self.tables.iter().any(JoinTable::fails)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.failing.is_empty()
            && self.failing_of.is_empty()
            && self.tables.iter().all(JoinTable::is_empty)
    }
}
