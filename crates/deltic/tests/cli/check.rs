//! `deltic check` and `deltic explain`

use document::{Value, json};

use crate::common::{DOUBLE, Files, deltic_on};

const BAD: &str = r#"apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: { name: bad }
spec:
  controllers:
  - name: one
    sources:
    - kind: Foo # deltic: allow(unwritten-view)
    pipelin: []
    target: { kind: Bar }
  - name: two
    sources:
    - kind: Foo # deltic: allow(unwritten-view)
    pipeline:
    - "@select": { "@eqq": [1, $.x] }
    - "@project": { metadata: { name: "$.a[" } }
    target: { kind: Baz }
"#;

/// An Operator that reads what it writes, which is a warning.
const CYCLE: &str = r#"apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: { name: cycle }
spec:
  controllers:
  - name: self
    sources:
    - kind: Foo
    pipeline: { "@project": { metadata: { name: $.metadata.name }, number: 1 } }
    target: { kind: Foo }
"#;

#[test]
fn all_errors_are_reported_with_their_positions() {
    let files = Files::new("check-bad").with("bad.yaml", BAD);
    files
        .deltic(&["check", "-f", "bad.yaml"])
        .ended(2)
        .printed("3 errors\n")
        .complained(
            r#"
error[unknown-field]: unknown field pipelin
 --> bad.yaml:9:5
  |
9 |     pipelin: []
  |     ^^^^^^^
  |
  = help: did you mean pipeline?

error[unknown-operator]: unknown operator @eqq
  --> bad.yaml:15:20
   |
15 |     - "@select": { "@eqq": [1, $.x] }
   |                    ^^^^^^
   |
   = help: did you mean @eq?

error[bad-path]: bad path "$.a[": found the end of the path, expected a quoted name, an index, a slice, `*` or `?`, at offset 4 of the path
  --> bad.yaml:16:39
   |
16 |     - "@project": { metadata: { name: "$.a[" } }
   |                                       ^^^^^^"#,
        );
}

/// The Foos of this Operator come from users, which a comment says.
fn of_users() -> String {
    DOUBLE.replace("- kind: Foo", "- kind: Foo # deltic: allow(unwritten-view)")
}

#[test]
fn a_good_operator_has_nothing_to_report() {
    deltic_on(of_users(), &["check", "--strict", "-f", "-"])
        .ended(0)
        .printed("no errors, no warnings\n")
        .complained("");
    deltic_on(of_users(), &["check", "-f", "-", "-o", "json"])
        .ended(0)
        .printed("[]\n");
}

#[test]
fn a_warning_is_allowed_on_its_line_or_above_or_for_the_operator() {
    let found = deltic_on(DOUBLE, &["check", "--strict", "-f", "-"]).ended(2);
    found.mentioned(&["warning[unwritten-view]", "<stdin>:9:13"]);
    let above = DOUBLE.replace(
        "    - kind: Foo",
        "    # deltic: allow(cycle, unwritten-view): users create Foos.\n    - kind: Foo",
    );
    let annotated = DOUBLE.replace(
        "metadata: { name: test }",
        "metadata: { name: test, annotations: { dcontroller.io/allow: unwritten-view } }",
    );
    for allowed in [above, annotated] {
        deltic_on(allowed, &["check", "--strict", "-f", "-"])
            .ended(0)
            .printed("no errors, no warnings\n");
    }
    let other = DOUBLE.replace("- kind: Foo", "- kind: Foo # deltic: allow(cycle)");
    deltic_on(other, &["check", "--strict", "-f", "-"]).ended(2);
}

#[test]
fn words_that_kubectl_reads_as_booleans_need_quotes() {
    let operator = |on: &str, text: &str| {
        format!(
            r#"apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: {{ name: test }}
spec:
  controllers:
  - name: pods
    sources: [{{ apiGroup: "", kind: Pod }}, {{ apiGroup: "", kind: Node }}]
    pipeline:
    - "@join":
        {on}: {{ "@eq": [$.Pod.spec.nodeName, $.Node.metadata.name] }}
        soft: [Node]
    - "@project":
        metadata: {{ name: $.Pod.metadata.name }}
        text: {text}
    target: {{ kind: View }}
"#
        )
    };
    deltic_on(operator("on", "No"), &["check", "--strict", "-f", "-"])
        .ended(2)
        .printed("2 warnings\n")
        .mentioned(&[
            "warning[kubectl-boolean]: kubectl reads on as true",
            "<stdin>:10:9",
            "= help: put it in quotes: \"on\"",
            "warning[kubectl-boolean]: kubectl reads No as false",
            "<stdin>:14:15",
        ]);
    for (on, text) in [
        ("\"on\"", "'no'"),
        ("\"true\"", "!!str yes"),
        ("'on'", "yes # deltic: allow(kubectl-boolean)"),
    ] {
        deltic_on(operator(on, text), &["check", "--strict", "-f", "-"]).ended(0);
    }
    let annotated = operator("on", "Off").replace(
        "name: test",
        "name: test, annotations: { dcontroller.io/allow: kubectl-boolean }",
    );
    deltic_on(annotated, &["check", "--strict", "-f", "-"]).ended(0);
}

#[test]
fn an_updater_that_empties_objects_is_a_warning_that_can_be_allowed() {
    let operator = |target: &str| {
        format!(
            r#"apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: {{ name: test }}
spec:
  controllers:
  - name: pods
    sources: [{{ apiGroup: "", kind: Pod }}]
    pipeline:
    - "@project":
        metadata: {{ name: $.metadata.name, namespace: $.metadata.namespace, labels: {{ a: b }} }}
    target:{target}
      apiGroup: ""
      kind: ConfigMap
"#
        )
    };
    deltic_on(operator(""), &["check", "--strict", "-f", "-"])
        .ended(2)
        .mentioned(&["warning[only-metadata]", "<stdin>:11:5", "type: Patcher"]);
    for target in [
        " # deltic: allow(only-metadata)",
        "\n      # deltic: allow(only-metadata)",
        "\n      type: Patcher",
    ] {
        deltic_on(operator(target), &["check", "--strict", "-f", "-"]).ended(0);
    }
}

#[test]
fn custom_kinds_are_those_of_the_definitions_that_are_given() {
    let operator = DOUBLE.replace("- kind: Foo", "- { apiGroup: example.com, kind: Foo }");
    let definition = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: foos.example.com }
spec:
  group: example.com
  scope: Cluster
  names: { kind: Foo, plural: foos }
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: { spec: { type: object, properties: { number: { type: integer } } } }
";
    let files = Files::new("check-crd")
        .with("op.yaml", &operator)
        .with("crd.yaml", definition);
    files
        .deltic(&["check", "--strict", "-f", "op.yaml"])
        .ended(0);
    let run = files
        .deltic(&["check", "-f", "op.yaml", "-f", "crd.yaml"])
        .ended(0);
    run.printed("2 warnings\n").mentioned(&[
        "warning[no-such-field]: $.spec has no field n, so this is always null",
        "op.yaml:11:28",
    ]);
}

#[test]
fn warnings_fail_only_with_strict() {
    deltic_on(CYCLE, &["check", "-f", "-"])
        .ended(0)
        .printed("1 warning\n")
        .mentioned(&["warning[cycle]", "<stdin>:6:5"]);
    deltic_on(CYCLE, &["check", "--strict", "-f", "-"])
        .ended(2)
        .printed("1 warning\n");
}

#[test]
fn a_patcher_on_the_kind_that_it_reads_is_no_cycle() {
    let patcher = CYCLE.replace(
        "target: { kind: Foo }",
        "target: { kind: Foo, type: Patcher }",
    );
    deltic_on(patcher, &["check", "--strict", "-f", "-"])
        .ended(0)
        .printed("no errors, no warnings\n");
}

#[test]
fn every_operator_of_every_file_is_checked() {
    let files = Files::new("check-several")
        .with("all/1.yaml", &format!("{}---\n{BAD}", of_users()))
        .with("all/2.yaml", "kind: [\n")
        .with(
            "all/3.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: other }\n",
        )
        .with("cycle.yaml", CYCLE);
    files
        .deltic(&[
            "check",
            "-f",
            "all",
            "-f",
            "cycle.yaml",
            "-f",
            "missing.yaml",
        ])
        .ended(2)
        .printed("5 errors, 1 warning\n")
        .mentioned(&[
            "all/1.yaml:25:5",
            "all/2.yaml:1:7",
            "cycle.yaml:6:5",
            "missing.yaml",
        ]);
}

#[test]
fn json_output_is_a_list() {
    let run = deltic_on(BAD, &["check", "-f", "-", "-o", "json"]).ended(2);
    let list: Value = run.stdout.parse().unwrap();
    assert_eq!(
        list.at(0),
        &json!({
            "severity": "error", "code": "unknown-field", "message": "unknown field pipelin",
            "file": "<stdin>", "line": 9, "column": 5, "help": "did you mean pipeline?",
        })
    );
    assert_eq!(list.as_list().unwrap().len(), 3);
    assert_eq!(run.stderr, "");
}

#[test]
fn a_duplicate_key_is_an_error_in_any_object() {
    let twice = of_users().replace("name: double", "name: double\n    name: triple");
    deltic_on(&twice, &["check", "-f", "-"])
        .ended(2)
        .printed("1 error\n")
        .mentioned(&[
            "error[duplicate-key]: duplicate key `name`, first given at line 7, column 5",
            "<stdin>:8:5",
        ]);
    let other = format!("{DOUBLE}---\nkind: Foo\nkind: Bar\n");
    deltic_on(other, &["check", "-f", "-"])
        .ended(2)
        .mentioned(&["error[duplicate-key]"]);
}

#[test]
fn a_document_that_resembles_an_operator_is_checked_as_one() {
    for (version, code) in [
        ("apiVersion: dcontroller.io/v1", "bad-api-version"),
        ("apiVersion: dcontroler.io/v1alpha1", "bad-api-version"),
        ("apiVersion: operators.coreos.com/v1", "bad-api-version"),
        ("# no version", "bad-api-version"),
    ] {
        let operator = of_users().replace("apiVersion: dcontroller.io/v1alpha1", version);
        deltic_on(operator, &["check", "-f", "-"])
            .ended(2)
            .printed("1 error\n")
            .mentioned(&[&format!("error[{code}]")]);
    }
    let other =
        "apiVersion: operators.coreos.com/v1\nkind: Operator\nmetadata: {name: o}\nspec: {}\n";
    deltic_on(other, &["check", "-f", "-"])
        .ended(2)
        .mentioned(&["error[no-operator]"]);
    deltic_on("", &["check", "-f", "-"])
        .ended(2)
        .mentioned(&["error[no-operator]: no Operator in -"]);
}

#[test]
fn hostile_text_is_a_clear_error() {
    for (text, code) in [
        (b"a: \xff".to_vec(), "invalid-utf8"),
        ("[".repeat(100_000).into_bytes(), "too-deep"),
        (
            (1..40)
                .fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
                    let before = n - 1;
                    text + &format!("a{n}: &a{n} [*a{before}, *a{before}]\n")
                })
                .into_bytes(),
            "too-many-nodes",
        ),
    ] {
        deltic_on(text, &["check", "-f", "-"])
            .ended(2)
            .mentioned(&[&format!("error[{code}]"), "<stdin>:"]);
    }
}

#[test]
fn explain_prints_the_plan_and_warns() {
    let run = deltic_on(DOUBLE, &["explain", "-f", "-"])
        .ended(0)
        .complained("");
    assert!(run.stdout.contains("double"), "{}", run.stdout);
    assert!(run.stdout.ends_with('\n'));
    let run = deltic_on(CYCLE, &["explain", "-f", "-"]).ended(0);
    run.mentioned(&["warning[cycle]"]);
    let both = format!("{DOUBLE}---\n{CYCLE}");
    let run = deltic_on(both, &["explain", "-f", "-"]).ended(0);
    assert!(run.stdout.contains("double") && run.stdout.contains("self"));
}

#[test]
fn explain_refuses_an_invalid_operator() {
    deltic_on(BAD, &["explain", "-f", "-"])
        .ended(2)
        .printed("")
        .mentioned(&["<stdin>:9:5", "<stdin>:15:20", "<stdin>:16:39"]);
}

#[test]
fn an_operator_with_a_wrong_kind_is_named_once() {
    let wrong = DOUBLE.replace("kind: Operator", "kind: Operater");
    deltic_on(wrong, &["check", "-"])
        .ended(2)
        .printed("1 error\n")
        .mentioned(&[
            "error[no-operator]: expected kind Operator, found Operater",
            "<stdin>:3:7",
            "did you mean Operator?",
        ]);
    let missing = DOUBLE.replace("kind: Operator\n", "");
    deltic_on(missing, &["check", "-"])
        .ended(2)
        .printed("1 error\n")
        .mentioned(&[
            "error[no-operator]: `kind` is missing",
            "add kind: Operator",
        ]);
    let stages = DOUBLE.replace("    - \"@", "      \"@");
    deltic_on(stages, &["check", "-"]).ended(2).mentioned(&[
        "error[unknown-stage]: a stage is a map with one key, found @project, @select",
        "make it a list, with one `- ` before each stage",
    ]);
}
