//! Undoes what Patchers have set in another shape on the object of a cluster.

use document::Value;
use fieldset::{FieldPath, LeafIndex, leaves};

use super::undo::{is_undoable, record_on, undo};
use super::{Case, records};
use crate::desired::Layer;
use crate::layer::Was;
use crate::live::Observed;
use crate::reshaped::{Reshaped, has_changed};
use crate::written::Written;

/// The object without what Patchers of the Operator have set in another shape than a layer wants
/// now, also in their records; `None` if there is nothing.
pub(super) fn reshaped(
    case: &Case<'_>,
    layer: &Layer<'_>,
    observed: &Observed,
) -> Option<Observed> {
    let author = &layer.desired.author;
    let goes = |written: &&Written| {
        let by = &written.controller;
        let is_known = case.wanted.is_wanted_by(by) || case.wanted.is_withdrawn(by);
        let is_known = is_known && !case.held.contains(by);
        written.is_patch() && (*by == author.controller || is_known)
    };
    let mut all = records(case, observed, author);
    let names: Vec<String> = all.iter().filter(goes).map(Written::annotation).collect();
    if names.is_empty() {
        return None;
    }
    let wanted = leaves(&layer.document, &case.kind.keys);
    let wanted: LeafIndex = wanted.into_iter().collect();
    let mut reshaped: Option<Observed> = None;
    for name in names {
        let Some(written) = all.iter().find(|written| written.annotation() == name) else {
            continue;
        };
        let now = reshaped.as_ref().unwrap_or(observed);
        let is_own = written.controller == author.controller;
        let Some(object) = without_reshaped(now, written, &wanted, is_own) else {
            continue;
        };
        let mut next = now.clone();
        next.object = object;
        // Elements may have other positions now.
        all = records(case, &next, author);
        reshaped = Some(next);
    }
    reshaped
}

/// The object without what one record has in another shape, also in that record; `None` if there is
/// nothing.
fn without_reshaped(
    observed: &Observed,
    written: &Written,
    wanted: &LeafIndex,
    is_own: bool,
) -> Option<Value> {
    let has_changed = |place: &FieldPath| {
        let live = place.get(&observed.object);
        let is_removed = live.is_null() && written.holds(place, live);
        written.was(place) != Some(&Was::NotKept) && has_changed(wanted, place, live, is_removed)
    };
    let is_made = |place: &FieldPath| written.is_made(place);
    let reshaped = Reshaped::of(written.places(), has_changed, is_made)?;
    let is_ours = |place: &FieldPath| {
        reshaped.elements.contains(place) || is_undoable(written, observed, place)
    };
    let stays = |place: &FieldPath| !reshaped.places.contains(place);
    let rest = undo(observed, written, is_ours, stays).object;
    let rest = reshaped.without_empty_maps(&rest, |place| written.is_certain(place));
    let mut left = written.clone();
    left.retain(stays);
    let annotation = left.annotation();
    if !is_own {
        return Some(record_on(&rest, &left, &annotation));
    }
    // Even if it is empty: without one, the record in the last answer would count.
    let place = FieldPath::of(&["metadata", "annotations", &annotation]);
    Some(place.set(&rest, &Value::from(left.print())))
}
