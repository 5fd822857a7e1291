//! Random stories of one object: the fields that controllers and others set, and what counts when
//! the outcomes of two drivers are compared.

use document::{Map, Value, json};
use object::marks::{MANAGED_BY, is_mark};
use seeded::Random;

use crate::fields::{set, unset};

/// Whether fields that are not set are removed now and then, by null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removals {
    /// They are.
    Some,
    /// They are left out.
    None,
}

/// Some fields of an object, with random values. Different calls set the same fields, so that they
/// meet.
pub fn random_fields(random: &mut Random, status: bool, removals: Removals) -> Value {
    let number = |random: &mut Random| json!(random.below(3));
    let mut document = json!({});
    let fields: [(&[&str], Value); 8] = [
        (&["data", "a"], number(random)),
        (&["data", "b"], number(random)),
        (
            &["metadata", "labels", "l"],
            json!(random.below(2).to_string()),
        ),
        (&["spec", "m", "x"], number(random)),
        (&["spec", "m", "y"], number(random)),
        (&["status", "ready"], number(random)),
        (&["spec", "s"], json!([1, (number(random))])),
        (
            &["spec", "containers"],
            json!([{"name": "a", "v": (number(random))}, {"name": "b"}]),
        ),
    ];
    let fields = fields.into_iter();
    for (path, value) in fields.filter(|(path, _)| status || path[0] != "status") {
        if random.chance(40) {
            document = set(&document, path, value);
        } else if removals == Removals::Some && random.chance(30) {
            document = set(&document, path, Value::NULL);
        }
    }
    document
}

/// What controllers and others have set on an object: without the fields that identify it, those
/// that the server assigns, and our marks.
pub fn content(object: &Value) -> Value {
    if object.is_null() {
        return Value::NULL;
    }
    let mut metadata = Map::from_entries(Vec::new());
    for field in ["annotations", "labels"] {
        let map = object.get("metadata").get(field).as_map();
        let members = map.into_iter().flatten();
        let plain =
            members.filter(|(name, _)| !is_mark(name.as_str()) && name.as_str() != MANAGED_BY);
        let plain: Map = plain.cloned().collect();
        if !plain.is_empty() {
            metadata = metadata.with(document::Key::new(field), plain.into());
        }
    }
    let fields = ["apiVersion", "kind", "metadata"];
    let bare = fields
        .iter()
        .fold(object.clone(), |object, field| unset(&object, &[field]));
    if metadata.is_empty() {
        return bare;
    }
    set(&bare, &["metadata"], metadata.into())
}

/// A value without empty maps: one of ours of which a field is removed is empty, or gone, and nobody
/// can tell.
pub fn without_empty_maps(value: &Value) -> Value {
    let Some(map) = value.as_map() else {
        return value.clone();
    };
    let members = map.iter();
    let members = members.map(|(key, value)| (key.clone(), without_empty_maps(value)));
    let kept = members.filter(|(_, value)| *value != json!({}));
    kept.collect::<Map>().into()
}
