//! The time offline: `--now`, TICK lines, and the warning of `check`.

use document::{Value, json};

use crate::common::{Files, Run, deltic_on};

/// An Operator with this source and pipeline.
fn operator(sources: &str, pipeline: &str) -> String {
    format!(
        "apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: {{ name: test }}
spec:
  controllers:
  - name: test
    sources: {sources}
    pipeline: {pipeline}
    target: {{ kind: Bar }}
"
    )
}

const FOO: &str = "[{ kind: Foo }]";
const CUSTOM: &str = "[{ apiGroup: example.com, kind: Foo }]";
const STAMP: &str = r#"{ "@project": { metadata: { name: $.metadata.name }, at: "@now" } }"#;

fn foo(metadata: &str) -> String {
    format!(r#"{{"type":"ADDED","object":{{"kind":"Foo","metadata":{metadata}}}}}"#)
}

fn tick(time: &str) -> String {
    format!(r#"{{"type":"TICK","time":"2026-01-01T{time}Z"}}"#)
}

fn replay(name: &str, operator: &str, lines: &[String], args: &[&str]) -> Run {
    let files = Files::new(name).with("operator.yaml", operator);
    let all = [&["replay", "-f", "operator.yaml", "-o", "jsonl"], args].concat();
    files.deltic_on(lines.join("\n"), &all)
}

/// The times of the objects in each line.
fn stamps(run: &Run) -> Vec<Vec<Value>> {
    let lines = run
        .stdout
        .lines()
        .map(|line| line.parse::<Value>().unwrap());
    lines
        .map(|line| {
            let events = line.get("events").as_list().unwrap().to_vec();
            let at = |event: &Value| event.get("object").get("at").clone();
            events.iter().map(at).collect()
        })
        .collect()
}

const START: &[&str] = &["--now", "2026-01-01T00:00:00Z"];

#[test]
fn a_tick_that_does_not_fit_ends_the_replay_after_the_lines_before_it() {
    let a = foo(r#"{"name":"a"}"#);
    let stamp = operator(FOO, STAMP);
    let in_list = format!("[{}]", tick("00:00:01"));
    let later = vec![tick("00:00:02"), tick("00:00:01")];
    for (number, (lines, args, printed, message)) in [
        (
            vec![a.clone(), later[0].clone(), later[1].clone()],
            START,
            2,
            "document 3: the time of a TICK is before",
        ),
        (
            later,
            &[][..],
            1,
            "document 2: the time of a TICK is before",
        ),
        (
            vec![tick("00:00:01")],
            &["--now", "2026-01-01T00:00:02Z"],
            0,
            "document 1: the time of a TICK is before",
        ),
        (
            vec![a.clone(), in_list],
            START,
            1,
            "document 2, event 1: a TICK is a batch of its own",
        ),
        (
            vec![a.clone(), tick("00:00:01")],
            &[],
            1,
            "document 2: a TICK after events needs --now",
        ),
        (
            vec![r#"{"type":"TICK"}"#.to_owned()],
            &[],
            0,
            "document 1: a TICK needs a time",
        ),
        (
            vec![r#"{"type":"TICK","time":"2026-01-01"}"#.to_owned()],
            &[],
            0,
            "document 1: a TICK needs a time",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let run = replay(&format!("tick-{number}"), &stamp, &lines, args).ended(1);
        let run = run.mentioned(&["error[bad-tick]", message]);
        assert_eq!(run.stdout.lines().count(), printed, "{lines:?}");
    }
}

#[test]
fn a_tick_sets_the_time_of_the_lines_after_it() {
    let lines = [
        tick("00:00:05"),
        foo(r#"{"name":"a"}"#),
        tick("00:00:09"),
        tick("00:00:09"),
        foo(r#"{"name":"b"}"#),
    ];
    let run = replay("tick-sets", &operator(FOO, STAMP), &lines, &[]).ended(0);
    let (five, nine) = (json!("2026-01-01T00:00:05Z"), json!("2026-01-01T00:00:09Z"));
    assert_eq!(
        stamps(&run),
        [vec![], vec![five], vec![], vec![], vec![nine]]
    );
}

#[test]
fn a_version_that_no_path_names_does_not_move_the_time() {
    let seen = |name: &str, pipeline: &str| {
        let lines = [
            foo(r#"{"name":"a","resourceVersion":"1","generation":1}"#),
            tick("00:00:01"),
            foo(r#"{"name":"a","resourceVersion":"2","generation":1}"#),
            tick("00:00:02"),
            foo(r#"{"name":"a","resourceVersion":"3","generation":2}"#),
        ];
        let lines = lines.map(|line| {
            line.replace(
                r#""kind":"Foo""#,
                r#""apiVersion":"example.com/v1","kind":"Foo""#,
            )
        });
        let run = replay(name, &operator(CUSTOM, pipeline), &lines, START).ended(0);
        let changed = stamps(&run).into_iter().map(|stamps| stamps.len());
        changed.collect::<Vec<_>>()
    };
    assert_eq!(seen("versions-none", STAMP), [1, 0, 0, 0, 0]);
    let named = STAMP.replace("at:", "g: $.metadata.generation, at:");
    assert_eq!(seen("versions-generation", &named), [1, 0, 0, 0, 1]);
    let named = STAMP.replace("at:", "g: $.metadata.resourceVersion, at:");
    assert_eq!(seen("versions-resource", &named), [1, 0, 1, 0, 1]);
}

#[test]
fn all_commands_take_the_time() {
    let now = ["--now", "2026-01-02T03:04:05.9+01:00"];
    let object = "apiVersion: v1\nkind: Foo\nmetadata: { name: a }\nnow: 7\n";
    let patch = r#"{ target: { kind: Foo }, operations: [{ op: add, path: /at, value: "${now} ${object_now}" }] }"#;
    let patch = patch.replace("object_now", "resource.now");
    let files = Files::new("takes-now")
        .with(
            "operator.yaml",
            &operator("[{ kind: Foo, apiGroup: \"\" }]", STAMP),
        )
        .with("patch.yaml", &patch)
        .with("object.yaml", object);
    let run = |args: &[&str]| files.deltic(&[args, &now].concat()).ended(0).stdout;
    let rendered = run(&["render", "-f", "operator.yaml", "-f", "object.yaml"]);
    assert!(rendered.contains("2026-01-02T02:04:05Z"), "{rendered}");
    let patched = run(&["patch", "-f", "patch.yaml", "object.yaml"]);
    assert!(patched.contains("2026-01-02T02:04:05Z 7"), "{patched}");
    let line =
        r#"{"doc":{},"patch":[{"op":"add","path":"/at","value":"${now + duration('1h')}"}]}"#;
    let lines = deltic_on(line, &[&["patch", "--jsonl"], &now[..]].concat()).ended(0);
    assert_eq!(
        lines.stdout,
        "{\"value\":{\"at\":\"2026-01-02T03:04:05Z\"}}\n"
    );
    files
        .deltic(&["patch", "-f", "patch.yaml", "object.yaml", "--var", "now=1"])
        .ended(2)
        .mentioned(&["use --now"]);
}

#[test]
fn check_warns_about_a_time_that_stands_still() {
    let age =
        r#"{ "@project": { metadata: $.metadata, age: { "@timeSub": ["@now", $.spec.t] } } }"#;
    let cel = r#"{ "@select": { "@cel": "now > timestamp(spec.t)" } }"#;
    let patch = r#"{ "@patch": { operations: [{ op: add, path: /at, value: "${now}" }] } }"#;
    for pipeline in [age, cel, patch] {
        deltic_on(operator(CUSTOM, pipeline), &["check", "-f", "-"])
            .ended(0)
            .printed("1 warning\n")
            .mentioned(&[
                "warning[time-stands-still]",
                "<stdin>:8:",
                "@timeAdd",
                "Periodic",
            ]);
        let periodic = "[{ apiGroup: example.com, kind: Foo }, { kind: Clock, type: Periodic }]";
        deltic_on(operator(periodic, pipeline), &["check", "-f", "-"])
            .ended(0)
            .printed("no errors, no warnings\n");
    }
    let deadline = r#"{ "@select": { "@gt": ["@now", { "@timeAdd": [$.spec.t, 24h] }] } }"#;
    for pipeline in [STAMP, deadline] {
        deltic_on(operator(CUSTOM, pipeline), &["check", "-f", "-"])
            .ended(0)
            .printed("no errors, no warnings\n");
    }
}
