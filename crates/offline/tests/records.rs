//! Records of Patchers on objects that arrive: what a controller does not derive is taken back, as
//! on a cluster.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;

use common::operator;
use dataflow::Budget;
use document::{Key, Map, Value, json};
use expr::Env;
use object::marks::{set_annotation, short_hash};
use offline::{Event, EventType, Offline};

/// A controller that sets the field `spec.mine` of each `Out` that has an `In` of the same name.
/// With `fails: true`, the `In` has an error.
fn offline() -> Offline {
    let (operator, problems) = operator(&json!({
        "name": "c",
        "sources": [{"apiGroup": "x", "kind": "In"}],
        "pipeline": [
            {"@select": {"@not": {"@definedOr": ["$.fails", false]}}},
            {"@project": {"metadata": {"name": "$.metadata.name"}, "spec": {"mine": "$.mine"}}},
        ],
        "target": {"apiGroup": "x", "version": "v1", "kind": "Out", "type": "Patcher"},
    }));
    let operator = operator.unwrap_or_else(|| panic!("{problems:?}"));
    Offline::new(operator, Budget::default())
}

fn source(name: &str, fields: &Value) -> Value {
    let object = json!({"apiVersion": "x/v1", "kind": "In", "metadata": {"name": name}});
    document::merge(&object, fields)
}

/// An `Out` with a record: the controller has set the field `spec.<field>` to 1, where there was
/// `was`, or nothing if that is null.
fn recorded(controller: &str, name: &str, field: &str, was: &Value) -> Value {
    let sent = Value::from(short_hash(&Value::from(1).canonical()));
    let set = if was.is_null() {
        json!({"sent": sent, "absent": true})
    } else {
        json!({"sent": sent, "was": (was.clone())})
    };
    let paths = Map::from_iter([(Key::new(&format!("/spec/{field}")), set)]);
    let record = json!({
        "operator": "test", "controller": controller, "target": (format!("x/Out//{name}")),
        "paths": (Value::from(paths)),
    });
    let annotation = Key::new(&set_annotation("test", controller));
    let annotations = Map::from_iter([(annotation, Value::from(record.to_string()))]);
    let spec = Map::from_iter([
        (Key::new("theirs"), Value::from(2)),
        (Key::new(field), 1.into()),
    ]);
    json!({
        "apiVersion": "x/v1", "kind": "Out",
        "metadata": {"name": name, "annotations": (Value::from(annotations))},
        "spec": (Value::from(spec)),
    })
}

/// The fields `spec` of the objects that a batch writes.
fn written(offline: &mut Offline, objects: &[Value], are_all: bool) -> Vec<Value> {
    for object in objects {
        let (kind, object) = (EventType::Added, object.clone());
        offline.add(&Event { kind, object }).unwrap();
    }
    let env = Env::default();
    let batch = if are_all {
        offline.run_complete(&env)
    } else {
        offline.run(&env)
    };
    let events = batch.unwrap().events.into_iter();
    events
        .map(|event| event.object.get("spec").clone())
        .collect()
}

#[test]
fn the_patch_of_a_controller_that_is_gone_is_taken_back() {
    for (was, expect) in [
        (Value::NULL, json!({"theirs": 2})),
        (json!(0), json!({"theirs": 2, "old": 0})),
    ] {
        let out = recorded("former", "a", "old", &was);
        assert_eq!(written(&mut offline(), &[out], false), [expect]);
    }
}

#[test]
fn a_patch_of_the_present_goes_on_top_of_what_a_former_one_leaves() {
    let objects = [
        source("a", &json!({"mine": 7})),
        recorded("former", "a", "old", &json!(0)),
    ];
    let mut offline = offline();
    written(&mut offline, &objects, false);
    let targets = offline.targets();
    assert_eq!(
        targets[0].get("spec"),
        &json!({"theirs": 2, "old": 0, "mine": 7})
    );
}

#[test]
fn what_a_controller_does_not_derive_is_taken_back_when_all_objects_are_there() {
    let out = || recorded("c", "a", "mine", &Value::NULL);
    // Its source may arrive later.
    assert_eq!(written(&mut offline(), &[out()], false), [] as [Value; 0]);
    let expect = json!({"theirs": 2});
    assert_eq!(
        written(&mut offline(), &[out()], true),
        [expect],
        "no source"
    );
    let same = [out(), source("a", &json!({"mine": 1}))];
    assert_eq!(
        written(&mut offline(), &same, true),
        [] as [Value; 0],
        "derived"
    );
}

#[test]
fn a_controller_with_an_error_takes_nothing_back() {
    let objects = [
        recorded("c", "a", "mine", &Value::NULL),
        source("a", &json!({"fails": "no boolean", "mine": 1})),
    ];
    assert_eq!(
        written(&mut offline(), &objects, true),
        [] as [Value; 0],
        "its source is in error"
    );
}

#[test]
fn a_kind_that_is_only_read_enters_without_the_patch_of_a_former_controller() {
    let (operator, problems) = operator(&json!({
        "name": "c",
        "sources": [{"apiGroup": "x", "kind": "Out"}],
        "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name"}, "spec": "$.spec"}}],
        "target": {"kind": "T"},
    }));
    let operator = operator.unwrap_or_else(|| panic!("{problems:?}"));
    let mut offline = Offline::new(operator, Budget::default());
    let out = recorded("former", "a", "old", &json!(0));
    let expect = json!({"theirs": 2, "old": 0});
    assert_eq!(written(&mut offline, &[out], false), [expect]);
}
