//! Walks documents: their leaves, and which of several writers gets which leaf.

use document::{Key, ListRef, Path, Value, View};

use crate::append::changes;
use crate::delta::{is_delete, replacement};
use crate::keys::{Identity, MergeKeys};
use crate::merge::all_maps;
use crate::path::{FieldPath, PathElement};

/// Visits the values of a document: maps before their content, list elements by their merge
/// keys. `leaf` is true if nothing inside is visited: for a scalar, an empty map, a list that
/// is replaced as a whole, or an element that has only its key fields. An element that is to be
/// deleted is a leaf without a value; one that only keeps the positions of others is not visited.
pub fn walk(document: &Value, keys: &MergeKeys, visit: &mut impl FnMut(&FieldPath, &Value, bool)) {
    let mut walker = Walker {
        keys,
        fields: Vec::new(),
        place: FieldPath::default(),
        visit,
    };
    walker.value(document, None);
}

struct Walker<'a, F> {
    keys: &'a MergeKeys,
    fields: Vec<Key>,
    place: FieldPath,
    visit: &'a mut F,
}

impl<F: FnMut(&FieldPath, &Value, bool)> Walker<'_, F> {
    /// The key fields of elements are not visited.
    fn value(&mut self, value: &Value, identity: Option<&Identity>) {
        let skip = |key: &Key| identity.is_some_and(|identity| identity.has(key));
        match value.view() {
            View::Map(map) if map.iter().any(|(key, _)| !skip(key)) => {
                (self.visit)(&self.place, value, false);
                for (key, value) in map.iter().filter(|(key, _)| !skip(key)) {
                    self.fields.push(key.clone());
                    self.place.0.push(PathElement::Field(key.clone()));
                    self.value(value, None);
                    self.place.0.pop();
                    self.fields.pop();
                }
            }
            View::List(list) if all_maps(list) => match replacement(list) {
                Some(whole) => (self.visit)(&self.place, &whole, true),
                None => self.list(list),
            },
            View::Map(_)
            | View::List(_)
            | View::Null
            | View::Bool(_)
            | View::Int(_)
            | View::Float(_)
            | View::Str(_)
            | View::Bytes(_) => (self.visit)(&self.place, value, true),
        }
    }

    fn list(&mut self, list: ListRef<'_>) {
        let identity = self.keys.of(&self.fields, &[list]);
        for (i, item) in list.iter().enumerate() {
            self.place.0.push(match &identity {
                Some(identity) => PathElement::Element(identity.of(item).into()),
                None => PathElement::Index(i),
            });
            if is_delete(item) {
                (self.visit)(&self.place, &Value::NULL, true);
            } else if let Some(fields) = changes(item) {
                if !fields.is_empty() {
                    self.value(&fields.into(), None);
                }
            } else {
                self.value(item, identity.as_ref());
            }
            self.place.0.pop();
        }
    }
}

/// Whether writing a leaf also writes the value at `place`: one path contains the other, and
/// the leaf is not just an empty map, into which others may add fields.
pub fn concerns((leaf, value): &(FieldPath, Value), place: &FieldPath) -> bool {
    leaf.within(place) || (place.within(leaf) && value.as_map().is_none())
}

/// The leaves of a document.
pub fn leaves(document: &Value, keys: &MergeKeys) -> Vec<(FieldPath, Value)> {
    let mut leaves = Vec::new();
    walk(document, keys, &mut |place, value, leaf| {
        // An empty document has none.
        if leaf && !place.0.is_empty() {
            leaves.push((place.clone(), value.clone()));
        }
    });
    leaves
}

/// The paths in an object that a path expression matches; none if it matches too many.
pub fn located(path: &Path, object: &Value) -> Vec<FieldPath> {
    let matches = path.all(object, &Value::NULL).unwrap_or_default();
    let mut places = Vec::new();
    if !matches.is_empty() {
        locate(object, &matches, &mut FieldPath::default(), &mut places);
    }
    places
}

/// Matches are references into the object, so they are found by their addresses.
fn locate(value: &Value, matches: &[&Value], here: &mut FieldPath, places: &mut Vec<FieldPath>) {
    if matches.iter().any(|found| std::ptr::eq(*found, value)) {
        places.push(here.clone());
        return;
    }
    match value.view() {
        View::Map(map) => {
            for (key, value) in map {
                here.0.push(PathElement::Field(key.clone()));
                locate(value, matches, here, places);
                here.0.pop();
            }
        }
        View::List(list) => {
            for (i, value) in list.iter().enumerate() {
                here.0.push(PathElement::Index(i));
                locate(value, matches, here, places);
                here.0.pop();
            }
        }
        View::Null
        | View::Bool(_)
        | View::Int(_)
        | View::Float(_)
        | View::Str(_)
        | View::Bytes(_) => {}
    }
}
