//! Messages: what was found, what is expected, where, and the fix. One mistake gives one message.

use crate::common::{Files, deltic, deltic_on};

/// An Operator with this controller.
fn operator(controller: &str) -> String {
    let lines = controller.lines().map(|line| format!("    {line}\n"));
    HEAD.to_owned() + &lines.collect::<String>()
}

const HEAD: &str = "apiVersion: dcontroller.io/v1alpha1\nkind: Operator\nmetadata: {name: op}\nspec:\n  controllers:\n  - name: c\n";

const NAMES: &str =
    r#"- "@project": {metadata: {name: $.metadata.name, namespace: $.metadata.namespace}}"#;

#[test]
fn a_command_without_a_file_says_what_to_do() {
    for command in ["check", "explain"] {
        let help = format!("`deltic {command} operator.yaml`");
        deltic(&[command]).ended(2).printed("").mentioned(&[
            "error[usage]: no file is given",
            &help,
            "`-` reads stdin",
        ]);
    }
}

#[test]
fn a_wrong_kind_is_one_message() {
    let good = operator(&format!(
        "sources: [{{apiGroup: \"\", kind: Pod}}]\npipeline:\n{NAMES}\ntarget: {{kind: Out}}"
    ));
    deltic_on(&good, &["check", "-"])
        .ended(0)
        .printed("no errors, no warnings\n");
    for (found, message, help) in [
        ("", "`kind` is missing", "add kind: Operator"),
        (
            "kind: Operater\n",
            "expected kind Operator, found Operater",
            "did you mean Operator?",
        ),
    ] {
        let bad = good.replace("kind: Operator\n", found);
        deltic_on(&bad, &["check", "-"])
            .ended(2)
            .printed("1 error\n")
            .mentioned(&[message, help]);
        // Also beside an Operator without mistakes.
        let both = format!("{good}---\n{}", bad.replace("name: op", "name: two"));
        deltic_on(both, &["check", "-"])
            .ended(2)
            .printed("1 error\n")
            .mentioned(&[message, help]);
    }
}

#[test]
fn cel_points_at_its_column() {
    let text = operator(
        "sources: [{apiGroup: \"\", kind: Pod}]\npipeline:\n- \"@select\":\n    \"@cel\": |\n      has(object.spec) &&\n        object.status.phase = 'Running'\ntarget: {kind: Out}",
    );
    let files = Files::new("cel-column").with("op.yaml", &text);
    files
        .deltic(&["check", "op.yaml"])
        .ended(2)
        .printed("1 error\n")
        .mentioned(&["op.yaml:12:33", "found `=`, expected `==`"]);
    deltic(&["eval", "{\"@cel\": \"1 = 1\"}"])
        .ended(2)
        .mentioned(&["<expression>:1:13", "expected `==`"]);
}

#[test]
fn run_time_errors_carry_the_place_in_the_file() {
    let text = operator(
        r#"sources: [{kind: A}]
pipeline:
- "@select": {"@gt": [$.spec.n, 1]}
- "@project": {v: {"@cel": "object.spec.m + 1"}, metadata: {name: $.metadata.name}}
target: {kind: B}"#,
    );
    let object = |spec: &str| {
        format!(
            r#"{{"apiVersion": "op.view.dcontroller.io/v1alpha1", "kind": "A", "metadata": {{"name": "a"}}, "spec": {spec}}}"#
        )
    };
    for (spec, place) in [
        ("{}", "(op.yaml:9:26)"),
        (r#"{"n": 2, "m": "x"}"#, "(op.yaml:10:32)"),
    ] {
        let files = Files::new("places")
            .with("op.yaml", &text)
            .with("a.json", &object(spec))
            .with(
                "events.json",
                &format!(r#"{{"type": "ADDED", "object": {}}}"#, object(spec)),
            );
        files
            .deltic(&["render", "op.yaml", "a.json"])
            .ended(1)
            .mentioned(&[place]);
        files
            .deltic(&["replay", "-f", "op.yaml", "events.json"])
            .ended(1)
            .mentioned(&[place]);
        let lines = files
            .deltic(&["replay", "-f", "op.yaml", "-o", "jsonl", "events.json"])
            .ended(0)
            .stdout;
        assert!(lines.contains(place), "{lines}");
    }
}

#[test]
fn a_json_patch_says_what_to_wrap_it_in() {
    let files = Files::new("json-patch").with(
        "patch.yaml",
        "- {op: add, path: /metadata/labels/a, value: b}\n",
    );
    files
        .deltic_on("{}", &["patch", "-f", "patch.yaml", "-"])
        .ended(2)
        .mentioned(&["patch.yaml:1:3", "wrap the operations in a rule"]);
}

#[test]
fn an_operator_is_no_patch() {
    let text = operator("sources: [{kind: A}]\npipeline: []\ntarget: {kind: B}");
    let run = Files::new("operator-as-patch")
        .with("operator.yaml", &text)
        .deltic_on("{}", &["patch", "-f", "operator.yaml", "-"])
        .ended(2)
        .mentioned(&[
            "expected rules, found an object of the kind Operator",
            "deltic render",
        ]);
    assert_eq!(run.stderr.matches("error[").count(), 1, "{}", run.stderr);
}

#[test]
fn an_unknown_code_is_not_allowed_silently() {
    let text = operator(&format!(
        "sources:\n- kind: A # deltic: allow(unwritten-view, unwriten-view): users create them\npipeline:\n{NAMES}\ntarget: {{kind: Out}}"
    ));
    deltic_on(&text, &["check", "-"])
        .ended(0)
        .printed("1 warning\n")
        .mentioned(&[
            "<stdin>:8:47",
            "warning[unknown-code]: there is no warning unwriten-view",
            "did you mean unwritten-view?",
        ]);
    let annotated = text.replace(", unwriten-view", "").replace(
        "name: op}",
        "name: op, annotations: {dcontroller.io/allow: 'cycle, zzzzz'}}",
    );
    deltic_on(annotated, &["check", "-"]).ended(0).mentioned(&[
        "<stdin>:3:66",
        "there is no warning zzzzz",
        "deltic doc --list",
    ]);
}

#[test]
fn the_ends_of_help_texts_fit_into_80_columns() {
    let commands = [
        "",
        "eval",
        "replay",
        "render",
        "patch",
        "check",
        "explain",
        "doc",
        "version",
        "run",
        "crd",
        "rbac",
        "install",
        "uninstall",
        "orphans",
        "kubeconfig",
        "completion",
    ];
    for command in commands {
        let args: Vec<&str> = [command, "--help"]
            .into_iter()
            .filter(|arg| !arg.is_empty())
            .collect();
        let text = deltic(&args).ended(0).stdout;
        let starts = [
            "\nExample",
            "\nExit codes:",
            "\nOn the first",
            "\nWith -o jsonl",
        ];
        let start = starts.iter().filter_map(|start| text.find(start)).min();
        let end = start.map_or("", |start| &text[start..]);
        for line in end.lines() {
            assert!(line.chars().count() <= 80, "{command}: {line}");
        }
    }
}
