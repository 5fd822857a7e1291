//! A patch stops when the document or the value of an expression is out of bounds, and when it is
//! interrupted.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::sync::atomic::{AtomicUsize, Ordering};

use document::{Bounds, Location, Value, json};
use expr::Interrupt;
use patch::{Edit, Error, Form, Limits};

fn apply(spec: &Value, document: &Value, limits: &Limits) -> Result<Value, Box<Error>> {
    let edit = Edit::compile(spec, &Location::root(), Form::HAND).unwrap();
    let none = |_: &str, _: &Value| None;
    edit.apply(document, &none, limits).map(Option::unwrap)
}

fn small() -> Limits {
    Limits {
        bounds: Bounds {
            bytes: 2_000,
            depth: 20,
        },
        ..Limits::default()
    }
}

fn fails(operations: &Value, code: &str, at: &str) {
    let spec = json!({"operations": (operations.clone())});
    let document = json!({"a": {"text": (Value::from("t".repeat(500)))}, "list": [1, 2, 3, 4, 5]});
    let error = apply(&spec, &document, &small()).expect_err(&spec.to_string());
    assert_eq!(
        (error.code(), error.at.to_string().as_str()),
        (code, at),
        "{spec}"
    );
    assert!(
        apply(&spec, &json!({"a": {}, "list": []}), &small()).is_ok(),
        "{spec}"
    );
}

#[test]
fn what_a_patch_makes_is_bounded() {
    let copy = |to: &str| json!({"op": "copy", "from": "/a", "path": to});
    fails(
        &json!([(copy("/b")), (copy("/c")), (copy("/d"))]),
        "too-large",
        "operations[2]",
    );
    fails(
        &json!([{"op": "replace", "path": "/list/[*]", "value": "${resource.a}"}]),
        "too-large",
        "operations[0]",
    );
    fails(
        &json!([{"op": "merge", "path": "/a", "value": {
            "b": "${resource.a}", "c": "${resource.a}", "d": "${resource.a}"
        }}]),
        "too-large",
        "operations[0]",
    );
    // Printing this would exhaust memory.
    fails(
        &json!([{"op": "add", "path": "/b", "value": "as ${[resource, resource, resource, resource]}"}]),
        "too-large",
        "operations[0].value",
    );
}

#[test]
fn nesting_is_bounded() {
    let wrap = json!({"op": "add", "path": "", "value": {"a": "${resource}"}});
    let spec = json!({"operations": (Value::list(vec![wrap; 20]))});
    let error = apply(&spec, &json!({"a": 1}), &small()).unwrap_err();
    assert_eq!(error.code(), "too-deep");
    let limits = Limits::default();
    assert_eq!(
        apply(&spec, &json!({"a": 1}), &limits)
            .unwrap()
            .measure()
            .depth,
        21
    );

    let path = "/a".repeat(50);
    let add = json!({"op": "add", "path": path, "value": "${resource}"});
    let spec = json!({"operations": (Value::list(vec![add; 3]))});
    let error = apply(&spec, &json!({}), &limits).unwrap_err();
    assert_eq!(error.code(), "too-deep");
}

#[test]
fn a_patch_is_interrupted() {
    let asked = AtomicUsize::new(0);
    let limits = Limits {
        interrupt: Interrupt::when(move || asked.fetch_add(1, Ordering::Relaxed) >= 5),
        ..Limits::default()
    };
    let operation = json!({"op": "add", "path": "/list/-", "value": 1});
    let spec = json!({"forEach": "lists.range(100)", "operations": [operation]});
    let error = apply(&spec, &json!({"list": []}), &limits).unwrap_err();
    assert_eq!((error.code(), error.item), ("interrupted", Some(5)));
}
