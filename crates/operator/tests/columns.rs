//! The columns in which views are shown, and the schemas by which they are described.

use document::{Value, json};
use expr::Functions;
use object::GroupKind;
use operator::{Operator, ViewShape, view_shapes};

fn read(controllers: Value) -> (Option<Operator>, Vec<operator::Problem>) {
    let manifest = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
        "metadata": {"name": "op"}, "spec": {"controllers": controllers},
    });
    operator::read(&manifest, &Functions::builtin())
}

/// The shape of the view `V` of an Operator that derives it with this stage.
fn shape(stage: Value, target: Value) -> ViewShape {
    let (operator, problems) = read(json!([{
        "name": "c", "sources": [{"apiGroup": "apps", "kind": "Deployment"}],
        "pipeline": [stage], "target": target,
    }]));
    let operator = operator.unwrap_or_else(|| panic!("{problems:?}"));
    let mut shapes = view_shapes(&operator);
    let view = GroupKind::new("op.view.dcontroller.io", "V");
    shapes.remove(&view).expect("the Operator writes it")
}

fn columns(shape: &ViewShape) -> Vec<String> {
    let text =
        |column: &object::Column| format!("{} {} {}", column.name, column.path, column.kind.name());
    shape.columns.iter().map(text).collect()
}

#[test]
fn fields_that_are_neither_lists_nor_maps_become_columns() {
    let project = json!({"@project": {
        "metadata": {"name": "$.metadata.name"},
        "replicas": "$.spec.replicas",
        "labels": "$.metadata.labels",
        "images": ["$.spec.template.spec.containers[0].image"],
        "paused": {"@eq": ["$.spec.paused", true]},
        "image": "$.spec.template.spec.containers[0].image",
        "state": {"ready": "$.status.readyReplicas", "strategy": "$.spec.strategy", "a-b": "x"},
        "age": "old",
    }});
    let shape = shape(project, json!({"kind": "V"}));
    assert_eq!(
        columns(&shape),
        [
            "$.age $.age string",
            "Image $.image string",
            "Paused $.paused boolean",
            "Replicas $.replicas integer",
            "A-b $.state[\"a-b\"] string",
        ]
    );
    let properties = &shape.properties;
    assert_eq!(properties.get("replicas"), &json!({"type": "integer"}));
    assert_eq!(
        properties.get("images"),
        &json!({"type": "array", "items": {"type": "string"}})
    );
    let state = properties.get("state").get("properties");
    assert_eq!(state.get("ready"), &json!({"type": "integer"}));
    assert_eq!(
        state.get("strategy").get("properties").get("type"),
        &json!({"type": "string"})
    );
    assert!(properties.get("metadata").is_null());
}

#[test]
fn a_document_of_unknown_form_has_only_name_and_age() {
    let unknown = json!({"@project": {"metadata": "$.metadata", "x": "$.spec.template.none"}});
    let shape = shape(unknown, json!({"kind": "V"}));
    assert!(shape.columns.is_empty(), "{shape:?}");
}

#[test]
fn an_operator_can_name_the_columns() {
    let project = json!({"@project": {"metadata": {"name": "$.metadata.name"}, "a": 1, "b": 2}});
    let target = json!({"kind": "V", "columns": [
        {"name": "Since", "path": "$.status.since", "type": "date"},
        {"name": "B", "path": "$.b"},
    ]});
    let shape = shape(project, target);
    let expect = ["Since $.status.since date", "B $.b string"];
    assert_eq!(columns(&shape), expect);
}

#[test]
fn a_view_whose_objects_have_no_namespace_is_known() {
    for (metadata, expect) in [
        (json!({"name": "$.metadata.name"}), true),
        (json!({"name": "a", "labels": {"a": "b"}}), true),
        (
            json!({"name": "a", "namespace": "$.metadata.namespace"}),
            false,
        ),
        (json!({"name": "a", "namespace": "fixed"}), false),
        (json!("$.metadata"), false),
        (json!("$.spec.unknown"), false),
    ] {
        let project = json!({"@project": {"metadata": (metadata.clone()), "a": 1}});
        let shape = shape(project, json!({"kind": "V"}));
        assert_eq!(shape.cluster_scoped, expect, "{metadata}");
    }
    // Two controllers write the view, one of them into namespaces.
    let controller = |name: &str, metadata: Value| {
        json!({
            "name": name, "sources": [{"apiGroup": "apps", "kind": "Deployment"}],
            "pipeline": [{"@project": {"metadata": metadata}}], "target": {"kind": "V"},
        })
    };
    let (operator, _) = read(json!([
        (controller("a", json!({"name": "a"}))),
        (controller(
            "b",
            json!({"name": "b", "namespace": "$.metadata.namespace"})
        )),
    ]));
    let shapes = view_shapes(&operator.unwrap());
    assert!(shapes.values().all(|shape| !shape.cluster_scoped));
}

#[test]
fn a_view_that_is_only_read_has_a_shape() {
    let (operator, _) = read(json!([{
        "name": "c", "sources": [{"kind": "Filled"}, {"apiGroup": "", "kind": "Pod"}],
        "pipeline": [{"@join": {"@eq": ["$.Filled.a", "$.Pod.metadata.name"]}}],
        "target": {"apiGroup": "", "kind": "ConfigMap"},
    }]));
    let shapes = view_shapes(&operator.unwrap());
    let kinds: Vec<String> = shapes.keys().map(ToString::to_string).collect();
    assert_eq!(kinds, ["Filled.op.view.dcontroller.io"]);
}

#[test]
fn wrong_columns_are_refused_with_their_place() {
    for (target, at, message) in [
        (
            json!({"kind": "V", "columns": 1}),
            "",
            "expected a list of columns, found an integer",
        ),
        (
            json!({"apiGroup": "", "kind": "ConfigMap", "columns": []}),
            "",
            "only a view has columns: how other kinds are shown is decided by the server that has \
             them",
        ),
        (
            json!({"kind": "V", "columns": [{"name": "age", "path": "$.a"}]}),
            "[0].name",
            "Name and Age are always shown and need no column",
        ),
        (
            json!({"kind": "V", "columns": [
                {"name": "A", "path": "$.a"}, {"name": "a", "path": "$.b"}
            ]}),
            "[1].name",
            "two columns have the name a",
        ),
        (
            json!({"kind": "V", "columns": [{"name": "A", "path": "$.a[*]"}]}),
            "[0].path",
            "a column shows one value of an object, such as $.status.phase",
        ),
        (
            json!({"kind": "V", "columns": [{"name": "A", "path": "$$.a"}]}),
            "[0].path",
            "a column starts at the object, with $.",
        ),
        (
            json!({"kind": "V", "columns": [{"name": "A", "path": "$.a", "type": "int"}]}),
            "[0].type",
            "expected one of string, integer, number, boolean, date, found int",
        ),
        (
            json!({"kind": "V", "columns": [{"path": "$.a"}]}),
            "[0].name",
            "`name` is missing",
        ),
    ] {
        let (operator, problems) = read(json!([{
            "name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}], "target": target,
        }]));
        assert!(operator.is_none());
        let found = problems
            .iter()
            .map(|problem| (problem.at.to_string(), problem.message.clone()));
        let expect = (
            format!("spec.controllers[0].target.columns{at}"),
            message.to_owned(),
        );
        assert!(
            found.clone().any(|one| one == expect),
            "{expect:?}: {problems:?}"
        );
    }
}
