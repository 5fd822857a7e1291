//! An index of the leaves of documents.

use std::collections::BTreeMap;
use std::ops::Bound;

use document::Value;

use crate::path::FieldPath;

/// The leaves of one or more documents, by path.
///
/// It answers in the time of a few look-ups what [`concerns`](crate::concerns) answers for one
/// leaf:
///
/// ```
/// use document::json;
/// use fieldset::{FieldPath, LeafIndex, MergeKeys, leaves};
///
/// let document = json!({"spec": {"replicas": 3, "selector": {}}});
/// let index: LeafIndex = leaves(&document, &MergeKeys::of_group("apps")).into_iter().collect();
/// assert!(index.concerns(&FieldPath::of(&["spec"])));
/// assert!(index.concerns(&FieldPath::of(&["spec", "replicas"])));
/// assert!(!index.concerns(&FieldPath::of(&["spec", "selector", "app"])));
/// assert!(!index.concerns(&FieldPath::of(&["status"])));
/// ```
#[derive(Clone, Debug, Default)]
pub struct LeafIndex(BTreeMap<FieldPath, LeafKind>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LeafKind {
    /// An empty map, into which others may add fields.
    EmptyMap,
    /// A null, which removes what is there.
    Null,
    /// Any other value.
    Value,
}

impl LeafKind {
    fn of(value: &Value) -> Self {
        match value.as_map() {
            Some(_) => Self::EmptyMap,
            None if value.is_null() => Self::Null,
            None => Self::Value,
        }
    }
}

impl FromIterator<(FieldPath, Value)> for LeafIndex {
    fn from_iter<I: IntoIterator<Item = (FieldPath, Value)>>(leaves: I) -> Self {
        let mut index = Self::default();
        index.extend(leaves);
        index
    }
}

impl Extend<(FieldPath, Value)> for LeafIndex {
    fn extend<I: IntoIterator<Item = (FieldPath, Value)>>(&mut self, leaves: I) {
        for (path, value) in leaves {
            let kind = LeafKind::of(&value);
            let known = self.0.entry(path).or_insert(kind);
            *known = kind.max(*known);
        }
    }
}

impl LeafIndex {
    /// Whether writing the leaves also writes the value at `place`.
    pub fn concerns(&self, place: &FieldPath) -> bool {
        // Paths are ordered by their elements: those inside a place follow it.
        let mut from = self.0.range(place..);
        from.next().is_some_and(|(leaf, _)| leaf.within(place)) || self.is_inside(place)
    }

    /// Whether something is set inside a place.
    ///
    /// ```
    /// use document::json;
    /// use fieldset::{FieldPath, LeafIndex, MergeKeys, leaves};
    ///
    /// let document = json!({"l": [{"a": 1}], "t": "text", "gone": {"a": null}});
    /// let index: LeafIndex = leaves(&document, &MergeKeys::of_group("")).into_iter().collect();
    /// assert!(index.sets_inside(&FieldPath::of(&["l"])));
    /// assert!(!index.sets_inside(&FieldPath::of(&["t"])));
    /// assert!(!index.sets_inside(&FieldPath::of(&["gone"])));
    /// ```
    pub fn sets_inside(&self, place: &FieldPath) -> bool {
        let after = self.0.range((Bound::Excluded(place), Bound::Unbounded));
        let mut inside = after.take_while(|(leaf, _)| leaf.within(place));
        inside.any(|(_, kind)| *kind != LeafKind::Null)
    }

    /// Whether the value at a place is replaced as a whole, or removed: there is a leaf that is no map.
    pub fn replaces(&self, place: &FieldPath) -> bool {
        let kind = self.0.get(place);
        kind.is_some_and(|kind| *kind != LeafKind::EmptyMap)
    }

    /// Whether a place is inside a value that is replaced as a whole.
    pub fn is_inside(&self, place: &FieldPath) -> bool {
        (0..place.0.len()).any(|len| {
            let outer = FieldPath(place.0[..len].to_vec());
            self.replaces(&outer)
        })
    }
}

#[cfg(test)]
mod tests {
    use document::json;
    use seeded::Random;

    use super::*;
    use crate::path::PathElement;
    use crate::walk::concerns;

    fn path(random: &mut Random) -> FieldPath {
        let steps = (0..=random.below(3)).map(|_| match random.below(4) {
            0 => PathElement::Index(random.below(2)),
            1 => PathElement::Element(json!({"name": (random.below(2))})),
            _ => PathElement::Field(document::Key::new(["a", "b"][random.below(2)])),
        });
        FieldPath(steps.collect())
    }

    #[test]
    fn the_index_answers_as_all_leaves_one_by_one() {
        seeded::check(2_000, |random| {
            let leaf = |random: &mut Random| {
                let value = [json!({}), json!(1), json!([])][random.below(3)].clone();
                (path(random), value)
            };
            let leaves: Vec<_> = (0..random.below(6)).map(|_| leaf(random)).collect();
            let index: LeafIndex = leaves.iter().cloned().collect();
            let place = path(random);
            let each = leaves.iter().any(|leaf| concerns(leaf, &place));
            assert_eq!(index.concerns(&place), each, "{place} {leaves:?}");
        });
    }
}
