//! Patchers and Updaters on objects that exist: they undo what they set, and keep what was there
//! before.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;

use common::{check, operator};
use dataflow::Budget;
use document::{Value, json};
use expr::Env;
use offline::Offline;
use offline::{Event, EventType};

/// An Operator that copies fields of each `In` to the `Out` of the same name.
fn offline(kind: &str) -> Offline {
    let (operator, problems) = operator(&json!({
        "name": "c",
        "sources": [{"apiGroup": "x", "kind": "In"}],
        "pipeline": [{"@project": {
            "metadata": {"name": "$.metadata.name", "labels": "$.labels", "annotations": "$.annotations"},
            "spec": "$.spec",
        }}],
        "target": {"apiGroup": "x", "version": "v1", "kind": "Out", "type": kind},
    }));
    let operator = operator.unwrap_or_else(|| panic!("{problems:?}"));
    Offline::new(operator, Budget::default())
}

fn source(fields: &Value) -> Value {
    let object = json!({"apiVersion": "x/v1", "kind": "In", "metadata": {"name": "a"}});
    document::merge(&object, fields)
}

fn out(metadata: &Value, spec: &Value) -> Value {
    let metadata = document::merge(&json!({"name": "a"}), metadata);
    json!({"apiVersion": "x/v1", "kind": "Out", "metadata": metadata, "spec": (spec.clone())})
}

fn feed(offline: &mut Offline, kind: EventType, object: Value) -> Vec<Value> {
    let event = Event { kind, object };
    let batch = offline.batch(&[event], &Env::default()).unwrap();
    assert_eq!(batch.errors, []);
    batch.events.into_iter().map(|event| event.object).collect()
}

fn add(offline: &mut Offline, object: Value) -> Vec<Value> {
    feed(offline, EventType::Added, object)
}

fn delete(offline: &mut Offline, object: Value) -> Vec<Value> {
    feed(offline, EventType::Deleted, object)
}

#[test]
fn a_patch_of_equal_values_writes_nothing_and_undoes_nothing() {
    let mut offline = offline("Patcher");
    let theirs = out(
        &json!({"labels": {"team": "a"}}),
        &json!({"x": 1, "l": [{"k": 1}]}),
    );
    add(&mut offline, theirs);
    let same = source(&json!({"labels": {"team": "a"}, "spec": {"x": 1, "l": [{"k": 1}]}}));
    assert_eq!(add(&mut offline, same.clone()), []);
    assert_eq!(delete(&mut offline, same), []);
}

#[test]
fn a_patch_with_fewer_fields_restores_the_former_values() {
    let mut offline = offline("Patcher");
    add(
        &mut offline,
        out(&json!({"annotations": {"team": "a"}}), &json!({"x": 1})),
    );
    let more = json!({"annotations": {"team": "a", "mine": "1"}, "spec": {"x": 1, "y": 2}});
    let both = json!({"annotations": {"team": "a", "mine": "1"}});
    assert_eq!(
        add(&mut offline, source(&more)),
        [out(&both, &json!({"x": 1, "y": 2}))]
    );
    let less = json!({"annotations": {"mine": "1"}});
    assert_eq!(
        add(&mut offline, source(&less)),
        [out(&both, &json!({"x": 1}))]
    );
    assert_eq!(
        delete(&mut offline, source(&less)),
        [out(
            &json!({"annotations": {"team": "a"}}),
            &json!({"x": 1})
        )]
    );
}

#[test]
fn a_map_of_nulls_from_expressions_is_not_set() {
    for kind in ["In", "Out"] {
        let (operator, problems) = operator(&json!({
            "name": "c",
            "sources": [{"apiGroup": "x", "kind": kind}],
            "pipeline": [{"@project": {
                "metadata": {"name": "$.metadata.name", "labels": {"copy": "$.copy"}},
                "spec": {"a": {"b": "$.copy"}, "l": [{"k": "$.copy"}], "e": {}},
            }}],
            "target": {"apiGroup": "x", "version": "v1", "kind": "Out", "type": "Patcher"},
        }));
        let operator = operator.unwrap_or_else(|| panic!("{problems:?}"));
        let mut offline = Offline::new(operator, Budget::default());
        let read = |fields: Value| match kind {
            "In" => source(&fields),
            _ => document::merge(&out(&json!({}), &json!({})), &fields),
        };
        add(&mut offline, out(&json!({}), &json!({})));
        add(&mut offline, read(json!({})));
        let found = offline.targets();
        // A map that the pipeline yields without fields is set, and elements keep their positions.
        let expect = out(&json!({}), &json!({"l": [{}], "e": {}}));
        assert_eq!(found, std::slice::from_ref(&expect), "{kind}");
        add(&mut offline, read(json!({"copy": 1})));
        let found = &offline.targets()[0];
        assert_eq!(found.get("metadata").get("labels"), &json!({"copy": 1}));
        assert_eq!(found.get("spec").get("a"), &json!({"b": 1}), "{kind}");
        add(&mut offline, read(json!({"copy": null})));
        let found = &offline.targets()[0];
        assert_eq!(found.get("metadata"), expect.get("metadata"), "{kind}");
        assert_eq!(found.get("spec"), expect.get("spec"), "{kind}");
    }
}

#[test]
fn an_updater_removes_only_labels_that_it_has_set() {
    let mut offline = offline("Updater");
    let theirs = json!({"labels": {"team": "a", "other": "1"}, "annotations": {"note": "n"}});
    add(&mut offline, out(&theirs, &json!({"x": 1})));
    let more = json!({"labels": {"team": "a", "own": "1"}, "annotations": {"note": "n"}, "spec": {"x": 1}});
    let with_own =
        json!({"labels": {"team": "a", "other": "1", "own": "1"}, "annotations": {"note": "n"}});
    assert_eq!(
        add(&mut offline, source(&more)),
        [out(&with_own, &json!({"x": 1}))]
    );
    let less = json!({"spec": {"x": 2}});
    assert_eq!(
        add(&mut offline, source(&less)),
        [out(&theirs, &json!({"x": 2}))]
    );
}

#[test]
fn another_object_under_the_same_name_has_nothing_of_ours() {
    let theirs =
        |uid: &str, replicas: i64| out(&json!({"uid": uid}), &json!({"replicas": replicas}));
    let patched = source(&json!({"spec": {"replicas": 5}}));
    let again = |offline: &mut Offline| {
        let events = [
            (EventType::Deleted, theirs("1", 5)),
            (EventType::Added, theirs("2", 5)),
        ];
        let events = events.map(|(kind, object)| Event { kind, object });
        offline.batch(&events, &Env::default()).unwrap();
    };
    let mut patcher = offline("Patcher");
    add(&mut patcher, theirs("1", 3));
    add(&mut patcher, patched.clone());
    again(&mut patcher);
    assert_eq!(delete(&mut patcher, patched.clone()), [] as [Value; 0]);
    // An Updater deletes only what it created.
    let mut updater = offline("Updater");
    add(&mut updater, patched.clone());
    again(&mut updater);
    assert_eq!(delete(&mut updater, patched), [] as [Value; 0]);
}

#[test]
fn a_status_that_an_expression_leaves_null_is_that_of_others() {
    let (operator, problems) = operator(&json!({
        "name": "c",
        "sources": [{"apiGroup": "x", "kind": "In"}],
        "pipeline": [{"@project": {
            "metadata": {"name": "$.metadata.name"}, "spec": "$.spec", "status": "$.status",
        }}],
        "target": {"apiGroup": "x", "version": "v1", "kind": "Out"},
    }));
    let operator = operator.unwrap_or_else(|| panic!("{problems:?}"));
    let mut offline = Offline::new(operator, Budget::default());
    add(&mut offline, source(&json!({"spec": {"a": 1}})));
    let theirs = document::merge(
        &out(&json!({}), &json!({"a": 1})),
        &json!({"status": {"ready": true}}),
    );
    assert_eq!(add(&mut offline, theirs), [] as [Value; 0]);
    let changed = add(&mut offline, source(&json!({"spec": {"a": 2}})));
    assert_eq!(changed[0].get("status"), &json!({"ready": true}));
}

#[test]
fn an_owner_reference_names_a_source_object_of_the_origin() {
    let reference =
        |uid: &str| json!({"apiVersion": "x/v1", "kind": "In", "name": "a", "uid": uid});
    let controller = json!({
        "name": "c", "sources": [{"apiGroup": "x", "kind": "In"}],
        "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name", "ownerReferences": "$.refs"}}}],
        "target": {"apiGroup": "x", "version": "v1", "kind": "Out"},
    });
    let source = json!({
        "apiVersion": "x/v1", "kind": "In", "metadata": {"name": "a", "uid": "u1"},
        "refs": [(reference("u1")), (reference("foreign"))],
    });
    let expect = json!([{"apiVersion": "x/v1", "kind": "Out",
        "metadata": {"name": "a", "ownerReferences": [(reference("u1"))]}}]);
    check(&controller, &[source], &expect);
}
