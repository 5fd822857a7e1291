//! `@join`, from scratch: tries every tuple of documents.
//!
//! The hard inputs are joined first, then each soft input is left-joined to the rows so far:
//!
//! ```text
//! hard A, B; soft C     rows = {(a, b) | a in A, b in B, the conjuncts on A and B hold}
//!                       rows = {(a, b, c) | …}, or (a, b, null) if no c matches
//! ```
//!
//! A conjunct is used as soon as all inputs that it reads are joined. It is true, false or
//! fails. The failure belongs to a single document if the conjunct, or the side of its key, reads
//! nothing else. Otherwise it belongs to the tuple.

mod facts;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use document::{Key, Location, Map, Value};
use expr::Env;

use super::Documents;
use super::stage::{StageMemory, StageResult};
use crate::apply;
use crate::failure::Failure;
use crate::origin::{Component, Origin};
use crate::pipeline::{Conjunct, Join, SourceSet};
use facts::Facts;

/// Joins all documents of all inputs.
pub(super) fn run(
    join: &Join,
    at: &Location,
    inputs: &[Documents],
    previous: &StageMemory,
    env: &Env,
) -> StageResult {
    let mut joiner = Joiner {
        join,
        at,
        inputs,
        env,
        failures: Failures::new(),
        row_failures: Failures::new(),
        held: 0,
    };
    let nothing = Documents::new();
    let before = |part: usize| previous.rows.get(part).unwrap_or(&nothing);
    let mut rows = joiner.hard(before(0));
    let mut memory = StageMemory::default();
    memory.rows.push(by_origin(&rows));
    let mut joined = join.hard();
    for input in join.soft.iter() {
        let part = memory.rows.len();
        rows = joiner.soft(input, joined, &rows, before(part));
        memory.rows.push(by_origin(&rows));
        joined = joined.union(SourceSet::of(input));
    }
    memory.held = joiner.held;
    let mut failures = joiner.row_failures;
    failures.extend(joiner.failures);
    let failures = failures.into_iter();
    StageResult {
        documents: by_origin(&rows),
        memory,
        failures: failures
            .map(|(origin, (_, failure))| (origin, failure))
            .collect(),
    }
}

fn by_origin(rows: &[Row]) -> Documents {
    rows.iter()
        .map(|row| (row.origin(), row.compound.clone()))
        .collect()
}

/// Documents joined so far.
#[derive(Clone)]
struct Row {
    /// One for each input.
    slots: Vec<RowInput>,
    /// The joined document: the documents by input name, null where there is no partner.
    compound: Value,
}

/// The document of one input in a row.
#[derive(Clone)]
enum RowInput {
    NotJoined,
    Absent,
    Document(Origin),
}

impl Row {
    fn empty(inputs: usize) -> Self {
        Self {
            slots: vec![RowInput::NotJoined; inputs],
            compound: Value::empty_map(),
        }
    }

    /// This row with one more input.
    fn with(&self, join: &Join, input: usize, slot: RowInput, document: Value) -> Self {
        let mut slots = self.slots.clone();
        slots[input] = slot;
        Self {
            slots,
            compound: with_member(&self.compound, &join.inputs[input], document),
        }
    }

    /// The origins of the documents, in the order of the inputs.
    fn origin(&self) -> Origin {
        let absent = Origin::of_slice(&[Component::Absent]);
        let parts = self.slots.iter().filter_map(|slot| match slot {
            RowInput::NotJoined => None,
            RowInput::Absent => Some(&absent),
            RowInput::Document(origin) => Some(origin),
        });
        Origin::concat(parts)
    }
}

fn with_member(compound: &Value, name: &str, document: Value) -> Value {
    let entries = compound.as_map().into_iter().flatten().cloned();
    let entries = entries.chain([(Key::new(name), document)]);
    entries.collect::<Map>().into()
}

/// The failures by origin, each with the position of its conjunct. Of several failures the first
/// conjunct's is kept.
type Failures = BTreeMap<Origin, (usize, Failure)>;

/// A document for which no conjunct is false by itself.
struct Candidate<'a> {
    input: usize,
    origin: &'a Origin,
    document: &'a Value,
    facts: Facts,
}

/// The result of all conjuncts for one tuple.
enum Verdict {
    /// A conjunct is false.
    Out,
    /// None is false, and one fails.
    Failed {
        /// The first failure of the tuple itself; `None` if a single document fails, which is
        /// reported for that document.
        own: Option<(usize, Failure)>,
    },
    /// All are true.
    In,
}

struct Joiner<'a> {
    join: &'a Join,
    at: &'a Location,
    inputs: &'a [Documents],
    env: &'a Env,
    failures: Failures,
    /// Failures on the documents in rows, which may be older versions that are held. They are
    /// reported only if the current version of the document does not fail.
    row_failures: Failures,
    held: usize,
}

impl<'a> Joiner<'a> {
    /// The tuples of the hard inputs.
    fn hard(&mut self, previous: &Documents) -> Vec<Row> {
        let hard = self.join.hard();
        let conjuncts = self.conjuncts(|conjunct| conjunct.reads.within(hard));
        let mut tuples: Vec<(Row, Vec<&Facts>)> = vec![(Row::empty(self.inputs.len()), Vec::new())];
        let candidates: Vec<Vec<Candidate<'_>>> =
            hard.iter().map(|input| self.candidates(input)).collect();
        for of_input in &candidates {
            let mut longer = Vec::new();
            for (row, facts) in &tuples {
                for candidate in of_input {
                    let facts = facts.iter().copied().chain([&candidate.facts]).collect();
                    longer.push((self.pair(row, candidate), facts));
                }
            }
            tuples = longer;
        }
        let mut rows = Vec::new();
        for (row, facts) in tuples {
            match self.verdict(&conjuncts, &facts, &row.compound) {
                Verdict::Out => {}
                Verdict::In => rows.push(row),
                Verdict::Failed { own } => {
                    report(&mut self.failures, row.origin(), own);
                    rows.extend(self.hold(row, previous));
                }
            }
        }
        rows
    }

    /// The rows left-joined with a soft input.
    fn soft(
        &mut self,
        input: usize,
        joined: SourceSet,
        rows: &[Row],
        previous: &Documents,
    ) -> Vec<Row> {
        let known = joined.union(SourceSet::of(input));
        let conjuncts =
            self.conjuncts(|conjunct| conjunct.reads.has(input) && conjunct.reads.within(known));
        let partners = self.candidates(input);
        let mut longer = Vec::new();
        for row in rows {
            let alone = row.with(self.join, input, RowInput::Absent, Value::NULL);
            let facts = self.facts_of_row(row, &alone, &conjuncts);
            let mut partner_found = false;
            let mut failed = !facts.failures().is_empty();
            for partner in &partners {
                let pair = self.pair(row, partner);
                match self.verdict(&conjuncts, &[&facts, &partner.facts], &pair.compound) {
                    Verdict::Out => {}
                    Verdict::In => {
                        partner_found = true;
                        longer.push(pair);
                    }
                    Verdict::Failed { own } => {
                        failed = true;
                        report(&mut self.failures, pair.origin(), own);
                        longer.extend(self.hold(pair, previous));
                    }
                }
            }
            if partner_found {
                continue;
            }
            if failed {
                longer.extend(self.hold(alone, previous));
            } else {
                longer.push(alone);
            }
        }
        longer
    }

    fn conjuncts(&self, used: impl Fn(&Conjunct) -> bool) -> Vec<usize> {
        let all = 0..self.join.conjuncts.len();
        all.filter(|i| used(&self.join.conjuncts[*i])).collect()
    }

    fn pair(&self, row: &Row, partner: &Candidate<'_>) -> Row {
        let slot = RowInput::Document(partner.origin.clone());
        row.with(self.join, partner.input, slot, partner.document.clone())
    }

    /// The documents of an input for which no conjunct is false by itself. Failures are reported
    /// for the document, whether or not it has partners, even if the conjunct is used later.
    fn candidates(&mut self, input: usize) -> Vec<Candidate<'a>> {
        let inputs = self.inputs;
        let mut candidates = Vec::new();
        for (origin, document) in &inputs[input] {
            let facts = Facts::of(document, input, self.join, self.env);
            if facts.out() {
                continue;
            }
            for (conjunct, failure) in facts.failures() {
                let failure = Some((conjunct, failure.clone()));
                report(&mut self.failures, origin.clone(), failure);
            }
            candidates.push(Candidate {
                input,
                origin,
                document,
                facts,
            });
        }
        candidates
    }

    /// The key sides that read documents of the row, which may be older versions that are held. A
    /// failure belongs to the document that the side reads. If that document is absent, it belongs
    /// to the row without a partner.
    fn facts_of_row(&mut self, row: &Row, alone: &Row, conjuncts: &[usize]) -> Facts {
        let mut facts = Facts::default();
        for &i in conjuncts {
            for (input, slot) in row.slots.iter().enumerate() {
                let whose = match slot {
                    RowInput::NotJoined => continue,
                    RowInput::Absent => alone.origin(),
                    RowInput::Document(origin) => origin.clone(),
                };
                let Some(side) =
                    facts::side(&self.join.conjuncts[i], input, &row.compound, self.env)
                else {
                    continue;
                };
                if let Err(failure) = &side {
                    let failure = Some((i, failure.clone()));
                    report(&mut self.row_failures, whose, failure);
                }
                facts.sides.insert((i, input), side);
            }
        }
        facts
    }

    /// Evaluates all conjuncts on a tuple; `tuple` has the facts of its documents.
    fn verdict(&self, conjuncts: &[usize], tuple: &[&Facts], compound: &Value) -> Verdict {
        let mut own = None;
        let mut document_failed = false;
        for &i in conjuncts {
            let conjunct = &self.join.conjuncts[i];
            let by_documents = match &conjunct.key {
                Some(key) => Some(facts::compare(key, i, tuple)),
                None => tuple
                    .iter()
                    .find_map(|facts| facts.alone.get(&i))
                    .map(|holds| holds.as_ref().ok().copied()),
            };
            match by_documents {
                Some(Some(true)) => {}
                Some(Some(false)) => return Verdict::Out,
                Some(None) => document_failed = true,
                None => match facts::condition(conjunct, compound, self.env) {
                    Ok(true) => {}
                    Ok(false) => return Verdict::Out,
                    Err(failure) => own = own.or(Some((i, failure))),
                },
            }
        }
        if document_failed {
            return Verdict::Failed { own: None };
        }
        let too_large = || {
            let admitted = apply::admit(compound, self.at, self.env);
            Some((self.join.conjuncts.len(), admitted.err()?))
        };
        match own.or_else(too_large) {
            Some(own) => Verdict::Failed { own: Some(own) },
            None => Verdict::In,
        }
    }

    /// The row with its last output; `None` if it had none.
    fn hold(&mut self, row: Row, previous: &Documents) -> Option<Row> {
        let compound = previous.get(&row.origin())?.clone();
        self.held += 1;
        Some(Row { compound, ..row })
    }
}

fn report(failures: &mut Failures, origin: Origin, failure: Option<(usize, Failure)>) {
    let Some(failure) = failure else {
        return;
    };
    match failures.entry(origin) {
        Entry::Vacant(entry) => {
            entry.insert(failure);
        }
        Entry::Occupied(mut entry) if failure.0 < entry.get().0 => {
            entry.insert(failure);
        }
        Entry::Occupied(_) => {}
    }
}
