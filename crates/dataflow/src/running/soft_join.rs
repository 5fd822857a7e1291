//! The soft part of `@join`: a left join with one soft input.
//!
//! Rows are the results of the hard part, or of the soft input before. A row is put out once for
//! every partner that matches, or once with null if there is none:
//!
//! ```text
//! rows        partners       output
//! {A: a1}     b1, b2         {A: a1, B: b1}, {A: a1, B: b2}
//! {A: a2}     none           {A: a2, B: null}
//! ```
//!
//! Whether a row has the null output depends on all of its partners. So a change of a partner
//! affects the row as a whole: the step finds the affected rows by their key hashes, and computes
//! all outputs of these rows again (`pairs.rs`). A row stores its outputs, to compare them with
//! the new ones and to hold them. This is cheap, because a row has few partners.
//!
//! A pair that fails holds its last output. The null output appears only if it is certain that
//! there is no partner: no pair matches, and none fails. While one fails, a null output that
//! exists stays, and none is added. A partner that fails by itself could match any row, so it
//! affects all of them.

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

/// A running left join.
#[derive(Debug)]
pub(crate) struct SoftJoin {
    rule: pipeline::Join,
    at: Location,
    /// The soft input, by position in the rule.
    pub(crate) input: usize,
    name: Key,
    partners: JoinTable,
    /// The keyed conjuncts between rows and partners.
    keys: Vec<SoftKey>,
    /// The conjuncts that are evaluated on each pair.
    filters: Vec<usize>,
    /// The index of `partners`, and the positions in `keys` that it covers.
    index: Option<(usize, Vec<usize>)>,
    rows: HashMap<Origin, Row>,
    /// The rows by the hash of their key values, in any order.
    rows_by_key: HashMap<u64, Vec<Origin>>,
    /// For each partner, the rows with which its pair fails.
    failing_with: HashMap<Slot, Vec<Origin>>,
    /// How many rows fail by themselves.
    failed_rows: usize,
    /// The partners that fail by themselves. They may match any row.
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
    /// The position in the row's origin at which the partner's components are inserted. Origins
    /// are in the order of the inputs.
    cut: usize,
    /// The row's side of each of `keys`.
    sides: Vec<SideValue>,
    /// The failures of the row's own sides, with the origins of the documents that they read.
    failures: Vec<(Origin, Failure)>,
    /// The outputs by partner; `None` for the null output.
    outputs: Vec<(Option<Slot>, Origin, Value)>,
    /// The pairs that fail. A failure is `None` if it is reported for a single document.
    failing: Vec<(Slot, Option<Failure>)>,
}

impl SoftJoin {
    /// Creates the join with `input`; `joined` are the inputs that rows already contain.
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
            failed_rows: 0,
            failed_partners: Vec::new(),
        }
    }

    /// The documents of the soft input.
    pub(crate) fn table(&self) -> &JoinTable {
        &self.partners
    }

    /// The conjuncts that the index covers.
    pub(crate) fn indexed(&self) -> Vec<usize> {
        let positions = self.index.as_ref().map_or(&[][..], |(_, keys)| keys);
        positions
            .iter()
            .map(|key| self.keys[*key].conjunct)
            .collect()
    }

    /// The conjuncts that are checked on each candidate, for `explain`.
    pub(crate) fn checked(&self) -> Vec<usize> {
        let indexed = self.indexed();
        let keys = self.keys.iter().map(|key| key.conjunct);
        let rest =
            keys.filter(|number| !indexed.contains(number) && !self.filters.contains(number));
        rest.chain(self.filters.iter().copied()).collect()
    }

    /// Applies the changes of rows and partners. Returns the changes of the outputs.
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

    /// Applies the change of a partner, and adds the rows that it may affect. Returns whether it
    /// may affect all rows.
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

    /// Adds the rows that have the keys of a partner.
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
        // The origin of the row is this one without the components of the soft input. Their
        // position and number are not known, so all are tried.
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

    /// All current errors, in any order.
    pub(crate) fn errors(&self, report: &mut dyn FnMut(&Origin, &Failure)) {
        for slot in self.partners.slots() {
            let entry = self.partners.entry(slot);
            if let Some(failure) = &entry.failure {
                report(&entry.origin, failure);
            }
        }
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

    /// Whether a row, a partner or a pair of them fails.
    pub(crate) fn fails(&self) -> bool {
        self.failed_rows > 0 || !self.failing_with.is_empty() || self.partners.fails()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.partners.is_empty()
            && self.rows.is_empty()
            && self.rows_by_key.is_empty()
            && self.failing_with.is_empty()
    }
}

/// An index over the keys, and the positions of the keys that it covers.
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

/// Merges the changes of each origin; they are sorted by origin. A row that is removed and added
/// in one step is an update.
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
