//! Sets of fields.
//!
//! A set is a tree along the paths of its fields, as an API server keeps it in
//! `managedFields`: a node says whether the field itself is in the set, and which of the
//! fields inside it are.
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
    /// Whether the field that this node is about is in the set.
    member: bool,
    /// Never empty below.
    inside: BTreeMap<PathElement, FieldSet>,
}

impl FieldSet {
    /// What an apply of this document owns: its leaves, and the elements of its lists with the
    /// fields that name them.
    pub fn of(document: &Value, keys: &MergeKeys) -> Self {
        let mut set = Self::default();
        set.add_document(document, keys, &mut Vec::new());
        set
    }

    /// Without anything.
    pub fn is_empty(&self) -> bool {
        !self.member && self.inside.is_empty()
    }

    /// Whether a field is in the set.
    pub fn contains(&self, path: &FieldPath) -> bool {
        self.at(&path.0).is_some_and(|set| set.member)
    }

    /// Whether a field, one around it or one inside it is in the set.
    pub fn touches(&self, path: &FieldPath) -> bool {
        let mut node = self;
        for element in &path.0 {
            if node.member {
                return true;
            }
            match node.inside.get(element) {
                Some(inside) => node = inside,
                None => return false,
            }
        }
        !node.is_empty()
    }

    /// The set in which a list counts as a whole if its elements are named by position or by
    /// value: who writes such a list writes all of it.
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

    /// All fields.
    pub fn everything() -> Self {
        Self {
            member: true,
            inside: BTreeMap::new(),
        }
    }

    /// Without what is inside a field.
    #[must_use]
    pub fn without(&self, element: &PathElement) -> Self {
        let mut set = self.clone();
        set.inside.remove(element);
        set
    }

    /// The steps into the set.
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

    /// The fields, outer ones before those inside them.
    pub fn paths(&self) -> Vec<FieldPath> {
        let mut paths = Vec::new();
        self.collect(&mut FieldPath::default(), &mut paths);
        paths
    }

    /// The fields of either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut set = self.clone();
        set.add(other);
        set
    }

    /// The fields of both sets.
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

    /// The fields of this set that are not in the other.
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

    fn add(&mut self, other: &Self) {
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
                    // It is replaced as a whole.
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
