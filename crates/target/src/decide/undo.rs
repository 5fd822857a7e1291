//! Undoes what a controller has set on an object, as its record says.

use std::collections::BTreeSet;

use document::{Map, Value};
use fieldset::{FieldPath, concerns};

use super::{Case, is_ours, undone};
use crate::layer::{Patched, Was};
use crate::live::{Observed, records_of};
use crate::written::Written;

/// The object with the record; an empty record is removed.
pub(super) fn record_on(object: &Value, written: &Written, annotation: &str) -> Value {
    let place = FieldPath::of(&["metadata", "annotations", annotation]);
    if written.is_empty() {
        return place.remove(object);
    }
    place.set(object, &Value::from(written.print_over(object)))
}

/// An object after undoing values.
pub(super) struct Undone {
    pub(super) object: Value,
    /// The paths that have values of others again, or that keep our value because the previous
    /// one is not known.
    pub(super) foreign: BTreeSet<FieldPath>,
}

impl Undone {
    /// The object, with records that no longer contain the maps and elements around values of
    /// others, including those that are `replaced` now. For the server these values are ours,
    /// because we have written them, so they would otherwise be removed together with the map.
    pub(super) fn shared<'a>(
        &self,
        case: &Case<'_>,
        replaced: impl Iterator<Item = &'a FieldPath>,
    ) -> Value {
        let mut foreign = self.foreign.clone();
        foreign.extend(replaced.cloned());
        let records = Written::of_operator(&self.object, case.operator, case.key);
        let object = self.object.clone();
        records.into_iter().fold(object, |object, mut written| {
            if written.is_patch() && written.share(&foreign) {
                record_on(&object, &written, &written.annotation())
            } else {
                object
            }
        })
    }
}

/// Undoes the recorded values that the object still has, that no layer wants or has left for now, and
/// that the server lets us remove. If a layer wants the former value, it is undone as well: that value
/// belongs to others, and stays when the layer gives it up.
pub(super) fn undo_unwanted(
    case: &Case<'_>,
    observed: &Observed,
    written: &Written,
    wanted: &[(FieldPath, Value)],
) -> Undone {
    let left = left_by_others(case, observed, written);
    let stays = |place: &FieldPath| {
        let mut left = left.iter();
        if left.any(|leaf| concerns(leaf, place)) {
            return true;
        }
        let mut leaves = wanted.iter().filter(|leaf| concerns(leaf, place));
        leaves.any(|leaf| !written.replaced_same(leaf, place))
            || place.holds_any(&observed.object, &case.learned.kept)
    };
    let is_ours = |place: &FieldPath| {
        (place.is_indexed_element() && written.is_added_element(place))
            || is_undoable(written, observed, place)
    };
    undo(observed, written, is_ours, stays)
}

/// The values that other controllers of the Operator have set, and neither want now nor give up: their
/// removal is held, or it is not known what is derived from objects in error.
fn left_by_others(
    case: &Case<'_>,
    observed: &Observed,
    written: &Written,
) -> Vec<(FieldPath, Value)> {
    let stays = |by: &String| {
        let goes = case.wanted.is_withdrawn(by) && !case.held.contains(by);
        *by != written.controller && !case.wanted.is_wanted_by(by) && !goes
    };
    let mut left = Vec::new();
    for other in records_of(&observed.object, case.key, case.operator) {
        if !stays(&other.controller) {
            continue;
        }
        for place in other.places() {
            let value = place.get(&observed.object);
            let is_leaf = !value.is_null() && value.as_map().is_none_or(Map::is_empty);
            if is_leaf && is_undoable(&other, observed, place) {
                left.push((place.clone(), value.clone()));
            }
        }
    }
    left
}

/// The object as it would be without what a controller has set. List elements that it added go as
/// a whole, even if others have changed them: the controller adds them again.
pub(crate) fn undo_all(observed: &Observed, written: &Written) -> Value {
    let is_ours = |place: &FieldPath| {
        written.is_added_element(place) || is_undoable(written, observed, place)
    };
    undo(observed, written, is_ours, |_| false).object
}

/// What a controller has set on an object, with the values themselves.
pub(crate) fn patched(observed: &Observed, written: &Written) -> Patched {
    let object = &observed.object;
    let mut set = Patched::default();
    for place in written.places() {
        let Some(was) = written.was(place).cloned() else {
            continue;
        };
        let value = place.get(object);
        let is_ours = is_undoable(written, observed, place);
        // Others have changed the element, but it is still the one that we added.
        let shared = value.as_map().is_some() && written.is_added_element(place);
        if !is_ours && !shared {
            continue;
        }
        if value.as_map().is_none() || !is_ours {
            match value.as_map() {
                Some(_) => set.note_made(place, Value::empty_map(), was),
                None => set.note(place, value, was),
            }
            continue;
        }
        let inside = written.places().filter(|own| own.0.len() > place.0.len());
        let inside: Vec<&FieldPath> = inside.filter(|own| own.within(place)).collect();
        let last_first = inside.into_iter().rev();
        let added = last_first.fold(object.clone(), |object, own| own.remove(&object));
        set.note_made(place, place.get(&added).clone(), was);
    }
    set.identify(object);
    set
}

/// Undoes the recorded values that `is_ours` selects, except for those that `stays` selects.
pub(super) fn undo(
    observed: &Observed,
    written: &Written,
    is_ours: impl Fn(&FieldPath) -> bool,
    stays: impl Fn(&FieldPath) -> bool,
) -> Undone {
    let object = &observed.object;
    let mut paths: Vec<&FieldPath> = Vec::new();
    for place in written.places() {
        let gone = paths.iter().any(|outer| place.within(outer));
        if !gone && !stays(place) && is_ours(place) {
            paths.push(place);
        }
    }
    let foreign = paths
        .iter()
        .filter(|place| written.was(place) != Some(&Was::Absent));
    let foreign = foreign.map(|place| (*place).clone()).collect();
    let object = undone(written, object, &paths);
    // At the position of an element that is gone there may be another one now.
    let gone = |place: &FieldPath| place.is_indexed_element() && paths.contains(&place);
    let object = pruned(&object, observed, written, |place| {
        gone(place) || stays(place)
    });
    Undone { object, foreign }
}

/// The object without the maps that we created and that are empty now, except for those that
/// `stays` selects.
pub(super) fn pruned(
    object: &Value,
    observed: &Observed,
    written: &Written,
    stays: impl Fn(&FieldPath) -> bool,
) -> Value {
    let emptied = |object: &Value, place: &FieldPath| {
        let is_empty = |object: &Value| place.get(object).as_map().is_some_and(Map::is_empty);
        is_empty(object) && !is_empty(&observed.object)
    };
    let places: Vec<&FieldPath> = written.places().collect();
    let created = places
        .into_iter()
        .rev()
        .filter(|place| written.was(place) == Some(&Was::Absent) && !stays(place));
    created.fold(object.clone(), |object, place| {
        if emptied(&object, place) {
            place.take(&object)
        } else {
            object
        }
    })
}

/// Whether the object still has the value that we wrote. For a status, only the value itself
/// can tell.
pub(super) fn is_undoable(written: &Written, observed: &Observed, place: &FieldPath) -> bool {
    let live = place.get(&observed.object);
    match place.top() {
        "status" => written.holds(place, live),
        _ => is_ours(written, observed, place),
    }
}

/// The object without the annotation of a record.
pub(crate) fn without_record(object: &Value, written: &Written) -> Value {
    FieldPath::of(&["metadata", "annotations", &written.annotation()]).remove(object)
}
