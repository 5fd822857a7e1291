//! `deltic replay`

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use document::Value;

use crate::common::{DOUBLE, Files, Run, foo};

const BAR_A: &str = r#"{"apiVersion":"test.view.dcontroller.io/v1alpha1","kind":"Bar","metadata":{"name":"a"},"twice":"#;
const NOTHING: &str = "{\"events\":[],\"errors\":[]}\n";

fn files(name: &str) -> Files {
    Files::new(name).with("operator.yaml", DOUBLE)
}

fn replay(name: &str, events: impl AsRef<[u8]>, args: &[&str]) -> Run {
    let args = [&["replay", "-f", "operator.yaml"], args].concat();
    files(name).deltic_on(events, &args)
}

fn change(kind: &str, n: i64) -> String {
    format!("{{\"events\":[{{\"type\":\"{kind}\",\"object\":{BAR_A}{n}}}}}],\"errors\":[]}}\n")
}

#[test]
fn jsonl_has_one_line_per_document() {
    let events = [
        foo("ADDED", "a", "1"),
        "[]".to_owned(),
        r#"{"type":"BOOKMARK","object":{"kind":"Foo","metadata":{"resourceVersion":"7"}}}"#
            .to_owned(),
        foo("ADDED", "a", "1"),
        format!(
            "[{},\n {}]",
            foo("MODIFIED", "a", "5"),
            foo("MODIFIED", "a", "2")
        ),
        foo("DELETED", "a", "0"),
        foo("DELETED", "never", "1"),
    ]
    .join("\n");
    let expect = [
        &change("ADDED", 2),
        NOTHING,
        NOTHING,
        NOTHING,
        &change("MODIFIED", 4),
        &change("DELETED", 4),
        NOTHING,
    ]
    .concat();
    replay("replay-jsonl", events, &["--output", "jsonl"])
        .ended(0)
        .printed(&expect)
        .complained("");
}

#[test]
fn documents_may_be_pretty_or_packed() {
    let pretty = foo("ADDED", "a", "1").replace(':', " :\n\t");
    let packed = format!("{}{}[]", pretty, foo("MODIFIED", "a", "2"));
    let expect = [&change("ADDED", 2), &change("MODIFIED", 4), NOTHING].concat();
    replay("replay-pretty", packed, &["-o", "jsonl", "-"])
        .ended(0)
        .printed(&expect);
}

#[test]
fn events_may_come_from_a_file() {
    let files = files("replay-file").with("events.json", &foo("ADDED", "a", "1"));
    files
        .deltic(&[
            "replay",
            "-f",
            "operator.yaml",
            "events.json",
            "-o",
            "jsonl",
        ])
        .ended(0)
        .printed(&change("ADDED", 2));
    files
        .deltic_on(DOUBLE, &["replay", "-f", "-", "events.json", "-o", "jsonl"])
        .ended(0)
        .printed(&change("ADDED", 2));
}

#[test]
fn text_output_has_a_line_per_event_and_errors_on_stderr() {
    let events = [
        foo("ADDED", "a", "1"),
        foo("ADDED", "b", "[]"),
        foo("MODIFIED", "a", "2"),
        foo("DELETED", "a", "2"),
    ]
    .join("\n");
    replay("replay-text", events, &[])
        .ended(1)
        .printed("ADDED     bar/a\nMODIFIED  bar/a\nDELETED   bar/a\n")
        .complained("error[type] double/pipeline[0].@select Foo/b: expected a number or a string, found a list, at spec.controllers[0].pipeline[0].@select.@gt (operator.yaml:11:27)");
}

#[test]
fn whole_events_are_printed_as_kubectl_does() {
    let events = foo("ADDED", "a", "1") + &foo("DELETED", "a", "1");
    replay("replay-json", &events, &["-o", "json"])
        .ended(0)
        .printed(
            r#"{
  "object": {
    "apiVersion": "test.view.dcontroller.io/v1alpha1",
    "kind": "Bar",
    "metadata": {
      "name": "a"
    },
    "twice": 2
  },
  "type": "ADDED"
}
{
  "object": {
    "apiVersion": "test.view.dcontroller.io/v1alpha1",
    "kind": "Bar",
    "metadata": {
      "name": "a"
    },
    "twice": 2
  },
  "type": "DELETED"
}
"#,
        );
    replay("replay-yaml", &events, &["-o", "yaml"])
        .ended(0)
        .printed(
            "\
object:
  apiVersion: test.view.dcontroller.io/v1alpha1
  kind: Bar
  metadata:
    name: a
  twice: 2
type: ADDED
---
object:
  apiVersion: test.view.dcontroller.io/v1alpha1
  kind: Bar
  metadata:
    name: a
  twice: 2
type: DELETED
",
        );
}

#[test]
fn an_endless_stream_is_answered_document_by_document() {
    let files = files("replay-endless");
    let mut child = files
        .command()
        .args(["replay", "-f", "operator.yaml", "-o", "jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    // No newline follows: the closing bracket is enough.
    for (event, expect) in [
        (foo("ADDED", "a", "1"), change("ADDED", 2)),
        (foo("MODIFIED", "a", "2"), change("MODIFIED", 4)),
        ("[]".to_owned(), NOTHING.to_owned()),
    ] {
        stdin.write_all(event.as_bytes()).unwrap();
        stdin.flush().unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, expect);
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn errors_are_part_of_a_line() {
    let events = format!("{}\n{}", foo("ADDED", "b", "\"x\""), foo("ADDED", "b", "1"));
    let run = replay("replay-errors", events, &["-o", "jsonl"])
        .ended(0)
        .complained("");
    let lines: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| line.parse().unwrap())
        .collect();
    let error = lines[0].get("errors").at(0);
    assert_eq!(error.get("controller").as_str(), Some("double"));
    assert_eq!(error.get("stage").as_str(), Some("pipeline[0].@select"));
    assert_eq!(
        error.get("origin").to_string(),
        r#"[{"name":"b","source":"Foo"}]"#
    );
    assert_eq!(error.get("code").as_str(), Some("incomparable"));
    assert!(error.get("message").as_str().is_some());
    assert!(run.stdout.starts_with(r#"{"events":[],"errors":[{"controller":"double","stage":"pipeline[0].@select","origin":[{"name":"b","source":"Foo"}],"code":"#));
    assert_eq!(lines[1].get("errors").to_string(), "[]");
}

#[test]
fn an_object_without_a_name_is_an_error_of_that_object() {
    let nameless = [
        r#"{"type":"ADDED","object":{"kind":"Foo","metadata":{}}}"#,
        r#"{"type":"ADDED","object":{"metadata":{"name":"x"}}}"#,
        r#"{"type":"DELETED","object":{}}"#,
    ];
    let batch = format!("[{},{}]", nameless[0], foo("ADDED", "a", "1"));
    let events = [&nameless.join("\n"), &batch, "[]"]
        .map(String::from)
        .join("\n");
    let run = replay("replay-nameless", &events, &["-o", "jsonl"]).ended(0);
    let lines: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| line.parse().unwrap())
        .collect();
    assert_eq!(lines.len(), 5);
    for line in &lines[..4] {
        assert_eq!(
            line.get("errors").at(0).get("code").as_str(),
            Some("no-name")
        );
    }
    // The other objects of its batch are processed.
    assert_eq!(lines[3].get("events").as_list().unwrap().len(), 1);
    assert!(
        lines[3]
            .get("errors")
            .at(0)
            .get("message")
            .as_str()
            .unwrap()
            .starts_with("event 1:")
    );
    replay("replay-nameless-text", &events, &[])
        .ended(1)
        .printed("ADDED     bar/a\n")
        .mentioned(&["error[no-name]: an object needs a kind and a metadata.name"]);
}

#[test]
fn a_stream_that_cannot_go_on_ends_with_1_after_what_came_before() {
    for (bad, complaint) in [
        (
            "{\"type\" 1}",
            "error[bad-json]: document 2 is not valid JSON: expected `:` at line 2 column 9",
        ),
        (
            "{\"type\":",
            "error[bad-json]: document 2 is not valid JSON: EOF while parsing a value at line 2 column 8",
        ),
        (
            "nonsense",
            "error[bad-json]: document 2 is not valid JSON: expected ident at line 2 column 2",
        ),
        (
            "7",
            "error[bad-event]: document 2: expected a watch event or a list of them, found an integer",
        ),
        (
            "[[]]",
            "error[bad-event]: document 2, event 1: expected a watch event or a list of them, found a list",
        ),
        (
            "{\"type\":\"ADDED\"}",
            "error[bad-event]: document 2: the object of an event must be a map, found null",
        ),
        (
            "{\"type\":\"GONE\",\"object\":{}}",
            "error[bad-event]: document 2: expected the type ADDED, MODIFIED, DELETED, BOOKMARK or TICK, found \"GONE\"",
        ),
        (
            r#"{"type":"A\u001b[31m","object":{}}"#,
            "error[bad-event]: document 2: expected the type ADDED, MODIFIED, DELETED, BOOKMARK or TICK, found \"A\\u{1b}[31m\"",
        ),
        (
            r#"{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old resource version"}}"#,
            "error[watch-error]: document 2: the watch ended with an error: too old resource version",
        ),
        (
            r#"{"kind":"Foo","metadata":{"name":"a"}}"#,
            "error[bad-event]: document 2: expected a watch event, found an object without a type\n  |\n  = help: print events with kubectl get … --watch --output-watch-events -o json; `deltic render` reads objects, as YAML or JSON",
        ),
    ] {
        let events = format!("{}\n{bad}", foo("ADDED", "a", "1"));
        let run = replay("replay-bad", events, &["-o", "jsonl"]).ended(1);
        let run = run.printed(&change("ADDED", 2));
        assert_eq!(
            run.stderr.trim().replace("\n |\n = ", "\n  |\n  = "),
            complaint
        );
    }
}

#[test]
fn hostile_documents_are_clear_errors() {
    let deep = "[".repeat(1_000_000);
    replay("replay-deep", deep, &[]).ended(1).mentioned(&[
        "error[bad-json]: document 1 is not valid JSON: nested deeper than 100 levels",
    ]);
    let long = format!("[{}]", foo("ADDED", &"x".repeat(10_000), "1"));
    replay("replay-long", long, &["--max-document-bytes", "1000"])
        .ended(1)
        .mentioned(&["error[too-large]: document 1 has more than 1000 bytes"]);
    let mut bytes = b"{\"type\":\"".to_vec();
    bytes.extend(b"\xff\xfe\"}");
    replay("replay-utf8", bytes, &[])
        .ended(1)
        .mentioned(&["error[bad-json]: document 1"]);
}

#[test]
fn budgets_are_named_errors_that_end_the_run() {
    let events = [
        foo("ADDED", "a", "1"),
        foo("ADDED", "b", "1"),
        foo("ADDED", "c", "1"),
    ]
    .concat();
    let run = replay(
        "replay-budget",
        &events,
        &["-o", "jsonl", "--max-documents", "1"],
    )
    .ended(1);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[1].contains("\"code\":\"budget-documents\""));
    run.mentioned(&[
        "error[budget-documents]: controller double: the sources hold more than 1 objects",
    ]);
    replay("replay-bytes", &events, &["--max-bytes", "1"])
        .ended(1)
        .mentioned(&["error[budget-bytes]: controller double"]);
    let long = DOUBLE.replace(
        "{ \"@mul\": [$.spec.n, 2] }",
        "{ \"@map\": [$$, { \"@range\": 1000 }] }",
    );
    Files::new("replay-steps")
        .with("operator.yaml", &long)
        .deltic_on(
            events,
            &["replay", "-f", "operator.yaml", "--max-steps", "100"],
        )
        .ended(1)
        .mentioned(&["error[limit] double/pipeline[1].@project Foo/a"]);
}

#[test]
fn candidates_of_joins_are_bounded() {
    let join = DOUBLE
        .replace("- kind: Foo\n", "- kind: Foo\n    - kind: Baz\n")
        .replace(
            "\"@select\": { \"@gt\": [$.spec.n, 0] }",
            "\"@join\": { \"@gt\": [$.Foo.spec.n, $.Baz.spec.n] }",
        );
    let files = Files::new("replay-candidates").with("operator.yaml", &join);
    let foos = (0..20)
        .map(|n| foo("ADDED", &n.to_string(), "1"))
        .collect::<Vec<_>>();
    let bazes = foos.join(",").replace("Foo", "Baz");
    let events = format!("[{},{bazes}]", foos.join(","));
    files
        .deltic_on(
            events,
            &["replay", "-f", "operator.yaml", "--max-candidates", "50"],
        )
        .ended(1)
        .mentioned(&["error[budget-candidates]"]);
}

#[test]
fn an_operator_that_cannot_be_created_ends_with_2_and_its_place() {
    for (from, to, code, place) in [
        ("@gt", "@gtt", "unknown-operator", "operator.yaml:11:20"),
        (
            "$.metadata.name",
            "\"$.metadata[\"",
            "bad-path",
            "operator.yaml:13:27",
        ),
        (
            "[$.spec.n, 0]",
            "[$.spec.n]",
            "bad-arity",
            "operator.yaml:11:20",
        ),
        (
            "[$.spec.n, 0]",
            "[$$, 0]",
            "item-out-of-scope",
            "operator.yaml:11:28",
        ),
        (
            "\"@project\":",
            "\"@join\":",
            "join-not-first",
            "operator.yaml:12:7",
        ),
        (
            "- kind: Foo",
            "- kind: Foo\n    - kind: Baz",
            "join-missing",
            "operator.yaml:",
        ),
        (
            "- kind: Foo",
            "- kind: Foo\n    - kind: Foo",
            "duplicate-source",
            "operator.yaml:",
        ),
        ("target:", "traget:", "unknown-field", "operator.yaml:15:5"),
        ("name: test", "name: Test", "bad-name", "operator.yaml:4:19"),
        (
            "kind: Bar",
            "kind: Bar, kind: Bar",
            "duplicate-key",
            "operator.yaml:15:26",
        ),
        ("spec:\n", "spec: [\n", "syntax", "operator.yaml:"),
    ] {
        let operator = DOUBLE.replace(from, to);
        assert_ne!(operator, DOUBLE);
        Files::new("replay-refused")
            .with("operator.yaml", &operator)
            .deltic_on(
                foo("ADDED", "a", "1"),
                &["replay", "-f", "operator.yaml", "-o", "jsonl"],
            )
            .ended(2)
            .printed("")
            .mentioned(&[&format!("error[{code}]"), place]);
    }
}

#[test]
fn there_must_be_one_operator_and_events_that_can_be_opened() {
    let files = files("replay-files")
        .with("objects.yaml", "kind: Foo\nmetadata: { name: a }\n")
        .with(
            "both.yaml",
            &format!("{DOUBLE}---\nkind: Foo\nmetadata: {{ name: a }}\n"),
        );
    files
        .deltic(&["replay", "-f", "objects.yaml"])
        .ended(2)
        .mentioned(&["error[no-operator]: no Operator in objects.yaml"]);
    files
        .deltic(&["replay", "-f", "operator.yaml", "-f", "operator.yaml"])
        .ended(2)
        .mentioned(&["error[several-operators]"]);
    files
        .deltic(&["replay", "-f", "operator.yaml", "missing.json"])
        .ended(2)
        .mentioned(&["error[read]: cannot read missing.json"]);
    files
        .deltic(&["replay", "-f", "operator.yaml", "."])
        .ended(1)
        .mentioned(&["error[read]: .: cannot read document 1"]);
    files
        .deltic(&["replay", "-f", "both.yaml"])
        .ended(0)
        .complained("warning: 1 of the documents in -f are not Operators and are ignored");
}

#[test]
fn time_and_chance_are_repeatable() {
    let operator = DOUBLE.replace(
        "{ \"@mul\": [$.spec.n, 2] }",
        "[\"@now\", { \"@rnd\": [0, 1000000000] }]",
    );
    let files = Files::new("replay-random").with("operator.yaml", &operator);
    let replay = |args: &[&str]| {
        let args = [&["replay", "-f", "operator.yaml", "-o", "jsonl"], args].concat();
        files
            .deltic_on(foo("ADDED", "a", "1"), &args)
            .ended(0)
            .stdout
    };
    let now = ["--now", "2026-01-02T03:04:05Z"];
    assert!(replay(&now).contains("2026-01-02T03:04:05Z"));
    assert_eq!(replay(&now), replay(&[&now[..], &["--seed", "0"]].concat()));
    assert_ne!(replay(&now), replay(&[&now[..], &["--seed", "1"]].concat()));
}
