//! Patches on objects of views that users hold.
//!
//! An object that a controller yields is written whole, with the patches on it. One that a
//! user holds is changed only where a Patcher says so. What was set is remembered as long
//! as the views are, by the process: what is no longer derived, also after an edit of the
//! Operator, is taken back where it still is as written.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dataflow::ObjectName;
use document::{Key, Value};
use operator::layer::{layer, take_back};
use operator::patch::patch_of;
use operator::spec::Target;
use store::{Collection, Error, Store, Write, Writer, Written};

use super::views::key;

/// What Patchers have set. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Patches(Arc<Mutex<BTreeMap<Place, Record>>>);

/// An object on which an operator has set something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) operator: String,
    pub(super) collection: Collection,
    pub(super) name: ObjectName,
}

#[derive(Debug)]
struct Record {
    /// The object's: another one under its name has nothing of ours.
    uid: Value,
    /// What each Patcher has set.
    set: BTreeMap<String, Value>,
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
    pub(super) fn places(&self, operator: &str) -> Vec<Place> {
        let records = self.records();
        let places = records.keys().filter(|place| place.operator == operator);
        places.cloned().collect()
    }

    /// The object is no user's any more.
    pub(super) fn forget(&self, place: &Place) {
        self.records().remove(place);
    }

    /// Brings an object that a user holds to what Patchers want of it, the first of them
    /// with the last word. Of Patchers that want nothing `gone` says whether what they set
    /// is taken back. Gives what was written, if anything was.
    pub(super) fn apply(
        &self,
        store: &Store,
        place: &Place,
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
        place: &Place,
        wanted: &[Patch<'_>],
        gone: &dyn Fn(&str) -> bool,
    ) -> Result<Option<Written>, Error> {
        let mut records = self.records();
        let Some(live) = store.get(&place.collection, &key(&place.name)) else {
            records.remove(place);
            return Ok(None);
        };
        let uid = live.get("metadata").get("uid").clone();
        let known = records.get(place).filter(|record| record.uid == uid);
        let known = known.map(|record| record.set.clone()).unwrap_or_default();
        let (new, set) = layered(&live, &known, wanted, gone);
        let written = write(store, place, &live, &new)?;
        if set.is_empty() {
            records.remove(place);
        } else {
            records.insert(place.clone(), Record { uid, set });
        }
        Ok(written)
    }

    fn records(&self) -> MutexGuard<'_, BTreeMap<Place, Record>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The object as it should be, and what each Patcher has set on it.
fn layered(
    live: &Value,
    known: &BTreeMap<String, Value>,
    wanted: &[Patch<'_>],
    gone: &dyn Fn(&str) -> bool,
) -> (Value, BTreeMap<String, Value>) {
    let mut new = live.clone();
    let mut set = BTreeMap::new();
    for (by, before) in known {
        if wanted.iter().any(|patch| patch.by == *by) {
            continue;
        }
        if gone(by) {
            new = take_back(&new, before, &Value::empty_map()).unwrap_or(new);
        } else {
            set.insert(by.clone(), before.clone());
        }
    }
    for patch in wanted.iter().rev() {
        let wanted = patch_of(patch.document, patch.target);
        let before = known.get(&patch.by);
        new = layer(Some(new.clone()), before, Some(&wanted), None, patch.target).unwrap_or(new);
        set.insert(patch.by.clone(), wanted);
    }
    (new, set)
}

/// Writes what differs: the status by itself, as it has an endpoint of its own.
fn write(
    store: &Store,
    place: &Place,
    live: &Value,
    new: &Value,
) -> Result<Option<Written>, Error> {
    let writer = Writer::controller(&place.operator, "");
    let bare = |object: &Value| {
        object
            .as_map()
            .map(|map| Value::from(map.without("status")))
    };
    let mut written = None;
    if bare(live) != bare(new) {
        let replace = Write::Replace(new.clone());
        written = Some(store.write_one(&writer, &place.collection, replace)?);
    }
    let status = new.get("status");
    if status != live.get("status") {
        let now = written.as_ref().map_or(live, |written| &written.object);
        let now = now
            .as_map()
            .map(|map| map.with(Key::new("status"), status.clone()));
        let status = Write::Status(now.map_or(Value::NULL, Value::from));
        written = Some(store.write_one(&writer, &place.collection, status)?);
    }
    Ok(written)
}

#[cfg(test)]
mod tests;
