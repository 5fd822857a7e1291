//! What an object becomes when a controller yields a document for it.

use document::{Key, Map, Value};
use object::metadata::KEYS;

use crate::draft::{field, with_or_without};

/// A yielded document as a draft of its own: of its metadata only the name, namespace,
/// labels, annotations and ownerReferences count.
pub(crate) fn yielded(draft: &Value) -> Value {
    let metadata = draft.get_key(&KEYS.metadata);
    let counted: Map = metadata
        .as_map()
        .into_iter()
        .flatten()
        .filter(|(key, _)| {
            matches!(
                key.as_str(),
                "name" | "namespace" | "labels" | "annotations" | "ownerReferences"
            )
        })
        .cloned()
        .collect();
    with_or_without(draft, &KEYS.metadata, Some(counted.into()))
}

/// The live draft brought to what is now yielded. `before` is what was yielded last:
/// what it set and is no longer yielded goes.
pub(crate) fn converge(live: &Value, before: &Value, now: &Value) -> Value {
    let keys = &*KEYS;
    let [live_meta, before_meta, now_meta] =
        [live, before, now].map(|object| object.get_key(&keys.metadata));
    let mut metadata = live_meta.clone();
    for key in [&keys.labels, &keys.annotations] {
        let merged = merge(
            live_meta.get_key(key),
            before_meta.get_key(key),
            now_meta.get_key(key),
        );
        metadata = with_or_without(&metadata, key, merged);
    }
    let key = &keys.owner_references;
    let owners = merge_owners(
        live_meta.get_key(key),
        before_meta.get_key(key),
        now_meta.get_key(key),
    );
    metadata = with_or_without(&metadata, key, owners);
    let draft = with_or_without(now, &keys.metadata, Some(metadata));
    if field(now, &keys.status).is_some() {
        return draft;
    }
    with_or_without(&draft, &keys.status, field(live, &keys.status).cloned())
}

/// Labels or annotations: others' stay, ours come and go.
fn merge(live: &Value, before: &Value, now: &Value) -> Option<Value> {
    let entries = |value: &Value| {
        value
            .as_map()
            .map_or(Vec::new(), |map| map.entries().to_vec())
    };
    let mut merged: Vec<(Key, Value)> = entries(live);
    merged.retain(|(key, _)| field(before, key).is_none());
    merged.extend(entries(now));
    (!merged.is_empty()).then(|| Map::from_entries(merged).into())
}

/// Owner references, told apart by uid: others' stay, ours come and go.
fn merge_owners(live: &Value, before: &Value, now: &Value) -> Option<Value> {
    let items = |value: &Value| {
        value
            .as_list()
            .map_or(Vec::new(), document::ListRef::to_vec)
    };
    let listed = |list: &Value, item: &Value| {
        let same = |other: &Value| other.get_key(&KEYS.uid) == item.get_key(&KEYS.uid);
        list.as_list().is_some_and(|list| list.iter().any(same))
    };
    let mut merged = items(live);
    merged.retain(|item| !listed(before, item) && !listed(now, item));
    merged.extend(items(now));
    (!merged.is_empty()).then(|| merged.into())
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    fn check(live: &Value, before: &Value, now: &Value, expect: &str) {
        assert_eq!(converge(live, before, now).to_string(), expect);
    }

    #[test]
    fn content_is_replaced_and_a_status_of_others_stays() {
        check(
            &json!({"metadata": {"name": "a"}, "spec": {"x": 1}, "status": 1}),
            &json!({"metadata": {"name": "a"}, "spec": {"x": 1}}),
            &json!({"metadata": {"name": "a"}, "data": 2}),
            r#"{"data":2,"metadata":{"name":"a"},"status":1}"#,
        );
        check(
            &json!({"metadata": {"name": "a"}, "status": 1}),
            &json!({"metadata": {"name": "a"}}),
            &json!({"metadata": {"name": "a"}, "status": 2}),
            r#"{"metadata":{"name":"a"},"status":2}"#,
        );
    }

    #[test]
    fn only_own_labels_go() {
        check(
            &json!({"metadata": {"name": "a", "labels": {"old": "1", "mine": "1", "user": "1"}}}),
            &json!({"metadata": {"name": "a", "labels": {"old": "1", "mine": "1"}}}),
            &json!({"metadata": {"name": "a", "labels": {"mine": "2"}}}),
            r#"{"metadata":{"labels":{"mine":"2","user":"1"},"name":"a"}}"#,
        );
        check(
            &json!({"metadata": {"name": "a", "annotations": {"old": "1"}, "finalizers": ["f"]}}),
            &json!({"metadata": {"name": "a", "annotations": {"old": "1"}}}),
            &json!({"metadata": {"name": "a"}}),
            r#"{"metadata":{"finalizers":["f"],"name":"a"}}"#,
        );
    }

    #[test]
    fn only_own_owners_go() {
        check(
            &json!({"metadata": {"ownerReferences": [{"uid": "user"}, {"uid": "old"}]}}),
            &json!({"metadata": {"ownerReferences": [{"uid": "old"}]}}),
            &json!({"metadata": {"ownerReferences": [{"uid": "new"}]}}),
            r#"{"metadata":{"ownerReferences":[{"uid":"user"},{"uid":"new"}]}}"#,
        );
    }

    #[test]
    fn of_yielded_metadata_only_names_labels_annotations_and_owners_count() {
        let document = json!({
            "metadata": {"name": "a", "labels": {"x": "1"}, "finalizers": ["f"], "odd": 1},
            "spec": 1
        });
        assert_eq!(
            yielded(&document).to_string(),
            r#"{"metadata":{"labels":{"x":"1"},"name":"a"},"spec":1}"#
        );
    }
}
