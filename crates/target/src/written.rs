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
//! the previous value is not known.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::layer::Was;
use crate::relocated::relocated;
use document::{Map, Value, json};
use fieldset::FieldPath;
use object::{ObjectKey, OperatorId, Ownership};

use super::claim::short_origin;
use fieldset::compare::without_nulls;
use object::marks::{SET, set_annotation, short_hash};

/// The maximum size of a record. All annotations of an object together may have 256 KiB.
pub(crate) const MAX_RECORD: usize = 200 * 1024;

/// The record of a controller on an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
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

/// The record of one path.
#[derive(Clone, Debug, PartialEq)]
struct PathRecord {
    /// A hash of the value that we sent.
    sent: String,
    /// A hash of the value that the server stored, if it is another one.
    stored: Option<String>,
    /// Whether we certainly wrote it. Values of an Applier may belong to somebody else as well,
    /// and so may those in records of the first format, which contained everything that a
    /// Patcher yields. Both are printed as a string instead of a map.
    certain: bool,
    /// The previous value.
    was: Was,
}

impl PathRecord {
    fn parse(mark: &Value) -> Option<Self> {
        let word = |field: &str| mark.get(field).as_str().map(str::to_owned);
        let Some(text) = mark.as_str() else {
            return Some(Self {
                sent: word("sent")?,
                stored: word("stored"),
                certain: true,
                was: match mark.get("was") {
                    was if !was.is_null() => Was::Value(was.clone()),
                    _ if mark.get("absent").as_bool() == Some(true) => Was::Absent,
                    _ => Was::NotKept,
                },
            });
        };
        let (sent, stored) = match text.split_once(' ') {
            Some((sent, stored)) => (sent, Some(stored.to_owned())),
            None => (text, None),
        };
        Some(Self {
            sent: sent.to_owned(),
            stored,
            certain: false,
            was: Was::NotKept,
        })
    }

    /// Whether this is the value that we sent, or that the server stored.
    fn holds(&self, live: &Value) -> bool {
        let live = value_hash(live);
        self.sent == live || self.stored.as_ref() == Some(&live)
    }

    fn print(&self) -> Value {
        let (sent, stored) = (self.sent.as_str(), self.stored.as_deref());
        if self.certain {
            let (was, absent) = match &self.was {
                Was::Absent => (Value::NULL, Value::from(true)),
                Was::Value(was) => (was.clone(), Value::NULL),
                Was::NotKept => (Value::NULL, Value::NULL),
            };
            let stored = stored.map(Value::from).unwrap_or_default();
            return json!({"sent": sent, "stored": stored, "was": was, "absent": absent});
        }
        match stored {
            Some(stored) => Value::from(format!("{sent} {stored}")),
            None => Value::from(sent),
        }
    }
}

/// A hash of a value; null equals absent.
pub(crate) fn value_hash(value: &Value) -> String {
    short_hash(&without_nulls(value).canonical())
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
    pub fn of_operator(object: &Value, operator: &OperatorId, key: &ObjectKey) -> Vec<Self> {
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
            fits.then(|| written.relocated(object))
        });
        all.collect()
    }

    /// The record, with the positions that list elements without key fields have in an object.
    pub(crate) fn relocated(mut self, object: &Value) -> Self {
        let adds = |mark: &PathRecord| mark.certain && mark.was == Was::Absent;
        let holds = |mark: &PathRecord, live: &Value| {
            // The content of a map has its own entries.
            live.as_map().is_some() || mark.holds(live)
        };
        if let Some(paths) = relocated(&self.paths, object, adds, holds) {
            self.paths = paths;
        }
        self
    }

    /// The name of the annotation.
    pub fn annotation(&self) -> String {
        set_annotation(&self.operator, &self.controller)
    }

    fn parse(text: &str) -> Option<Self> {
        let value: Value = text.parse().ok()?;
        let word = |field: &str| value.get(field).as_str().map(str::to_owned);
        let mut paths = BTreeMap::new();
        for (key, mark) in value.get("paths").as_map().into_iter().flatten() {
            paths.insert(FieldPath::parse(key.as_str())?, PathRecord::parse(mark)?);
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
    pub fn print(&self) -> String {
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
    pub(crate) fn places(&self) -> impl Iterator<Item = &FieldPath> {
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
            certain: true,
            was,
        };
        self.paths.insert(place.clone(), mark);
    }

    /// Records that `sent` is applied; others may apply it as well.
    pub(crate) fn record_applied(&mut self, place: &FieldPath, sent: &Value) {
        let mark = PathRecord {
            sent: value_hash(sent),
            stored: None,
            certain: false,
            was: Was::NotKept,
        };
        self.paths.insert(place.clone(), mark);
    }

    /// The paths that had a value before.
    pub(crate) fn replaced(&self) -> impl Iterator<Item = &FieldPath> {
        let marks = self.paths.iter();
        let replaced = marks.filter(|(_, mark)| mark.was != Was::Absent);
        replaced.map(|(place, _)| place)
    }

    /// Removes the maps and elements around these paths, where others have or had values,
    /// because they are no longer ours alone. Returns whether there were any.
    pub fn share(&mut self, places: &BTreeSet<FieldPath>) -> bool {
        // The paths inside a path follow it directly.
        let around = |map: &FieldPath| {
            let mut after = places.range((Bound::Excluded(map), Bound::Unbounded));
            after.next().is_some_and(|place| place.within(map))
        };
        let before = self.paths.len();
        self.paths.retain(|place, _| !around(place));
        self.paths.len() < before
    }

    /// Copies the entry of a path from another record.
    pub(crate) fn keep(&mut self, other: &Self, place: &FieldPath) {
        if let Some(mark) = other.paths.get(place) {
            self.paths.insert(place.clone(), mark.clone());
        }
    }

    /// Records that `sent` will be written to a path. If an earlier record has the same value,
    /// the value that the server stored is taken from there.
    pub(crate) fn keep_or_record(
        &mut self,
        earlier: &Self,
        place: &FieldPath,
        sent: &Value,
        was: Was,
    ) {
        self.record(place, sent, None, was);
        let kept = earlier.paths.get(place);
        if let (Some(mark), Some(kept)) = (self.paths.get_mut(place), kept)
            && mark.sent == kept.sent
        {
            mark.stored.clone_from(&kept.stored);
        }
    }

    /// Whether the object still has the value that we certainly wrote.
    pub(crate) fn holds(&self, place: &FieldPath, live: &Value) -> bool {
        let certain = self.paths.get(place).filter(|mark| mark.certain);
        certain.is_some_and(|mark| mark.holds(live))
    }

    /// Whether it is the path of a list element that we added.
    pub(crate) fn is_added_element(&self, place: &FieldPath) -> bool {
        let mark = self.paths.get(place).filter(|mark| mark.certain);
        place.is_element() && mark.is_some_and(|mark| mark.was == Was::Absent)
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

/// Records of the first format have no previous values. A map or element in them was created by
/// us, with all recorded paths inside it. Labels and annotations count as created by us, too:
/// the server has no defaults for them, so that removing them is safe. Nothing is known about
/// other paths, and these stay.
fn guess_absent(paths: &mut BTreeMap<FieldPath, PathRecord>) {
    let doubtful = paths.iter_mut().filter(|(_, mark)| !mark.certain);
    let mut around: Option<(&FieldPath, &mut PathRecord)> = None;
    for (place, mark) in doubtful {
        if place.top() == "metadata" {
            mark.was = Was::Absent;
        }
        match &mut around {
            Some((map, made)) if place.within(map) => {
                made.was = Was::Absent;
                mark.was = Was::Absent;
            }
            _ => around = Some((place, mark)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> ObjectKey {
        ObjectKey::new("apps", "Deployment", "ns", "web")
    }

    fn op() -> OperatorId {
        OperatorId::new("op", "u1")
    }

    #[test]
    fn a_printed_record_is_parsed_to_the_same() {
        let mut written = Written::new(&op(), "c", &key());
        written.origin = json!([{"name": "a"}]);
        let place = FieldPath::parse(r#"/spec/containers/[{"name":"a/b"}]/cpu"#).unwrap();
        let was = Was::Value(json!("500m"));
        written.record(&place, &json!("1000m"), Some(&json!("1")), was);
        let label = FieldPath::of(&["metadata", "labels", "x"]);
        written.record_new(&label, &json!("y"));
        let removed = FieldPath::of(&["spec", "removed"]);
        written.record(&removed, &Value::NULL, None, Was::NotKept);
        let text = written.print();
        let object = json!({"metadata": {"annotations": ({
            let other = Written::new(&OperatorId::new("other", "u1"), "c", &key()).print();
            [(written.annotation(), text), (set_annotation("other", "c"), other)]
                .into_iter()
                .map(|(key, text)| (document::Key::new(&key), Value::from(text)))
                .collect::<Map>()
        })}});
        assert_eq!(
            Written::of_operator(&object, &op(), &key()),
            [written.clone()]
        );
        let copy = ObjectKey::new("apps", "ReplicaSet", "ns", "web-1");
        assert_eq!(Written::of_operator(&object, &op(), &copy), []);

        assert!(written.holds(&place, &json!("1000m")));
        assert!(written.holds(&place, &json!("1")));
        assert!(!written.holds(&place, &json!("2")));
        assert!(!written.holds(&FieldPath::of(&["spec"]), &json!("1")));
        assert!(written.settled(&place, &json!("1000m"), &json!("1")));
        assert!(!written.settled(&place, &json!("2000m"), &json!("1")));
        assert!(written.settled(&label, &json!("y"), &json!("y")));
    }

    #[test]
    fn values_that_may_belong_to_others_are_recorded_as_strings() {
        let mut written = Written::new(&op(), "c", &key());
        let (ours, applied) = (FieldPath::of(&["spec", "a"]), FieldPath::of(&["spec", "b"]));
        written.record_new(&ours, &json!(1));
        written.record_applied(&applied, &json!(1));
        let text = written.print();
        let read = Written::parse(&text).unwrap();
        assert_eq!(read, written);
        assert!(read.holds(&ours, &json!(1)) && read.is_certain(&ours));
        assert!(!read.holds(&applied, &json!(1)) && !read.is_certain(&applied));
        assert!(read.has(&applied) && read.settled(&applied, &json!(1), &json!(1)));
        let mark = value_hash(&json!(1));
        let paths = text.parse::<Value>().unwrap().get("paths").clone();
        assert_eq!(
            paths,
            json!({"/spec/a": {"sent": (mark.as_str()), "absent": true}, "/spec/b": (mark.as_str())})
        );
    }

    #[test]
    fn a_record_of_the_first_format_has_no_previous_values() {
        let paths = json!({
            "/metadata/labels/l": "1", "/spec/replicas": "1",
            r#"/spec/containers/[{"name":"a"}]"#: "1",
            r#"/spec/containers/[{"name":"a"}]/image"#: "1 2",
        });
        let text = json!({"operator": "op", "controller": "c", "target": "t", "paths": paths});
        let written = Written::parse(&text.to_string()).unwrap();
        let was: Vec<_> = written.places().map(|place| written.was(place)).collect();
        let absent = Some(&Was::Absent);
        assert_eq!(was, [absent, absent, absent, Some(&Was::NotKept)]);
    }

    #[test]
    fn a_record_belongs_to_the_operator_with_its_uid() {
        let check = |uid: Option<&str>, expect: Ownership| {
            let mut written = Written::new(&op(), "c", &key());
            written.uid = uid.map(str::to_owned);
            let read = Written::parse(&written.print()).unwrap();
            assert_eq!(read.owner(&op()), expect, "{uid:?}");
        };
        check(Some("u1"), Ownership::Own);
        check(None, Ownership::Own);
        check(Some("u2"), Ownership::Former);
        check(Some("instance:default"), Ownership::Other);
    }

    #[test]
    fn a_record_without_a_uid_stays_until_it_changes() {
        let mut written = Written::new(&op(), "c", &key());
        written.record_new(&FieldPath::of(&["spec", "a"]), &json!(1));
        let mut old = written.clone();
        old.uid = None;
        let place = FieldPath::of(&["metadata", "annotations", &old.annotation()]);
        let live = place.set(&Value::NULL, &old.print().into());
        assert_eq!(written.print_over(&live), old.print());
        written.record_new(&FieldPath::of(&["spec", "b"]), &json!(1));
        assert_eq!(written.print_over(&live), written.print());
    }

    #[test]
    fn a_record_under_another_name_does_not_count() {
        let text = Written::new(&op(), "c", &key()).print();
        let annotation = format!("{SET}0000000000000");
        let annotations: Map = [(document::Key::new(&annotation), Value::from(text))]
            .into_iter()
            .collect();
        let object = json!({"metadata": {"annotations": annotations}});
        assert_eq!(Written::of_operator(&object, &op(), &key()), []);
    }

    #[test]
    fn values_are_not_shown() {
        let mut written = Written::new(&op(), "c", &key());
        written.record_new(
            &FieldPath::of(&["data", "password"]),
            &json!("aHVudGVyMg=="),
        );
        assert!(!written.print().contains("aHVudGVyMg"));
    }
}
