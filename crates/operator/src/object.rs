//! Objects on their way into a pipeline and out of it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use document::{Key, Map, Value, View};

/// The group of an `apiVersion`: `""` for the core group.
pub fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Whether an annotation or a label is bookkeeping, never data.
pub fn is_mark(key: &str) -> bool {
    key == "kubectl.kubernetes.io/last-applied-configuration"
        || key == "dcontroller.io/owner"
        || key == "dcontroller.io/operator"
        || key.starts_with("dcontroller.io/set.")
}

/// What a pipeline sees of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// A view: its own uid, resourceVersion, generation and creationTimestamp stay out.
    pub view: bool,
    /// A Secret of the core group: its data is decoded.
    pub secret: bool,
    /// Whether the pipeline names `metadata.resourceVersion` or `metadata.generation`.
    pub versions: bool,
}

impl Entry {
    /// The object as it enters a pipeline: without managedFields, bookkeeping and the
    /// versions that nobody reads.
    pub fn clean(self, object: &Value) -> Value {
        let Some(fields) = object.as_map() else {
            return object.clone();
        };
        let Some(metadata) = object.get("metadata").as_map() else {
            return object.clone();
        };
        let hidden = |key: &str| match key {
            "managedFields" => true,
            "resourceVersion" | "generation" => self.view || !self.versions,
            "uid" | "creationTimestamp" => self.view,
            _ => false,
        };
        let mut entries: Vec<(Key, Value)> = Vec::with_capacity(metadata.len());
        for (key, value) in metadata {
            if hidden(key.as_str()) {
                continue;
            }
            if matches!(key.as_str(), "annotations" | "labels") {
                entries.extend(without_marks(value).map(|value| (key.clone(), value)));
            } else {
                entries.push((key.clone(), value.clone()));
            }
        }
        let mut fields = fields.with(Key::new("metadata"), Map::from_sorted(entries).into());
        if self.secret
            && let Some(data) = fields.get_str("data")
        {
            let data = decode(data);
            fields = fields.with(Key::new("data"), data);
        }
        fields.into()
    }
}

/// Labels or annotations without bookkeeping; `None` if nothing else was there.
fn without_marks(value: &Value) -> Option<Value> {
    let Some(map) = value.as_map() else {
        return Some(value.clone());
    };
    if !map.iter().any(|(key, _)| is_mark(key.as_str())) {
        return Some(value.clone());
    }
    let rest: Map = map
        .iter()
        .filter(|(key, _)| !is_mark(key.as_str()))
        .cloned()
        .collect();
    (!rest.is_empty()).then(|| rest.into())
}

/// The decoded values of a Secret's data; bytes that are no text stay opaque.
fn decode(data: &Value) -> Value {
    let Some(map) = data.as_map() else {
        return data.clone();
    };
    map.iter()
        .map(|(key, value)| {
            let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok());
            let value = match bytes {
                Some(bytes) => match std::str::from_utf8(&bytes) {
                    Ok(text) => Value::from(text),
                    Err(_) => Value::bytes(&bytes),
                },
                None => value.clone(),
            };
            (key.clone(), value)
        })
        .collect::<Map>()
        .into()
}

/// A derived Secret with its data encoded. `literals` are the keys whose value is
/// written in the pipeline: valid base64 there is taken as it is.
pub fn encode_secret(object: &Value, literals: &[String]) -> Value {
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
    use document::json;

    use super::*;

    #[test]
    fn bookkeeping_never_enters_a_pipeline() {
        let object = json!({"metadata": {
            "name": "a", "uid": "u", "resourceVersion": "7", "generation": 2, "managedFields": [],
            "labels": {"dcontroller.io/operator": "o"},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "dcontroller.io/owner": "{}", "x": "y"},
        }});
        let native = Entry {
            view: false,
            secret: false,
            versions: false,
        };
        assert_eq!(
            native.clean(&object),
            json!({"metadata": {"name": "a", "uid": "u", "annotations": {"x": "y"}}})
        );
        let named = Entry {
            versions: true,
            ..native
        };
        assert_eq!(
            named.clean(&object).get("metadata").get("resourceVersion"),
            &json!("7")
        );
        let view = Entry {
            view: true,
            ..native
        };
        assert_eq!(
            view.clean(&object),
            json!({"metadata": {"name": "a", "annotations": {"x": "y"}}})
        );
    }

    #[test]
    fn a_copied_secret_is_encoded_again_exactly() {
        let secret = json!({"metadata": {"name": "s"}, "data": {"text": "aGVsbG8=", "bytes": "//79", "bad": "%"}});
        let entry = Entry {
            view: false,
            secret: true,
            versions: false,
        };
        let inside = entry.clean(&secret);
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
}
