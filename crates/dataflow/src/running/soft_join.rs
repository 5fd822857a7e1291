//! The soft part of `@join`: each row is joined with one more input, or with null where
//! there is no partner.
//!
//! The rows remember what they put out: a row has few partners, and whether null stands
//! in for them hangs on all of them together.

mod joined;
mod pairs;
mod rows;

use document::{Key, Location, Value};
use smallvec::SmallVec;

use super::join_table::{JoinTable, LocalStatus, Slot};
use super::side::{SideValue, indexable, key_hashes, roles};
use super::{Change, HashMap, StepContext, sort};
use crate::failure::Failure;
use crate::origin::{Component, Origin};
use crate::pipeline::{self, SourceSet};
pub(crate) use joined::Joined;

/// A running left join with one soft input.
#[derive(Debug)]
pub(crate) struct SoftJoin {
    rule: pipeline::Join,
    at: Location,
    /// The soft input, by position in the rule.
    pub(crate) input: usize,
    name: Key,
    partners: JoinTable,
    /// The keyed conjuncts between the rows and the input.
    keys: Vec<SoftKey>,
    /// The other conjuncts that are checked here.
    filters: Vec<usize>,
    /// The index of `partners` over all that can be looked up, and which of `keys`.
    index: Option<(usize, Vec<usize>)>,
    rows: HashMap<Origin, Row>,
    /// The rows under the hash of their key values; sorted when they are read.
    rows_by_key: HashMap<u64, Vec<Origin>>,
    /// The rows that have a failing pair with a partner.
    failing_with: HashMap<Slot, Vec<Origin>>,
    /// Partners that fail by themselves: any row might be theirs.
    failed_partners: Vec<Slot>,
}

#[derive(Debug)]
struct SoftKey {
    conjunct: usize,
    /// The side of the partner.
    side: usize,
    /// Whether the row's side is the first of the conjunct.
    row_first: bool,
    /// The input that the row's side reads.
    row_input: usize,
}

#[derive(Debug)]
struct Row {
    document: Value,
    /// Where the soft input's components go in the origin: origins are in the order of
    /// the inputs.
    cut: usize,
    /// One for each of `keys`.
    sides: Vec<SideValue>,
    /// The documents of the row that fail by themselves, with their origins.
    failures: Vec<(Origin, Failure)>,
    /// What is put out, by partner.
    outputs: Vec<(Option<Slot>, Origin, Value)>,
    /// Pairs in error.
    failing: Vec<(Slot, Option<Failure>)>,
}

impl SoftJoin {
    /// `joined` are the inputs that the rows have already.
    pub(crate) fn new(
        rule: &pipeline::Join,
        at: &Location,
        input: usize,
        joined: SourceSet,
    ) -> Self {
        let mut partners = JoinTable::new(rule, input);
        let reached = joined.union(SourceSet::of(input));
        let mine = |number: &usize| {
            let reads = rule.conjuncts[*number].reads;
            reads.has(input) && reads.only().is_none() && reads.within(reached)
        };
        let numbers: Vec<usize> = (0..rule.conjuncts.len()).filter(mine).collect();
        let keys: Vec<SoftKey> = numbers
            .iter()
            .filter_map(|number| {
                let [(first, _), (second, _)] = roles(rule.conjuncts[*number].key.as_ref()?);
                let row_first = second.input == input;
                Some(SoftKey {
                    conjunct: *number,
                    side: partners.side(*number)?,
                    row_first,
                    row_input: if row_first { first.input } else { second.input },
                })
            })
            .collect();
        let filters = numbers.iter().copied().filter(|number| {
            let key = rule.conjuncts[*number].key.as_ref();
            key.is_none_or(|key| matches!(key, pipeline::JoinKey::Selector { .. }))
        });
        let filters = filters.collect();
        let index = index(rule, &keys, &mut partners);
        Self {
            rule: rule.clone(),
            at: at.clone(),
            input,
            name: Key::new(&rule.inputs[input]),
            partners,
            keys,
            filters,
            index,
            rows: HashMap::default(),
            rows_by_key: HashMap::default(),
            failing_with: HashMap::default(),
            failed_partners: Vec::new(),
        }
    }

    /// The documents of the soft input.
    pub(crate) fn table(&self) -> &JoinTable {
        &self.partners
    }

    /// The conjuncts that are looked up.
    pub(crate) fn indexed(&self) -> Vec<usize> {
        let positions = self.index.as_ref().map_or(&[][..], |(_, keys)| keys);
        positions
            .iter()
            .map(|key| self.keys[*key].conjunct)
            .collect()
    }

    /// The conjuncts that are checked on each candidate.
    pub(crate) fn checked(&self) -> Vec<usize> {
        let indexed = self.indexed();
        let keys = self.keys.iter().map(|key| key.conjunct);
        let rest =
            keys.filter(|number| !indexed.contains(number) && !self.filters.contains(number));
        rest.chain(self.filters.iter().copied()).collect()
    }

    /// Takes the changes of the rows and of the soft input.
    pub(crate) fn step(
        &mut self,
        rows: Vec<Change>,
        partners: Vec<Change>,
        joined: &Joined<'_>,
        step: u32,
        cx: &mut StepContext<'_>,
    ) -> Vec<Change> {
        let mut affected: Vec<Origin> = Vec::new();
        let mut everyone = false;
        for change in partners {
            if !cx.goes_on() {
                break;
            }
            everyone |= self.partner(change, step, &mut affected, cx);
        }
        let mut gone = Vec::new();
        for change in rows {
            if !cx.goes_on() {
                break;
            }
            self.row(change, joined, &mut affected, &mut gone, cx);
        }
        if everyone {
            // Sorted below.
            affected.extend(self.rows.keys().cloned());
        }
        sort::by_origin(&mut affected, |origin| origin, cx);
        affected.dedup();
        let mut out = Vec::new();
        for row in gone {
            out.extend(
                row.outputs
                    .into_iter()
                    .filter_map(|(_, origin, value)| Change::new(origin, Some(value), None)),
            );
        }
        for origin in affected {
            if !cx.goes_on() {
                break;
            }
            self.rejoin(&origin, &mut out, cx);
        }
        self.partners.sweep();
        sort::by_origin(&mut out, |change| &change.origin, cx);
        merge(out)
    }

    /// Applies the change of a partner and notes the rows that it may touch. Gives
    /// whether that may be any row.
    fn partner(
        &mut self,
        change: Change,
        step: u32,
        affected: &mut Vec<Origin>,
        cx: &mut StepContext<'_>,
    ) -> bool {
        let mut everyone = self.index.is_none();
        let old = self.partners.find(&change.origin);
        if let Some(slot) = old {
            everyone |= self.failed_partners.contains(&slot);
            self.rows_of(slot, affected);
            affected.extend(self.failing_with.get(&slot).into_iter().flatten().cloned());
        }
        match change.new {
            Some(document) => {
                let slot = self.partners.insert(&change.origin, document, step, cx.env);
                self.rows_of(slot, affected);
                let entry = self.partners.entry(slot);
                if let Some(failure) = &entry.failure {
                    cx.report(&change.origin, failure);
                }
                let fails = entry.local == LocalStatus::Failed
                    || (entry.local == LocalStatus::Pass
                        && self
                            .keys
                            .iter()
                            .any(|key| entry.sides[key.side] == SideValue::Failed));
                self.failed_partners.retain(|other| *other != slot);
                if fails {
                    self.failed_partners.push(slot);
                    everyone = true;
                }
            }
            None => {
                if let Some(slot) = old {
                    self.partners.remove(slot);
                    self.failed_partners.retain(|other| *other != slot);
                }
            }
        }
        everyone
    }

    /// The rows that have the keys of a partner.
    fn rows_of(&self, slot: Slot, affected: &mut Vec<Origin>) {
        let Some((_, keys)) = &self.index else { return };
        let entry = self.partners.entry(slot);
        let sides: SmallVec<[&SideValue; 4]> = keys
            .iter()
            .map(|key| &entry.sides[self.keys[*key].side])
            .collect();
        for hash in key_hashes(&sides) {
            affected.extend(self.rows_by_key.get(&hash).into_iter().flatten().cloned());
        }
    }

    /// The current document of a joined row, by its full origin.
    pub(crate) fn current(&self, origin: &Origin) -> Option<Value> {
        // The row is what is left without the components of the soft input, wherever
        // they stand.
        let components = origin.components();
        let cuts = (0..components.len())
            .flat_map(|from| (from + 1..=components.len()).map(move |to| (from, to)));
        cuts.into_iter().find_map(|(from, to)| {
            let left: SmallVec<[Component; 6]> = components[..from]
                .iter()
                .chain(&components[to..])
                .cloned()
                .collect();
            let row = self.rows.get(&Origin::of_slice(&left))?;
            let found = row.outputs.iter().find(|(_, other, _)| other == origin)?;
            Some(found.2.clone())
        })
    }

    /// All standing errors.
    pub(crate) fn errors(&self, report: &mut dyn FnMut(&Origin, &Failure)) {
        for slot in self.partners.slots() {
            let entry = self.partners.entry(slot);
            if let Some(failure) = &entry.failure {
                report(&entry.origin, failure);
            }
        }
        // The caller sorts.
        for (origin, row) in &self.rows {
            for (document, failure) in &row.failures {
                report(document, failure);
            }
            for (slot, failure) in &row.failing {
                if let Some(failure) = failure {
                    report(&self.pair_origin(origin, row, *slot), failure);
                }
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.partners.is_empty()
            && self.rows.is_empty()
            && self.rows_by_key.is_empty()
            && self.failing_with.is_empty()
    }
}

/// The index that serves the keys, and which of them.
fn index(
    rule: &pipeline::Join,
    keys: &[SoftKey],
    partners: &mut JoinTable,
) -> Option<(usize, Vec<usize>)> {
    let conjuncts = indexable(rule, keys.iter().map(|key| key.conjunct));
    if conjuncts.is_empty() {
        return None;
    }
    let covered = (0..keys.len()).filter(|at| conjuncts.contains(&keys[*at].conjunct));
    Some((partners.index_on(&conjuncts), covered.collect()))
}

/// One change for each origin, of changes that are sorted by origin: a row that went and came in
/// one step is an update.
fn merge(changes: Vec<Change>) -> Vec<Change> {
    let mut merged: Vec<Change> = Vec::with_capacity(changes.len());
    for change in changes {
        match merged.last_mut() {
            Some(last) if last.origin == change.origin => {
                last.old = last.old.take().or(change.old);
                last.new = last.new.take().or(change.new);
            }
            _ => merged.push(change),
        }
    }
    merged.retain(|change| change.old != change.new);
    merged
}
