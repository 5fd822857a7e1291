//! `Patcher`: a deep merge onto an object that exists.
//!
//! What it sets is recorded on the object (see [`Written`]); what it no longer wants is
//! taken back if it still holds what was written. What already held the wanted value is
//! neither written nor recorded: it is somebody else's, and stays.

use document::Value;
use operator::patch::merge;

use super::{Action, Case, Verb, is_ours, records, versioned, write};
use crate::target::desired::Layer;
use crate::target::live::Observed;
use crate::target::shape::{diff, equal, same_at};
use crate::target::written::Written;
use operator::place::{Place, concerns, leaves, walk};

/// `wanted` is what all layers want of the object.
pub(super) fn decide(
    case: &Case<'_>,
    layer: &Layer<'_>,
    observed: &Observed,
    wanted: &[(Place, Value)],
) -> Action {
    let patcher = Patcher::new(case, layer, observed, wanted);
    let live = &observed.object;

    // What goes from the status goes while its record is still there.
    let taken = take_back(case, observed, &patcher.before, wanted);
    let gone = diff(live.get("status"), taken.get("status"));
    if let Some(gone) = gone.filter(|_| case.kind.status) {
        let patch = Place::of(&["status"]).set(&Value::empty_map(), &gone);
        return patcher.send(true, &patch);
    }

    let merged = merge(&taken, &patcher.effective(), &case.kind.keys);
    let merged = record_on(&merged, &patcher.written(), &layer.desired.author.set);
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
    patcher.send(true, &Place::of(&["status"]).set(&main, &status))
}

struct Patcher<'a> {
    case: &'a Case<'a>,
    layer: &'a Layer<'a>,
    observed: &'a Observed,
    /// What is recorded on the object for this controller.
    before: Written,
    /// What is recorded on it for all controllers of the operator.
    all: Vec<Written>,
    /// What it wants.
    leaves: Vec<(Place, Value)>,
    /// What all layers want.
    wanted: &'a [(Place, Value)],
}

impl<'a> Patcher<'a> {
    fn new(
        case: &'a Case<'a>,
        layer: &'a Layer<'a>,
        observed: &'a Observed,
        wanted: &'a [(Place, Value)],
    ) -> Self {
        let author = &layer.desired.author;
        let all = records(case, observed, author);
        let own = |written: &&Written| written.controller == author.controller;
        let before = all.iter().find(own).cloned();
        let leaves = leaves(&layer.document, &case.kind.keys);
        Self {
            case,
            layer,
            observed,
            before: before
                .unwrap_or_else(|| Written::new(&author.operator, &author.controller, case.key)),
            all,
            leaves,
            wanted,
        }
    }

    /// The answer of the last write of this patch, for a place.
    fn answer(&self, place: &Place) -> Option<&Value> {
        let status = self.case.kind.status && place.top() == "status";
        let manager = &self.layer.desired.author.manager;
        let answer = self.case.record.of(manager, status, &self.layer.document)?;
        Some(place.get(answer))
    }

    /// Whether a place holds what the server made of what we wrote.
    fn is_settled(&self, place: &Place, value: &Value) -> bool {
        let live = place.get(&self.observed.object);
        self.answer(place).is_some_and(|answer| equal(answer, live))
            || self.before.settled(place, value, live)
    }

    /// Whether a place holds what is wanted of it.
    fn is_there(&self, place: &Place, value: &Value) -> bool {
        let live = place.get(&self.observed.object);
        same_at(place, live, value, &self.case.kind.keys)
    }

    /// The patch, with what is settled or there as it is on the object.
    fn effective(&self) -> Value {
        let document = self.layer.document.clone();
        self.leaves
            .iter()
            .fold(document, |document, (place, value)| {
                if !self.is_settled(place, value) && !self.is_there(place, value) {
                    return document;
                }
                match place.get(&self.observed.object) {
                    // The server did not keep it.
                    live if live.is_null() => place.set(&document, &Value::NULL),
                    live => place.set(&document, live),
                }
            })
    }

    /// What the object should remember: the leaves that we have set or are about to set,
    /// and the maps and elements that were not there before.
    fn written(&self) -> Written {
        let author = &self.layer.desired.author;
        let mut written = Written::new(&author.operator, &author.controller, self.case.key);
        written.origin = self.layer.desired.origin.clone();
        let mut root: Option<Place> = None;
        walk(&self.own(), &self.case.kind.keys, &mut |place, value, _| {
            if value.is_null() {
                return;
            }
            // A map takes in what others add: it is ours only if we made it.
            if value.as_map().is_some() {
                let inside = root.as_ref().is_some_and(|root| place.within(root));
                if inside || !self.is_new(place) {
                    return;
                }
                root = Some(place.clone());
            }
            self.note(&mut written, place, value);
        });
        self.keep_inherited(&mut written);
        written
    }

    /// The patch, without what is there and was not set by us.
    fn own(&self) -> Value {
        let theirs = self.leaves.iter().filter(|(place, value)| {
            value.as_map().is_none()
                && self.is_there(place, value)
                && !is_ours(&self.all, self.observed, place)
        });
        // From the end, so that positions stay right.
        let theirs = theirs.rev();
        theirs.fold(self.layer.document.clone(), |document, (place, _)| {
            place.strike(&document)
        })
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
    fn is_new(&self, place: &Place) -> bool {
        let live = place.get(&self.observed.object);
        let ours = || {
            let mut having = self.all.iter().filter(|written| written.has(place));
            having.any(|written| written.is_certain(place) || self.observed.is_only_ours(place))
        };
        let shared = if place.top() == "metadata" { 2 } else { 1 };
        place.0.len() > shared && (live.as_map().is_none() || ours())
    }

    fn note(&self, written: &mut Written, place: &Place, value: &Value) {
        // What the server adds to a map of ours it counts as ours.
        let counted = self.observed.managed && !place.is_by_position();
        if value.as_map().is_some() && counted {
            return written.record(place, value, None);
        }
        match self.answer(place) {
            Some(answer) => written.record(place, value, Some(answer)),
            None => written.keep_or_record(&self.before, place, value),
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

/// The object with the record on it; an empty record is none.
fn record_on(object: &Value, written: &Written, annotation: &str) -> Value {
    let place = Place::of(&["metadata", "annotations", annotation]);
    if written.is_empty() {
        return place.remove(object);
    }
    place.set(object, &Value::from(written.print()))
}

/// The object without what was written, where it still holds that, nobody wants it, and
/// the server lets it go.
pub(super) fn take_back(
    case: &Case<'_>,
    observed: &Observed,
    written: &Written,
    wanted: &[(Place, Value)],
) -> Value {
    let object = &observed.object;
    // The server may have made something else of it, or have added to it: it is what we
    // wrote as long as nobody else has written there.
    let holds =
        |place: &Place| written.holds(place, place.get(object)) || observed.is_only_ours(place);
    let mut taken: Vec<&Place> = Vec::new();
    for place in written.places() {
        let gone = taken.iter().any(|taken| place.within(taken));
        let kept = wanted.iter().any(|leaf| concerns(leaf, place))
            || place.holds_any(object, &case.learned.kept);
        let live = place.get(object);
        if !gone && !kept && !live.is_null() && holds(place) {
            taken.push(place);
        }
    }
    // From the end, so that positions stay right.
    let taken = taken.iter().rev();
    taken.fold(object.clone(), |object, place| place.remove(&object))
}

/// The object without the annotation that records what was set.
pub(super) fn without_record(object: &Value, written: &Written) -> Value {
    Place::of(&["metadata", "annotations", &written.annotation()]).remove(object)
}
