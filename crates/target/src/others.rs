//! Fields that other Operators have set, which are left to them.

use document::Value;
use fieldset::compare::same_at;
use fieldset::{FieldPath, MergeKeys, leaves};

use crate::written::Written;

/// A field that a patch does not get, because another Operator has set it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OthersField {
    pub(crate) field: FieldPath,
    /// The other Operator.
    pub(crate) operator: String,
}

/// Removes from a patch what Patchers of other Operators have set to another value; `records` are
/// theirs.
pub(crate) fn leave_to_others(
    patch: &mut Value,
    object: &Value,
    records: &[Written],
    keys: &MergeKeys,
) -> Vec<OthersField> {
    let patched: Vec<&Written> = records.iter().filter(|other| other.is_patch()).collect();
    if patched.is_empty() {
        return Vec::new();
    }
    let owner = |place: &FieldPath| {
        let has = |written: &&&Written| {
            let mut places = written.places();
            places.any(|own| own.within(place) || place.within(own))
        };
        patched.iter().find(has)
    };
    let mut lost = Vec::new();
    // From the end, so that positions stay valid.
    for (field, value) in leaves(patch, keys).into_iter().rev() {
        if same_at(&field, field.get(object), &value, keys) {
            continue;
        }
        if let Some(other) = owner(&field) {
            *patch = match value.as_map() {
                Some(_) => field.remove(patch),
                None => field.strike(patch),
            };
            let operator = other.operator.clone();
            lost.push(OthersField { field, operator });
        }
    }
    lost
}
