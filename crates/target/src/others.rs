//! Fields that other Operators have set, which are left to them.

use document::Value;
use fieldset::compare::{equal, same_at};
use fieldset::{FieldPath, MergeKeys, leaves};

use crate::written::Written;

/// A field that a patch does not get, because another Operator has set it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OthersField {
    pub(crate) field: FieldPath,
    /// The other Operator.
    pub(crate) operator: String,
}

/// Removes from a patch what other Operators have set to another value; `records` are theirs. Into a
/// map that another Operator has created, the patch may add fields. The list elements that it appends
/// are its own, except in a list that another Operator applies: that is one value.
pub(crate) fn leave_to_others(
    patch: &mut Value,
    appended: &[FieldPath],
    object: &Value,
    records: &[Written],
    keys: &MergeKeys,
) -> Vec<OthersField> {
    let owner = |place: &FieldPath, is_own: bool| {
        let has = |written: &&Written| {
            let overlaps = |own: &FieldPath| {
                if written.applied {
                    return keys.atomic(own).overlaps(&keys.atomic(place));
                }
                let is_map = own.get(object).as_map().is_some() && written.is_made(own);
                let is_inside = place.within(own) && place != own && !own.is_element();
                !is_own && own.overlaps(place) && !(is_inside && is_map)
            };
            written.places().any(overlaps)
        };
        records.iter().find(has)
    };
    let mut lost: Vec<OthersField> = Vec::new();
    // From the end, so that positions stay valid.
    for (field, value) in leaves(patch, keys).into_iter().rev() {
        let live = field.get(object);
        // A map that is there.
        let is_no_change = equal(&value, &Value::empty_map()) && live.as_map().is_some();
        if is_no_change || same_at(&field, live, &value, keys) {
            continue;
        }
        let is_own = appended.iter().any(|element| field.within(element));
        let Some(other) = owner(&field, is_own) else {
            continue;
        };
        let field = if other.applied {
            keys.atomic(&field)
        } else {
            field
        };
        *patch = match value.as_map() {
            Some(_) => field.remove(patch),
            None => field.strike(patch),
        };
        *patch = without_bare_elements(patch, object, &field);
        if !lost.iter().any(|lost| lost.field == field) {
            let operator = other.operator.clone();
            lost.push(OthersField { field, operator });
        }
    }
    lost
}

/// The patch without new list elements around a field that have nothing but their key fields left.
/// An element that exists stays in the patch: that changes nothing.
fn without_bare_elements(patch: &Value, object: &Value, field: &FieldPath) -> Value {
    let outer = (1..field.0.len()).map(|len| FieldPath(field.0[..len].to_vec()));
    let mut elements: Vec<FieldPath> = outer.filter(FieldPath::is_element).collect();
    elements.retain(|element| element.get(object).is_null());
    elements.iter().rev().fold(patch.clone(), |patch, element| {
        let fields = element.get(&patch).as_map();
        let is_bare = fields.is_some_and(|fields| {
            !element.is_by_position() && fields.iter().all(|(key, _)| element.is_named_by(key))
        });
        if is_bare {
            element.remove(&patch)
        } else {
            patch
        }
    })
}
