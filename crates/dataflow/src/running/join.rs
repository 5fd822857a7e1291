//! The hard part of `@join`: tuples of documents for which all conditions hold.
//!
//! A change of one document looks up its partners through the indexes of the plan,
//! before the change and after it, and the two sets of tuples are compared. A tuple
//! that is in error keeps what it last put out.

pub(crate) mod plan;
mod search;

use document::{Key, Location, Map, Tally, Value};
use expr::Env;
use smallvec::SmallVec;

use super::join_table::{JoinTable, LocalStatus, Slot};
use super::side::{SideValue, sides_match};
use super::{Batches, Change, HashMap, StepContext, scope};
use crate::apply;
use crate::circuit::meter::Meter;
use crate::failure::Failure;
use crate::origin::Origin;
use crate::pipeline;
use plan::Plan;
use search::TupleSearch;

/// A tuple by the slots of its documents.
type Tuple = SmallVec<[Slot; 4]>;

/// A running inner join.
#[derive(Debug)]
pub(crate) struct HardJoin {
    rule: pipeline::Join,
    at: Location,
    /// The inputs that are joined here, by position in the rule.
    inputs: Vec<usize>,
    /// One for each of `inputs`.
    tables: Vec<JoinTable>,
    plan: Plan,
    /// The compound's keys in order, each with its table.
    keys: Vec<(Key, usize)>,
    failing: HashMap<Tuple, FailingTuple>,
    /// The failing tuples of each (table, slot).
    failing_of: HashMap<(usize, Slot), Vec<Tuple>>,
    step: u32,
}

#[derive(Debug)]
struct FailingTuple {
    held: Option<Value>,
    /// `None` where a document of the tuple fails by itself.
    failure: Option<Failure>,
}

/// A tuple that the indexes gave.
struct Found {
    tuple: Tuple,
    compound: Value,
    failure: Option<Failure>,
}

/// What becomes of a tuple.
enum Status {
    Out,
    True,
    Failed(Option<Failure>),
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

    /// The inputs that are joined here, by position in the rule.
    pub(crate) fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// The documents of each of [`HardJoin::inputs`].
    pub(crate) fn tables(&self) -> &[JoinTable] {
        &self.tables
    }

    /// Takes the changes of each input and gives those of the tuples.
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

    /// The common case, in one search: one document has changed, nothing that decides
    /// about its partners has, and nothing fails. `None` if it is another case.
    fn same_partners(
        &mut self,
        changes: &mut [Vec<Change>],
        cx: &mut StepContext<'_>,
    ) -> Option<Vec<Change>> {
        if !self.failing.is_empty() || !self.plan.keys_decide {
            return None;
        }
        let mut all = changes
            .iter_mut()
            .enumerate()
            .filter(|(_, changes)| !changes.is_empty());
        let (number, changes) = all.next()?;
        if all.next().is_some() {
            return None;
        }
        let [change] = changes.as_mut_slice() else {
            return None;
        };
        let (Some(old), Some(new)) = (&change.old, &change.new) else {
            return None;
        };
        let slot = self.tables[number].find(&change.origin)?;
        if !self.tables[number].replace(slot, new, cx.env) {
            return None;
        }
        let mut found = Vec::new();
        self.enumerate(number, slot, cx.env, cx.meter, &mut found);
        let mut keys = self.keys.iter();
        let (key, _) = keys.find(|(_, table)| *table == number)?.clone();
        let mut changed = Vec::with_capacity(found.len());
        for found in found {
            let before = found.compound.as_map()?.replace(&[(&key, old)]).into();
            let origin = self.origin(&found.tuple);
            if let Some(failure) = found.failure {
                cx.report(&origin, &failure);
                self.fail(&found.tuple, Some(before), Some(failure));
                continue;
            }
            changed.push(Change {
                origin,
                old: Some(before),
                new: Some(found.compound),
            });
        }
        changes.clear();
        Some(changed)
    }

    /// What the tuples of the documents that change have put out so far.
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

    /// Puts the new documents into the tables; errors of single documents show here.
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

    /// All tuples of a document that the keys allow and no condition refuses.
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

    /// The compound document of a tuple, or of the part of it that is known.
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

    /// Matches what was with what is.
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
                // A document of the tuple has changed, so the compound has, unless it
                // comes back to what was held.
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

    /// What becomes of a tuple that had put something out, by evaluating all conditions.
    fn status(&self, tuple: &[Slot], env: &Env) -> Status {
        let mut failed: Option<Option<Failure>> = None;
        for (slot, table) in tuple.iter().zip(&self.tables) {
            let entry = table.entry(*slot);
            if !entry.live || entry.local == LocalStatus::Out {
                return Status::Out;
            }
            if entry.local == LocalStatus::Failed {
                failed = Some(None);
            }
        }
        let compound = self.compound(tuple);
        for &number in &self.plan.pairwise {
            match self.key_status(number, tuple) {
                Some(KeyStatus::False) => return Status::Out,
                Some(KeyStatus::Failed) => failed = Some(None),
                Some(KeyStatus::True) => {}
                None => match self.condition(number, &compound, env) {
                    Ok(true) => {}
                    Ok(false) => return Status::Out,
                    Err(failure) => {
                        failed.get_or_insert(Some(failure));
                    }
                },
            }
        }
        match failed {
            Some(failure) => Status::Failed(failure),
            None => self
                .admit(tuple, env)
                .map_or_else(|failure| Status::Failed(Some(failure)), |()| Status::True),
        }
    }

    /// Checks that the compound of a tuple is not larger than it may be.
    fn admit(&self, tuple: &[Slot], env: &Env) -> Result<(), Failure> {
        let mut tally = Tally::new(env.limits.bounds);
        let mut members = self.keys.iter();
        let counted = members.try_for_each(|(key, table)| {
            let document = &self.tables[*table].entry(tuple[*table]).document;
            tally.member(key, document)
        });
        let admitted = counted.and_then(|()| tally.finish());
        admitted.map(drop).map_err(|problem| Failure::Bounds {
            problem,
            at: self.at.clone(),
        })
    }

    fn condition(&self, number: usize, compound: &Value, env: &Env) -> Result<bool, Failure> {
        let conjunct = &self.rule.conjuncts[number];
        apply::condition(
            &conjunct.expr,
            &conjunct.at,
            &scope(env, compound, &env.now, 0),
        )
    }

    /// Whether the sides of a keyed conjunct match; `None` where it must be evaluated.
    fn key_status(&self, number: usize, tuple: &[Slot]) -> Option<KeyStatus> {
        let key = self.rule.conjuncts[number].key.as_ref()?;
        let [first, second] = self.plan.sides[number]?;
        let value =
            |(table, side): (usize, usize)| &self.tables[table].entry(tuple[table]).sides[side];
        let (first, second) = (value(first), value(second));
        if matches!(first, SideValue::Failed) || matches!(second, SideValue::Failed) {
            return Some(KeyStatus::Failed);
        }
        sides_match(key, first, second).map(|matches| {
            if matches {
                KeyStatus::True
            } else {
                KeyStatus::False
            }
        })
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

    /// The current document of a tuple.
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

    /// All standing errors.
    pub(crate) fn errors(&self, report: &mut dyn FnMut(&Origin, &Failure)) {
        for table in &self.tables {
            for slot in table.slots() {
                let entry = table.entry(slot);
                if let Some(failure) = &entry.failure {
                    report(&entry.origin, failure);
                }
            }
        }
        // The caller sorts.
        for (tuple, failing) in &self.failing {
            if let Some(failure) = &failing.failure {
                report(&self.origin(tuple), failure);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.failing.is_empty()
            && self.failing_of.is_empty()
            && self.tables.iter().all(JoinTable::is_empty)
    }
}

#[derive(Clone, Copy)]
enum KeyStatus {
    True,
    False,
    Failed,
}
