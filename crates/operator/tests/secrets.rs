//! Values of Secrets, and what is computed from them, are masked in documents, origins and reports.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use dataflow::provenance::Point;
use dataflow::{Failure, Origin, RunError};
use document::{Location, Value, json};
use expr::Functions;
use operator::{Operator, Report};

/// An Operator whose first controller reads Secrets and writes the view V, which the second reads.
fn operator(first: &Value, second: &Value) -> Operator {
    let manifest = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "op"},
        "spec": {"controllers": [
            {"name": "second", "sources": [{"kind": "V"}], "pipeline": (second.clone()),
             "target": {"apiGroup": "", "kind": "ConfigMap"}},
            {"name": "first", "sources": [{"apiGroup": "", "kind": "Secret"}],
             "pipeline": (first.clone()), "target": {"kind": "V"}},
        ]}
    });
    let (operator, problems) = operator::read(&manifest, &Functions::builtin());
    operator.unwrap_or_else(|| panic!("{problems:?}"))
}

/// A document after the last stage of a controller, as it is shown.
#[track_caller]
fn check(operator: &Operator, controller: &str, document: &Value, expect: &Value) {
    let mut controllers = operator.controllers.iter();
    let controller = controllers.find(|other| other.name == controller).unwrap();
    let stage = controller.pipeline.branches[0].stages.len() - 1;
    let parts = controller
        .secret_parts
        .at(Point::Stage { branch: 0, stage });
    assert_eq!(&parts.masked(document), expect);
}

#[test]
fn what_is_computed_from_a_secret_is_masked_and_nothing_else() {
    let project = json!([{"@project": {
        "metadata": {"name": "$.metadata.name"},
        "upper": {"@upper": "$.data.token"}, "kind": {"@concat": ["a", "$.type"]},
        "both": {"@definedOr": ["$.metadata.labels.x", "$.data.token"]},
        "list": [{"x": "$.data.token", "y": 1}], "cel": {"@cel": "object.data.size() > 1"},
    }}]);
    let operator = operator(&project, &json!([{"@select": true}]));
    let document = json!({
        "metadata": {"name": "n"}, "upper": "S", "kind": "aOpaque", "both": "s",
        "list": [{"x": "s", "y": 1}], "cel": true,
    });
    let expect = json!({
        "metadata": {"name": "n"}, "upper": "***", "kind": "aOpaque", "both": "***",
        "list": [{"x": "***", "y": 1}], "cel": "***",
    });
    check(&operator, "first", &document, &expect);
    // The view has the same parts.
    check(&operator, "second", &document, &expect);
}

#[test]
fn patches_and_copies_are_followed() {
    let patch = json!([
        {"@patch": {"operations": [
            {"op": "copy", "from": "/data/token", "path": "/metadata/annotations/copy"},
            {"op": "add", "path": "/text", "value": {"a": "is ${resource.data.token}", "b": "${resource.type}"}},
        ]}},
        {"@patch": {"forEach": "${[resource.text.a]}", "operations": [
            {"op": "add", "path": "/items/-", "value": "${item}"},
        ]}},
    ]);
    let copy = json!([{"@project": {"metadata": "$.metadata", "all": "$"}}]);
    let operator = operator(&patch, &copy);
    let document = json!({
        "metadata": {"name": "n", "annotations": {"copy": "s", "other": "o"}},
        "data": {"token": "s"}, "text": {"a": "is s", "b": "Opaque"}, "items": ["s"], "type": "Opaque",
    });
    let found = operator.controllers[1].secret_parts.at(Point::Stage {
        branch: 0,
        stage: 1,
    });
    let found = found.masked(&document);
    let annotations = json!({"copy": "***", "other": "o"});
    assert_eq!(found.get("metadata").get("annotations"), &annotations);
    assert_eq!(found.get("text").get("a"), &json!("***"));
    assert_eq!(found.get("items"), &json!(["***"]));
    assert_eq!(found.get("type"), &json!("Opaque"));
    let copied = json!({"metadata": {"name": "n"}, "all": (document.clone())});
    let shown = operator.controllers[0].secret_parts.at(Point::Stage {
        branch: 0,
        stage: 0,
    });
    let shown = shown.masked(&copied).to_string();
    assert!(
        !shown.contains("\"s\"") && shown.contains("Opaque"),
        "{shown}"
    );
}

#[test]
fn keys_of_groups_are_not_reported() {
    let groups = json!([
        {"@gather": ["$.data.token", "$.metadata.name"]},
        {"@project": {"metadata": {"name": "x"}, "n": {"@add": ["$.type", 1]}}},
    ]);
    let operator = operator(&groups, &json!([{"@select": true}]));
    let error = RunError {
        branch: 0,
        stage: 1,
        origin: Origin::group(json!("hunter2")),
        failure: Failure::Conflict {
            key: "x".to_owned(),
            winner: Origin::group(json!("hunter3")),
            at: Location::root(),
        },
    };
    let report = Report::new(&operator.controllers[1], &error);
    assert_eq!(report.origin, json!([{"key": "***"}]));
    assert!(!report.message.contains("hunter"), "{}", report.message);
    // Without Secrets keys are shown.
    let report = Report::new(&operator.controllers[0], &error);
    assert_eq!(report.origin, json!([{"key": "hunter2"}]));
}

#[test]
fn a_cycle_of_views_comes_to_an_end() {
    let grow = json!([{"@project": {"metadata": "$.metadata", "inner": "$", "data": "$.data"}}]);
    let manifest = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "op"},
        "spec": {"controllers": [
            {"name": "a", "sources": [{"apiGroup": "", "kind": "Secret"}], "pipeline": (grow.clone()),
             "target": {"kind": "V"}},
            {"name": "b", "sources": [{"kind": "V"}], "pipeline": grow, "target": {"kind": "V"}},
        ]}
    });
    let (operator, _) = operator::read(&manifest, &Functions::builtin());
    let operator = operator.unwrap();
    let parts = &operator.controllers[1].secret_parts;
    let document = json!({"inner": {"data": {"x": "s"}}});
    let shown = parts
        .at(Point::Stage {
            branch: 0,
            stage: 0,
        })
        .masked(&document);
    assert!(!shown.to_string().contains("\"s\""), "{shown}");
}
