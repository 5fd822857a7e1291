//! Prepares derived documents for writing.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use document::{Key, Map, Path, Value, View};
use fieldset::{FieldPath, located};
use operator::spec::Target;

/// The document to write: Secrets are encoded, and metadata that an expression left null is
/// removed. Views store documents without this.
pub(crate) fn outgoing(document: &Value, target: &Target) -> Value {
    if target.resource.is_view() {
        return document.clone();
    }
    let mut document = document.clone();
    if let (Some(fields), Some(metadata)) = (document.as_map(), document.get("metadata").as_map())
        && metadata.values().any(Value::is_null)
    {
        let given: Map = metadata
            .iter()
            .filter(|(_, value)| !value.is_null())
            .cloned()
            .collect();
        document = fields.with(Key::new("metadata"), given.into()).into();
    }
    if target.resource.is_secret() {
        return encode_secret(&document, &target.literal_data);
    }
    document
}

/// The patch in a document: nulls from expressions are removed, literal nulls remove fields. The
/// documents of targets that change objects in place are patches already.
pub(crate) fn patch_of(document: &Value, target: &Target) -> Value {
    if target.in_place {
        return document.clone();
    }
    yielded_patch(document, target, EmptiedMaps::Dropped)
}

/// What happens to a map all of whose fields are nulls from expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EmptiedMaps {
    /// They are set, without fields.
    Kept,
    /// They are not set, like their fields.
    Dropped,
}

/// The patch in a document that a pipeline yields.
pub(crate) fn yielded_patch(document: &Value, target: &Target, emptied: EmptiedMaps) -> Value {
    let document = outgoing(document, target);
    let left = strip(&document, &mut Vec::new(), &target.written_nulls, emptied);
    left.unwrap_or_else(Value::empty_map)
}

/// `path` has the keys and positions that lead to `value`.
fn strip(
    value: &Value,
    path: &mut Vec<String>,
    written: &[Vec<String>],
    emptied: EmptiedMaps,
) -> Option<Value> {
    let mut member = |step: String, member: &Value| {
        path.push(step);
        let left = strip(member, path, written, emptied);
        path.pop();
        left
    };
    match value.view() {
        View::Null => written.contains(path).then_some(Value::NULL),
        View::Map(map) => {
            let mut entries = Vec::with_capacity(map.len());
            for (key, value) in map {
                let left = member(key.as_str().to_owned(), value);
                entries.extend(left.map(|left| (key.clone(), left)));
            }
            let dropped = emptied == EmptiedMaps::Dropped && entries.is_empty() && !map.is_empty();
            (!dropped).then(|| Map::from_sorted(entries).into())
        }
        // An element keeps its position.
        View::List(items) if items.iter().any(|item| item.as_map().is_some()) => {
            let items = items.iter().enumerate();
            let items = items.map(|(i, item)| {
                let left = member(i.to_string(), item);
                left.unwrap_or_else(|| match item.as_map() {
                    Some(_) => Value::empty_map(),
                    None => Value::NULL,
                })
            });
            Some(items.collect::<Vec<_>>().into())
        }
        View::Bool(_)
        | View::Int(_)
        | View::Float(_)
        | View::Str(_)
        | View::List(_)
        | View::Bytes(_) => Some(value.clone()),
    }
}

/// A document without the fields that belong to others (`target.ignore`).
pub(crate) fn without_ignored(document: &Value, ignore: &[Path]) -> Value {
    let ignored = ignore.iter();
    let mut places: Vec<FieldPath> = ignored.flat_map(|path| located(path, document)).collect();
    places.sort();
    let last_first = places.iter().rev();
    last_first.fold(document.clone(), |document, place| place.remove(&document))
}

/// A document with the live values of the fields that belong to others (`target.ignore`).
pub(crate) fn with_ignored(document: &Value, live: &Value, ignore: &[Path]) -> Value {
    let mut document = document.clone();
    for path in ignore {
        for place in located(path, &document).iter().rev() {
            document = place.remove(&document);
        }
        for place in located(path, live) {
            document = place.set(&document, place.get(live));
        }
    }
    document
}

/// A patch without the fields that only identify the object.
pub(crate) fn identity_free(patch: &Value) -> Value {
    let Some(map) = patch.as_map() else {
        return patch.clone();
    };
    let mut map = map.without("apiVersion").without("kind");
    if let Some(metadata) = map.get_str("metadata").and_then(Value::as_map) {
        let metadata = metadata.without("name").without("namespace");
        map = if metadata.is_empty() {
            map.without("metadata")
        } else {
            map.with(Key::new("metadata"), metadata.into())
        };
    }
    map.into()
}

/// A derived Secret with encoded data. `literals` are the keys whose values are literals in the
/// pipeline: valid base64 in these is not encoded again.
pub(crate) fn encode_secret(object: &Value, literals: &[String]) -> Value {
    let (Some(fields), Some(data)) = (object.as_map(), object.get("data").as_map()) else {
        return object.clone();
    };
    let encoded: Map = data
        .iter()
        .map(|(key, value)| {
            let value = match value.view() {
                View::Bytes(bytes) => STANDARD.encode(bytes).into(),
                View::Str(text) => {
                    let literal = literals.iter().any(|literal| literal == key.as_str());
                    if literal && STANDARD.decode(text).is_ok() {
                        value.clone()
                    } else {
                        STANDARD.encode(text).into()
                    }
                }
                View::Null
                | View::Bool(_)
                | View::Int(_)
                | View::Float(_)
                | View::List(_)
                | View::Map(_) => value.clone(),
            };
            (key.clone(), value)
        })
        .collect();
    fields.with(Key::new("data"), encoded.into()).into()
}

#[cfg(test)]
mod tests {
    use dataflow::fields::{Fields, Intake, Keep};
    use document::json;

    use super::*;

    #[test]
    fn a_copied_secret_is_encoded_to_the_same() {
        let secret = json!({"metadata": {"name": "s"}, "data": {"text": "aGVsbG8=", "bytes": "//79", "bad": "%"}});
        let intake = Intake {
            secret: true,
            ..Intake::default()
        };
        let inside = Keep::new(&Fields::all(), intake)
            .of(&secret)
            .into_document();
        assert_eq!(inside.get("data").get("text"), &json!("hello"));
        assert_eq!(
            inside.get("data").get("bytes"),
            &Value::bytes(&[0xff, 0xfe, 0xfd])
        );
        let outside = encode_secret(&inside, &[]);
        assert_eq!(outside.get("data").get("text"), &json!("aGVsbG8="));
        assert_eq!(outside.get("data").get("bytes"), &json!("//79"));
        let literal = encode_secret(&json!({"data": {"k": "aGVsbG8="}}), &["k".to_owned()]);
        assert_eq!(literal.get("data").get("k"), &json!("aGVsbG8="));
        let plain = encode_secret(&json!({"data": {"k": "not base64!"}}), &["k".to_owned()]);
        assert_eq!(plain.get("data").get("k"), &json!("bm90IGJhc2U2NCE="));
    }

    #[test]
    fn nulls_from_expressions_are_removed_also_inside_lists() {
        let document = json!({"spec": {"a": null, "b": null, "l": [{"c": null, "d": null, "e": 1}, {"c": null}]}, "m": {"n": {"o": null}}});
        let path = |steps: &[&str]| steps.iter().map(|step| (*step).to_owned()).collect();
        let written = [path(&["spec", "a"]), path(&["spec", "l", "0", "c"])];
        let left = |emptied| strip(&document, &mut Vec::new(), &written, emptied);
        let spec = json!({"a": null, "l": [{"c": null, "e": 1}, {}]});
        assert_eq!(
            left(EmptiedMaps::Dropped),
            Some(json!({"spec": (spec.clone())}))
        );
        assert_eq!(
            left(EmptiedMaps::Kept),
            Some(json!({"spec": spec, "m": {"n": {}}}))
        );
    }
}
