//! Printing of YAML.
#![allow(clippy::unwrap_used)]

mod common;

use common::load;
use document::{Key, Map, Value, json};
use manifest::to_yaml;
use seeded::Random;

/// Checks how the value is printed, and that it reads back as itself.
fn check(value: &Value, expect: &str) {
    let yaml = to_yaml(value);
    assert_eq!(yaml, expect);
    if !value.is_null() {
        assert_eq!(&load(&yaml).unwrap()[0].value, value);
    }
}

#[test]
fn objects_look_as_kubectl_prints_them() {
    check(
        &json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "annotations": {}, "creationTimestamp": "2025-07-25T12:00:00Z"},
            "spec": {
                "replicas": 3,
                "paused": false,
                "ratio": 0.5,
                "none": null,
                "containers": [
                    {"name": "a", "args": ["--port=80", "-c", "$(X)"], "ports": []},
                    {"name": "b", "command": ["sh", "-c", "echo hi\nexit 1\n"]}
                ],
                "matrix": [[1, 2], [3], []]
            }
        }),
        r#"apiVersion: apps/v1
kind: Deployment
metadata:
  annotations: {}
  creationTimestamp: "2025-07-25T12:00:00Z"
  name: web
spec:
  containers:
  - args:
    - --port=80
    - -c
    - $(X)
    name: a
    ports: []
  - command:
    - sh
    - -c
    - |
      echo hi
      exit 1
    name: b
  matrix:
  - - 1
    - 2
  - - 3
  - []
  none: null
  paused: false
  ratio: 0.5
  replicas: 3
"#,
    );
}

#[test]
fn single_values_are_documents() {
    check(&json!({}), "{}\n");
    check(&json!([]), "[]\n");
    check(&json!("x"), "x\n");
    check(&json!(1), "1\n");
    check(&json!(null), "null\n");
    check(&json!([1, { "a": 1, "b": 2 }]), "- 1\n- a: 1\n  b: 2\n");
    check(&json!("a\nb"), "|-\n  a\n  b\n");
}

/// Checks that each line, as a string, is printed with this quote around it.
fn check_lines(lines: &str, quote: &str) {
    for line in lines.lines() {
        check(&Value::from(line), &format!("{quote}{line}{quote}\n"));
    }
}

#[test]
fn ordinary_strings_have_no_quotes() {
    check_lines(
        "a\na b\na:b\nhttp://x/y?z#w\n10.96.0.1\n10.0.0.0/8\n100Mi\n5m\n1.2.3\nv1\n12h\n1-2",
        "",
    );
    check_lines(
        "$.metadata.name\n$$.x\n-c\n--flag\na#b\na,b\na]\nx{}\na'b\na\"b\na\\b\n<x>\n(a)\n/x\n.x",
        "",
    );
    check_lines(
        "é\n日本\na-b\ne3\nnope\nyesterday\n..\n+x\n^a\na*\na!\n_\n0b2\n0xg\n2001-01",
        "",
    );
}

#[test]
fn strings_that_would_be_read_as_something_else_are_quoted() {
    check(&Value::from(""), "\"\"\n");
    check_lines(
        "true\nTrue\nFALSE\nnull\n~\nNull\nyes\nNo\non\nOFF\ny\nN\n.inf\n-.INF\n.NaN",
        "\"",
    );
    check_lines(
        "1\n-1\n+1\n0\n0x1f\n0X1F\n0o17\n0b11\n0644\n08\n1e3\n1.5\n.5\n1.\n1_000\n1e999",
        "\"",
    );
    check_lines(
        "1:30\n190:20:30\n2001-01-01\n2001-1-1\n2025-07-25T12:00:00Z\n2001-01-01 10:00:00",
        "\"",
    );
}

#[test]
fn strings_with_yaml_syntax_are_quoted() {
    check_lines(
        " a\na \na: b\na:\na #b\n#a\n- a\n-\n---\n...\n--- a\n?\n? a\n: a\n:a\na\tb",
        "\"",
    );
    check_lines(
        "[a\n]\n{a\n}\n, a\n&a\n*a\n!a\n|\n>\n'a'\n%a\n@a\n`a\n<<\n=",
        "\"",
    );
    check_lines("\"a\"\n\"\n@\\d\n: \"", "'");
    check(&Value::from("@'\""), "'@''\"'\n");
}

#[test]
fn what_cannot_be_printed_is_escaped() {
    check(&Value::from("a\r\nb"), "\"a\\r\\nb\"\n");
    check(
        &Value::from("\u{0}\u{1b}\u{7f}\u{85}\u{9b}"),
        "\"\\u0000\\u001b\\u007f\\u0085\\u009b\"\n",
    );
    check(
        &Value::from("\u{2028}\u{2029}\u{202e}\u{feff}\u{ffff}\"\\"),
        "\"\\u2028\\u2029\\u202e\\ufeff\\uffff\\\"\\\\\"\n",
    );
    check(&Value::from("😀\u{a0}"), "😀\u{a0}\n");
}

#[test]
fn texts_of_several_lines_are_literal_blocks() {
    check(&json!({"a": "x\ny"}), "a: |-\n  x\n  y\n");
    check(&json!({"a": "x\ny\n"}), "a: |\n  x\n  y\n");
    check(
        &json!({"a": "x\ny\n\n\n", "b": 1}),
        "a: |+\n  x\n  y\n\n\nb: 1\n",
    );
    check(
        &json!({"a": "x\n\n  y  \n# z\n"}),
        "a: |\n  x\n\n    y  \n  # z\n",
    );
    check(
        &json!({"a": {"b": ["x\ny\n"]}}),
        "a:\n  b:\n  - |\n    x\n    y\n",
    );
    check(&json!({"a": "x\n---\ny\n"}), "a: |\n  x\n  ---\n  y\n");
    // White space at the start would be taken for indentation.
    check(&json!({"a": " x\ny"}), "a: \" x\\ny\"\n");
    check(&json!({"a": "\nx"}), "a: \"\\nx\"\n");
    check(&json!({"a": "\n"}), "a: \"\\n\"\n");
}

#[test]
fn keys_are_quoted_like_strings() {
    check(
        &json!({"@project": 1, "true": 2, "": 3, "a b": 4, "$.x": 5, "1": 6, "<<": 7, "a\nb": 8}),
        "\"\": 3\n$.x: 5\n\"1\": 6\n\"<<\": 7\n\"@project\": 1\n\"a\\nb\": 8\na b: 4\n\"true\": 2\n",
    );
    let long = "k".repeat(2000);
    let entry = |value: Value| Value::from(Map::from_sorted(vec![(Key::new(&long), value)]));
    check(&entry(json!(1)), &format!("? {long}\n: 1\n"));
    check(&entry(json!([1])), &format!("? {long}\n:\n- 1\n"));
    check(
        &json!([(entry(json!({"a": 1})))]),
        &format!("- ? {long}\n  :\n    a: 1\n"),
    );
}

#[test]
fn numbers_read_back_as_themselves() {
    for number in [
        1e21,
        1.5e300,
        1e-7,
        0.1,
        -2.5,
        9_223_372_036_854_775_808.0,
        f64::MIN_POSITIVE,
    ] {
        let value = Value::number(number).unwrap();
        check(&value, &format!("{value}\n"));
    }
    check(&Value::from(i64::MIN), "-9223372036854775808\n");
}

#[test]
fn opaque_bytes_are_written_as_base64() {
    assert_eq!(to_yaml(&Value::bytes(b"\xff\xfe\xfd")), "//79\n");
    assert_eq!(to_yaml(&Value::bytes(b"\xd7\x6d\xf8")), "\"1234\"\n");
}

const SEED: u64 = 0x5eed_0002;

fn random_text(random: &mut Random) -> String {
    let words = [
        "a",
        "true",
        "null",
        "1",
        "0x1f",
        "1e3",
        "~",
        "yes",
        "no",
        "2001-01-01",
        " ",
        "  ",
        ": ",
        ":",
        " #",
        "#",
        "- ",
        "-",
        "\n",
        "\n\n",
        "\t",
        "\r",
        "'",
        "\"",
        "\\",
        "@",
        "`",
        "%",
        "&",
        "*",
        "!",
        "|",
        ">",
        "[",
        "]",
        "{",
        "}",
        ",",
        "?",
        "=",
        "<<",
        "é",
        "日",
        "😀",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\u{0}",
        "\u{7f}",
        "\u{a0}",
        "---",
        "...",
        "$.x",
        ".",
        "_",
        "+",
        "\u{fffd}",
        "\u{1fffe}",
        "\u{e000}",
        "\u{9b}",
        "\u{300}",
        "\u{202e}",
    ];
    let length = random.below(5);
    random.text(length, &words)
}

fn random_value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 7 } else { 11 }) {
        0 => Value::NULL,
        1 => (random.below(2) == 0).into(),
        2 => (random.bits().cast_signed() >> random.below(64)).into(),
        3 => Value::number(f64::from_bits(random.bits())).unwrap_or_default(),
        4..=6 => random_text(random).into(),
        7 | 8 => (0..random.below(4))
            .map(|_| random_value(random, depth - 1))
            .collect(),
        _ => Value::from(
            (0..random.below(4))
                .map(|_| {
                    let key = Key::new(&random_text(random));
                    (key, random_value(random, depth - 1))
                })
                .collect::<Map>(),
        ),
    }
}

#[test]
fn random_values_read_back_as_themselves() {
    let mut random = Random::new(seeded::seed(SEED));
    for _ in 0..10_000 {
        let value = random_value(&mut random, 5);
        let yaml = to_yaml(&value);
        assert!(yaml.ends_with('\n'));
        let read: Vec<_> = match load(&yaml) {
            Ok(manifests) => manifests
                .into_iter()
                .map(|manifest| manifest.value)
                .collect(),
            Err(error) => panic!("{}\n{value}\n{yaml}", error.render(false)),
        };
        let expect: Vec<_> = Some(value)
            .into_iter()
            .filter(|value| !value.is_null())
            .collect();
        assert_eq!(read, expect, "\n{yaml}");
    }
}

#[test]
fn documents_can_be_put_one_after_the_other() {
    let mut random = Random::new(seeded::seed(SEED));
    for _ in 0..500 {
        let values: Vec<_> = (0..3).map(|_| random_value(&mut random, 3)).collect();
        let stream: String = values
            .iter()
            .map(|value| to_yaml(value) + "---\n")
            .collect();
        let read: Vec<_> = load(&stream)
            .unwrap()
            .into_iter()
            .map(|m| m.value)
            .collect();
        let expect: Vec<_> = values
            .into_iter()
            .filter(|value| !value.is_null())
            .collect();
        assert_eq!(read, expect, "\n{stream}");
    }
}
