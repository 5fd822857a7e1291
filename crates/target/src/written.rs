//! Records: what a controller has set on an object, stored on the object itself.
//!
//! The annotation `dcontroller.io/set.<hash of operator/controller>` has the paths that a
//! controller has written. Each path has a hash of the value that was sent and, if the server
//! stored another one, a hash of that. So values that are no longer wanted can be undone after
//! a restart, too, and only if the object still has them. A path that had the wanted value
//! before is not recorded: it belongs to somebody else. The record is written together with the
//! fields, or before them. Like a claim it names its object, because Kubernetes copies
//! annotations.
//!
//! ```json
//! {"operator": "o", "uid": "f3a1…", "controller": "c", "target": "apps/Deployment/ns/web",
//!  "origin": […],
//!  "paths": {"/spec/replicas": {"sent": "1vjk…", "was": 3},
//!            "/metadata/labels/x": {"sent": "0zq7…", "absent": true},
//!            "/spec/template": {"sent": "2c0s…"}}}
//! ```
//!
//! `was` is the value that was replaced; `absent` means that there was none. Without either,
//! the previous value is not known. Of a list element that was removed, `after` has the key fields of
//! the one before it; it is empty if there was none. `in` is a hash of the rest of the list element that a path is in,
//! if the element has no key fields: by that it is found after somebody has moved it.

mod path;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use document::{Map, Value, json};
use fieldset::FieldPath;
use fieldset::compare::{equal, without_nulls};
use object::marks::{SET, set_annotation};
use object::{ObjectKey, OperatorId, Ownership};
pub(crate) use path::value_hash;
use path::{PathRecord, guess_absent};

use super::claim::short_origin;
use crate::layer::Was;
use crate::relocated::{identify, outermost, relocate};

/// The maximum size of a record. All annotations of an object together may have 256 KiB.
pub(crate) const MAX_RECORD: usize = 200 * 1024;

/// The record of a controller on an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Written {
    /// The Operator.
    pub operator: String,
    /// The uid of the Operator (see [`OperatorId`]); `None` in a record that was written before
    /// records had one.
    pub uid: Option<String>,
    /// The controller.
    pub controller: String,
    /// The object, as [`ObjectKey`] prints it.
    target: String,
    /// The origin of the document; null if a claim has it.
    pub origin: Value,
    /// Whether it was set, and has to be released, by server-side apply.
    pub applied: bool,
    /// A hash of the whole document, if all of it was written.
    pub document: Option<String>,
    /// The written paths.
    paths: BTreeMap<FieldPath, PathRecord>,
}

impl Written {
    /// An empty record.
    pub(crate) fn new(operator: &OperatorId, controller: &str, key: &ObjectKey) -> Self {
        Self {
            operator: operator.name.clone(),
            uid: Some(operator.uid.clone()).filter(|uid| !uid.is_empty()),
            controller: controller.to_owned(),
            target: key.to_string(),
            ..Self::default()
        }
    }

    /// The records of an Operator's controllers on an object, including those of an Operator of
    /// the same name that existed before it: these are taken over where they are derived again.
    pub(crate) fn of_operator(object: &Value, operator: &OperatorId, key: &ObjectKey) -> Vec<Self> {
        let mut records = Self::all(object, key);
        records.retain(|written| written.owner(operator) != Ownership::Other);
        records
    }

    /// The records of other Operators on an object.
    pub(crate) fn of_others(object: &Value, operator: &OperatorId, key: &ObjectKey) -> Vec<Self> {
        let mut records = Self::all(object, key);
        records.retain(|written| written.owner(operator) == Ownership::Other);
        records
    }

    /// Whose record it is, as seen by an Operator.
    pub(crate) fn owner(&self, operator: &OperatorId) -> Ownership {
        operator.owns(&self.operator, self.uid.as_deref())
    }

    /// Whether an object has another record than the one in this annotation.
    pub(crate) fn has_another(object: &Value, annotation: &str) -> bool {
        let annotations = object.get("metadata").get("annotations").as_map();
        let mut names = annotations
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str());
        names.any(|name| name.starts_with(SET) && name != annotation)
    }

    fn all(object: &Value, key: &ObjectKey) -> Vec<Self> {
        let annotations = object.get("metadata").get("annotations").as_map();
        let target = key.to_string();
        let all = annotations.into_iter().flatten().filter_map(|(key, text)| {
            key.as_str().strip_prefix(SET)?;
            let written = Self::parse(text.as_str()?)?;
            let fits = written.target == target && written.annotation() == key.as_str();
            fits.then_some(written)
        });
        let mut all: Vec<Self> = all.collect();
        Self::relocate(&mut all, object);
        all
    }

    /// Gives records the positions that list elements without key fields have in their object.
    fn relocate(records: &mut [Self], object: &Value) {
        let mut all: Vec<_> = records.iter_mut().map(|one| &mut one.paths).collect();
        relocate(&mut all, object);
    }

    /// The record, with the positions that list elements without key fields have in an object.
    pub(crate) fn relocated(mut self, object: &Value) -> Self {
        relocate(&mut [&mut self.paths], object);
        self
    }

    /// Records what others have in the list elements without key fields in which values are set.
    pub(crate) fn identify(&mut self, object: &Value) {
        identify(&mut self.paths, object);
    }

    /// The name of the annotation.
    pub(crate) fn annotation(&self) -> String {
        set_annotation(&self.operator, &self.controller)
    }

    fn parse(text: &str) -> Option<Self> {
        let value: Value = text.parse().ok()?;
        let word = |field: &str| value.get(field).as_str().map(str::to_owned);
        let mut paths = BTreeMap::new();
        for (key, mark) in value.get("paths").as_map().into_iter().flatten() {
            let place = FieldPath::parse(key.as_str())?;
            let mark = PathRecord::parse(&place, mark)?;
            paths.insert(place, mark);
        }
        guess_absent(&mut paths);
        Some(Self {
            operator: word("operator")?,
            uid: word("uid").filter(|uid| !uid.is_empty()),
            controller: word("controller")?,
            target: word("target")?,
            origin: value.get("origin").clone(),
            applied: value.get("applied").as_bool().unwrap_or(false),
            document: word("document"),
            paths,
        })
    }

    /// The text of the annotation.
    pub(crate) fn print(&self) -> String {
        let paths: Map = self
            .paths
            .iter()
            .map(|(place, mark)| (document::Key::new(&place.pointer()), mark.print()))
            .collect();
        let (operator, controller) = (self.operator.as_str(), self.controller.as_str());
        let document = self.document.as_deref().map(Value::from);
        let uid = self.uid.as_deref().map(Value::from);
        let text = json!({
            "operator": operator,
            "uid": (uid.unwrap_or_default()),
            "controller": controller,
            "target": (self.target.as_str()),
            "origin": (short_origin(&self.origin)),
            "applied": (if self.applied { Value::from(true) } else { Value::NULL }),
            "document": (document.unwrap_or_default()),
            "paths": paths,
        });
        without_nulls(&text).to_string()
    }

    /// The text of the annotation on an object. A live record that lacks only the uid stays as it
    /// is: an object is not written just for that.
    pub(crate) fn print_over(&self, live: &Value) -> String {
        let new = self.print();
        let old = live.get("metadata").get("annotations");
        let old = old.get(&self.annotation()).as_str();
        let lacks_uid = |old: &&str| {
            let mut bare = self.clone();
            bare.uid = None;
            bare.print() == **old
        };
        old.filter(lacks_uid).map_or(new, str::to_owned)
    }

    /// Whether it is the record of a Patcher.
    pub(crate) fn is_patch(&self) -> bool {
        !self.applied && self.document.is_none()
    }

    /// Whether it has fields that were applied, and are not released yet.
    pub(crate) fn has_applied(&self) -> bool {
        let mut marks = self.paths.values();
        self.applied && (self.document.is_some() || marks.any(|mark| !mark.certain))
    }

    /// The part of an Applier's record from the time when it was a Patcher.
    pub(crate) fn patched_part(&self) -> Self {
        let mut part = self.clone();
        part.document = None;
        part.paths.retain(|_, mark| mark.certain);
        part
    }

    /// The part that a Patcher has set: all of the record of a Patcher.
    pub(crate) fn into_patched_part(self) -> Self {
        if self.applied {
            return self.patched_part();
        }
        self
    }

    /// Whether no path is recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// The paths; outer ones come before those inside them.
    pub(crate) fn places(&self) -> impl Iterator<Item = &FieldPath> + Clone {
        self.paths.keys()
    }

    /// Whether a path is recorded.
    pub(crate) fn has(&self, place: &FieldPath) -> bool {
        self.paths.contains_key(place)
    }

    /// Whether a path is recorded, and we certainly wrote it.
    pub(crate) fn is_certain(&self, place: &FieldPath) -> bool {
        self.paths.get(place).is_some_and(|mark| mark.certain)
    }

    /// The previous value at a recorded path.
    pub(crate) fn was(&self, place: &FieldPath) -> Option<&Was> {
        self.paths.get(place).map(|mark| &mark.was)
    }

    /// Whether a leaf is at a recorded path that had the value of the leaf before.
    pub(crate) fn replaced_same(
        &self,
        (leaf, value): &(FieldPath, Value),
        place: &FieldPath,
    ) -> bool {
        let was = self.was(place);
        leaf == place
            && was
                .and_then(Was::value)
                .is_some_and(|was| equal(was, value))
    }

    /// The first path whose previous value is not known, of those that `counts` selects.
    pub(crate) fn not_kept(&self, counts: impl Fn(&FieldPath) -> bool) -> Option<&FieldPath> {
        let unknown = |mark: &PathRecord| mark.certain && mark.was == Was::NotKept;
        let mut paths = self.paths.iter();
        let found = paths.find(|(place, mark)| unknown(mark) && counts(place));
        found.map(|(place, _)| place)
    }

    /// All previous values.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &Was> {
        self.paths.values().map(|mark| &mark.was)
    }

    /// Records that `sent` was, or will be, written to a path that had no value.
    pub(crate) fn record_new(&mut self, place: &FieldPath, sent: &Value) {
        self.record(place, sent, None, Was::Absent);
    }

    /// Records that `sent` was, or will be, written to a path. `stored` is the value that the
    /// server stored, if that is known.
    pub(crate) fn record(
        &mut self,
        place: &FieldPath,
        sent: &Value,
        stored: Option<&Value>,
        was: Was,
    ) {
        let sent = value_hash(sent);
        let stored = stored.map(value_hash).filter(|stored| *stored != sent);
        let mark = PathRecord {
            sent,
            stored,
            over: None,
            certain: true,
            was,
            element: None,
        };
        self.paths.insert(place.clone(), mark);
    }

    /// Records that `sent` is applied; others may apply it as well.
    pub(crate) fn record_applied(&mut self, place: &FieldPath, sent: &Value) {
        let mark = PathRecord {
            sent: value_hash(sent),
            stored: None,
            over: None,
            certain: false,
            was: Was::NotKept,
            element: None,
        };
        self.paths.insert(place.clone(), mark);
    }

    /// The paths that had a value before, and that we certainly wrote.
    pub(crate) fn replaced(&self) -> impl Iterator<Item = &FieldPath> {
        let marks = self.paths.iter();
        let replaced = marks.filter(|(_, mark)| mark.certain && mark.was != Was::Absent);
        replaced.map(|(place, _)| place)
    }

    /// Removes the maps and elements around these paths, where others have or had values,
    /// because they are no longer ours alone. Returns whether there were any.
    pub(crate) fn share(&mut self, places: &BTreeSet<FieldPath>) -> bool {
        // The paths inside a path follow it directly.
        let around = |map: &FieldPath| {
            let mut after = places.range((Bound::Excluded(map), Bound::Unbounded));
            after.next().is_some_and(|place| place.within(map))
        };
        let before = self.paths.len();
        self.paths.retain(|place, _| !around(place));
        self.paths.len() < before
    }

    /// Drops the entries of all other paths.
    pub(crate) fn retain(&mut self, keeps: impl Fn(&FieldPath) -> bool) {
        self.paths.retain(|place, _| keeps(place));
    }

    /// Copies the entry of a path from another record.
    pub(crate) fn keep(&mut self, other: &Self, place: &FieldPath) {
        if let Some(mark) = other.paths.get(place) {
            self.paths.insert(place.clone(), mark.clone());
        }
    }

    /// Records that `sent` will be written to a path. If an earlier record has the same value,
    /// the value that the server stored is taken from there, and the value that the path had
    /// before, until it has the new one.
    pub(crate) fn keep_or_record(
        &mut self,
        earlier: &Self,
        place: &FieldPath,
        (sent, live): (&Value, &Value),
        was: Was,
    ) {
        self.record(place, sent, None, was);
        let kept = earlier.paths.get(place);
        if let (Some(mark), Some(kept)) = (self.paths.get_mut(place), kept)
            && mark.sent == kept.sent
        {
            mark.stored.clone_from(&kept.stored);
            let waits = !earlier.settled(place, sent, live);
            mark.over = kept.over.clone().filter(|_| waits);
        }
    }

    /// Records that `sent` will be written to a path that still has a value of ours.
    pub(crate) fn record_over(&mut self, place: &FieldPath, sent: &Value, ours: &Value, was: Was) {
        self.record(place, sent, None, was);
        if let Some(mark) = self.paths.get_mut(place) {
            mark.over = Some(value_hash(ours)).filter(|ours| *ours != mark.sent);
        }
    }

    /// Whether the object still has the value that we certainly wrote.
    pub(crate) fn holds(&self, place: &FieldPath, live: &Value) -> bool {
        let certain = self.paths.get(place).filter(|mark| mark.certain);
        certain.is_some_and(|mark| mark.holds(live))
    }

    /// Whether the value that we certainly write to a path may not be there yet: the record of a
    /// status is written before the status itself.
    pub(crate) fn awaits(&self, place: &FieldPath, live: &Value) -> bool {
        let certain = self.paths.get(place).filter(|mark| mark.certain);
        certain.is_some_and(|mark| match &mark.was {
            _ if live.as_map().is_some() => true,
            Was::Absent => live.is_null(),
            Was::Value(was) | Was::Element { element: was, .. } => was == live,
            Was::NotKept => true,
        })
    }

    /// Whether we certainly created what is at a path.
    pub(crate) fn is_made(&self, place: &FieldPath) -> bool {
        let mark = self.paths.get(place);
        mark.is_some_and(|mark| mark.certain && mark.was == Was::Absent)
    }

    /// Whether it is the path of a list element that we added.
    pub(crate) fn is_added_element(&self, place: &FieldPath) -> bool {
        place.is_element() && self.is_made(place)
    }

    /// The paths of the elements without key fields that we added, without those inside others.
    pub(crate) fn appended(&self) -> Vec<FieldPath> {
        let certain = |place: &&FieldPath| self.is_certain(place);
        outermost(&self.paths)
            .into_iter()
            .filter(certain)
            .cloned()
            .collect()
    }

    /// Whether we added this element at a path.
    pub(crate) fn has_appended(&self, place: &FieldPath, item: &Value) -> bool {
        let mark = self.paths.get(place);
        mark.is_some_and(|mark| mark.sent == value_hash(item))
    }

    /// The record after list elements were removed, which are sorted. Returns whether it differs.
    pub(crate) fn after_removal(&mut self, elements: &[FieldPath]) -> bool {
        let after = |place: &FieldPath| {
            let mut last_first = elements.iter().rev();
            last_first.try_fold(place.clone(), |place, gone| place.after_removal(gone))
        };
        let paths = std::mem::take(&mut self.paths);
        let mut changed = false;
        for (place, mark) in paths {
            let new = after(&place);
            changed |= new.as_ref() != Some(&place);
            self.paths.extend(new.map(|new| (new, mark)));
        }
        changed
    }

    /// Whether the live value is what the server stored when we wrote `wanted`.
    pub(crate) fn settled(&self, place: &FieldPath, wanted: &Value, live: &Value) -> bool {
        let Some(mark) = self.paths.get(place) else {
            return false;
        };
        let stored = mark.stored.as_ref().unwrap_or(&mark.sent);
        mark.sent == value_hash(wanted) && *stored == value_hash(live)
    }
}

#[cfg(test)]
mod tests;
