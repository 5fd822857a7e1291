//! Which of several writers gets a field: the first one that sets it.
//!
//! ```text
//! first   replicas: 3                    ─▶ replicas: 3
//! second  replicas: 5, paused: true      ─▶ paused: true, and replicas is lost to the first
//! ```
//!
//! Writers that merge can share a list without key fields, element by element. To a server-side
//! apply such a list is one value, so of several writers that apply it one gets all of it.

use document::Value;

use crate::walk::{concerns, leaves};
use crate::{FieldPath, MergeKeys};

/// The fields that the writers so far have taken.
#[derive(Clone, Debug)]
pub struct Contest<'a, T> {
    keys: &'a MergeKeys,
    taken: Vec<Taken<T>>,
}

#[derive(Clone, Debug)]
struct Taken<T> {
    leaf: (FieldPath, Value),
    /// If the writer applies: the list without key fields that the leaf is in.
    applied: Option<(FieldPath, Value)>,
    by: T,
}

impl<'a, T: Copy> Contest<'a, T> {
    /// A contest without writers.
    pub fn new(keys: &'a MergeKeys) -> Self {
        Self {
            keys,
            taken: Vec::new(),
        }
    }

    /// The next writer: removes from its patch the leaves that others have taken, and takes the
    /// rest. Returns the lost paths, each with the writer that has it.
    pub fn enter(&mut self, patch: &mut Value, by: T, applies: bool) -> Vec<(FieldPath, T)> {
        let mut lost: Vec<(FieldPath, T)> = Vec::new();
        loop {
            let own = leaves(patch, self.keys);
            let list = |leaf: &FieldPath| {
                let list = leaf.is_by_position().then(|| leaf.atomic());
                list.filter(|_| applies)
                    .map(|list| (list.clone(), list.get(patch).clone()))
            };
            let own: Vec<_> = own.into_iter().map(|leaf| (list(&leaf.0), leaf)).collect();
            let found = own.iter().filter_map(|(list, leaf)| {
                let place = |whole: bool| match list {
                    Some((list, _)) if whole => list.clone(),
                    Some(_) | None => leaf.0.clone(),
                };
                let mut taken = self.taken.iter();
                taken.find_map(|taken| match (list, &taken.applied) {
                    (Some(own), Some(other)) if own.0 == other.0 => {
                        (own.1 != other.1).then(|| (place(true), &leaf.1, taken.by))
                    }
                    _ => clash(&taken.leaf, leaf).then(|| (place(false), &leaf.1, taken.by)),
                })
            });
            let found: Vec<_> = found.collect();
            if found.is_empty() {
                let own = own.into_iter();
                self.taken
                    .extend(own.map(|(applied, leaf)| Taken { leaf, applied, by }));
                return lost;
            }
            // From the end, so that positions stay valid. If only the key fields of an element are
            // left, the next round treats it as a leaf.
            for (place, value, _) in found.iter().rev() {
                *patch = match value.as_map() {
                    Some(_) => place.remove(patch),
                    None => place.strike(patch),
                };
            }
            for (place, _, winner) in found {
                if !lost.iter().any(|(other, _)| *other == place) {
                    lost.push((place, winner));
                }
            }
        }
    }
}

/// Whether two leaves cannot both be written.
fn clash(a: &(FieldPath, Value), b: &(FieldPath, Value)) -> bool {
    if a.0 == b.0 {
        return a.1 != b.1;
    }
    concerns(a, &b.0) && concerns(b, &a.0)
}
