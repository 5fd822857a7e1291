//! Patches as layers on an object: what Patchers set, and how they take that back.
//!
//! In come an object, what was set on it before and what is wanted now; out come the
//! object as it should be and what is set on it now. What already held the wanted value
//! belongs to somebody else: it is not recorded, and it stays when the patch goes. What held
//! another value gets that back: a Deployment that was scaled from 3 to 5 goes back to 3.
//! Views on a cluster and everything offline share this.

use std::collections::BTreeMap;

use document::{Map, Value};
use object::GroupKind;

use fieldset::{FieldPath, LeafIndex, MergeKeys, contest, leaves, merge, walk};

use crate::outgoing::identity_free;

/// What was at a place before we wrote there.
#[derive(Clone, Debug, PartialEq)]
pub enum Was {
    /// Nothing.
    Absent,
    /// This value.
    Value(Value),
    /// Something that is not kept: what we wrote stays when the patch goes.
    NotKept,
}

/// The longest value that is kept, as JSON.
const MAX_OLD: usize = 1024;
/// How much is kept of all that one Patcher has replaced on an object.
const MAX_OLD_ALL: usize = 16 * 1024;

/// Decides which old values are kept. Those of Secrets are not: a copy in a record would
/// outlive them.
#[derive(Clone, Copy, Debug)]
pub struct Keeper {
    left: usize,
}

impl Keeper {
    /// For a kind of object on which these old values are kept already.
    pub fn new<'a>(kind: &GroupKind, kept: impl Iterator<Item = &'a Was>) -> Self {
        let used: usize = kept.map(Was::size).sum();
        let left = if kind.is_secret() {
            0
        } else {
            MAX_OLD_ALL.saturating_sub(used)
        };
        Self { left }
    }

    /// What is to be remembered of a value that is about to be replaced.
    pub fn keep(&mut self, live: &Value) -> Was {
        if live.is_null() {
            return Was::Absent;
        }
        let was = Was::Value(live.clone());
        let size = was.size();
        if size > MAX_OLD || size > self.left {
            return Was::NotKept;
        }
        self.left -= size;
        was
    }
}

impl Was {
    fn size(&self) -> usize {
        match self {
            Self::Value(value) => value.to_string().len(),
            Self::Absent | Self::NotKept => 0,
        }
    }

    /// The object with this at a place again.
    pub fn put_back(&self, object: &Value, place: &FieldPath) -> Value {
        match self {
            Self::Absent => place.remove(object),
            Self::Value(value) => place.set(object, value),
            Self::NotKept => object.clone(),
        }
    }
}

/// What a Patcher has set on an object, by place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patched(BTreeMap<FieldPath, PatchedField>);

/// What was written to a place.
#[derive(Clone, Debug, PartialEq)]
struct PatchedField {
    /// Null where it was removed; an empty map for a map or an element that we made, whose
    /// fields have places of their own.
    sent: Value,
    was: Was,
}

impl PatchedField {
    /// Whether it is a map or an element that we made.
    fn is_map(&self) -> bool {
        self.sent.as_map().is_some_and(Map::is_empty)
    }
}

impl Patched {
    /// Whether nothing was set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The places, outer ones before what is inside them.
    pub fn places(&self) -> impl DoubleEndedIterator<Item = &FieldPath> {
        self.0.keys()
    }

    /// Whether a place holds what was written there: this value, or a map or an element
    /// that we made and that nobody has added anything to.
    pub fn holds(&self, place: &FieldPath, object: &Value) -> bool {
        self.held(place, object).is_some()
    }

    fn held(&self, place: &FieldPath, object: &Value) -> Option<&PatchedField> {
        let entry = self.0.get(place)?;
        let live = place.get(object);
        let made = entry.is_map();
        let same = match live.as_map() {
            Some(map) if made => map.iter().all(|(key, _)| place.is_named_by(key)),
            // It went with the last field in it.
            None if made => live.is_null(),
            Some(_) | None => entry.sent == *live,
        };
        same.then_some(entry)
    }

    fn sent(&self) -> impl Iterator<Item = (FieldPath, Value)> {
        let entries = self.0.iter();
        entries.map(|(place, entry)| (place.clone(), entry.sent.clone()))
    }

    /// Notes what is written to a place.
    pub fn note(&mut self, place: &FieldPath, value: &Value, was: Was) {
        let sent = match value.as_map() {
            Some(_) => Value::empty_map(),
            None => value.clone(),
        };
        self.0.insert(place.clone(), PatchedField { sent, was });
    }

    /// Notes a value that is written as one, with all that is in it.
    pub(crate) fn note_whole(&mut self, place: &FieldPath, value: &Value, was: Was) {
        let sent = value.clone();
        self.0.insert(place.clone(), PatchedField { sent, was });
    }

    /// The object as it was before we wrote to these places, where it still is as written;
    /// maps that this empties go too.
    pub(crate) fn take_back(&self, object: &Value, from: impl Fn(&FieldPath) -> bool) -> Value {
        // What is inside goes first, and positions stay right.
        let last_first = self.places().rev().filter(|place| from(place));
        last_first.fold(object.clone(), |object, place| {
            match self.held(place, &object) {
                Some(entry) => entry.was.put_back(&object, place),
                None => object,
            }
        })
    }

    /// Forgets all but these places.
    pub(crate) fn retain(&mut self, keeps: impl Fn(&FieldPath) -> bool) {
        self.0.retain(|place, _| keeps(place));
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
/// word. What they no longer want is taken back where it still is as written. The layers
/// then say what is set.
pub fn lay(live: &Value, layers: &mut [Layer], keys: &MergeKeys) -> Value {
    let patches = contested(layers, keys);
    let wanted = patches.iter().flat_map(|patch| leaves(patch, keys));
    let mut wanted: LeafIndex = wanted.collect();
    let unknown = layers.iter().filter(|layer| layer.wish == Wish::Unknown);
    wanted.extend(unknown.flat_map(|layer| layer.set.sent()));
    let mut object = live.clone();
    let mut now: BTreeMap<usize, Patched> = BTreeMap::new();
    // What is wanted comes first: it inherits from what goes.
    let (wanting, going): (Vec<_>, Vec<_>) = (0..layers.len())
        .filter(|i| layers[*i].wish != Wish::Unknown)
        .partition(|i| layers[*i].wish != Wish::Nothing);
    for i in wanting.into_iter().chain(going) {
        let set = &layers[i].set;
        let taken = set.take_back(&object, |place| !wanted.concerns(place));
        // What was replaced in this turn counts before what was known.
        let all = now.values().chain(layers.iter().map(|layer| &layer.set));
        let all: Vec<&Patched> = all.collect();
        now.insert(i, patched(&taken, &patches[i], set, &all, keys));
        object = merge(&taken, &patches[i], keys);
    }
    for (i, set) in now {
        layers[i].set = set;
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
    let patches = layers.iter().map(|layer| match &layer.wish {
        Wish::Patch(patch) => identity_free(patch),
        Wish::Nothing | Wish::Unknown => Value::empty_map(),
    });
    let mut patches: Vec<Value> = patches.collect();
    lost_fields(&mut patches, keys);
    patches
}

/// A field that a patch lost to an earlier one, which sets it otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct LostField {
    /// The patch that lost it, by position.
    pub loser: usize,
    /// The patch that sets it.
    pub winner: usize,
    /// The field.
    pub field: FieldPath,
}

/// Takes from later patches the fields that earlier ones set otherwise.
pub(crate) fn lost_fields(patches: &mut [Value], keys: &MergeKeys) -> Vec<LostField> {
    let mut taken = Vec::new();
    let mut all = Vec::new();
    for (loser, patch) in patches.iter_mut().enumerate() {
        let lost = contest(patch, loser, &mut taken, keys).into_iter();
        all.extend(lost.map(|(field, winner)| LostField {
            loser,
            winner,
            field,
        }));
    }
    all
}

/// What a patch sets on an object: what the object does not hold yet, and what it holds
/// because one of ours (`all`) has set it.
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
    walk(patch, keys, &mut |place, value, leaf| {
        if place.0.is_empty() {
            return;
        }
        let live = place.get(object);
        let ours = if value.as_map().is_some() {
            let mut entries = all.iter().filter_map(|set| set.0.get(place));
            // A map that we made goes with the last field that is taken back from it.
            entries.find(|entry| live.as_map().is_some() || (live.is_null() && entry.is_map()))
        } else {
            let mut held = all.iter().filter_map(|set| set.held(place, object));
            held.next()
        };
        // Maps go when they are empty; elements keep the fields that name them.
        let sets = match value.as_map() {
            Some(_) if live.as_map().is_some() => false,
            Some(_) => leaf || place.is_element() || !live.is_null(),
            None => live != value,
        };
        match ours {
            Some(entry) => set.note(place, value, entry.was.clone()),
            None if sets => {
                let was = keeper.keep(&others_value(object, place, all));
                set.note(place, value, was);
            }
            None => {}
        }
    });
    set
}

/// The value at a place without those at or inside it that we have set. A patch may write a map
/// where it wrote a text before, or a text where it added a field to a map.
fn others_value(object: &Value, place: &FieldPath, all: &[&Patched]) -> Value {
    let inside = |set: &&&Patched| {
        let mut from = set.0.range(place..);
        from.next().is_some_and(|(own, _)| own.within(place))
    };
    let mut sets = all.iter().filter(inside).peekable();
    if sets.peek().is_none() {
        return place.get(object).clone();
    }
    let without = sets.fold(object.clone(), |object, set| {
        set.take_back(&object, |own| own.within(place))
    });
    place.get(&without).clone()
}

#[cfg(test)]
mod tests;
