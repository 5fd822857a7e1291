//! `deltic render`

use document::Value;

use crate::common::{DOUBLE, Files, deltic_on};

const FOOS: &str = "kind: Foo\nmetadata: { name: b }\nspec: { 'n': 2 }\n---\n\
                    kind: Foo\nmetadata: { name: a }\nspec: { 'n': 1 }\n---\n\
                    kind: Foo\nmetadata: { name: zero }\nspec: { 'n': 0 }\n";

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
fn words_that_are_booleans_for_kubectl_are_warnings() {
    let flags = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\ndata:\n  debug: yes\n  on: \"no\"\n";
    let expect = [
        "warning[kubectl-boolean]: kubectl reads yes as true",
        "flags.yaml:5:10",
        "warning[kubectl-boolean]: kubectl reads on as true",
        "flags.yaml:6:3",
    ];
    let test = "operator: operator.yaml\ngiven: [flags.yaml]\ntests:\n- name: none\n  expect: { targets: [] }\n";
    let files = Files::new("render-words")
        .with("operator.yaml", DOUBLE)
        .with("flags.yaml", flags)
        .with("words.test.yaml", test);
    for args in [
        &["render", "-f", "operator.yaml", "-f", "flags.yaml"][..],
        &["test"],
    ] {
        files.deltic(args).ended(0).mentioned(&expect);
    }
    let strict = ["check", "--strict", "operator.yaml", "flags.yaml"];
    files.deltic(&strict).ended(2).mentioned(&expect);
    // In quotes they are texts, and a comment allows them.
    let quoted = flags
        .replace("yes", "'yes'")
        .replace("on:", "# deltic: allow(kubectl-boolean)\n  on:");
    let files = files.with("flags.yaml", &quoted);
    let run = files.deltic(&["render", "-f", "operator.yaml", "-f", "flags.yaml"]);
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    // There may be very many.
    let data: Vec<String> = (0..25).map(|i| format!("  k{i}: off\n")).collect();
    let data = data.concat();
    let list = format!("kind: ConfigMap\nmetadata: {{ name: a }}\ndata:\n{data}");
    let files = files.with("flags.yaml", &list);
    let run = files.deltic(&["render", "-f", "operator.yaml", "-f", "flags.yaml"]);
    assert_eq!(run.stderr.matches("warning[").count(), 10);
    run.mentioned(&["15 more words without quotes are booleans for kubectl"]);
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
        .complained("error[type] double/pipeline[0].@select Foo/x/c: expected a number or a string, found null, which is $.spec.n: test it with @exists, or give a default with @definedOr, at spec.controllers[0].pipeline[0].@select.@gt (<stdin>:26:27)");
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

#[test]
fn files_need_no_flag_and_names_can_be_printed() {
    let files = Files::new("render-names")
        .with("operator.yaml", DOUBLE)
        .with("objects/foos.yaml", FOOS);
    files
        .deltic(&["render", "objects", "operator.yaml", "-o", "name"])
        .ended(0)
        .printed("bar/a\nbar/b\n");
}

#[test]
fn directories_are_read_recursively_without_what_is_no_object() {
    let files = Files::new("render-recursive")
        .with("operator.yaml", DOUBLE)
        .with("all/foos.yaml", FOOS)
        .with("all/chart/values.yaml", "replicas: 3\n---\nimage: x\n")
        .with("all/chart/more/list.json", "[1, 2]")
        .with(
            "all/chart/more/c.yaml",
            "kind: Foo\nmetadata: {name: c}\nspec: {'n': 3}\n",
        );
    let args = ["render", "operator.yaml", "all", "-o", "name"];
    files.deltic(&args).ended(0).printed("bar/a\nbar/b\n");
    files
        .deltic(&[&args[..], &["-R"]].concat())
        .ended(0)
        .printed("bar/a\nbar/b\nbar/c\n")
        .complained("skipped 3 documents that are no objects: they have no kind, in all/chart/more/list.json and one other file");
    // A file that is named must be what is asked for.
    files
        .deltic(&["render", "operator.yaml", "all/chart/values.yaml"])
        .ended(1)
        .mentioned(&["error[no-name]"]);
    files
        .deltic(&["render", "operator.yaml", "all/chart"])
        .ended(0)
        .mentioned(&["nothing was derived", "skipped 2 documents"]);
}

#[test]
fn nothing_is_explained_by_counts() {
    let zero = "kind: Foo\nmetadata: { name: zero }\nspec: { 'n': 0 }\n";
    deltic_on(format!("{DOUBLE}---\n{zero}"), &["render", "-"])
        .ended(0)
        .printed("")
        .complained(
            "nothing was derived:
  controller double
    source Foo.test.view.dcontroller.io: 1 object
    pipeline[0].@select: 0 documents: all documents are lost here
    pipeline[1].@project: 0 documents",
        );
    let other = "apiVersion: v1\nkind: Foo\nmetadata: { name: a }\n";
    deltic_on(format!("{DOUBLE}---\n{other}"), &["render", "-"])
        .ended(0)
        .mentioned(&["source Foo.test.view.dcontroller.io: no objects; but 1 object of Foo (core): set apiGroup: \"\" and kind: Foo"]);
    let selected = DOUBLE.replace("- kind: Foo", "- kind: Foo\n      namespace: x");
    deltic_on(format!("{selected}---\n{FOOS}"), &["render", "-"])
        .ended(0)
        .mentioned(&["source Foo.test.view.dcontroller.io: 0 objects; its namespace or selector excludes 3 others"]);
}

#[test]
fn an_object_over_the_limit_is_refused_and_the_limit_can_be_raised() {
    let large = format!(
        "kind: Foo\nmetadata: {{ name: a }}\nspec: {{ 'n': 1 }}\ntext: {}\n",
        "x".repeat(2000)
    );
    let files = Files::new("render-limit").with("operator.yaml", DOUBLE);
    let args = [
        "render",
        "operator.yaml",
        "-",
        "-o",
        "name",
        "--max-document-bytes",
    ];
    files
        .deltic_on(&large, &[&args[..], &["1500"]].concat())
        .ended(2)
        .printed("")
        .mentioned(&[
            "error[too-large]: the document has more than 1500 bytes",
            "--max-document-bytes",
        ]);
    files
        .deltic_on(&large, &[&args[..], &["3000"]].concat())
        .ended(0)
        .printed("bar/a\n");
}

/// A List in the form of kubectl, with objects of about 4 kB of which the pipeline reads little.
fn large_list(count: usize) -> String {
    let padding = "x".repeat(4000);
    let items: Vec<String> = (0..count)
        .map(|i| format!(r#"{{"kind": "Foo", "metadata": {{"name": "foo-{i:06}"}}, "spec": {{"n": {}, "padding": "{padding}"}}}}"#, i % 50 / 49))
        .collect();
    format!(
        "{{\"apiVersion\": \"v1\", \"items\": [{}], \"kind\": \"List\"}}",
        items.join(",\n")
    )
}

/// 80 MB of objects in 60 MB of memory.
#[cfg(target_os = "linux")]
#[test]
fn large_input_takes_little_memory() {
    let files = Files::new("render-large")
        .with("operator.yaml", DOUBLE)
        .with("list.json", &large_list(20_000));
    let binary = env!("CARGO_BIN_EXE_deltic");
    let run = |command: &str| {
        let mut shell = std::process::Command::new("sh");
        let limited = format!("ulimit -d 60000; exec {binary} {command}");
        shell.args(["-c", &limited]);
        shell.current_dir(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("render-large"));
        crate::common::run(&mut shell, b"")
    };
    let rendered = run("render operator.yaml list.json -o name").ended(0);
    assert_eq!(rendered.stdout.lines().count(), 400);
    let sum = run("eval '$.spec.n' list.json -o json").ended(0);
    assert_eq!(sum.stdout.matches("\"value\": 1").count(), 400);
    drop(files);
}
