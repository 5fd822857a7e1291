//! Values that change their shape: what a Patcher has set as a whole gets fields or elements of its
//! own, or the other way round.
//!
//! A record has one former value for each path that was set. After such a change other paths are
//! set, whose former values are inside the recorded one, or are parts of it. So what was set in the
//! old shape is undone before the patch is merged:
//!
//! ```text
//! user    [{v: x, o: 1}]
//! patch   []               ─▶ []                record {/l: was [{v: x, o: 1}]}
//! patch   [{v: P}]         ─▶ [{v: P, o: 1}]    record {/l/[0]/v: was x}
//! ```

use std::collections::BTreeSet;

use document::{Map, Value};
use fieldset::{FieldPath, LeafIndex};

/// Whether writing the leaves gives the value at a recorded path another shape. `is_removed`: we have
/// removed it. What the server has dropped keeps its shape.
pub(crate) fn has_changed(
    wanted: &LeafIndex,
    place: &FieldPath,
    live: &Value,
    is_removed: bool,
) -> bool {
    let changes = match live.as_map() {
        Some(_) => wanted.replaces(place),
        None => (!live.is_null() || is_removed) && wanted.sets_inside(place),
    };
    changes || wanted.is_inside(place)
}

/// The paths of a record that are set in another shape now.
pub(crate) struct Reshaped {
    /// All of them.
    pub(crate) places: BTreeSet<FieldPath>,
    /// List elements that are found by their positions, and that we created: they go as a whole.
    pub(crate) elements: BTreeSet<FieldPath>,
}

impl Reshaped {
    /// The recorded paths that have another shape, with those around and inside which go with them;
    /// `None` if there are none. `is_made` selects what we created.
    pub(crate) fn of<'a>(
        recorded: impl Iterator<Item = &'a FieldPath> + Clone,
        has_changed: impl Fn(&FieldPath) -> bool,
        is_made: impl Fn(&FieldPath) -> bool,
    ) -> Option<Self> {
        let changed = recorded.clone().filter(|place| has_changed(place));
        let mut places: BTreeSet<FieldPath> = changed.cloned().collect();
        if places.is_empty() {
            return None;
        }
        let elements = places.iter().filter_map(|place| {
            let outer = (1..=place.0.len()).map(|len| FieldPath(place.0[..len].to_vec()));
            let mut elements = outer.filter(FieldPath::is_indexed_element);
            elements.find(|element| is_made(element))
        });
        let elements: BTreeSet<FieldPath> = elements.collect();
        let inside = recorded.filter(|place| elements.iter().any(|element| place.within(element)));
        places.extend(inside.cloned());
        Some(Self { places, elements })
    }

    /// The object without the maps that became empty inside a map that is recorded: only that one is.
    pub(crate) fn without_empty_maps(
        &self,
        object: &Value,
        is_recorded: impl Fn(&FieldPath) -> bool,
    ) -> Value {
        let last_first = self.places.iter().rev();
        last_first.fold(object.clone(), |object, place| {
            let outer = |len: usize| FieldPath(place.0[..len].to_vec());
            let made = (1..place.0.len()).find(|len| is_recorded(&outer(*len)));
            let inside = made.map_or(0..0, |made| made + 1..place.0.len());
            inside.rev().map(outer).fold(object, |object, map| {
                let is_empty = map.get(&object).as_map().is_some_and(Map::is_empty);
                if is_empty { map.take(&object) } else { object }
            })
        })
    }
}
