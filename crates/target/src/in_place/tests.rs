//! What a controller sees of an object that it has patched.

use document::json;

use super::*;
use crate::layer::Was;

fn key() -> ObjectKey {
    ObjectKey::new("apps", "Deployment", "ns", "web")
}

/// The object with a record of these values and their former ones.
fn with_record(object: &Value, controller: &str, set: &[(&str, Value, Was)]) -> Value {
    let mut written = Written::new(&OperatorId::new("op", "u1"), controller, &key());
    for (place, value, was) in set {
        let place = FieldPath::parse(place).unwrap();
        written.record(&place, value, None, was.clone());
    }
    let place = FieldPath::of(&["metadata", "annotations", &written.annotation()]);
    place.set(object, &Value::from(written.print()))
}

/// The object as it enters the pipeline of `c`, without records.
fn entered_of(object: &Value) -> Value {
    let object = entered(object, &OperatorId::new("op", "u1"), &key(), |controller| {
        controller == "c"
    });
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

#[test]
fn an_added_element_is_taken_back_whoever_changed_it() {
    let side = r#"/spec/containers/[{"name":"side"}]"#;
    let added = [
        (side, json!({"name": "side", "image": "s"}), Was::Absent),
        (&format!("{side}/image"), json!("s"), Was::Absent),
    ];
    let check = |containers: Value, expect: Value| {
        let object = json!({"spec": {"containers": containers}});
        let object = with_record(&object, "c", &added);
        let found = entered_of(&object);
        assert_eq!(found.get("spec").get("containers"), &expect, "{object}");
        let (bare, mut sets) = recorded(&object, "op", &key());
        let mut set = sets.remove("c").unwrap_or_default();
        Patched::relocate(std::iter::once(&mut set), &bare);
        let found = set.entered(&bare);
        assert_eq!(found.get("spec").get("containers"), &expect, "{object}");
    };
    let app = || json!({"name": "app"});
    check(
        json!([(app()), {"name": "side", "image": "s", "env": [{"name": "X"}]}]),
        json!([(app())]),
    );
    check(
        json!([{"name": "side", "image": "other"}, (app())]),
        json!([(app())]),
    );
    check(json!([(app())]), json!([(app())]));
}

#[test]
fn an_added_element_without_a_key_is_taken_back_where_it_is() {
    let added = [
        ("/spec/rules/[1]", json!({"host": "a"}), Was::Absent),
        ("/spec/rules/[1]/host", json!("a"), Was::Absent),
    ];
    let check = |rules: Value, expect: Value| {
        let object = json!({"spec": {"rules": rules}});
        let found = entered_of(&with_record(&object, "c", &added));
        assert_eq!(found.get("spec").get("rules"), &expect, "{object}");
    };
    let user = || json!({"host": "user"});
    check(json!([(user()), {"host": "a"}]), json!([(user())]));
    check(json!([{}, (user()), {"host": "a"}]), json!([{}, (user())]));
    check(
        json!([{"host": "a", "added": 1}, (user())]),
        json!([(user())]),
    );
    let changed = || json!([(user()), {"host": "b"}]);
    check(changed(), changed());
}
