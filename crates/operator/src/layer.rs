//! Patches as layers on an object: what Patchers set, and how they take that back.
//!
//! In come an object, what was set on it before and what is wanted now; out come the
//! object as it should be and what is set on it now. What already held the wanted value
//! belongs to somebody else: it is not recorded, and it stays when the patch goes. Views
//! on a cluster and everything offline share this.

use std::collections::BTreeMap;

use document::Value;

use crate::patch::{MergeKeys, identity_free, merge};
use crate::place::{Place, clash, concerns, leaves, walk};

/// What a Patcher has set on an object: by place, what it wrote there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patched(BTreeMap<Place, Value>);

impl Patched {
    /// Whether nothing was set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The places, outer ones before what is inside them.
    pub fn places(&self) -> impl DoubleEndedIterator<Item = &Place> {
        self.0.keys()
    }

    /// Whether a place holds what was written there: this value, or a map or an element
    /// that we made and that nobody has added anything to.
    pub fn holds(&self, place: &Place, object: &Value) -> bool {
        let live = place.get(object);
        match (self.0.get(place), live.as_map()) {
            (Some(sent), Some(map)) if sent.as_map().is_some() => {
                map.iter().all(|(key, _)| place.is_named_by(key))
            }
            (Some(sent), _) => sent == live,
            (None, _) => false,
        }
    }

    /// Notes what is written to a place.
    pub fn note(&mut self, place: &Place, value: &Value) {
        // What is in a map has places of its own.
        let value = match value.as_map() {
            Some(_) => Value::empty_map(),
            None => value.clone(),
        };
        self.0.insert(place.clone(), value);
    }
}

/// What one Patcher (or Applier) wants of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    /// This patch, in which null removes.
    Patch(Value),
    /// Nothing any more: what it has set is taken back.
    Nothing,
    /// It is not known yet: what it has set stays.
    Unknown,
}

/// One Patcher (or Applier) of an object.
#[derive(Clone, Debug)]
pub struct Layer {
    /// What it wants.
    pub wish: Wish,
    /// What it has set.
    pub set: Patched,
}

/// The object with the patches of these layers on it, the first of them with the last
/// word. What they no longer want is taken back where it still is as written. What `under`
/// yields, the document of an Updater that the patches lie on, stays. The layers then say
/// what is set.
pub fn lay(live: &Value, under: Option<&Value>, layers: &mut [Layer], keys: &MergeKeys) -> Value {
    let patches = contested(layers, keys);
    let mut wanted = under.map_or_else(Vec::new, |under| leaves(&identity_free(under), keys));
    wanted.extend(patches.iter().flat_map(|patch| leaves(patch, keys)));
    let unknown = layers.iter().filter(|layer| layer.wish == Wish::Unknown);
    wanted.extend(unknown.flat_map(|layer| layer.set.0.clone()));
    let mut object = live.clone();
    let mut now = Vec::with_capacity(layers.len());
    for (layer, patch) in layers.iter().zip(&patches) {
        if layer.wish == Wish::Unknown {
            now.push(layer.set.clone());
            continue;
        }
        let taken = take_back(&object, &layer.set, &wanted);
        let all = layers.iter().map(|layer| &layer.set).chain(&now);
        now.push(patched(&taken, patch, &all.collect::<Vec<_>>(), keys));
        object = merge(&taken, patch, keys);
    }
    for (layer, set) in layers.iter_mut().zip(now) {
        layer.set = set;
    }
    object
}

/// A document with patches on it, the first with the last word. Nothing is recorded: who
/// writes the document writes all of it.
pub fn overlay(document: &Value, patches: &[Value], keys: &MergeKeys) -> Value {
    let last_first = patches.iter().rev();
    last_first.fold(document.clone(), |document, patch| {
        merge(&document, &identity_free(patch), keys)
    })
}

/// The patches of the layers, without what only says which object is meant and without
/// the fields that an earlier one sets otherwise.
fn contested(layers: &[Layer], keys: &MergeKeys) -> Vec<Value> {
    let mut taken: Vec<(Place, Value)> = Vec::new();
    let mut patches = Vec::with_capacity(layers.len());
    for layer in layers {
        let mut patch = match &layer.wish {
            Wish::Patch(patch) => identity_free(patch),
            Wish::Nothing | Wish::Unknown => Value::empty_map(),
        };
        let (lost, won): (Vec<_>, Vec<_>) = leaves(&patch, keys)
            .into_iter()
            .partition(|leaf| taken.iter().any(|other| clash(other, leaf)));
        for (place, _) in lost.iter().rev() {
            patch = place.strike(&patch);
        }
        taken.extend(won);
        patches.push(patch);
    }
    patches
}

/// The object without what was set, where it still is as written and nobody wants it;
/// maps that this empties go too.
fn take_back(object: &Value, set: &Patched, wanted: &[(Place, Value)]) -> Value {
    // What is inside goes first, and positions stay right.
    let last_first = set.places().rev();
    let dropped = last_first.filter(|place| !wanted.iter().any(|leaf| concerns(leaf, place)));
    dropped.fold(object.clone(), |object, place| {
        if set.holds(place, &object) {
            place.remove(&object)
        } else {
            object
        }
    })
}

/// What a patch sets on an object: what the object does not hold yet, and what it holds
/// because one of ours (`all`) has set it.
fn patched(object: &Value, patch: &Value, all: &[&Patched], keys: &MergeKeys) -> Patched {
    let mut set = Patched::default();
    walk(patch, keys, &mut |place, value, leaf| {
        if value.is_null() || place.0.is_empty() {
            return;
        }
        let live = place.get(object);
        let sets = if value.as_map().is_some() {
            // Maps go when they are empty, elements keep the fields that name them.
            let made = all.iter().any(|set| set.0.contains_key(place));
            (leaf || place.is_element()) && (live.as_map().is_none() || made)
        } else {
            live != value || all.iter().any(|set| set.holds(place, object))
        };
        if sets {
            set.note(place, value);
        }
    });
    set
}

#[cfg(test)]
mod tests;
