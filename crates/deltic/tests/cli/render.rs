//! `deltic render`

use document::Value;

use crate::common::{DOUBLE, Files, deltic_on};

const FOOS: &str = "kind: Foo\nmetadata: { name: b }\nspec: { n: 2 }\n---\n\
                    kind: Foo\nmetadata: { name: a }\nspec: { n: 1 }\n---\n\
                    kind: Foo\nmetadata: { name: zero }\nspec: { n: 0 }\n";

const BARS: &str = "\
apiVersion: test.view.dcontroller.io/v1alpha1
kind: Bar
metadata:
  name: a
twice: 2
---
apiVersion: test.view.dcontroller.io/v1alpha1
kind: Bar
metadata:
  name: b
twice: 4
";

#[test]
fn targets_are_printed_in_key_order() {
    let files = Files::new("render")
        .with("operator.yaml", DOUBLE)
        .with("objects/foos.yaml", FOOS);
    let args = ["render", "-f", "operator.yaml", "-f", "objects"];
    files.deltic(&args).ended(0).printed(BARS).complained("");
    let args = ["render", "-f", "operator.yaml", "-f", "-"];
    files.deltic_on(FOOS, &args).ended(0).printed(BARS);
    // Everything in one file, in any order.
    let all = format!("{FOOS}---\n{DOUBLE}");
    deltic_on(all, &["render", "-f", "-"])
        .ended(0)
        .printed(BARS);
}

#[test]
fn json_is_one_list() {
    let all = format!("{FOOS}---\n{DOUBLE}");
    let run = deltic_on(all, &["render", "-f", "-", "-o", "json"]).ended(0);
    let list: Value = run.stdout.parse().unwrap();
    assert_eq!(list.get("kind").as_str(), Some("List"));
    assert_eq!(list.get("items").as_list().unwrap().len(), 2);
    let run = deltic_on(DOUBLE, &["render", "-f", "-", "-o", "json"]).ended(0);
    let list: Value = run.stdout.parse().unwrap();
    assert_eq!(list.get("items").as_list().unwrap().len(), 0);
}

#[test]
fn lists_are_expanded() {
    let list = r#"{"apiVersion": "test.view.dcontroller.io/v1alpha1", "kind": "FooList", "items": [
        {"metadata": {"name": "a"}, "spec": {"n": 1}}, {"metadata": {"name": "b"}, "spec": {"n": 2}}]}"#;
    let files = Files::new("render-list").with("operator.yaml", DOUBLE);
    files
        .deltic_on(list, &["render", "-f", "operator.yaml", "-f", "-"])
        .ended(0)
        .printed(BARS);
}

#[test]
fn derived_objects_are_printed_despite_errors() {
    let all = format!("{FOOS}---\nkind: Foo\nmetadata: {{ name: c, namespace: x }}\n---\n{DOUBLE}");
    deltic_on(all, &["render", "-f", "-"])
        .ended(1)
        .printed(BARS)
        .complained("error[type] double/pipeline[0].@select Foo/x/c: expected a number or a string, found null, at spec.controllers[0].pipeline[0].@select.@gt");
}

#[test]
fn an_object_without_a_name_is_skipped_and_reported() {
    let all = format!("{DOUBLE}---\nkind: Foo\nmetadata: {{ x: 1 }}\n---\n{FOOS}");
    deltic_on(all, &["render", "-f", "-"])
        .ended(1)
        .printed(BARS)
        .mentioned(&["error[no-name]", "<stdin>:18:11"]);
    let event = format!("{DOUBLE}---\n{{type: ADDED, object: {{kind: Foo}}}}\n");
    deltic_on(event, &["render", "-f", "-"])
        .ended(1)
        .mentioned(&["error[no-name]", "deltic replay"]);
}

#[test]
fn there_must_be_one_operator() {
    deltic_on(FOOS, &["render", "-f", "-"])
        .ended(2)
        .printed("")
        .mentioned(&["error[no-operator]"]);
    deltic_on(format!("{DOUBLE}---\n{DOUBLE}"), &["render", "-f", "-"])
        .ended(2)
        .printed("")
        .mentioned(&[
            "error[several-operators]: expected one Operator, found 2",
            "<stdin>:20:19",
        ]);
}

#[test]
fn nothing_is_rendered_if_a_file_cannot_be_read() {
    for bad in ["kind: Foo\nkind: Foo\n", "a: [", "a: *x"] {
        deltic_on(format!("{DOUBLE}---\n{bad}"), &["render", "-f", "-"])
            .ended(2)
            .printed("")
            .mentioned(&["<stdin>:"]);
    }
    let operator = DOUBLE.replace("@mul", "@mull");
    deltic_on(format!("{FOOS}---\n{operator}"), &["render", "-f", "-"])
        .ended(2)
        .printed("")
        .mentioned(&[
            "error[unknown-operator]",
            "<stdin>:26:18",
            "did you mean @mul?",
        ]);
}

#[test]
fn time_and_random_numbers_are_repeatable() {
    let operator = DOUBLE.replace(
        "{ \"@mul\": [$.spec.n, 2] }",
        "[\"@now\", { \"@rnd\": [0, 1000000000] }]",
    );
    let render = |args: &[&str]| {
        let all = format!("{FOOS}---\n{operator}");
        deltic_on(all, &[&["render", "-f", "-"], args].concat())
            .ended(0)
            .stdout
    };
    let now = ["--now", "2026-01-02T03:04:05Z"];
    assert!(render(&now).contains("\"2026-01-02T03:04:05Z\""));
    assert_eq!(render(&now), render(&[&now[..], &["--seed", "0"]].concat()));
    assert_ne!(render(&now), render(&[&now[..], &["--seed", "1"]].concat()));
}

#[test]
fn limits_are_named_errors() {
    let all = format!("{FOOS}---\n{DOUBLE}");
    deltic_on(&all, &["render", "-f", "-", "--max-documents", "2"])
        .ended(1)
        .printed("")
        .mentioned(&["error[budget-documents]", "controller double"]);
    let long = all.replace(
        "{ \"@mul\"",
        "{ \"@map\": [$$, { \"@range\": 1000 }] }\n        n: { \"@mul\"",
    );
    deltic_on(&long, &["render", "-f", "-", "--max-steps", "100"])
        .ended(1)
        .mentioned(&["error[limit] double/"]);
}
