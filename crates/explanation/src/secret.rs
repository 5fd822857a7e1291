//! Masks the values of Secrets: a diff shows that a value changes, but neither value.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use document::{Key, Map, Value, View};
use operator::secrets::HIDDEN;

/// The text that is shown instead of a value that differs between two versions.
const CHANGED: &str = "*** (changed)";

/// The fields that hold the values.
const FIELDS: [&str; 2] = ["data", "stringData"];

/// Shorter texts are not searched for elsewhere in the Secret, because they would be found by
/// chance.
const TELLING: usize = 4;

/// Both versions of an object with the values of a Secret masked.
pub fn masked(old: &Value, new: Option<&Value>) -> (Value, Option<Value>) {
    if !is_secret(old) && !new.is_some_and(is_secret) {
        return (old.clone(), new.cloned());
    }
    let mut texts = Vec::new();
    for version in [Some(old), new].into_iter().flatten() {
        for field in FIELDS {
            collect(version.get(field), &mut texts);
        }
    }
    let shown_old = shown(old, old, &texts);
    let shown_new = new.map(|new| shown(new, old, &texts));
    (shown_old, shown_new)
}

fn is_secret(object: &Value) -> bool {
    let core = object
        .get("apiVersion")
        .as_str()
        .is_none_or(|version| !version.contains('/'));
    core && object.get("kind").as_str() == Some("Secret")
}

/// Collects the texts of a value, encoded and decoded.
fn collect(value: &Value, texts: &mut Vec<String>) {
    match value.view() {
        View::Str(text) => {
            let decoded = STANDARD.decode(text).ok();
            let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
            let all = [Some(text.to_owned()), decoded].into_iter().flatten();
            texts.extend(all.filter(|text| text.len() >= TELLING));
        }
        View::List(items) => items.iter().for_each(|item| collect(item, texts)),
        View::Map(map) => map.values().for_each(|member| collect(member, texts)),
        View::Null | View::Bool(_) | View::Int(_) | View::Float(_) | View::Bytes(_) => {}
    }
}

/// A version of a Secret with masked values; values that differ from `old` are marked as changed.
fn shown(version: &Value, old: &Value, texts: &[String]) -> Value {
    let Some(map) = version.as_map() else {
        return HIDDEN.into();
    };
    let members = map.iter().map(|(key, member)| {
        let member = if FIELDS.contains(&key.as_str()) {
            values(member, old.get_key(key))
        } else {
            without(member, texts)
        };
        (key.clone(), member)
    });
    members.collect::<Map>().into()
}

fn values(data: &Value, old: &Value) -> Value {
    let hidden = |value: &Value, before: Option<&Value>| {
        let changed = before.is_some_and(|before| before != value);
        Value::from(if changed { CHANGED } else { HIDDEN })
    };
    let Some(map) = data.as_map() else {
        return hidden(data, Some(old));
    };
    let before = |key: &Key| old.as_map().and_then(|old| old.get(key));
    map.iter()
        .map(|(key, value)| (key.clone(), hidden(value, before(key))))
        .collect::<Map>()
        .into()
}

/// The texts of Secrets that must not be shown anywhere.
#[derive(Debug, Default)]
pub struct SecretTexts(Vec<String>);

impl SecretTexts {
    /// Adds the values of an object, which is a Secret.
    pub fn add(&mut self, secret: &Value) {
        for field in FIELDS {
            collect(secret.get(field), &mut self.0);
        }
    }

    /// A document in which the values of Secrets are masked. Of a Secret, no value is shown.
    pub fn masked(&self, document: &Value, secret: bool) -> Value {
        if secret {
            return shown(document, document, &self.0);
        }
        if self.0.is_empty() {
            return document.clone();
        }
        without(document, &self.0)
    }
}

/// Masks all strings in a value that contain one of these texts.
fn without(value: &Value, texts: &[String]) -> Value {
    match value.view() {
        View::Str(text) if texts.iter().any(|secret| text.contains(secret.as_str())) => {
            HIDDEN.into()
        }
        View::List(items) => items.iter().map(|item| without(item, texts)).collect(),
        View::Map(map) => map
            .iter()
            .map(|(key, member)| (key.clone(), without(member, texts)))
            .collect::<Map>()
            .into(),
        View::Null
        | View::Bool(_)
        | View::Int(_)
        | View::Float(_)
        | View::Str(_)
        | View::Bytes(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    #[test]
    fn no_value_of_a_secret_is_shown() {
        let old = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
            "data": {"same": "aHVudGVyMg==", "other": "c3dvcmRmaXNo", "gone": "eA=="},
        });
        let new = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "s", "annotations": {"copy": "it is hunter2", "fine": "yes"}},
            "data": {"same": "aHVudGVyMg==", "other": "bmV3", "added": "eQ=="},
            "stringData": "odd",
        });
        let (old, new) = masked(&old, Some(&new));
        assert_eq!(
            old.get("data"),
            &json!({"same": "***", "other": "***", "gone": "***"})
        );
        let new = new.unwrap();
        assert_eq!(
            new.get("data"),
            &json!({"same": "***", "other": "*** (changed)", "added": "***"})
        );
        assert_eq!(new.get("stringData"), &json!("*** (changed)"));
        let annotations = json!({"copy": "***", "fine": "yes"});
        assert_eq!(new.get("metadata").get("annotations"), &annotations);
    }

    #[test]
    fn other_kinds_are_not_masked() {
        for object in [
            json!({"kind": "ConfigMap", "data": {"a": "b"}}),
            json!({"apiVersion": "other.io/v1", "kind": "Secret", "data": {"a": "b"}}),
        ] {
            assert_eq!(masked(&object, None), (object.clone(), None));
        }
    }
}
