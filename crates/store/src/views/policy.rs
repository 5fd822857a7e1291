//! The changes that a user may make to an object that a controller yields: to its status, its
//! finalizers, and labels and annotations that the pipeline does not yield.

use document::{Key, Map, Value};
use object::metadata::KEYS;

use crate::draft::{content_differs, field, metadata};

/// The path of a field that this replacement changes and a user may not change. `yielded` is the
/// document of the controller; both drafts are in normal form.
pub(crate) fn forbidden(yielded: &Value, live: &Value, new: &Value) -> Option<String> {
    if let Some(field) = content_differs(live, new) {
        return Some(field.to_string());
    }
    metadata(live)
        .iter()
        .chain(metadata(new))
        .map(|(key, _)| key)
        .find_map(|key| forbidden_metadata(key, yielded, live, new))
}

fn forbidden_metadata(key: &Key, yielded: &Value, live: &Value, new: &Value) -> Option<String> {
    let of = |object: &Value| field(object.get_key(&KEYS.metadata), key).cloned();
    let (live, new) = (of(live), of(new));
    if live == new || *key == KEYS.finalizers || key.as_str() == "managedFields" {
        return None;
    }
    if *key != KEYS.labels && *key != KEYS.annotations {
        return Some(format!("metadata.{key}"));
    }
    let entry = |map: &Option<Value>, name: &Key| {
        let map = map.as_ref().and_then(Value::as_map);
        map.and_then(|map| map.get(name)).cloned()
    };
    yielded
        .get_key(&KEYS.metadata)
        .get_key(key)
        .as_map()
        .into_iter()
        .flat_map(Map::iter)
        .map(|(name, _)| name)
        .find(|name| entry(&live, name) != entry(&new, name))
        .map(|name| format!("metadata.{key}[{:?}]", name.as_str()))
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    fn check(new: &Value, expect: Option<&str>) {
        let yielded = json!({
            "metadata": {"name": "web", "labels": {"app": "web"}},
            "spec": {"a": 1}
        });
        let live = json!({
            "metadata": {
                "name": "web", "labels": {"app": "web", "mine": "1"}, "finalizers": ["f"]
            },
            "spec": {"a": 1}
        });
        assert_eq!(
            forbidden(&yielded, &live, new),
            expect.map(str::to_owned),
            "{new}"
        );
    }

    #[test]
    fn finalizers_and_own_labels_and_annotations_are_free() {
        check(
            &json!({
                "metadata": {
                    "name": "web", "labels": {"app": "web", "other": "1"},
                    "annotations": {"a": "b"}, "managedFields": [{}]
                },
                "spec": {"a": 1}
            }),
            None,
        );
    }

    #[test]
    fn content_yielded_labels_and_owners_are_not() {
        let with = |metadata: Value, spec: Value| json!({"metadata": metadata, "spec": spec});
        let labels = json!({"name": "web", "labels": {"app": "web"}});
        check(&with(labels.clone(), json!({"a": 2})), Some("spec"));
        check(
            &with(json!({"name": "web"}), json!({"a": 1})),
            Some(r#"metadata.labels["app"]"#),
        );
        let changed = json!({"name": "web", "labels": {"app": "db"}});
        check(
            &with(changed, json!({"a": 1})),
            Some(r#"metadata.labels["app"]"#),
        );
        let owned = json!({
            "name": "web", "labels": {"app": "web"}, "ownerReferences": [{"uid": "1"}]
        });
        check(
            &with(owned, json!({"a": 1})),
            Some("metadata.ownerReferences"),
        );
        let more = json!({"metadata": labels, "spec": {"a": 1}, "extra": null});
        check(&more, Some("extra"));
    }
}
