//! Undoes what Patchers have set in another shape on the object of a cluster.

use document::Value;
use fieldset::{FieldPath, LeafIndex, leaves};

use super::Case;
use super::undo::{is_undoable, record_on, undo};
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
    let controller = &layer.desired.author.controller;
    let records = |object: &Value| Written::of_operator(object, case.operator, case.key);
    let goes = |written: &Written| {
        let by = &written.controller;
        let is_known = case.wanted.is_wanted_by(by) || case.wanted.is_withdrawn(by);
        written.is_patch() && (by == controller || (is_known && !case.held.contains(by)))
    };
    let names = records(&observed.object).into_iter().filter(goes);
    let names: Vec<String> = names.map(|written| written.annotation()).collect();
    if names.is_empty() {
        return None;
    }
    let wanted = leaves(&layer.document, &case.kind.keys);
    let wanted: LeafIndex = wanted.into_iter().collect();
    let mut reshaped: Option<Observed> = None;
    for name in names {
        let now = reshaped.as_ref().unwrap_or(observed);
        // Read again, because elements may have other positions now.
        let mut all = records(&now.object).into_iter();
        let Some(written) = all.find(|written| written.annotation() == name) else {
            continue;
        };
        let is_own = written.controller == *controller;
        if let Some(object) = without_reshaped(now, &written, &wanted, is_own) {
            let mut next = now.clone();
            next.object = object;
            reshaped = Some(next);
        }
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
    let all: Vec<&FieldPath> = written.places().collect();
    let is_made = |place: &FieldPath| written.is_made(place);
    let reshaped = Reshaped::of(all.into_iter(), has_changed, is_made)?;
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
