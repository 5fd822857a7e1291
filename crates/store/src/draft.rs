//! Drafts: objects without the fields that the store sets.
//!
//! A writer supplies a draft. The draft and its [`System`] fields together are the object that
//! readers see.

use document::{Key, Kind, Map, Value};
use object::metadata::KEYS;
use object::{GroupKind, ObjectName, group_of};

use crate::error::Error;
use crate::version::Version;

/// The fields of an object that the store sets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct System {
    pub(crate) uid: Value,
    pub(crate) created: Value,
    pub(crate) generation: i64,
    /// When its deletion was requested.
    pub(crate) deleted: Option<Value>,
}

impl System {
    /// The fields that another server has set on an object.
    pub(crate) fn of(object: &Value) -> Self {
        let keys = &*KEYS;
        let metadata = object.get_key(&keys.metadata);
        let deleted = metadata.get_key(&keys.deletion_timestamp);
        Self {
            uid: metadata.get_key(&keys.uid).clone(),
            created: metadata.get_key(&keys.creation_timestamp).clone(),
            generation: metadata.get_key(&keys.generation).as_int().unwrap_or(1),
            deleted: (!deleted.is_null()).then(|| deleted.clone()),
        }
    }

    /// The object with this draft, written at this version.
    pub(crate) fn seal(&self, draft: &Value, version: Version) -> Value {
        let keys = &*KEYS;
        let mut metadata = metadata(draft).to_vec();
        metadata.extend([
            (keys.uid.clone(), self.uid.clone()),
            (
                keys.resource_version.clone(),
                version.to_string().as_str().into(),
            ),
            (keys.generation.clone(), self.generation.into()),
            (keys.creation_timestamp.clone(), self.created.clone()),
        ]);
        if let Some(deleted) = &self.deleted {
            metadata.push((keys.deletion_timestamp.clone(), deleted.clone()));
            metadata.push((keys.deletion_grace_period.clone(), 0.into()));
        }
        with(draft, &keys.metadata, Map::from_entries(metadata).into())
    }
}

/// The object at another version: the last state that is delivered with a deletion.
pub(crate) fn at_version(object: &Value, version: Version) -> Value {
    let version = Value::from(version.to_string());
    let metadata = with(
        object.get_key(&KEYS.metadata),
        &KEYS.resource_version,
        version,
    );
    with(object, &KEYS.metadata, metadata)
}

/// The key of an object.
pub(crate) fn key_of(object: &Value) -> Result<ObjectName, Error> {
    let metadata = object.get_key(&KEYS.metadata);
    let name = metadata.get_key(&KEYS.name);
    let name = name
        .as_str()
        .filter(|name| !name.is_empty())
        .ok_or_else(|| form("metadata.name", "a string that is not empty", name))?;
    let namespace = metadata.get_key(&KEYS.namespace);
    let namespace = match namespace.kind() {
        Kind::Null => "",
        _ => namespace
            .as_str()
            .ok_or_else(|| form("metadata.namespace", "a string", namespace))?,
    };
    Ok(ObjectName::new(namespace, name))
}

/// The draft in a written object, in normal form: without system fields, and without null or
/// empty metadata.
pub(crate) fn draft(object: &Value, collection: &GroupKind) -> Result<Value, Error> {
    let keys = &*KEYS;
    if object.as_map().is_none() {
        return Err(form("the object", "a map", object));
    }
    check_kind(object, collection)?;
    let metadata = object.get_key(&keys.metadata);
    let mut entries = Vec::with_capacity(8);
    for (key, value) in metadata
        .as_map()
        .ok_or_else(|| form("metadata", "a map", metadata))?
    {
        if keys.is_system(key) || value.is_null() {
            continue;
        }
        let value = if *key == keys.labels || *key == keys.annotations {
            strings(key.as_str(), value)?
        } else if *key == keys.finalizers || *key == keys.owner_references {
            listed(key, value)?
        } else {
            Some(value.clone()).filter(|value| value.as_str() != Some(""))
        };
        entries.extend(value.map(|value| (key.clone(), value)));
    }
    Ok(with(
        object,
        &keys.metadata,
        Map::from_sorted(entries).into(),
    ))
}

fn check_kind(object: &Value, collection: &GroupKind) -> Result<(), Error> {
    let kind = object.get("kind");
    let api_version = object.get("apiVersion");
    let text = |path, value: &'_ Value| -> Result<String, Error> {
        let text = value.as_str().ok_or_else(|| form(path, "a string", value));
        text.map(str::to_owned)
    };
    if text("kind", kind)? != collection.kind.as_str() {
        return Err(rule("kind", "must be the kind of the collection"));
    }
    let api_version = text("apiVersion", api_version)?;
    if group_of(&api_version) != collection.group.as_str() {
        return Err(rule("apiVersion", "must be of the group of the collection"));
    }
    Ok(())
}

/// Labels or annotations: a map of strings. Null entries are dropped, and so is an empty map.
fn strings(field: &str, value: &Value) -> Result<Option<Value>, Error> {
    let path = || format!("metadata.{field}");
    let map = value.as_map().ok_or_else(|| form(path(), "a map", value))?;
    let odd = map
        .iter()
        .find(|(_, value)| !matches!(value.kind(), Kind::Str | Kind::Null));
    if let Some((key, odd)) = odd {
        return Err(form(format!("{}[{key:?}]", path()), "a string", odd));
    }
    let given: Map = map
        .iter()
        .filter(|(_, value)| !value.is_null())
        .cloned()
        .collect();
    Ok((!given.is_empty()).then(|| given.into()))
}

/// Finalizers (strings) or ownerReferences (maps).
fn listed(field: &Key, value: &Value) -> Result<Option<Value>, Error> {
    let path = || format!("metadata.{field}");
    let list = value
        .as_list()
        .ok_or_else(|| form(path(), "a list", value))?;
    let (kind, expected) = if *field == KEYS.finalizers {
        (Kind::Str, "a string")
    } else {
        (Kind::Map, "a map")
    };
    if let Some((at, odd)) = list
        .iter()
        .enumerate()
        .find(|(_, item)| item.kind() != kind)
    {
        return Err(form(format!("{}[{at}]", path()), expected, odd));
    }
    Ok((!list.is_empty()).then(|| value.clone()))
}

/// The draft of a stored object.
pub(crate) fn unseal(object: &Value) -> Value {
    let entries = metadata(object)
        .iter()
        .filter(|(key, _)| !KEYS.is_system(key))
        .cloned()
        .collect();
    with(object, &KEYS.metadata, Map::from_sorted(entries).into())
}

/// The entries of an object's metadata.
pub(crate) fn metadata(object: &Value) -> &[(Key, Value)] {
    object
        .get_key(&KEYS.metadata)
        .as_map()
        .map_or(&[], Map::entries)
}

/// The first field outside of metadata and status in which two objects differ.
pub(crate) fn content_differs<'a>(one: &'a Value, other: &'a Value) -> Option<&'a Key> {
    let keys = &*KEYS;
    let fields = |object: &'a Value| object.as_map().into_iter().flatten();
    fields(one)
        .chain(fields(other))
        .map(|(key, _)| key)
        .filter(|key| **key != keys.metadata && **key != keys.status)
        .find(|key| field(one, key) != field(other, key))
}

/// A field. `None` means absent; a field may also be null.
pub(crate) fn field<'a>(object: &'a Value, key: &Key) -> Option<&'a Value> {
    object.as_map().and_then(|map| map.get(key))
}

/// `object`, a map, with this field.
pub(crate) fn with(object: &Value, key: &Key, value: Value) -> Value {
    match object.as_map() {
        Some(map) => map.with(key.clone(), value).into(),
        None => Map::from_sorted(vec![(key.clone(), value)]).into(),
    }
}

/// `object`, a map, with this field set, or without it if `value` is `None`.
pub(crate) fn with_or_without(object: &Value, key: &Key, value: Option<Value>) -> Value {
    match (value, object.as_map()) {
        (Some(value), _) => with(object, key, value),
        (None, Some(map)) if map.get(key).is_some() => map.without(key.as_str()).into(),
        (None, _) => object.clone(),
    }
}

pub(crate) fn form(path: impl Into<String>, expected: &'static str, found: &Value) -> Error {
    Error::Form {
        path: path.into(),
        expected,
        found: found.kind(),
    }
}

pub(crate) fn rule(path: impl Into<String>, rule: &'static str) -> Error {
    Error::Rule {
        path: path.into(),
        rule,
    }
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    fn collection() -> GroupKind {
        GroupKind::new("shop.view.dcontroller.io", "Health")
    }

    fn object(metadata: Value) -> Value {
        json!({
            "apiVersion": "shop.view.dcontroller.io/v1alpha1",
            "kind": "Health",
            "metadata": metadata
        })
    }

    fn check(metadata: Value, expect: Result<&str, &str>) {
        let found = draft(&object(metadata), &collection())
            .map(|draft| draft.get("metadata").to_string())
            .map_err(|error| error.to_string());
        assert_eq!(
            found,
            expect.map(str::to_owned).map_err(str::to_owned),
            "expected {expect:?}"
        );
    }

    #[test]
    fn a_draft_has_no_system_fields_and_no_empty_metadata() {
        check(
            json!({
                "name": "web", "namespace": "", "uid": "1", "resourceVersion": "2",
                "generation": 3, "creationTimestamp": "then", "deletionTimestamp": "now",
                "labels": {}, "annotations": {"a": null}, "finalizers": [],
                "ownerReferences": null
            }),
            Ok(r#"{"name":"web"}"#),
        );
    }

    #[test]
    fn metadata_of_the_wrong_type_is_an_error_that_shows_no_value() {
        let secret = "hunter2";
        check(
            json!(secret),
            Err("metadata: expected a map, found a string"),
        );
        check(
            json!({"labels": {"app": [secret]}}),
            Err(r#"metadata.labels["app"]: expected a string, found a list"#),
        );
        check(
            json!({"finalizers": ["a", 1]}),
            Err("metadata.finalizers[1]: expected a string, found an integer"),
        );
        check(
            json!({"ownerReferences": secret}),
            Err("metadata.ownerReferences: expected a list, found a string"),
        );
    }

    #[test]
    fn an_object_of_another_collection_is_refused() {
        let other = json!({"apiVersion": "v1", "kind": "Health", "metadata": {}});
        assert_eq!(
            draft(&other, &collection()).unwrap_err().to_string(),
            "apiVersion: must be of the group of the collection"
        );
        let other = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}});
        assert_eq!(
            draft(&other, &collection()).unwrap_err().to_string(),
            "kind: must be the kind of the collection"
        );
    }

    #[test]
    fn a_key_needs_a_name() {
        assert_eq!(
            key_of(&object(json!({"name": "web", "namespace": "shop"}))),
            Ok(ObjectName::new("shop", "web"))
        );
        for metadata in [json!({}), json!({"name": ""}), json!({"name": 1})] {
            assert!(key_of(&object(metadata)).is_err());
        }
        assert!(key_of(&object(json!({"name": "a", "namespace": 1}))).is_err());
    }

    #[test]
    fn unseal_returns_the_draft() {
        let draft = object(json!({"name": "web", "labels": {"a": "b"}}));
        let system = System {
            uid: "u".into(),
            created: "then".into(),
            generation: 1,
            deleted: Some("now".into()),
        };
        let sealed = system.seal(&draft, Version(7));
        assert_eq!(
            sealed.get("metadata").to_string(),
            r#"{"creationTimestamp":"then","deletionGracePeriodSeconds":0,"deletionTimestamp":"now","generation":1,"labels":{"a":"b"},"name":"web","resourceVersion":"7","uid":"u"}"#
        );
        assert_eq!(unseal(&sealed), draft);
    }
}
