//! Tests of the fields of objects.

use document::json;

use super::*;

#[test]
fn an_apply_owns_its_leaves_and_maps() {
    let object = json!({
        "apiVersion": "g/v1", "kind": "K",
        "metadata": {"name": "a", "labels": {"app": "web"}, "finalizers": ["x"]},
        "spec": {"a": 1, "list": [1], "empty": {}}
    });
    let expect = json!({
        "f:metadata": {
            "f:labels": {"f:app": {}},
            "f:finalizers": {"v:\"x\"": {}}
        },
        "f:spec": {".": {}, "f:a": {}, "f:list": {}, "f:empty": {}}
    });
    assert_eq!(
        fields_of(&object, Operation::Apply, &MergeKeys::default()).to_fields_v1(),
        expect
    );
}

#[test]
fn changes_name_what_is_new_and_what_is_gone() {
    let old =
        json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"a": 1, "b": {"c": 1}}});
    let new = json!({"metadata": {"labels": {"a": "1", "c": "3"}}, "spec": {"a": 2, "d": [1]}});
    let changes = changes(&old, &new, Operation::Update, &MergeKeys::default());
    assert_eq!(
        changes.set.to_fields_v1(),
        json!({"f:metadata": {"f:labels": {"f:c": {}}}, "f:spec": {"f:a": {}, "f:d": {}}})
    );
    assert_eq!(
        changes.removed.to_fields_v1(),
        json!({"f:metadata": {"f:labels": {"f:b": {}}}, "f:spec": {"f:b": {".": {}, "f:c": {}}}})
    );
}

#[test]
fn maps_merge_and_lists_are_replaced() {
    let live = json!({
        "metadata": {"finalizers": ["a", "b"]}, "spec": {"m": {"x": 1, "y": 2}, "l": [1, 2]}
    });
    let config = json!({"metadata": {"finalizers": ["c"]}, "spec": {"m": {"y": 3}, "l": [9]}});
    let expect = json!({
        "metadata": {"finalizers": ["a", "b", "c"]},
        "spec": {"m": {"x": 1, "y": 3}, "l": [9]}
    });
    assert_eq!(merge(&live, &config, &MergeKeys::default()), expect);
}

#[test]
fn an_owner_that_is_given_up_goes() {
    let owners = |uids: &[&str]| {
        let owners = uids.iter().map(|uid| json!({"uid": (*uid), "name": "x"}));
        json!({"metadata": {"ownerReferences": (owners.collect::<Value>())}})
    };
    let gone = fields_of(&owners(&["1"]), Operation::Apply, &MergeKeys::default());
    assert_eq!(
        without(&owners(&["1", "2"]), &gone, &MergeKeys::default()),
        owners(&["2"])
    );
}

/// A body of 3 MB has some hundred thousand fields. Comparing each with each would take
/// minutes.
#[test]
fn many_fields_are_compared_in_seconds() {
    let many = |value: i64| {
        let fields = (0..50_000).map(|i| (Key::new(&format!("f{i:05}")), value.into()));
        let finalizers = (0..20_000).map(|i| Value::from(format!("example.com/{i}-{value}")));
        json!({
            "metadata": {"finalizers": (finalizers.collect::<Value>())},
            "spec": (Value::from(Map::from_entries(fields.collect())))
        })
    };
    let start = std::time::Instant::now();
    let (old, new) = (many(1), many(2));
    let changes = changes(&old, &new, Operation::Apply, &MergeKeys::default());
    assert_eq!(changes.set.paths().len(), 70_000);
    let merged = merge(&old, &new, &MergeKeys::default());
    let finalizers = merged.get("metadata").get("finalizers").as_list();
    assert_eq!(finalizers.map(document::ListRef::len), Some(40_000));
    let left = without(
        &merged,
        &fields_of(&new, Operation::Apply, &MergeKeys::default()),
        &MergeKeys::default(),
    );
    assert!(left.get("spec").is_null());
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn a_map_that_others_use_stays() {
    let object = json!({"spec": {"m": {"x": 1, "y": 2}, "n": {"z": 1}}});
    let gone = fields_of(
        &json!({"spec": {"m": {"x": 1}, "n": {"z": 1}}}),
        Operation::Apply,
        &MergeKeys::default(),
    );
    assert_eq!(
        without(&object, &gone, &MergeKeys::default()),
        json!({"spec": {"m": {"y": 2}}})
    );
}

#[test]
fn elements_with_merge_keys_are_shared() {
    let keys = MergeKeys::of_group("apps");
    let spec = |containers: Value| json!({"spec": {"containers": containers}});
    let live = spec(json!([{"name": "a", "image": "x"}, {"name": "b", "image": "y"}]));
    let config = spec(json!([{"name": "b", "tty": true}, {"name": "c", "image": "z"}]));
    let merged = merge(&live, &config, &keys);
    let expect = spec(json!([
        {"name": "a", "image": "x"},
        {"name": "b", "image": "y", "tty": true},
        {"name": "c", "image": "z"}
    ]));
    assert_eq!(merged, expect);
    let owned = fields_of(&config, Operation::Apply, &keys);
    let expect = json!({"f:spec": {".": {}, "f:containers": {
        "k:{\"name\":\"b\"}": {".": {}, "f:name": {}, "f:tty": {}},
        "k:{\"name\":\"c\"}": {".": {}, "f:image": {}, "f:name": {}}
    }}});
    assert_eq!(owned.to_fields_v1(), expect);
    let set = changes(&live, &merged, Operation::Apply, &keys).set;
    let expect = json!({"f:spec": {"f:containers": {
        "k:{\"name\":\"b\"}": {"f:tty": {}},
        "k:{\"name\":\"c\"}": {".": {}, "f:image": {}, "f:name": {}}
    }}});
    assert_eq!(set.to_fields_v1(), expect);
    // The element that others have set stays, without the field that is given up.
    let others = fields_of(&live, Operation::Apply, &keys);
    assert_eq!(without(&merged, &owned.difference(&others), &keys), live);
    // Elements without the key, and other kinds, are not shared.
    let odd = spec(json!([{"image": "x"}]));
    assert_eq!(merge(&live, &odd, &keys), odd);
    assert_eq!(merge(&live, &config, &MergeKeys::default()), config);
}
