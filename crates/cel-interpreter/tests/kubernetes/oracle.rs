//! The program that evaluates expressions as Kubernetes does, and its answers.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use document::{Key, Map, Value};

use crate::ours::Outcome;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The directory of the program and the suite. It is built if needed.
pub(crate) fn directory() -> PathBuf {
    let output = Command::new(root().join("hack/cel-oracle"))
        .stderr(Stdio::inherit())
        .output()
        .expect("hack/cel-oracle runs");
    assert!(output.status.success(), "hack/cel-oracle failed");
    let text = String::from_utf8(output.stdout).expect("a path");
    PathBuf::from(text.lines().last().expect("the directory"))
}

/// Runs the program and returns the lines of its output.
pub(crate) fn run(arguments: &[&str], input: Vec<u8>) -> Vec<Value> {
    let mut child = Command::new(directory().join("cel-oracle"))
        .args(arguments)
        // Go keeps the zone of a time that is in the local one.
        .env("TZ", "UTC")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("cel-oracle starts");
    let mut stdin = child.stdin.take().expect("it has an input");
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("cel-oracle ends");
    writer
        .join()
        .expect("no panic")
        .expect("cel-oracle reads its input");
    assert!(output.status.success(), "cel-oracle failed");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let lines = text.lines();
    lines
        .map(|line| line.parse().expect("a line is JSON"))
        .collect()
}

/// Evaluates expressions with their variables.
pub(crate) fn eval<'a>(cases: impl Iterator<Item = (&'a str, &'a Value)>) -> Vec<Value> {
    let mut input = Vec::new();
    for (expr, variables) in cases {
        let entries = vec![
            (Key::new("expr"), Value::from(expr)),
            (Key::new("variables"), variables.clone()),
        ];
        let line = Value::from(Map::from_entries(entries));
        writeln!(input, "{line}").expect("memory");
    }
    run(&["eval"], input)
}

/// The outcome of an answer of the program.
pub(crate) fn outcome(answer: &Value) -> Outcome {
    let value = answer.get("value");
    if value.is_null() {
        return Outcome::Error;
    }
    Outcome::Value {
        document: document(value),
        kind: text(value, "type").to_owned(),
    }
}

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).as_str().unwrap_or_default()
}

/// A typed value as the document that a result becomes.
pub(crate) fn document(value: &Value) -> Option<Value> {
    let shown = text(value, "text");
    let items = || value.get("items").as_list().into_iter().flatten();
    Some(match text(value, "type") {
        "null_type" => Value::NULL,
        "bool" => Value::from(shown == "true"),
        "int" => Value::from(shown.parse::<i64>().expect("an int")),
        "uint" => match shown.parse::<i64>() {
            Ok(int) => Value::from(int),
            Err(_) => Value::number(shown.parse::<f64>().expect("a number"))?,
        },
        "double" => Value::number(shown.parse::<f64>().expect("a double"))?,
        "string" | "bytes" | "google.protobuf.Duration" | "type" => Value::from(shown),
        "google.protobuf.Timestamp" => {
            let time: jiff::Timestamp = shown.parse().expect("a time");
            Value::from(time.to_string())
        }
        "list" => items().map(document).collect::<Option<Vec<_>>>()?.into(),
        "optional_type" => match items().next() {
            Some(inner) => document(inner)?,
            None => Value::NULL,
        },
        "map" => {
            let entries = value.get("entries").as_list().into_iter().flatten();
            let entry = |entry: &Value| {
                let entry = entry.as_list()?;
                let (key, value) = (entry.get(0)?, entry.get(1)?);
                Some((Key::new(text(key, "text")), document(value)?))
            };
            Value::from(Map::from_entries(
                entries.map(entry).collect::<Option<_>>()?,
            ))
        }
        _ => return None,
    })
}
