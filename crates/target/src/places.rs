//! The positions of the list elements without key fields that Patchers append to an object.
//!
//! A patch of an object that is changed in place refers to what its pipeline saw: the object
//! without the elements that the controller has appended itself. [`place`] turns this into
//! positions in the object, for all patches one after the other, so that no two patches append at
//! the same position.
//!
//! An element is appended as a whole and goes as a whole: if another one is wanted instead, the old
//! one is removed and the new one appended. What would be left of it could mean something else: an
//! empty rule of a `NetworkPolicy` allows everything.

use document::Value;
use fieldset::{FieldPath, LeafIndex, MergeKeys, is_relative, leaves, merge, placed};

use crate::layer::Patched;
use crate::written::Written;

/// What a controller has appended to lists of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Appended<'a> {
    Written(&'a Written),
    Patched(&'a Patched),
}

impl Appended<'_> {
    /// The paths of the elements.
    fn places(&self) -> Vec<FieldPath> {
        match self {
            Self::Written(written) => written.appended(),
            Self::Patched(set) => set.appended(),
        }
    }

    fn is(&self, place: &FieldPath, item: &Value, keys: &MergeKeys) -> bool {
        match self {
            Self::Written(written) => written.has_appended(place, item),
            Self::Patched(set) => set.has_appended(place, item, keys),
        }
    }
}

/// A patch that gets positions.
#[derive(Debug)]
pub(crate) struct Unplaced<'a> {
    pub(crate) patch: &'a mut Value,
    /// The elements that it appends.
    pub(crate) added: &'a mut Vec<FieldPath>,
    /// Whether its object is changed in place.
    pub(crate) in_place: bool,
    pub(crate) before: Option<Appended<'a>>,
}

/// Gives patches their positions in an object, in the order in which they are merged into it.
pub(crate) fn place(object: &Value, patches: &mut [Unplaced<'_>], keys: &MergeKeys) {
    let relative = |one: &Unplaced<'_>| one.in_place && is_relative(one.patch);
    if !patches.iter().any(relative) {
        return;
    }
    let mut object = object.clone();
    for one in patches {
        if relative(one) {
            let before = one.before;
            let own = before.map_or_else(Vec::new, |before| before.places());
            let is = |place: &FieldPath, item: &Value| {
                before.is_some_and(|before| before.is(place, item, keys))
            };
            let placed = placed(one.patch, &object, keys, &own, &is);
            *one.patch = placed.patch;
            *one.added = placed.added;
        }
        object = merge(&object, one.patch, keys);
    }
}

/// The elements that a controller has appended and that no patch wants any more. `patches` are its
/// own patch and those of others that do not refer to what a pipeline saw.
pub(crate) fn unwanted<'a>(
    before: Appended<'_>,
    patches: impl Iterator<Item = &'a Value>,
    keys: &MergeKeys,
) -> Vec<FieldPath> {
    let mut places = before.places();
    if !places.is_empty() {
        let wanted: LeafIndex = patches.flat_map(|patch| leaves(patch, keys)).collect();
        places.retain(|place| !wanted.concerns(place));
    }
    places
}

/// The object without these elements, which are sorted.
pub(crate) fn removed(object: &Value, elements: &[FieldPath]) -> Value {
    let last_first = elements.iter().rev();
    last_first.fold(object.clone(), |object, place| place.take(&object))
}

/// A patch without everything but the elements that it appends.
pub(crate) fn only_appended(patch: &Value, added: &[FieldPath], keys: &MergeKeys) -> Value {
    let others = leaves(patch, keys).into_iter().rev();
    let others = others.filter(|(leaf, _)| !added.iter().any(|place| leaf.within(place)));
    others.fold(patch.clone(), |patch, (leaf, _)| leaf.strike(&patch))
}
