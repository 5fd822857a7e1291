//! Patches on objects of views that users hold.
//!
//! An object that a controller yields is written whole, with the patches on it. One that a
//! user holds is changed only where a Patcher says so. What was set is remembered as long
//! as the views are, by the process: what is no longer derived, also after an edit of the
//! Operator, is taken back where it still is as written.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use document::{Key, Value};
use fieldset::MergeKeys;
use object::{GroupKind, ObjectName};
use operator::spec::Target;
use store::{Caller, Error, Store, Write, Written};
use target::layer::{Layer, Patched, Wish, lay};
use target::outgoing::patch_of;

/// What Patchers have set. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Patches(Arc<Mutex<BTreeMap<PatchedObject, Record>>>);

/// An object on which an operator has set something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PatchedObject {
    pub(super) operator: String,
    pub(super) collection: GroupKind,
    pub(super) name: ObjectName,
}

#[derive(Debug)]
struct Record {
    /// The object's: another one under its name has nothing of ours.
    uid: Value,
    /// What each Patcher has set.
    set: BTreeMap<String, Patched>,
}

/// What one Patcher wants of an object.
pub(super) struct Patch<'a> {
    /// Which one it is, also after an edit of the Operator.
    pub(super) by: String,
    pub(super) target: &'a Target,
    pub(super) document: &'a Value,
}

/// How often a write meets somebody faster before it is left to the next change.
const ATTEMPTS: usize = 5;

impl Patches {
    /// The objects on which an operator has set something.
    pub(super) fn places(&self, operator: &str) -> Vec<PatchedObject> {
        let records = self.records();
        let places = records.keys().filter(|place| place.operator == operator);
        places.cloned().collect()
    }

    /// Those who have set something on an object.
    pub(super) fn patchers(&self, place: &PatchedObject) -> Vec<String> {
        let records = self.records();
        let record = records.get(place).into_iter();
        record
            .flat_map(|record| record.set.keys().cloned())
            .collect()
    }

    /// The object is no user's any more.
    pub(super) fn forget(&self, place: &PatchedObject) {
        self.records().remove(place);
    }

    /// Brings an object that a user holds to what Patchers want of it, the first of them
    /// with the last word. Of Patchers that want nothing `gone` says whether what they set
    /// is taken back. Gives what was written, if anything was.
    pub(super) fn apply(
        &self,
        store: &Store,
        place: &PatchedObject,
        wanted: &[Patch<'_>],
        gone: &dyn Fn(&str) -> bool,
    ) -> Result<Option<Written>, Error> {
        for _ in 1..ATTEMPTS {
            match self.attempt(store, place, wanted, gone) {
                Err(Error::Changed { .. }) => {}
                result => return result,
            }
        }
        self.attempt(store, place, wanted, gone)
    }

    fn attempt(
        &self,
        store: &Store,
        place: &PatchedObject,
        wanted: &[Patch<'_>],
        gone: &dyn Fn(&str) -> bool,
    ) -> Result<Option<Written>, Error> {
        let mut records = self.records();
        let Some(live) = store.get(&place.collection, &place.name) else {
            records.remove(place);
            return Ok(None);
        };
        let uid = live.get("metadata").get("uid").clone();
        let known = records.get(place).filter(|record| record.uid == uid);
        let known = known.map(|record| record.set.clone()).unwrap_or_default();
        let keys = MergeKeys::of_group(place.collection.group.as_str());
        let (new, set) = layered(&live, known, wanted, gone, &keys);
        let written = write(store, place, &live, &new)?;
        if set.is_empty() {
            records.remove(place);
        } else {
            records.insert(place.clone(), Record { uid, set });
        }
        Ok(written)
    }

    fn records(&self) -> MutexGuard<'_, BTreeMap<PatchedObject, Record>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The object as it should be, and what each Patcher has set on it.
fn layered(
    live: &Value,
    mut known: BTreeMap<String, Patched>,
    wanted: &[Patch<'_>],
    gone: &dyn Fn(&str) -> bool,
    keys: &MergeKeys,
) -> (Value, BTreeMap<String, Patched>) {
    let mut names = Vec::new();
    let mut layers = Vec::new();
    for patch in wanted {
        layers.push(Layer {
            wish: Wish::Patch(patch_of(patch.document, patch.target)),
            set: known.remove(&patch.by).unwrap_or_default(),
        });
        names.push(patch.by.clone());
    }
    for (by, set) in known {
        let wish = if gone(&by) {
            Wish::Nothing
        } else {
            Wish::Unknown
        };
        layers.push(Layer { wish, set });
        names.push(by);
    }
    let new = lay(live, None, &mut layers, keys);
    let set = names.into_iter().zip(layers);
    let set = set.filter(|(_, layer)| !layer.set.is_empty());
    (new, set.map(|(by, layer)| (by, layer.set)).collect())
}

/// Writes what differs: the status by itself, as it has an endpoint of its own.
fn write(
    store: &Store,
    place: &PatchedObject,
    live: &Value,
    new: &Value,
) -> Result<Option<Written>, Error> {
    let caller = Caller::controller(&place.operator, "");
    let bare = |object: &Value| {
        object
            .as_map()
            .map(|map| Value::from(map.without("status")))
    };
    let mut written = None;
    if bare(live) != bare(new) {
        let replace = Write::Replace(new.clone());
        written = Some(store.write(&caller, &place.collection, &replace)?);
    }
    let status = new.get("status");
    if status != live.get("status") {
        let now = written.as_ref().map_or(live, |written| &written.object);
        let now = now
            .as_map()
            .map(|map| map.with(Key::new("status"), status.clone()));
        let status = Write::Status(now.map_or(Value::NULL, Value::from));
        written = Some(store.write(&caller, &place.collection, &status)?);
    }
    Ok(written)
}

#[cfg(test)]
mod tests;
