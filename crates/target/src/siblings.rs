//! What other controllers of the same Operator have written to an object.

use document::Value;
use fieldset::compare::same_at;
use fieldset::{FieldPath, concerns};
use object::ObjectKey;

use crate::TargetKind;
use crate::claim::Claim;
use crate::desired::{Desired, Wanted};
use crate::live::is_whole;
use crate::written::Written;

/// The controllers of the Operator on which the next write of a Patcher or an Applier depends: the
/// Updater of the object, of whose document a layer is a part, and the layers with fields that the
/// document sets to other values.
pub fn decisive(
    desired: &Desired,
    key: &ObjectKey,
    kind: &TargetKind,
    object: &Value,
) -> Vec<String> {
    let author = &desired.author;
    let claim = Claim::read(object, key).filter(|claim| claim.is_of(&author.operator));
    let mut records = Written::of_operator(object, &author.operator, key);
    let applied = |claim: &Claim| {
        let mut records = records.iter();
        records.any(|written| written.applied && written.controller == claim.controller)
    };
    let updater = claim.filter(|claim| !applied(claim));
    records.retain(|written| written.controller != author.controller && !is_whole(written));
    let mut found: Vec<String> = updater.into_iter().map(|claim| claim.controller).collect();
    if records.is_empty() {
        return found;
    }
    let mut wanted = Wanted::default();
    wanted.want(desired.clone());
    let mut leaves = wanted.leaves(key, kind, object);
    leaves.retain(|(place, value)| !same_at(place, place.get(object), value, &kind.keys));
    records.retain(|written| {
        let mut places = innermost(written);
        places.any(|place| leaves.iter().any(|leaf| concerns(leaf, place)))
    });
    found.extend(records.into_iter().map(|written| written.controller));
    found
}

/// The recorded paths without the maps and elements around others.
fn innermost(written: &Written) -> impl Iterator<Item = &FieldPath> {
    let mut places = written.places().peekable();
    std::iter::from_fn(move || {
        loop {
            let place = places.next()?;
            // The paths inside a path follow it directly.
            if !places.peek().is_some_and(|next| next.within(place)) {
                return Some(place);
            }
        }
    })
}
