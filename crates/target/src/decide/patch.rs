//! `Patcher`: a deep merge onto an object that exists.
//!
//! What it sets is recorded on the object with what was there before (see [`Written`]); what
//! it no longer wants is undone if it still holds what was written. What already held the
//! wanted value is neither written nor recorded: it is somebody else's, and stays.

use std::collections::BTreeSet;

use crate::layer::{Keeper, Was};
use document::Value;
use fieldset::merge;
use fieldset::{FieldPath, concerns, leaves, walk};

use super::{Action, Case, Verb, is_ours, records, undone, versioned, write};
use crate::desired::Layer;
use crate::live::Observed;
use crate::problem::{Cause, Problem};
use crate::written::Written;
use fieldset::compare::{diff, equal, same_at};

/// How long a record may be: all annotations of an object together may have 256 KiB.
const MAX_RECORD: usize = 200 * 1024;

/// `wanted` is what all layers want of the object.
pub(super) fn decide(
    case: &Case<'_>,
    layer: &Layer<'_>,
    observed: &Observed,
    wanted: &[(FieldPath, Value)],
    problems: &mut Vec<Problem>,
) -> Action {
    let patcher = Patcher::new(case, layer, observed, wanted);
    let live = &observed.object;
    let written = patcher.written();
    let size = written.print().len();
    if size > MAX_RECORD {
        problems.push(layer.desired.problem(Cause::RecordTooLarge { size }));
        return Action::Nothing;
    }

    // What goes from the status goes while its record is still there.
    let taken = &patcher.taken;
    let gone = diff(live.get("status"), taken.object.get("status"));
    if let Some(gone) = gone.filter(|_| case.kind.status) {
        let patch = FieldPath::of(&["status"]).set(&Value::empty_map(), &gone);
        return patcher.send(true, &patch);
    }

    let shared = taken.shared(case, written.replaced());
    let merged = merge(&shared, &patcher.effective(), &case.kind.keys);
    let merged = record_on(&merged, &written, &layer.desired.author.set);
    let Some(patch) = diff(live, &merged) else {
        return Action::Nothing;
    };
    if !case.kind.status {
        return patcher.send(false, &patch);
    }
    // The record comes with the main part, before the status.
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

struct Patcher<'a> {
    case: &'a Case<'a>,
    layer: &'a Layer<'a>,
    observed: &'a Observed,
    /// What is recorded on the object for this controller.
    before: Written,
    /// What is recorded on it for all controllers of the operator.
    all: Vec<Written>,
    /// The object without what this controller does not want any more.
    taken: Taken,
    /// What it wants.
    leaves: Vec<(FieldPath, Value)>,
    /// What all layers want.
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
            taken: take_back(case, observed, &before, wanted),
            before,
            all,
            leaves,
            wanted,
        }
    }

    /// The answer of the last write of this patch, for a place.
    fn answer(&self, place: &FieldPath) -> Option<&Value> {
        let status = self.case.kind.status && place.top() == "status";
        let manager = &self.layer.desired.author.manager;
        let answer = self.case.record.of(manager, status, &self.layer.document)?;
        Some(place.get(answer))
    }

    /// Whether a place holds what the server made of what we wrote.
    fn is_settled(&self, place: &FieldPath, value: &Value) -> bool {
        let live = place.get(&self.observed.object);
        self.answer(place).is_some_and(|answer| equal(answer, live))
            || self.before.settled(place, value, live)
    }

    /// Whether a place holds what is wanted of it.
    fn is_there(&self, place: &FieldPath, value: &Value) -> bool {
        let live = place.get(&self.observed.object);
        same_at(place, live, value, &self.case.kind.keys)
    }

    /// The patch, with what is settled or there as it is on the object.
    fn effective(&self) -> Value {
        let document = self.layer.document.clone();
        self.leaves
            .iter()
            .fold(document, |document, (place, value)| {
                let live = place.get(&self.observed.object);
                if equal(live, value)
                    || !(self.is_settled(place, value) || self.is_there(place, value))
                {
                    return document;
                }
                // Null where the server did not keep it.
                place.set(&document, live)
            })
    }

    /// What the object should remember: the leaves that we have set or are about to set,
    /// and the maps and elements that were not there before.
    fn written(&self) -> Written {
        let author = &self.layer.desired.author;
        let mut written = Written::new(&author.operator, &author.controller, self.case.key);
        written.origin = self.layer.desired.origin.clone();
        let key = self.case.key;
        let mut keeper = Keeper::new(&key.kind, self.before.kept());
        let theirs = self.theirs();
        let mut root: Option<FieldPath> = None;
        let document = &self.layer.document;
        walk(document, &self.case.kind.keys, &mut |place, value, _| {
            if theirs.contains(place) {
                return;
            }
            let mut value = value.clone();
            // A map takes in what others add: it is ours only if we made it.
            if value.as_map().is_some() {
                let inside = root.as_ref().is_some_and(|root| place.within(root));
                if inside || !self.is_new(place) {
                    return;
                }
                root = Some(place.clone());
                value = without(document, place, &theirs);
            }
            let was = self.was(place, &value, &mut keeper);
            self.note(&mut written, place, &value, was);
        });
        self.keep_inherited(&mut written);
        let replaced = written.replaced().cloned().collect();
        written.share(&replaced);
        written.share(&self.taken.theirs);
        written
    }

    /// What was at a place before we wrote there, or will have been. Of what is ours it is
    /// what was there before that.
    fn was(&self, place: &FieldPath, value: &Value, keeper: &mut Keeper) -> Was {
        let live = place.get(&self.observed.object);
        let inherited = match value.as_map() {
            Some(_) if live.as_map().is_some() => self.makers(place).next(),
            Some(_) => None,
            None => self.ours(place).next(),
        };
        let inherited = inherited.and_then(|written| written.was(place));
        inherited.cloned().unwrap_or_else(|| keeper.keep(live))
    }

    /// The records of controllers of ours that have written what is at a place.
    fn ours(&self, place: &FieldPath) -> impl Iterator<Item = &Written> {
        let ours = |written: &&Written| is_ours(written, self.observed, place);
        self.all.iter().filter(ours)
    }

    /// The leaves that are there and were not set by us.
    fn theirs(&self) -> BTreeSet<&FieldPath> {
        let theirs = self.leaves.iter().filter(|(place, value)| {
            value.as_map().is_none()
                && self.is_there(place, value)
                && self.ours(place).next().is_none()
        });
        theirs.map(|(place, _)| place).collect()
    }

    /// Keeps what another layer wants now, until that has it in its own record: who set it
    /// must not be forgotten in between.
    fn keep_inherited(&self, written: &mut Written) {
        let object = &self.observed.object;
        let others = |other: &&Written| other.controller != self.before.controller;
        for place in self.before.places() {
            let inherited = self.wanted.iter().any(|leaf| concerns(leaf, place))
                && !self.leaves.iter().any(|leaf| concerns(leaf, place))
                && self.before.holds(place, place.get(object));
            let mut others = self.all.iter().filter(others);
            if inherited && !others.any(|other| other.has(place)) {
                written.keep(&self.before, place);
            }
        }
    }

    /// Whether a map or an element is there because of us. The object itself and the maps
    /// of its metadata are everybody's.
    fn is_new(&self, place: &FieldPath) -> bool {
        let live = place.get(&self.observed.object);
        let shared = if place.top() == "metadata" { 2 } else { 1 };
        let made = || self.makers(place).next().is_some();
        place.0.len() > shared && (live.as_map().is_none() || made())
    }

    /// The records of controllers of ours that have made a map or an element.
    fn makers(&self, place: &FieldPath) -> impl Iterator<Item = &Written> {
        let having = self.all.iter().filter(|written| written.has(place));
        having.filter(|written| written.is_certain(place) || self.observed.is_only_ours(place))
    }

    fn note(&self, written: &mut Written, place: &FieldPath, value: &Value, was: Was) {
        // An answer has in a map what others have added.
        let answer = self.answer(place).filter(|_| value.as_map().is_none());
        match answer {
            Some(answer) => written.record(place, value, Some(answer), was),
            None => written.keep_or_record(&self.before, place, value, was),
        }
    }

    fn send(&self, status: bool, patch: &Value) -> Action {
        // A patch is computed from a fresh read.
        if !self.case.fresh {
            return Action::Read;
        }
        let goal = self.layer.document.clone();
        let body = versioned(patch, self.observed);
        let mut write = write(self.layer, Verb::Merge, status, body, goal);
        let changed = self.leaves.iter().filter(|(place, value)| {
            let written = self.answer(place).is_some() && value.as_map().is_none();
            written && !self.is_settled(place, value) && !self.is_there(place, value)
        });
        write.drift = changed.map(|(place, _)| place.to_string()).collect();
        Action::Write(Box::new(write))
    }
}

/// What is in a map of a document, without these places.
fn without(document: &Value, map: &FieldPath, places: &BTreeSet<&FieldPath>) -> Value {
    let inside = places.iter().filter(|place| place.within(map));
    // From the end, so that positions stay right.
    let left = inside
        .rev()
        .fold(document.clone(), |document, place| place.strike(&document));
    map.get(&left).clone()
}

/// The object with the record on it; an empty record is none.
fn record_on(object: &Value, written: &Written, annotation: &str) -> Value {
    let place = FieldPath::of(&["metadata", "annotations", annotation]);
    if written.is_empty() {
        return place.remove(object);
    }
    place.set(object, &Value::from(written.print()))
}

/// An object of which something was taken back.
pub(super) struct Taken {
    pub(super) object: Value,
    /// The places where others' values are again, or stay because what was there is not
    /// kept.
    theirs: BTreeSet<FieldPath>,
}

impl Taken {
    /// The object, whose records no longer have the maps and elements around others' values,
    /// also around those that are `replaced`. For the server these values are ours, as we
    /// have written them: without this they would go with the map.
    pub(super) fn shared<'a>(
        &self,
        case: &Case<'_>,
        replaced: impl Iterator<Item = &'a FieldPath>,
    ) -> Value {
        let mut theirs = self.theirs.clone();
        theirs.extend(replaced.cloned());
        let records = Written::of_operator(&self.object, case.operator, case.key);
        let object = self.object.clone();
        records.into_iter().fold(object, |object, mut written| {
            if written.is_patch() && written.share(&theirs) {
                record_on(&object, &written, &written.annotation())
            } else {
                object
            }
        })
    }
}

/// The object as it was before something was written, where it still holds that, nobody
/// wants it, and the server lets it go.
pub(super) fn take_back(
    case: &Case<'_>,
    observed: &Observed,
    written: &Written,
    wanted: &[(FieldPath, Value)],
) -> Taken {
    let object = &observed.object;
    let mut taken: Vec<&FieldPath> = Vec::new();
    for place in written.places() {
        let gone = taken.iter().any(|taken| place.within(taken));
        let kept = wanted.iter().any(|leaf| concerns(leaf, place))
            || place.holds_any(object, &case.learned.kept);
        if !gone && !kept && is_undoable(written, observed, place) {
            taken.push(place);
        }
    }
    let theirs = taken
        .iter()
        .filter(|place| written.was(place) != Some(&Was::Absent));
    let theirs = theirs.map(|place| (*place).clone()).collect();
    // From the end, so that positions stay right.
    let taken = taken.iter().rev();
    let object = taken.fold(object.clone(), |object, place| {
        undone(written, &object, place)
    });
    Taken { object, theirs }
}

/// Whether a place still holds what we wrote. Of a status only its value can tell.
fn is_undoable(written: &Written, observed: &Observed, place: &FieldPath) -> bool {
    let live = place.get(&observed.object);
    match place.top() {
        "status" => written.holds(place, live),
        _ => is_ours(written, observed, place),
    }
}

/// The object without the annotation that records what was set.
pub(super) fn without_record(object: &Value, written: &Written) -> Value {
    FieldPath::of(&["metadata", "annotations", &written.annotation()]).remove(object)
}
