//! The rule of Updaters: an Updater owns the whole object, except for metadata of others and a
//! status that it does not yield.
//!
//! ```text
//! live                   yielded before     yielded now        written
//! labels: {a: 1, u: 1}   labels: {a: 1}     labels: {b: 1}     labels: {b: 1, u: 1}
//! spec:   {x: 1, y: 1}   spec:   {x: 1}     spec:   {x: 2}     spec:   {x: 2}
//! status: {ready: true}                                        status: {ready: true}
//! ```
//!
//! If the object already had a label with the same value, the label does not belong to the Updater,
//! and stays when the pipeline no longer yields it.

use document::{Key, ListRef, Map, Value};
use fieldset::compare::{diff, equal};
use fieldset::{FieldPath, LeafIndex, PathElement};
use object::metadata::KEYS;

use crate::layer::{Patched, Was};
use crate::live::fields_of;

/// The metadata of a yielded document that is written, in addition to the name and the namespace.
const MERGED: [&str; 3] = ["annotations", "labels", "ownerReferences"];

/// What the writers of an Operator set earlier on an object.
pub(crate) struct Before<'a> {
    /// By writer.
    pub(crate) sets: Vec<&'a Patched>,
    /// Whether an Updater has written the object before. Then Patchers have replaced its values,
    /// and not those of others.
    pub(crate) claimed: bool,
    /// The fields that Patchers set or remove now.
    pub(crate) layered: LeafIndex,
}

/// The object as an Updater writes it inside a batch, and the metadata that it sets.
pub(crate) fn update(
    live: Option<&Value>,
    document: &Value,
    before: &Before<'_>,
) -> (Value, Patched) {
    let set = metadata_set(live, document, &before.sets);
    let Some(live) = live else {
        return (created(document), set);
    };
    let lost = |place: &FieldPath| {
        let wanted = !place.get(document).is_null() || before.layered.concerns(place);
        place.top() == "metadata" && !wanted
    };
    let kept = before.sets.iter().fold(live.clone(), |object, patched| {
        if before.claimed {
            return patched.remove(&object, lost);
        }
        patched.take_back(&object, lost)
    });
    let metadata = merge_metadata(kept.get("metadata"), document.get("metadata"));
    let mut fields = fields_of(document);
    if fields.get(&KEYS.status).is_none_or(Value::is_null) {
        fields = match live.as_map().and_then(|live| live.get(&KEYS.status)) {
            Some(status) => fields.with(KEYS.status.clone(), status.clone()),
            None => fields.without("status"),
        };
    }
    for identity in ["apiVersion", "kind"] {
        let value = document.get(identity);
        if !value.is_null() {
            fields = fields.with(Key::new(identity), value.clone());
        }
    }
    let object = fields.with(KEYS.metadata.clone(), metadata);
    (object.into(), set)
}

/// A document as a new object. Of its metadata, only the name, the namespace and the fields that
/// Updaters merge are kept.
pub(crate) fn created(document: &Value) -> Value {
    let (Some(fields), Some(metadata)) = (document.as_map(), document.get("metadata").as_map())
    else {
        return document.clone();
    };
    let counts = |key: &Key| {
        let key = key.as_str();
        matches!(key, "name" | "namespace") || MERGED.contains(&key)
    };
    if metadata.iter().all(|(key, _)| counts(key)) {
        return document.clone();
    }
    let counted = metadata.iter().filter(|(key, _)| counts(key));
    let counted: Map = counted.cloned().collect();
    fields.with(KEYS.metadata.clone(), counted.into()).into()
}

/// The labels, annotations and ownerReferences of a document with their paths.
pub(crate) fn metadata_leaves(document: &Value) -> Vec<(FieldPath, Value)> {
    let metadata = document.get("metadata");
    let mut leaves = Vec::new();
    for field in ["annotations", "labels"] {
        for (name, value) in metadata.get(field).as_map().into_iter().flatten() {
            let place = FieldPath::of(&["metadata", field, name.as_str()]);
            leaves.push((place, value.clone()));
        }
    }
    for owner in metadata
        .get("ownerReferences")
        .as_list()
        .into_iter()
        .flatten()
    {
        leaves.push((owner_place(owner), owner.clone()));
    }
    leaves
}

/// Whether a yielded value counts as set by the Updater: the object does not have it, or has it
/// because we set it.
pub(crate) fn sets(
    live: Option<&Value>,
    place: &FieldPath,
    value: &Value,
    is_ours: impl FnOnce() -> bool,
) -> bool {
    live.is_none_or(|live| {
        let found = place.get(live);
        found.is_null() || !has_all(found, value) || is_ours()
    })
}

/// The metadata of an object with the labels, annotations and ownerReferences of a document.
pub(crate) fn merge_metadata(live: &Value, wanted: &Value) -> Value {
    let mut metadata = live.as_map().cloned().unwrap_or_else(no_fields);
    for field in ["annotations", "labels"] {
        let Some(given) = wanted.get(field).as_map().filter(|map| !map.is_empty()) else {
            continue;
        };
        let found = metadata.get_str(field).and_then(Value::as_map);
        let merged = given.iter().fold(
            found.cloned().unwrap_or_else(no_fields),
            |merged, (key, value)| merged.with(key.clone(), value.clone()),
        );
        metadata = metadata.with(Key::new(field), merged.into());
    }
    let owners = wanted.get("ownerReferences");
    if owners.as_list().is_some_and(|owners| !owners.is_empty()) {
        let merged = with_owners(metadata.get(&KEYS.owner_references), owners);
        metadata = metadata.with(KEYS.owner_references.clone(), merged);
    }
    metadata.into()
}

fn metadata_set(live: Option<&Value>, document: &Value, before: &[&Patched]) -> Patched {
    let mut set = Patched::default();
    for (place, value) in metadata_leaves(document) {
        let is_ours =
            || live.is_some_and(|live| before.iter().any(|patched| patched.holds(&place, live)));
        if sets(live, &place, &value, is_ours) {
            set.note_whole(&place, &value, Was::Absent);
        }
    }
    set
}

/// The path of an ownerReference, which the uid identifies.
fn owner_place(owner: &Value) -> FieldPath {
    let mut place = FieldPath::of(&["metadata", "ownerReferences"]);
    let uid: Map = [(KEYS.uid.clone(), owner.get_key(&KEYS.uid).clone())]
        .into_iter()
        .collect();
    place.0.push(PathElement::Element(uid.into()));
    place
}

/// A list of ownerReferences, with ours added or replaced.
fn with_owners(list: Option<&Value>, ours: &Value) -> Value {
    let list = list.and_then(Value::as_list);
    let mut owners = list.map(ListRef::to_vec).unwrap_or_default();
    for owner in ours.as_list().into_iter().flatten() {
        let same = |other: &&mut Value| other.get("uid") == owner.get("uid");
        match owners.iter_mut().find(same) {
            Some(other) if has_all(other, owner) => {}
            Some(other) => *other = owner.clone(),
            None => owners.push(owner.clone()),
        }
    }
    owners.into()
}

/// Whether a value has all fields of another, with the same values.
fn has_all(live: &Value, wanted: &Value) -> bool {
    equal(live, wanted) || diff(live, &document::merge(live, wanted)).is_none()
}

fn no_fields() -> Map {
    Map::from_sorted(Vec::new())
}
