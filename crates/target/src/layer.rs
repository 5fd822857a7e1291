//! Patches as layers on an object: how Patchers set values, and how they take them back.
//!
//! [`lay`] gets an object, the values that were set on it before and the patches that are wanted
//! now. It returns the next state of the object and records the values that are set now. When a
//! patch is withdrawn, each field gets its former value back:
//!
//! ```text
//! field      before the patch   patch   recorded      after the patch is withdrawn
//! replicas   3                  5       5, was 3      3
//! paused     (absent)           true    true          (absent)
//! image      web                web     nothing       web
//! ```
//!
//! A field that already had the wanted value (`image`) belongs to somebody else: it is not recorded,
//! and it stays. If somebody has changed a recorded field since, their value stays, too. The drivers
//! of views and of the offline runner use this.

mod former;
mod patched;

use std::collections::BTreeMap;

use document::Value;
use object::GroupKind;

use fieldset::{Contest, FieldPath, LeafIndex, MergeKeys, is_relative, leaves, merge, walk};

pub(crate) use former::{Keeper, Was, with_elements};
pub(crate) use patched::Patched;

use crate::outgoing::identity_free;

/// The wish of one Patcher (or Applier) for an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Wish {
    /// This patch. A null in it removes the field.
    Patch(Value),
    /// No patch any more: the values that it has set are taken back.
    Nothing,
    /// Not known yet: the values that it has set stay.
    Unknown,
}

/// One Patcher (or Applier) of an object.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    /// Its wish.
    pub wish: Wish,
    /// Whether it is an Applier: as on a server, what it applies is removed when it no longer does,
    /// whatever the field had before. Only what it has taken over from a Patcher gets its former
    /// value back.
    pub applies: bool,
    /// Whether it was a Patcher until now: it takes over what that replaced.
    pub inherits: bool,
    /// The values that it has set.
    pub set: Patched,
}

/// The object with the patches of all layers; earlier layers win over later ones. Values that are
/// no longer wanted are taken back if nobody has changed them. `set` of each layer is updated.
pub(crate) fn lay(live: &Value, layers: &mut [Layer], keys: &MergeKeys) -> Value {
    let patches = contested(layers, keys);
    let wanted = patches.iter().flat_map(|patch| leaves(patch, keys));
    let mut wanted: LeafIndex = wanted.collect();
    let unknown = layers.iter().filter(|layer| layer.wish == Wish::Unknown);
    wanted.extend(unknown.flat_map(|layer| layer.set.sent()));
    let mut object = live.clone();
    let mut now: BTreeMap<usize, Patched> = BTreeMap::new();
    // Layers with a patch come first: they inherit the former values of those that are withdrawn.
    let (wanting, going): (Vec<_>, Vec<_>) = (0..layers.len())
        .filter(|i| layers[*i].wish != Wish::Unknown)
        .partition(|i| layers[*i].wish != Wish::Nothing);
    for i in wanting.into_iter().chain(going) {
        if !layers[i].applies {
            object = undo_reshaped(object, layers, &patches[i], &mut now, keys);
        }
        let set = &layers[i].set;
        let taken = set.take_back(&object, |place| !wanted.concerns(place));
        // What was replaced in this turn counts before what was known.
        let all = now.values().chain(layers.iter().map(|layer| &layer.set));
        let all: Vec<&Patched> = all.collect();
        let mut set = patched(&taken, &patches[i], set, &all, keys);
        if layers[i].applies && !layers[i].inherits {
            set.forget_former(layers);
        }
        object = merge(&taken, &patches[i], keys);
        set.identify(&object);
        now.insert(i, set);
    }
    for (i, set) in now {
        layers[i].set = set;
    }
    object
}

/// The object without what Patchers have set in another shape than a patch has now, also in their
/// sets. `now` has the sets of those that have had their turn.
fn undo_reshaped(
    object: Value,
    layers: &mut [Layer],
    patch: &Value,
    now: &mut BTreeMap<usize, Patched>,
    keys: &MergeKeys,
) -> Value {
    let is_old = |(i, layer): (usize, &Layer)| {
        let waits = !layer.applies && layer.wish != Wish::Unknown && !now.contains_key(&i);
        (waits && !layer.set.is_empty()).then_some(i)
    };
    let old: Vec<usize> = layers.iter().enumerate().filter_map(is_old).collect();
    if old.is_empty() {
        return object;
    }
    let wanted: LeafIndex = leaves(patch, keys).into_iter().collect();
    old.into_iter().fold(object, |object, i| {
        let Some((rest, gone)) = layers[i].set.take_back_reshaped(&object, &wanted) else {
            return object;
        };
        let sets = layers.iter_mut().map(|layer| &mut layer.set);
        for set in sets.chain(now.values_mut()) {
            set.after_removal(&gone);
        }
        rest
    })
}

/// A document with patches; earlier patches win over later ones. Nothing is recorded, because the
/// document is written as a whole.
pub(crate) fn overlay(document: &Value, patches: &[Value], keys: &MergeKeys) -> Value {
    let last_first = patches.iter().rev();
    last_first.fold(document.clone(), |document, patch| {
        merge(&document, &identity_free(patch), keys)
    })
}

/// The patches of the layers, without the fields that identify the object and without those that
/// an earlier patch sets to another value.
fn contested(layers: &[Layer], keys: &MergeKeys) -> Vec<Value> {
    let patches = layers.iter().map(|layer| match &layer.wish {
        Wish::Patch(patch) => identity_free(patch),
        Wish::Nothing | Wish::Unknown => Value::empty_map(),
    });
    let mut patches: Vec<Value> = patches.collect();
    let applies = layers.iter().map(|layer| layer.applies);
    lost_fields(patches.iter_mut().zip(applies), keys);
    patches
}

/// A field that a patch lost to an earlier one, which sets it to another value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LostField {
    /// The patch that lost it, by position.
    pub loser: usize,
    /// The patch that sets it.
    pub winner: usize,
    /// The field.
    pub field: FieldPath,
}

/// Removes from later patches the fields that earlier ones set to another value. Each patch comes
/// with whether it is applied.
pub(crate) fn lost_fields<'a>(
    patches: impl Iterator<Item = (&'a mut Value, bool)>,
    keys: &MergeKeys,
) -> Vec<LostField> {
    let mut contest = Contest::new(keys);
    let mut all = Vec::new();
    for (loser, (patch, applies)) in patches.enumerate() {
        let lost = contest.enter(patch, loser, applies).into_iter();
        all.extend(lost.map(|(field, winner)| LostField {
            loser,
            winner,
            field,
        }));
    }
    all
}

/// The values that a patch sets on an object: those that the object does not have yet, and those
/// that it has because one of our layers (`all`) has set them.
fn patched(
    object: &Value,
    patch: &Value,
    before: &Patched,
    all: &[&Patched],
    keys: &MergeKeys,
) -> Patched {
    let kind = GroupKind::of(object).unwrap_or_else(|| GroupKind::new("", ""));
    let kept = before.0.values().map(|entry| &entry.was);
    let mut keeper = Keeper::new(&kind, kept);
    let mut set = Patched::default();
    let relative = is_relative(patch);
    walk(patch, keys, &mut |place, value, _| {
        if place.0.is_empty() {
            return;
        }
        let live = place.get(object);
        let ours = if value.as_map().is_some() {
            // What a pipeline changes in an element that another controller appended is no part of
            // that element.
            let own = relative && place.is_indexed_element();
            let all = all.iter().copied().filter(|_| !own);
            let all = all.chain(own.then_some(before));
            let mut entries = all.filter_map(|set| set.0.get(place));
            // A map that we made goes with the last field that is taken back from it.
            entries.find(|entry| live.as_map().is_some() || (live.is_null() && entry.made))
        } else {
            let mut held = all.iter().filter_map(|set| set.held(place, object));
            held.next()
        };
        let sets = match value.as_map() {
            Some(_) if live.as_map().is_some() => false,
            // The maps of the metadata belong to everybody.
            Some(_) => place.top() != "metadata" || place.0.len() > 2,
            None => live != value,
        };
        match ours {
            Some(entry) if entry.made && value.as_map().is_some() => {
                set.0.insert(place.clone(), entry.clone());
            }
            // The former value is wanted: it belongs to others.
            Some(entry) if entry.was.value() == Some(value) => {}
            Some(entry) => set.note(place, value, entry.was.clone()),
            None if sets => {
                let was = keeper.keep(place, &without_ours(object, place, before, all));
                set.note(place, value, was);
            }
            None => {}
        }
    });
    set
}

/// The values that a patch sets on a document.
pub(crate) fn patched_on(document: &Value, patch: &Value, keys: &MergeKeys) -> Patched {
    patched(document, patch, &Patched::default(), &[], keys)
}

/// The object without the values at or inside a place that we have set. A patch may write a map
/// where it wrote a text before, or a text where it added a field to a map. If it is the place of a
/// list element, those beside it that the same controller has removed (`before`) are there.
fn without_ours(object: &Value, place: &FieldPath, before: &Patched, all: &[&Patched]) -> Value {
    let inside = |set: &&&Patched| {
        let mut from = set.0.range(place..);
        from.next().is_some_and(|(own, _)| own.within(place))
    };
    let object = match place.key_fields() {
        Some(_) => before.take_back(object, |own| own.is_beside(place)),
        None => object.clone(),
    };
    all.iter().filter(inside).fold(object, |object, set| {
        set.take_back(&object, |own| own.within(place))
    })
}

#[cfg(test)]
mod tests;
