//! Sets of fields.
//!
//! A set is a tree along the paths of its fields, as in `managedFields` of an API server. Each
//! node says whether its own field is in the set, and has a child for each path that continues:
//!
//! ```text
//! {spec.replicas, spec.containers[name=a]}
//!
//! spec ─┬─ replicas ●
//!       └─ containers ── [name=a] ●
//! ```

mod fields_v1;

use std::collections::BTreeMap;

use document::{Value, View};

use crate::keys::{Identity, MergeKeys};
use crate::merge::all_maps;
use crate::path::{FieldPath, PathElement};

pub use fields_v1::FieldsV1Error;

/// A set of fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    /// Whether the field of this node is in the set.
    member: bool,
    /// The children. Invariant: no child is empty.
    inside: BTreeMap<PathElement, FieldSet>,
}

impl FieldSet {
    /// The fields that an apply of this document owns: its leaves, and the elements of its
    /// lists with their key fields.
    pub fn of(document: &Value, keys: &MergeKeys) -> Self {
        let mut set = Self::default();
        set.add_document(document, keys, &mut Vec::new());
        set
    }

    /// Whether the set has no fields.
    pub fn is_empty(&self) -> bool {
        !self.member && self.inside.is_empty()
    }

    /// Whether a field is in the set.
    pub fn contains(&self, path: &FieldPath) -> bool {
        self.at(&path.0).is_some_and(|set| set.member)
    }

    /// Whether the set contains the field, a field around it or one inside it. If the set contains
    /// fields of a map or an element, the map itself does not count as containing other fields: its
    /// creator owns the map, and others own what they add.
    pub fn touches(&self, path: &FieldPath) -> bool {
        let mut node = self;
        for element in &path.0 {
            if node.member && node.inside.is_empty() {
                return true;
            }
            match node.inside.get(element) {
                Some(inside) => node = inside,
                None => return false,
            }
        }
        !node.is_empty()
    }

    /// The set with lists as a whole if their elements are identified by position or by value,
    /// because whoever writes such a list writes all of it.
    #[must_use]
    pub fn with_whole_lists(&self) -> Self {
        let is_whole = |element: &PathElement| {
            matches!(element, PathElement::Index(_) | PathElement::Value(_))
        };
        let (whole, inside): (Vec<_>, Vec<_>) = self
            .inside
            .iter()
            .partition(|(element, _)| is_whole(element));
        let inside = inside.into_iter();
        Self {
            member: self.member || !whole.is_empty(),
            inside: inside
                .map(|(element, inside)| (element.clone(), inside.with_whole_lists()))
                .collect(),
        }
    }

    /// The set without those maps whose fields only the other set has. Their owner created them,
    /// and owns nothing in them any more.
    #[must_use]
    pub fn without_maps_of(&self, other: &Self) -> Self {
        let inside = self.inside.iter().filter_map(|(element, inside)| {
            let left = match other.inside.get(element) {
                Some(other) => inside.without_maps_of(other),
                None => inside.clone(),
            };
            (!left.is_empty()).then(|| (element.clone(), left))
        });
        let is_left = self.inside.is_empty() && !other.inside.is_empty();
        Self {
            member: self.member && !is_left,
            inside: inside.collect(),
        }
    }

    /// All fields.
    pub fn everything() -> Self {
        Self {
            member: true,
            inside: BTreeMap::new(),
        }
    }

    /// The set without the fields below an element.
    #[must_use]
    pub fn without(&self, element: &PathElement) -> Self {
        let mut set = self.clone();
        set.inside.remove(element);
        set
    }

    /// Whether the field of this node is in the set.
    pub fn has_itself(&self) -> bool {
        self.member
    }

    /// The fields below an element, if there are any.
    pub fn below(&self, element: &PathElement) -> Option<&Self> {
        self.inside.get(element)
    }

    /// The children.
    pub fn elements(&self) -> impl Iterator<Item = (&PathElement, &Self)> {
        self.inside.iter()
    }

    /// Adds a field.
    pub fn insert(&mut self, path: &FieldPath) {
        let mut node = self;
        for element in &path.0 {
            node = node.inside.entry(element.clone()).or_default();
        }
        node.member = true;
    }

    /// The fields; outer ones come before those inside them.
    pub fn paths(&self) -> Vec<FieldPath> {
        let mut paths = Vec::new();
        self.collect(&mut FieldPath::default(), &mut paths);
        paths
    }

    /// The fields that are in one of the sets.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut set = self.clone();
        set.add(other);
        set
    }

    /// The fields that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let shared = self.inside.iter().filter_map(|(element, inside)| {
            let both = inside.intersection(other.inside.get(element)?);
            (!both.is_empty()).then(|| (element.clone(), both))
        });
        Self {
            member: self.member && other.member,
            inside: shared.collect(),
        }
    }

    /// The fields of this set that are not in the other one.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let left = self.inside.iter().filter_map(|(element, inside)| {
            let left = match other.inside.get(element) {
                Some(other) => inside.difference(other),
                None => inside.clone(),
            };
            (!left.is_empty()).then(|| (element.clone(), left))
        });
        Self {
            member: self.member && !other.member,
            inside: left.collect(),
        }
    }

    /// Adds the fields of another set.
    pub fn add(&mut self, other: &Self) {
        self.member |= other.member;
        for (element, inside) in &other.inside {
            self.inside.entry(element.clone()).or_default().add(inside);
        }
    }

    fn at(&self, path: &[PathElement]) -> Option<&Self> {
        path.iter()
            .try_fold(self, |node, element| node.inside.get(element))
    }

    fn collect(&self, here: &mut FieldPath, paths: &mut Vec<FieldPath>) {
        if self.member {
            paths.push(here.clone());
        }
        for (element, inside) in &self.inside {
            here.0.push(element.clone());
            inside.collect(here, paths);
            here.0.pop();
        }
    }

    fn add_document(&mut self, value: &Value, keys: &MergeKeys, fields: &mut Vec<document::Key>) {
        match value.view() {
            View::Map(map) if !map.is_empty() => {
                for (key, value) in map {
                    fields.push(key.clone());
                    let element = PathElement::Field(key.clone());
                    let inside = self.inside.entry(element).or_default();
                    inside.add_document(value, keys, fields);
                    fields.pop();
                }
            }
            View::List(list) if all_maps(list) => {
                let Some(identity) = keys.of(fields, &[list]) else {
                    // The list is replaced as a whole.
                    self.member = true;
                    return;
                };
                for item in list {
                    self.add_element(item, &identity, keys, fields);
                }
            }
            View::Map(_)
            | View::List(_)
            | View::Null
            | View::Bool(_)
            | View::Int(_)
            | View::Float(_)
            | View::Str(_)
            | View::Bytes(_) => self.member = true,
        }
    }

    fn add_element(
        &mut self,
        item: &Value,
        identity: &Identity,
        keys: &MergeKeys,
        fields: &mut Vec<document::Key>,
    ) {
        let element = PathElement::Element(identity.of(item).into());
        let inside = self.inside.entry(element).or_default();
        inside.member = true;
        inside.add_document(item, keys, fields);
    }
}

#[cfg(test)]
mod tests;
