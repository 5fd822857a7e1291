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

use std::collections::BTreeMap;

use document::{Key, Value};
use object::{GroupKind, ObjectKey, OperatorId};

use fieldset::{FieldPath, LeafIndex, MergeKeys, contest, leaves, merge, walk};

use crate::outgoing::identity_free;
use crate::relocated::relocated;
use crate::written::Written;

/// The value at a path before we wrote to it.
#[derive(Clone, Debug, PartialEq)]
pub enum Was {
    /// There was none.
    Absent,
    /// This value.
    Value(Value),
    /// It was not stored: the value that we wrote stays when the patch is withdrawn.
    NotKept,
}

/// The longest former value that is stored, in bytes of JSON.
const MAX_OLD: usize = 1024;
/// The total size of the former values that are stored for one Patcher and object.
const MAX_OLD_ALL: usize = 16 * 1024;

/// Decides which former values are stored. Those of Secrets are not, because a copy in a record
/// would outlive them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keeper {
    left: usize,
}

impl Keeper {
    /// A keeper for an object of this kind, for which these former values are stored already.
    pub(crate) fn new<'a>(kind: &GroupKind, kept: impl Iterator<Item = &'a Was>) -> Self {
        let used: usize = kept.map(Was::size).sum();
        let left = if kind.is_secret() {
            0
        } else {
            MAX_OLD_ALL.saturating_sub(used)
        };
        Self { left }
    }

    /// The record of a value that is about to be replaced.
    pub(crate) fn keep(&mut self, live: &Value) -> Was {
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

    /// The object with this value restored at a path.
    pub fn put_back(&self, object: &Value, place: &FieldPath) -> Value {
        match self {
            Self::Absent => place.take(object),
            Self::Value(value) => place.restore(object, value),
            Self::NotKept => object.clone(),
        }
    }
}

/// The values that a Patcher has set on an object, by path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patched(BTreeMap<FieldPath, PatchedField>);

/// The value that was written to a path, and the former one.
#[derive(Clone, Debug, PartialEq)]
struct PatchedField {
    /// Null if the field was removed. For a map or a list element that we created: the fields
    /// that the server added to it. Those that we set have their own paths.
    sent: Value,
    /// Whether it is a map or a list element that we created.
    made: bool,
    was: Was,
}

impl Patched {
    /// Whether nothing was set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The paths, each before the paths inside it.
    pub fn places(&self) -> impl DoubleEndedIterator<Item = &FieldPath> {
        self.0.keys()
    }

    /// Whether a path is recorded.
    pub(crate) fn has(&self, place: &FieldPath) -> bool {
        self.0.contains_key(place)
    }

    /// Whether a path still has what we wrote: the same value, or a map or list element that we
    /// created and to which nobody has added a field.
    pub fn holds(&self, place: &FieldPath, object: &Value) -> bool {
        self.held(place, object).is_some()
    }

    fn held(&self, place: &FieldPath, object: &Value) -> Option<&PatchedField> {
        let entry = self.0.get(place)?;
        let live = place.get(object);
        let added = |key: &Key, value: &Value| entry.sent.get_key(key) == value;
        let same = match live.as_map() {
            Some(map) if entry.made => map
                .iter()
                .all(|(key, value)| place.is_named_by(key) || added(key, value)),
            // It was removed with its last field.
            None if entry.made => live.is_null(),
            Some(_) | None => entry.sent == *live,
        };
        same.then_some(entry)
    }

    fn sent(&self) -> impl Iterator<Item = (FieldPath, Value)> {
        let entries = self.0.iter();
        entries.map(|(place, entry)| {
            let sent = if entry.made {
                Value::empty_map()
            } else {
                entry.sent.clone()
            };
            (place.clone(), sent)
        })
    }

    /// Records a value that is written to a path. The fields of a map are recorded separately.
    pub fn note(&mut self, place: &FieldPath, value: &Value, was: Was) {
        let made = value.as_map().is_some();
        let sent = if made {
            Value::empty_map()
        } else {
            value.clone()
        };
        let entry = PatchedField { sent, made, was };
        self.0.insert(place.clone(), entry);
    }

    /// Records a map or a list element that we created, and the fields in it that the server has
    /// added.
    pub(crate) fn note_made(&mut self, place: &FieldPath, added: Value, was: Was) {
        let (sent, made) = (added, true);
        self.0
            .insert(place.clone(), PatchedField { sent, made, was });
    }

    /// Records a value that is written as a whole, with all its fields.
    pub(crate) fn note_whole(&mut self, place: &FieldPath, value: &Value, was: Was) {
        let (sent, made) = (value.clone(), false);
        self.0
            .insert(place.clone(), PatchedField { sent, made, was });
    }

    /// The object with the former values restored where our values are unchanged. Maps that become
    /// empty are removed. `from` selects the paths.
    pub fn take_back(&self, object: &Value, from: impl Fn(&FieldPath) -> bool) -> Value {
        // From last to first: inner paths come before outer ones, and positions stay valid.
        let last_first = self.places().rev().filter(|place| from(place));
        last_first.fold(object.clone(), |object, place| {
            match self.held(place, &object) {
                Some(entry) => entry.was.put_back(&object, place),
                None => object,
            }
        })
    }

    /// The object as it enters the pipeline of the controller that set this: as
    /// [`Patched::take_back`], but list elements that it added go as a whole, even if others have
    /// changed them. The controller adds them again.
    pub(crate) fn entered(&self, object: &Value) -> Value {
        self.0.iter().rev().fold(object.clone(), |object, entry| {
            let (place, field) = entry;
            if field.made && field.was == Was::Absent && place.is_element() {
                return place.take(&object);
            }
            match self.held(place, &object) {
                Some(entry) => entry.was.put_back(&object, place),
                None => object,
            }
        })
    }

    /// The positions of the elements that we added to a list without key fields.
    pub(crate) fn added_to(&self, list: &FieldPath) -> Vec<usize> {
        let added = self.0.iter();
        let added = added.filter(|(_, field)| field.made && field.was == Was::Absent);
        added
            .filter_map(|(place, _)| place.position_in(list))
            .collect()
    }

    /// The same, with the positions that list elements without key fields have in an object.
    pub(crate) fn relocated(&self, object: &Value) -> Self {
        let adds = |entry: &PatchedField| entry.made && entry.was == Was::Absent;
        let holds = |entry: &PatchedField, live: &Value| match live.as_map() {
            Some(_) if entry.made => true,
            Some(_) | None => !entry.made && entry.sent == *live,
        };
        let found = relocated(&self.0, object, adds, holds);
        found.map_or_else(|| self.clone(), Self)
    }

    /// The object without our values, where these are unchanged. `from` selects the paths.
    pub(crate) fn remove(&self, object: &Value, from: impl Fn(&FieldPath) -> bool) -> Value {
        let last_first = self.places().rev().filter(|place| from(place));
        last_first.fold(object.clone(), |object, place| {
            if place.get(&object).is_null() || !self.holds(place, &object) {
                return object;
            }
            place.take(&object)
        })
    }

    /// The first path whose former value is not stored, of those that `counts` selects.
    pub(crate) fn not_kept(&self, counts: impl Fn(&FieldPath) -> bool) -> Option<&FieldPath> {
        let mut entries = self.0.iter();
        let found = entries.find(|(place, entry)| entry.was == Was::NotKept && counts(place));
        found.map(|(place, _)| place)
    }

    /// The size that a record of this has on an object, in bytes.
    pub(crate) fn record_size(&self, operator: &str, controller: &str, key: &ObjectKey) -> usize {
        let mut written = Written::new(&OperatorId::new(operator, ""), controller, key);
        for (place, entry) in &self.0 {
            written.record(place, &entry.sent, None, entry.was.clone());
        }
        written.print().len()
    }

    /// Adds what was set at other paths.
    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Forgets the former values, so that the fields are removed in the end, except for those that
    /// one of the layers knew: they come from a Patcher, and its successors inherit them.
    fn forget_former(&mut self, layers: &[Layer]) {
        for (place, entry) in &mut self.0 {
            let mut known = layers.iter().filter_map(|layer| layer.set.0.get(place));
            if !known.any(|own| own.was == entry.was) {
                entry.was = Was::Absent;
            }
        }
    }

    /// Drops the records of all other paths.
    pub(crate) fn retain(&mut self, keeps: impl Fn(&FieldPath) -> bool) {
        self.0.retain(|place, _| keeps(place));
    }
}

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
        let set = &layers[i].set;
        let taken = set.take_back(&object, |place| !wanted.concerns(place));
        // What was replaced in this turn counts before what was known.
        let all = now.values().chain(layers.iter().map(|layer| &layer.set));
        let all: Vec<&Patched> = all.collect();
        let mut set = patched(&taken, &patches[i], set, &all, keys);
        if layers[i].applies {
            set.forget_former(layers);
        }
        now.insert(i, set);
        object = merge(&taken, &patches[i], keys);
    }
    for (i, set) in now {
        layers[i].set = set;
    }
    object
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
    lost_fields(&mut patches, keys);
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

/// Removes from later patches the fields that earlier ones set to another value.
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
    walk(patch, keys, &mut |place, value, _| {
        if place.0.is_empty() {
            return;
        }
        let live = place.get(object);
        let ours = if value.as_map().is_some() {
            let mut entries = all.iter().filter_map(|set| set.0.get(place));
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
            Some(entry) if entry.was == Was::Value(value.clone()) => {}
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

/// The values that a patch sets on a document.
pub(crate) fn patched_on(document: &Value, patch: &Value, keys: &MergeKeys) -> Patched {
    patched(document, patch, &Patched::default(), &[], keys)
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
