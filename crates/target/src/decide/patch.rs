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

use std::collections::BTreeSet;

use crate::layer::{Keeper, Was};
use document::Value;
use fieldset::merge;
use fieldset::{FieldPath, concerns, is_relative, leaves, walk};

use super::release::unapply_all_but_patches;
use super::undo::{Undone, record_on, undo_unwanted};
use super::{Action, Case, Verb, is_ours, records, undone, versioned, write};
use crate::claim::Claim;
use crate::desired::Layer;
use crate::in_place::is_read_back;
use crate::live::Observed;
use crate::others;
use crate::problem::{Cause, Conflict, Problem};
use crate::written::{MAX_RECORD, Written};
use fieldset::compare::{diff, equal, same_at};

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
    let merged = merge(&shared, &patcher.effective(), &case.kind.keys);
    let merged = record_on(&merged, &written, &layer.desired.author.set);
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
        unapply_all_but_patches(case, applied)
    } else {
        Action::Read
    })
}

/// The records of other Operators that still exist.
fn others(case: &Case<'_>, observed: &Observed) -> Vec<Written> {
    let mut others = Written::of_others(&observed.object, case.operator, case.key);
    others.retain(|written| {
        !case
            .peers
            .is_gone(&written.operator, written.uid.as_deref())
    });
    others
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
    let Some(other) = others(case, observed).into_iter().find(same) else {
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

/// Removes from a layer what a Patcher of another Operator has set to another value.
pub(super) fn leave_to_others(
    case: &Case<'_>,
    layer: &mut Layer<'_>,
    observed: &Observed,
    problems: &mut Vec<Problem>,
) {
    let others = others(case, observed);
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

    /// The new record: the leaves that we have set or are about to set, and the maps and
    /// elements that we create.
    fn written(&self) -> Written {
        let author = &self.layer.desired.author;
        let mut written = Written::new(&author.operator, &author.controller, self.case.key);
        written.origin = self.layer.desired.origin.clone();
        let key = self.case.key;
        let mut keeper = Keeper::new(&key.kind, self.before.kept());
        let foreign = self.foreign();
        let mut root: Option<FieldPath> = None;
        let mut element: Option<FieldPath> = None;
        let document = &self.layer.document;
        let is_in = |place: &FieldPath, map: &Option<FieldPath>| {
            map.as_ref().is_some_and(|map| place.within(map))
        };
        walk(document, &self.case.kind.keys, &mut |place, value, leaf| {
            if foreign.contains(place) {
                return;
            }
            let mut value = value.clone();
            // Others may add fields to a map, so it is ours only if we have created it. An element
            // that is found by its content is recorded with all of that.
            if value.as_map().is_some() && is_in(place, &element) {
                if !leaf {
                    return;
                }
            } else if value.as_map().is_some() {
                let inside = is_in(place, &root);
                let is_new = if inside {
                    place.is_indexed_element()
                } else {
                    self.is_new(place)
                };
                if !is_new {
                    return;
                }
                if place.0.len() == 1 {
                    // It goes when it is empty, and not before.
                    value = Value::empty_map();
                } else {
                    if place.is_indexed_element() {
                        element = Some(place.clone());
                    }
                    if !inside {
                        root = Some(place.clone());
                    }
                    value = without(document, place, &foreign);
                }
            }
            let was = self.was(place, &value, &mut keeper);
            // The former value is wanted: it belongs to others.
            if !matches!(&was, Was::Value(was) if equal(was, &value)) {
                self.note(&mut written, place, &value, was);
            }
        });
        self.keep_inherited(&mut written);
        let replaced = self.replaced(&written);
        written.share(&replaced);
        written.share(&self.rest.foreign);
        written
    }

    /// The paths at which our controllers have replaced values of others, or are about to.
    fn replaced(&self, new: &Written) -> BTreeSet<FieldPath> {
        let known = self.all.iter().flat_map(|written| {
            let places = written.replaced();
            places.filter(|place| is_ours(written, self.observed, place))
        });
        known.chain(new.replaced()).cloned().collect()
    }

    /// The value at a path before our controllers wrote it, if need be from their record.
    fn was(&self, place: &FieldPath, value: &Value, keeper: &mut Keeper) -> Was {
        let live = place.get(&self.observed.object);
        // The record of an Applier does not know the former value.
        let knows = |written: &&Written| !written.applied || written.is_certain(place);
        // An Applier that becomes a Patcher gives up its fields first.
        let given_up =
            |written: &&Written| live.is_null() && written.applied && written.is_certain(place);
        let inherited = match value.as_map() {
            Some(_) if live.as_map().is_some() => self.creators(place).next(),
            Some(_) => None,
            None => {
                let known = self.ours(place).find(knows);
                let own = known.or_else(|| self.ours(place).next());
                own.or_else(|| self.all.iter().find(given_up))
            }
        };
        let was = match inherited {
            // What was applied is removed in the end.
            Some(applied) if !knows(&applied) => Some(Was::Absent),
            Some(written) => written.was(place).cloned(),
            None => None,
        };
        was.unwrap_or_else(|| keeper.keep(&self.others_value(place)))
    }

    /// The value at a path without those at or inside it that our controllers wrote.
    fn others_value(&self, place: &FieldPath) -> Value {
        let object = self.observed.object.clone();
        let without = self.all.iter().fold(object, |object, written| {
            let own = written
                .places()
                .filter(|own| own.within(place) && is_ours(written, self.observed, own));
            // Inner values first, so that positions stay valid.
            let own: Vec<&FieldPath> = own.collect();
            let inner_first = own.into_iter().rev();
            inner_first.fold(object, |object, own| undone(written, &object, own))
        });
        place.get(&without).clone()
    }

    /// The records of our controllers that wrote the value at a path.
    fn ours(&self, place: &FieldPath) -> impl Iterator<Item = &Written> {
        let live = place.get(&self.observed.object);
        // The server may have normalized a status that is not recorded as such yet.
        let answered = self.answer(place).is_some_and(|answer| equal(answer, live));
        let own = move |written: &Written| {
            answered && written.controller == self.before.controller && written.is_certain(place)
        };
        let ours = move |written: &&Written| is_ours(written, self.observed, place) || own(written);
        self.all.iter().filter(ours)
    }

    /// The wanted leaves that exist already and were not set by us.
    fn foreign(&self) -> BTreeSet<&FieldPath> {
        let foreign = self.leaves.iter().filter(|(place, value)| {
            value.as_map().is_none()
                && self.is_as_wanted(place, value)
                && self.ours(place).next().is_none()
        });
        foreign.map(|(place, _)| place).collect()
    }

    /// Keeps the entries for values that another layer wants now, until that layer has them in
    /// its own record. Otherwise nobody would know in between that they are ours.
    fn keep_inherited(&self, written: &mut Written) {
        let object = &self.observed.object;
        let others = |other: &&Written| other.controller != self.before.controller;
        for place in self.before.places() {
            let inherited = self.wanted.iter().any(|leaf| concerns(leaf, place))
                && !self.leaves.iter().any(|leaf| concerns(leaf, place))
                && self.is_left(place, place.get(object));
            let mut others = self.all.iter().filter(others);
            // An Applier's own entry does not know the former value.
            if inherited && !others.any(|other| other.is_certain(place)) {
                written.keep(&self.before, place);
            }
        }
    }

    /// Whether a path still has what we wrote, or is a map that we created.
    fn is_left(&self, place: &FieldPath, live: &Value) -> bool {
        let made = live.as_map().is_some() && self.before.is_certain(place);
        made || self.before.holds(place, live)
    }

    /// Whether we create, or have created, this map or element. The object itself, its status and
    /// the maps of its metadata belong to everybody.
    fn is_new(&self, place: &FieldPath) -> bool {
        let live = place.get(&self.observed.object);
        let shared = match place.top() {
            "metadata" => 2,
            "status" => 1,
            _ => 0,
        };
        let made = || self.creators(place).next().is_some();
        place.0.len() > shared && (live.as_map().is_none() || made())
    }

    /// The records of our controllers that created a map or an element.
    fn creators(&self, place: &FieldPath) -> impl Iterator<Item = &Written> {
        // What a pipeline changes in an element that another controller appended is no part of that
        // element.
        let own = place.is_indexed_element() && is_relative(&self.layer.document);
        let counts = move |written: &Written| !own || written.controller == self.before.controller;
        let having = self.all.iter();
        let having = having.filter(move |written| counts(written) && written.has(place));
        let alone = || self.observed.is_only_ours(place) && !self.has_restored(place);
        having.filter(move |written| written.is_certain(place) || alone())
    }

    /// Whether there is a value of others at or inside a place that we have restored: we wrote it
    /// last, and it is in no record.
    fn has_restored(&self, place: &FieldPath) -> bool {
        let records = |written: &Written, field: &FieldPath| {
            let mut certain = written.places().filter(|own| written.is_certain(own));
            certain.any(|own| own.overlaps(field))
        };
        let fields = self.observed.written_inside(place);
        let mut fields = fields.iter();
        fields.any(|field| !self.all.iter().any(|written| records(written, field)))
    }

    fn note(&self, written: &mut Written, place: &FieldPath, value: &Value, was: Was) {
        let live = place.get(&self.observed.object);
        let status = self.case.kind.status && place.top() == "status" && value.as_map().is_none();
        // The status is written after its record. Until then it has the value that one of our
        // controllers wrote before.
        let holds = |written: &Written| written.holds(place, live);
        let unsettled = !equal(live, value) && !self.is_settled(place, value);
        let pending = status && unsettled && self.all.iter().any(holds);
        // In the answer, a map also contains fields of others.
        let answer = self.answer(place).filter(|_| value.as_map().is_none());
        match answer {
            _ if pending => written.record_over(place, value, live, was),
            // The record stays as it is.
            Some(answer) if status && equal(answer, value) => {
                written.keep_or_record(&self.before, place, (value, live), was);
            }
            Some(answer) => written.record(place, value, Some(answer), was),
            None => written.keep_or_record(&self.before, place, (value, live), was),
        }
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

/// The content of a map in a document, without these paths.
fn without(document: &Value, map: &FieldPath, places: &BTreeSet<&FieldPath>) -> Value {
    let inside = places.iter().filter(|place| place.within(map));
    // From the end, so that positions stay valid.
    let left = inside
        .rev()
        .fold(document.clone(), |document, place| place.strike(&document));
    map.get(&left).clone()
}
