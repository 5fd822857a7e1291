//! `Patcher`: a deep merge into an existing object.
//!
//! The paths that it sets are recorded on the object, with their previous values (see
//! [`Written`]). When the Patcher no longer wants a value, it is undone if the object still has
//! the value that was written. A value that was there already is neither written nor recorded:
//! it belongs to somebody else, and stays.
//!
//! ```text
//! live: replicas 3          patch: replicas 5    ─▶ replicas 5, record {/spec/replicas: was 3}
//!                           patch is withdrawn   ─▶ replicas 3
//! user sets replicas 7,     patch is withdrawn   ─▶ replicas 7 stays
//! ```

mod record;

use std::collections::BTreeSet;

use document::Value;
use fieldset::{FieldPath, concerns, leaves, merge};

use super::release::{pass_label_on, unapply_all_but_patches};
use super::reshaped::reshaped;
use super::undo::{Undone, record_on, undo_unwanted};
use super::{Action, Case, Verb, is_ours, records, versioned, write};
use crate::claim::Claim;
use crate::desired::Layer;
use crate::in_place::is_read_back;
use crate::live::Observed;
use crate::others;
use crate::problem::{Cause, Conflict, Problem};
use crate::written::{MAX_RECORD, Written};
use fieldset::compare::{diff, equal, same_at};
use object::Ownership;

/// The next action for a Patcher. `wanted` are the leaves of all layers. `live` is the object with
/// the list elements that it has appended and no longer wants; `observed` is without them.
pub(super) fn decide(
    case: &Case<'_>,
    layer: &Layer<'_>,
    (live, observed): (&Value, &Observed),
    wanted: &[(FieldPath, Value)],
    problems: &mut Vec<Problem>,
) -> Action {
    if let Some(release) = former_type(case, layer, observed) {
        return release;
    }
    let reshaped = reshaped(case, layer, observed);
    let observed = reshaped.as_ref().unwrap_or(observed);
    let patcher = Patcher::new(case, layer, observed, wanted);
    let written = patcher.written();
    let size = written.print().len();
    if size > MAX_RECORD {
        problems.push(layer.desired.problem(Cause::RecordTooLarge { size }));
        return Action::Nothing;
    }

    let target = &layer.desired.author.target;
    if let Some(place) = written.not_kept(|place| is_read_back(target, place, live)) {
        let field = place.to_string();
        problems.push(layer.desired.problem(Cause::NotKept { field }));
        return Action::Nothing;
    }

    // Undo in the status first, while the record still exists.
    let rest = &patcher.rest;
    let gone = diff(live.get("status"), rest.object.get("status"));
    if let Some(gone) = gone.filter(|_| case.kind.status) {
        let patch = FieldPath::of(&["status"]).set(&Value::empty_map(), &gone);
        return patcher.undo(&patch);
    }

    let shared = rest.shared(case, written.replaced());
    let shared = patcher.without_given_up(&shared);
    let merged = merge(&shared, &patcher.effective(), &case.kind.keys);
    let merged = record_on(&merged, &written, &layer.desired.author.set);
    let merged = patcher.without_inherited(&merged, &written);
    let Some(patch) = diff(live, &merged) else {
        return Action::Nothing;
    };
    if !case.kind.status {
        return patcher.send(false, &patch);
    }
    // The main part comes before the status, because it contains the record.
    let status = patch.get("status").clone();
    let main = match patch.as_map() {
        Some(map) => Value::from(map.without("status")),
        None => patch,
    };
    if !equal(&main, &Value::empty_map()) {
        return patcher.send(false, &main);
    }
    patcher.send(true, &FieldPath::of(&["status"]).set(&main, &status))
}

/// If the target had another type before, the object is released first. That the object itself is
/// no longer derived is known when all controllers have derived theirs; until then, nothing is
/// done.
fn former_type(case: &Case<'_>, layer: &Layer<'_>, observed: &Observed) -> Option<Action> {
    let controller = &layer.desired.author.controller;
    let claim = Claim::read(&observed.object, case.key);
    let own = |claim: Claim| claim.is_of(case.operator) && claim.controller == *controller;
    if claim.is_some_and(own) {
        return Some(Action::Nothing);
    }
    let records = Written::of_operator(&observed.object, case.operator, case.key);
    let mut records = records.iter();
    let applied = |written: &&Written| written.has_applied() && written.controller == *controller;
    let applied = records.find(applied)?;
    Some(if case.fresh {
        pass_label_on(case, observed, applied)
            .unwrap_or_else(|| unapply_all_but_patches(case, applied))
    } else {
        Action::Read
    })
}

/// Whether the record of a layer cannot be written, because that of another Operator has its
/// place: one with the same names, given to another process as a file.
pub(super) fn is_occupied(
    case: &Case<'_>,
    layer: &Layer<'_>,
    observed: &Observed,
    problems: &mut Vec<Problem>,
) -> bool {
    let set = &layer.desired.author.set;
    let same = |other: &Written| other.annotation() == *set;
    let Some(other) = case.others(observed).into_iter().find(same) else {
        return false;
    };
    let conflict = Conflict::Record {
        field: format!(".metadata.annotations.{set}"),
        theirs: shown(&other),
    };
    problems.push(layer.desired.problem(Cause::Conflict(conflict)));
    true
}

/// An Operator in a message.
fn shown(written: &Written) -> String {
    match &written.uid {
        Some(uid) => format!("{} ({uid})", written.operator),
        None => written.operator.clone(),
    }
}

/// Removes from a layer what another Operator has set to another value.
pub(super) fn leave_to_others(
    case: &Case<'_>,
    layer: &mut Layer<'_>,
    observed: &Observed,
    problems: &mut Vec<Problem>,
) {
    let others = case.others(observed);
    let (object, keys) = (&observed.object, &case.kind.keys);
    let patch = &mut layer.document;
    for lost in others::leave_to_others(patch, &layer.added, object, &others, keys) {
        let conflict = Conflict::Record {
            field: lost.field.to_string(),
            theirs: lost.operator,
        };
        problems.push(layer.desired.problem(Cause::Conflict(conflict)));
    }
}

struct Patcher<'a> {
    case: &'a Case<'a>,
    layer: &'a Layer<'a>,
    observed: &'a Observed,
    /// The record of this controller on the object.
    before: Written,
    /// The records of all controllers of the Operator.
    all: Vec<Written>,
    /// Those of other Operators.
    others: Vec<Written>,
    /// The object without the values that this controller no longer wants.
    rest: Undone,
    /// The leaves of its patch.
    leaves: Vec<(FieldPath, Value)>,
    /// The leaves of all layers.
    wanted: &'a [(FieldPath, Value)],
}

impl<'a> Patcher<'a> {
    fn new(
        case: &'a Case<'a>,
        layer: &'a Layer<'a>,
        observed: &'a Observed,
        wanted: &'a [(FieldPath, Value)],
    ) -> Self {
        let author = &layer.desired.author;
        let all = records(case, observed, author);
        let own = |written: &&Written| written.controller == author.controller;
        let before = all.iter().find(own).cloned();
        let before =
            before.unwrap_or_else(|| Written::new(&author.operator, &author.controller, case.key));
        let leaves = leaves(&layer.document, &case.kind.keys);
        Self {
            case,
            layer,
            observed,
            rest: undo_unwanted(case, observed, &before, wanted),
            before,
            all,
            others: case.others(observed),
            leaves,
            wanted,
        }
    }

    /// The value at a path in the answer to the last write of this patch.
    fn answer(&self, place: &FieldPath) -> Option<&Value> {
        let status = self.case.kind.status && place.top() == "status";
        let manager = &self.layer.desired.author.manager;
        let answer = self.case.record.of(manager, status, &self.layer.document)?;
        Some(place.get(answer))
    }

    /// Whether the value at a path is what the server stored when we wrote `value`.
    fn is_settled(&self, place: &FieldPath, value: &Value) -> bool {
        let live = place.get(&self.observed.object);
        self.answer(place).is_some_and(|answer| equal(answer, live))
            || self.before.settled(place, value, live)
    }

    /// Whether the value at a path is the wanted one.
    fn is_as_wanted(&self, place: &FieldPath, value: &Value) -> bool {
        let live = place.get(&self.observed.object);
        same_at(place, live, value, &self.case.kind.keys)
    }

    /// The patch, with values of the object where these are settled or as wanted.
    fn effective(&self) -> Value {
        let document = self.layer.document.clone();
        self.leaves
            .iter()
            .fold(document, |document, (place, value)| {
                let live = place.get(&self.observed.object);
                if equal(live, value)
                    || !(self.is_settled(place, value) || self.is_as_wanted(place, value))
                {
                    return document;
                }
                // Null if the server dropped it.
                place.set(&document, live)
            })
    }

    /// The object without the elements that an Applier of ours gives up, in the lists that this patch
    /// changes and that are one value to the server: whoever patches such a list becomes the owner of
    /// all of it, so the server would not remove them.
    fn without_given_up(&self, object: &Value) -> Value {
        let keys = &self.case.kind.keys;
        let lists = self.leaves.iter();
        let lists: BTreeSet<FieldPath> = lists
            .filter_map(|(place, _)| keys.atomic_list_with_keys(place))
            .collect();
        let mut elements = BTreeSet::new();
        for written in self.all.iter().filter(|written| written.applied) {
            for place in written.places() {
                let list = keys.atomic_list_with_keys(place);
                let Some(list) = list.filter(|list| lists.contains(list)) else {
                    continue;
                };
                let element = FieldPath(place.0[..=list.0.len()].to_vec());
                let mut wanted = self.wanted.iter();
                if !wanted.any(|leaf| concerns(leaf, &element))
                    && is_ours(written, self.observed, place)
                {
                    elements.insert(element);
                }
            }
        }
        let elements = elements.iter();
        elements.fold(object.clone(), |object, element| element.remove(&object))
    }

    /// The object whose records of a predecessor, an Operator of the same name that existed before,
    /// have nothing that is in the new record. Otherwise a later Operator would undo a value that
    /// has been given back already, and has been set by a user since. A status is written after its
    /// record: until then the predecessor's record says whose value is there.
    fn without_inherited(&self, object: &Value, new: &Written) -> Value {
        let is_pending = |place: &FieldPath| {
            let live = place.get(&self.observed.object);
            self.case.kind.status && place.top() == "status" && !self.before.holds(place, live)
        };
        let of_predecessor =
            |written: &&Written| written.owner(self.case.operator) == Ownership::Former;
        let own = &self.layer.desired.author.set;
        let others = self.all.iter().filter(of_predecessor);
        let others = others.filter(|written| written.is_patch() && written.annotation() != *own);
        others.fold(object.clone(), |object, written| {
            let mut left = written.clone();
            left.retain(|place| !new.has(place) || is_pending(place));
            if left.places().eq(written.places()) {
                return object;
            }
            record_on(&object, &left, &left.annotation())
        })
    }

    /// Takes back a part of the status. The answer says nothing about the fields that are wanted,
    /// so that it is not remembered as that of the document.
    fn undo(&self, patch: &Value) -> Action {
        if !self.case.fresh {
            return Action::Read;
        }
        let body = versioned(patch, self.observed);
        let undo = write(self.layer, Verb::Merge, true, body, Value::NULL);
        Action::Write(Box::new(undo))
    }

    fn send(&self, status: bool, patch: &Value) -> Action {
        // A patch is computed from a fresh read only.
        if !self.case.fresh {
            return Action::Read;
        }
        let goal = self.layer.document.clone();
        let body = versioned(patch, self.observed);
        let mut write = write(self.layer, Verb::Merge, status, body, goal);
        let changed = self.leaves.iter().filter(|(place, value)| {
            let written = self.answer(place).is_some() && value.as_map().is_none();
            written && !self.is_settled(place, value) && !self.is_as_wanted(place, value)
        });
        write.drift = changed.map(|(place, _)| place.clone()).collect();
        Action::Write(Box::new(write))
    }
}
