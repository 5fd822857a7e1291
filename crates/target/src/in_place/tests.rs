//! What a controller sees of an object that it has patched.

use document::json;

use super::*;
use crate::layer::Was;

fn key() -> ObjectKey {
    ObjectKey::new("apps", "Deployment", "ns", "web")
}

/// The object with a record of these values and their former ones.
fn with_record(object: &Value, controller: &str, set: &[(&str, Value, Was)]) -> Value {
    let mut written = Written::new("op", controller, &key());
    for (place, value, was) in set {
        let place = FieldPath::parse(place).unwrap();
        written.record(&place, value, None, was.clone());
    }
    let place = FieldPath::of(&["metadata", "annotations", &written.annotation()]);
    place.set(object, &Value::from(written.print()))
}

/// The object as it enters the pipeline of `c`, without records.
fn entered_of(object: &Value) -> Value {
    let object = entered(object, "op", &key(), |controller| controller == "c");
    let annotations = object.get("metadata").get("annotations").as_map();
    let marks = annotations.into_iter().flatten().map(|(name, _)| name);
    let marks: Vec<Key> = marks
        .filter(|name| name.as_str().starts_with("dcontroller.io"))
        .cloned()
        .collect();
    marks.iter().fold(object.clone(), |object, name| {
        FieldPath::of(&["metadata", "annotations", name.as_str()]).remove(&object)
    })
}

fn replaced(value: Value) -> Was {
    Was::Value(value)
}

#[test]
fn what_the_record_says_is_taken_back() {
    let object = json!({"metadata": {"annotations": {"note": "x", "user": "y"}}, "spec": {
        "replicas": 5, "changed": 7, "kept": 1, "containers": [{"name": "app"}, {"name": "side", "image": "s"}]}});
    let side = r#"/spec/containers/[{"name":"side"}]"#;
    let recorded = with_record(
        &object,
        "c",
        &[
            ("/metadata/annotations/note", json!("x"), Was::Absent),
            ("/spec/replicas", json!(5), replaced(json!(3))),
            ("/spec/changed", json!(6), replaced(json!(1))),
            ("/spec/kept", json!(1), Was::NotKept),
            (side, json!({"name": "side", "image": "s"}), Was::Absent),
            (&format!("{side}/image"), json!("s"), Was::Absent),
            (
                r#"/spec/containers/[{"name":"debug"}]"#,
                Value::NULL,
                replaced(json!({"name": "debug"})),
            ),
            ("/spec/removed", Value::NULL, replaced(json!({"a": 1}))),
        ],
    );
    let expect = json!({"metadata": {"annotations": {"user": "y"}}, "spec": {
        "replicas": 3, "changed": 7, "kept": 1, "removed": {"a": 1},
        "containers": [{"name": "app"}, {"name": "debug"}]}});
    assert_eq!(entered_of(&recorded), expect);
    // A driver with the records in memory sees the same.
    let (bare, mut sets) = super::recorded(&recorded, "op", &key());
    assert_eq!(bare, object);
    assert_eq!(sets.remove("c").unwrap().take_back(&bare, |_| true), expect);
}

#[test]
fn the_patches_of_other_controllers_are_seen() {
    let object = json!({"spec": {"replicas": 5}});
    let set = [("/spec/replicas", json!(5), replaced(json!(3)))];
    assert_eq!(entered_of(&with_record(&object, "other", &set)), object);
}

#[test]
fn defaults_in_an_element_that_we_added_go_with_it() {
    let object = json!({"metadata": {"managedFields": [
            {"manager": (object::marks::field_manager("op", "c")), "operation": "Update", "fieldsV1": {"f:spec": {}}}]},
        "spec": {"containers": [{"name": "app"}, {"name": "side", "image": "s", "policy": "default"}]}});
    let side = r#"/spec/containers/[{"name":"side"}]"#;
    let set = [
        (side, json!({"name": "side", "image": "s"}), Was::Absent),
        (&*format!("{side}/image"), json!("s"), Was::Absent),
    ];
    let object = with_record(&object, "c", &set);
    let expect = json!({"containers": [{"name": "app"}]});
    assert_eq!(entered_of(&object).get("spec"), &expect);
    let (bare, mut sets) = recorded(&object, "op", &key());
    let before = sets.remove("c").unwrap().take_back(&bare, |_| true);
    assert_eq!(before.get("spec"), &expect);
}
