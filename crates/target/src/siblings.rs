//! Fields that other controllers of the same Operator have set.

use document::Value;
use fieldset::compare::same_at;
use fieldset::{FieldPath, concerns};
use object::ObjectKey;

use crate::TargetKind;
use crate::desired::{Desired, Wanted};
use crate::live::is_whole;
use crate::written::Written;

/// The Patchers and Appliers of the Operator with fields on an object that a document, which is a
/// layer as well, sets to other values.
pub fn overwritten(
    desired: &Desired,
    key: &ObjectKey,
    kind: &TargetKind,
    object: &Value,
) -> Vec<String> {
    let author = &desired.author;
    let mut records = Written::of_operator(object, &author.operator, key);
    records.retain(|written| written.controller != author.controller && !is_whole(written));
    if records.is_empty() {
        return Vec::new();
    }
    let mut wanted = Wanted::default();
    wanted.want(desired.clone());
    let mut leaves = wanted.leaves(key, kind);
    leaves.retain(|(place, value)| !same_at(place, place.get(object), value, &kind.keys));
    records.retain(|written| {
        let mut places = innermost(written);
        places.any(|place| leaves.iter().any(|leaf| concerns(leaf, place)))
    });
    let controllers = records.into_iter().map(|written| written.controller);
    controllers.collect()
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
