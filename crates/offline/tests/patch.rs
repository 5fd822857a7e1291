//! `@patch` in an Operator: what it writes, and the warnings of `check`.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;

use common::{check, operator};
use document::{Value, json};

#[test]
fn a_null_that_a_patch_writes_removes_the_field() {
    let controller = json!({
        "name": "c",
        "sources": [{"apiGroup": "x", "kind": "In"}],
        "pipeline": [
            {"@project": {"metadata": {"name": "$.metadata.name"}, "keep": 1}},
            {"@patch": {"operations": [
                {"op": "merge", "path": "/spec", "value": {"gone": null}},
                {"op": "add", "path": "/spec/stays", "value": "${null}"},
            ]}},
        ],
        "target": {"apiGroup": "x", "version": "v1", "kind": "Out", "type": "Patcher"},
    });
    let before = json!({
        "apiVersion": "x/v1", "kind": "Out", "metadata": {"name": "a"},
        "spec": {"gone": 1, "stays": 2, "other": 3},
    });
    let source = json!({"apiVersion": "x/v1", "kind": "In", "metadata": {"name": "a"}});
    let after = json!([{
        "apiVersion": "x/v1", "kind": "Out", "metadata": {"name": "a"},
        "spec": {"stays": 2, "other": 3}, "keep": 1,
    }]);
    check(&controller, &[source, before], &after);
}

#[test]
fn literal_data_of_a_secret_is_written_as_it_is() {
    let controller = json!({
        "name": "c",
        "sources": [{"apiGroup": "x", "kind": "In"}],
        "pipeline": [
            {"@project": {"metadata": {"name": "$.metadata.name"}}},
            {"@patch": {"operations": [
                {"op": "add", "path": "/data/literal", "value": "aGVsbG8="},
                {"op": "add", "path": "/data/computed", "value": "${'aGVsbG8='}"},
            ]}},
        ],
        "target": {"apiGroup": "", "kind": "Secret"},
    });
    let source = json!({"apiVersion": "x/v1", "kind": "In", "metadata": {"name": "a"}});
    let after = json!([{
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
        "data": {"literal": "aGVsbG8=", "computed": "YUdWc2JHOD0="},
    }]);
    check(&controller, &[source], &after);
}

/// The warnings of a pipeline on two joined sources, with their locations and hints.
fn warnings(stages: &[Value]) -> Vec<String> {
    let mut pipeline = vec![json!({"@join": {"@eq": ["$.App.spec.a", "$.Trait.spec.a"]}})];
    pipeline.extend(stages.iter().cloned());
    let (_, problems) = operator(&json!({
        "name": "c",
        "sources": [{"apiGroup": "x", "kind": "App"}, {"apiGroup": "x", "kind": "Trait"}],
        "pipeline": (Value::from(pipeline)),
        "target": {"kind": "Out"},
    }));
    let described = problems.iter().map(|problem| {
        let place = problem.at.to_string();
        let place = place.trim_start_matches("spec.controllers[0].pipeline");
        format!(
            "{} {place}: {}",
            problem.code,
            problem.help.as_deref().unwrap_or_default()
        )
    });
    described.collect()
}

#[test]
fn names_that_are_not_a_source_cause_a_warning() {
    let patch = |at: &str, value: &str| json!({"@patch": {"at": at, "operations": [{"op": "add", "path": "/x", "value": value}]}});
    assert_eq!(
        warnings(&[patch("$.App", "${Trait.x + resource.y}")]),
        [""; 0]
    );
    assert_eq!(
        warnings(&[patch("$.Ap", "a ${Triat.x}")]),
        [
            "unknown-variable [1].@patch.at: did you mean App?",
            "unknown-variable [1].@patch.operations[0].value: did you mean Trait?",
        ]
    );
    let projected = json!({"@project": {"base": "$.App", "metadata": {"name": "x"}}});
    assert_eq!(
        warnings(&[projected.clone(), patch("$.base", "${App.x}")]),
        ["unknown-variable [2].@patch.operations[0].value: the keys are base, metadata"]
    );
    // A patch of the whole document may have created the key.
    let whole = json!({"@patch": {"operations": [{"op": "add", "path": "/App", "value": 1}]}});
    assert_eq!(
        warnings(&[projected, whole, patch("$.base", "${App}")]),
        [""; 0]
    );
}

#[test]
fn the_variable_of_a_loop_is_known() {
    let stage = json!({"@patch": {
        "at": "$.App", "forEach": "${Trait.spec.list}", "var": "each", "where": "each != 1",
        "operations": [{"op": "add", "path": "/l/-", "value": "${each}"}],
    }});
    assert_eq!(warnings(&[stage]), [""; 0]);
}

#[test]
fn errors_of_a_patch_have_their_location() {
    let (none, problems) = operator(&json!({
        "name": "c",
        "sources": [{"apiGroup": "x", "kind": "App"}],
        "pipeline": [{"@patch": {"foreach": [], "operations": []}}],
        "target": {"kind": "Out"},
    }));
    assert!(none.is_none());
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].code, "unknown-field");
    assert!(problems[0].at_key);
    assert_eq!(problems[0].help.as_deref(), Some("did you mean forEach?"));
}

#[test]
fn the_lists_of_kubernetes_are_merged_without_a_schema() {
    for kind in schema::table::kinds() {
        let keys = fieldset::MergeKeys::of_group(kind.group);
        assert!(keys.built_in(), "{}", kind.group);
    }
}
