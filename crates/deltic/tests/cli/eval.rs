//! `deltic eval`

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use document::Value;

use crate::common::{Files, command, deltic, deltic_on};

const PODS: &str = "kind: Pod\nmetadata: { name: a }\nspec: { n: 1 }\n---\n\
                    kind: Pod\nmetadata: { name: b }\nspec: { n: x }\n";

#[track_caller]
fn check(expr: &str, expect: &str) {
    deltic(&["eval", expr]).ended(0).printed(expect);
}

#[test]
fn an_expression_is_yaml_or_json() {
    check(r#"{"@concat": ["a", "b"]}"#, "ab\n");
    check("{'@add': [1, 2]}", "3\n");
    check("\"@add\":\n- 1\n- 2\n", "3\n");
    check("null", "null\n");
    check("[1, {a: b}]", "- 1\n- a: b\n");
    check("\"1\"", "\"1\"\n");
}

#[test]
fn a_path_needs_no_quotes() {
    let files = Files::new("eval-path").with("o.yaml", "a: [{t: 'x: y', v: 1}, {t: b, v: 2}]\n");
    for (expr, expect) in [
        ("$.a[0].v", "1\n"),
        ("$.a[?(@.t == 'b')].v", "2\n"),
        ("$.a[?(@.t == 'x: y')].v", "1\n"),
        ("$.missing", "null\n"),
    ] {
        files
            .deltic(&["eval", expr, "-f", "o.yaml"])
            .ended(0)
            .printed(expect);
    }
}

#[test]
fn results_are_yaml_or_indented_json() {
    deltic(&["eval", "{a: [1.5, yes]}", "-o", "json"])
        .ended(0)
        .printed("{\n  \"a\": [\n    1.5,\n    \"yes\"\n  ]\n}\n");
    deltic(&["eval", "{a: [1.5, yes]}", "--output=yaml"])
        .ended(0)
        .printed("a:\n- 1.5\n- \"yes\"\n");
}

#[test]
fn every_object_has_its_result() {
    let files = Files::new("eval-objects")
        .with("pods.yaml", PODS)
        .with(
            "more/1.json",
            r#"{"kind": "List", "items": [{"metadata": {"name": "c"}}]}"#,
        )
        .with("more/2.yml", "metadata: { name: d }")
        .with("more/note.txt", "no manifest");
    files
        .deltic(&["eval", "$.metadata.name", "-f", "pods.yaml", "-f", "more"])
        .ended(0)
        .printed("# pod/a\na\n---\n# pod/b\nb\n---\n# /c\nc\n---\n# /d\nd\n");
    files
        .deltic(&["eval", "$.metadata.name", "pods.yaml", "-o", "json"])
        .ended(0)
        .printed("{\n  \"object\": \"pod/a\",\n  \"value\": \"a\"\n}\n{\n  \"object\": \"pod/b\",\n  \"value\": \"b\"\n}\n");
    deltic_on(PODS, &["eval", "$.spec.n", "-f", "-"])
        .ended(0)
        .printed("# pod/a\n1\n---\n# pod/b\nx\n");
    // One object needs no name, and what has none is numbered.
    files
        .deltic(&["eval", "$.metadata.name", "more/2.yml"])
        .ended(0)
        .printed("d\n");
    deltic_on("[1, {}]\n---\n[2]", &["eval", "$[0]", "-"])
        .ended(0)
        .printed("# document 1\n1\n---\n# document 2\n2\n");
    Files::new("eval-nameless")
        .with("a.json", "[1]")
        .with("b.json", "[2]")
        .deltic(&["eval", "$[0]", "a.json", "b.json"])
        .ended(0)
        .printed("# document 1, in a.json\n1\n---\n# document 2, in b.json\n2\n");
}

#[test]
fn a_run_time_error_shows_its_place_and_object_and_ends_with_1() {
    let run = deltic_on(PODS, &["eval", r#"{"@abs": "$.spec.n"}"#, "-f", "-"]).ended(1);
    run.printed("# pod/a\n1\n").complained(
        r#"
error[text]: the string is not a number, for pod/b
 --> <expression>:1:10
  |
1 | {"@abs": "$.spec.n"}
  |          ^^^^^^^^^^"#,
    );
}

#[test]
fn an_expression_that_cannot_be_compiled_ends_with_2() {
    deltic(&["eval", "{x: {\"@concta\": [1]}, y: $.a[}"])
        .ended(2)
        .mentioned(&["error[syntax]", "<expression>:1:"]);
    deltic(&["eval", "{x: {\"@concta\": [1]}, y: \"$.a[\"}"])
        .ended(2)
        .printed("")
        .complained(
            r#"
error[unknown-operator]: unknown operator @concta
 --> <expression>:1:6
  |
1 | {x: {"@concta": [1]}, y: "$.a["}
  |      ^^^^^^^^^
  |
  = help: did you mean @concat?

error[bad-path]: bad path "$.a[": found the end of the path, expected a quoted name, an index, a slice, `*` or `?`, at offset 4 of the path
 --> <expression>:1:26
  |
1 | {x: {"@concta": [1]}, y: "$.a["}
  |                          ^^^^^^"#,
        );
    for (expr, code) in [
        ("", "usage"),
        ("1\n---\n2", "usage"),
        ("$$", "item-out-of-scope"),
        ("$.a[?(", "bad-path"),
        ("{\"@add\": [1]}", "bad-arity"),
        ("{a: 1, a: 2}", "duplicate-key"),
        ("@len: $", "syntax"),
        ("[", "syntax"),
    ] {
        deltic(&["eval", expr])
            .ended(2)
            .mentioned(&[&format!("error[{code}]")]);
    }
}

#[test]
fn objects_that_cannot_be_read_end_with_2() {
    let files = Files::new("eval-bad-objects")
        .with("syntax.yaml", "a: [1\n")
        .with("twice.yaml", "a: 1\na: 2\n");
    std::fs::create_dir(
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("eval-bad-objects/empty"),
    )
    .unwrap();
    for (file, place) in [
        ("syntax.yaml", "syntax.yaml:1:4"),
        ("twice.yaml", "twice.yaml:2:1"),
        ("missing.yaml", "cannot read missing.yaml"),
        ("empty", "directory empty has no file"),
    ] {
        files
            .deltic(&["eval", "$", "-f", file])
            .ended(2)
            .printed("")
            .mentioned(&[place]);
    }
}

#[test]
fn the_time_and_the_seed_can_be_given() {
    deltic(&["eval", "@now", "--now", "2026-01-02T03:04:05+01:00"])
        .ended(0)
        .printed("\"2026-01-02T02:04:05Z\"\n");
    let now = deltic(&["eval", "@now"]).ended(0).stdout;
    assert_eq!(now.len(), "\"2026-01-02T02:04:05Z\"\n".len());

    let random = |args: &[&str]| {
        let expr = r#"{"@rnd": [0, 1000000000000]}"#;
        deltic(&[&["eval", expr], args].concat()).ended(0).stdout
    };
    assert_eq!(random(&["--seed", "1"]), random(&["--seed=1"]));
    assert_ne!(random(&["--seed", "1"]), random(&["--seed", "2"]));
    assert_ne!(random(&[]), random(&[]));

    let line = "{\"expr\":{\"@rnd\":[0,1000000000000]}}\n";
    let answers = deltic_on(line.repeat(2), &["eval", "--jsonl", "--seed", "1"]).stdout;
    let answers: Vec<&str> = answers.lines().collect();
    assert_ne!(answers[0], answers[1]);
}

#[test]
fn limits_are_named_errors() {
    deltic(&[
        "eval",
        r#"{"@sum": {"@map": [1, {"@range": 1000}]}}"#,
        "--max-steps",
        "100",
    ])
    .ended(1)
    .mentioned(&["error[limit]", "100"]);
    deltic(&[
        "eval",
        r#"{"@cel": "[1,2,3].map(x, x * 2)"}"#,
        "--max-cel-cost",
        "2",
    ])
    .ended(1)
    .mentioned(&["error[cel-"]);
}

#[track_caller]
fn lines(stdin: impl AsRef<[u8]>, expect: &[&str]) {
    let run = deltic_on(stdin, &["eval", "--jsonl", "--max-document-bytes", "200"]).ended(0);
    let found: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(found, expect);
    assert_eq!(run.stderr, "");
}

#[test]
fn each_line_has_its_answer_in_order() {
    lines(
        "{\"expr\":\"$.a\",\"subject\":{\"a\":[1,1.0,\"é\"]}}\n{\"expr\":{\"@add\":[1,\"$\"]},\"subject\":2}\n",
        &[r#"{"value":[1,1,"é"]}"#, r#"{"value":3}"#],
    );
    // Without a subject `$` is null. The last line needs no newline.
    lines(
        "{\"expr\":null}\r\n\n  \n{\"expr\":\"$\"}",
        &[r#"{"value":null}"#, r#"{"value":null}"#],
    );
    lines("", &[]);
}

#[test]
fn a_local_defines_the_item() {
    lines(
        "{\"expr\":\"$$.x\",\"local\":{\"x\":1}}\n{\"expr\":\"$$\",\"local\":null}\n{\"expr\":\"$$\"}\n",
        &[
            r#"{"value":1}"#,
            r#"{"value":null}"#,
            r#"{"error":"`$$` is only defined inside @map, @filter, @any, @all, @none and @sortBy","code":"item-out-of-scope"}"#,
        ],
    );
}

#[test]
fn a_bad_line_is_answered_and_the_next_is_read() {
    let mut stdin = b"{\"expr\":\n[1]\n\"x\"\n{\"subject\":1}\n{\"expr\":\"\xff\"}\n".to_vec();
    stdin.extend(b"{\"expr\":{\"a\":{\"@not\":1}}}\n{\"expr\":{\"@x\":1}}\n");
    stdin.extend(format!("{{\"expr\":\"{}\"}}\n", "x".repeat(300)).bytes());
    stdin.extend(format!("{{\"expr\":{}1\n", "[".repeat(150)).bytes());
    stdin.extend(b"{\"expr\":7}\n");
    let run = deltic_on(stdin, &["eval", "--jsonl", "--max-document-bytes", "200"]).ended(0);
    let codes: Vec<String> = run
        .stdout
        .lines()
        .map(|line| {
            let line: Value = line.parse().unwrap();
            let (code, value) = (line.get("code"), line.get("value"));
            assert_eq!(code.is_null(), line.get("error").is_null());
            if code.is_null() { value } else { code }.to_string()
        })
        .collect();
    let expect = [
        r#""bad-json""#,
        r#""bad-line""#,
        r#""bad-line""#,
        r#""bad-line""#,
        r#""bad-json""#,
        r#""type""#,
        r#""unknown-operator""#,
        r#""too-large""#,
        r#""bad-json""#,
        "7",
    ];
    assert_eq!(codes, expect, "{}", run.stdout);
    assert!(
        run.stdout
            .contains("expected a boolean, found an integer, at a.@not")
    );
}

#[test]
fn a_line_is_answered_before_the_next_is_sent() {
    let mut child = command()
        .args(["eval", "--jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for n in 0..3 {
        writeln!(stdin, "{{\"expr\":{n}}}").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, format!("{{\"value\":{n}}}\n"));
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn deep_expressions_are_evaluated_or_refused() {
    let nested = |depth: usize| format!("{}true{}", "{\"@not\":".repeat(depth), "}".repeat(depth));
    deltic(&["eval", &nested(100)]).ended(0).printed("true\n");
    deltic(&["eval", &nested(101)])
        .ended(2)
        .mentioned(&["error[too-deep]"]);
    deltic(&["eval", &"[".repeat(100_000)])
        .ended(2)
        .mentioned(&["error[too-deep]"]);
}
