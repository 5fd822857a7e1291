//! The recorded results of Kubernetes.

use std::fmt::Write;

use document::{Key, Map, Value};

use crate::oracle::{self, outcome};
use crate::ours::{self, Outcome};

#[test]
fn recorded_results_are_those_of_kubernetes() {
    let path = oracle::root().join("crates/cel-interpreter/tests/cases/kubernetes.json");
    let written = std::fs::read_to_string(&path).expect("the file is there");
    let cases = cases::read(&written);
    let variables = |case: &Value| match case.get("variables") {
        variables if variables.is_null() => Value::from(Map::from_entries(Vec::new())),
        variables => variables.clone(),
    };
    let inputs: Vec<(&str, Value)> = cases
        .iter()
        .map(|case| (oracle::text(case, "name"), variables(case)))
        .collect();
    let answers = oracle::eval(inputs.iter().map(|(expr, variables)| (*expr, variables)));
    assert_eq!(answers.len(), cases.len());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, file(&cases, &answers)).expect("the file is written");
        return;
    }
    let mut wrong = Vec::new();
    for (case, answer) in cases.iter().zip(&answers) {
        if ours::recorded(case) != outcome(answer) {
            wrong.push(format!("{}: {answer}", oracle::text(case, "name")));
        }
    }
    assert!(
        wrong.is_empty(),
        "run `UPDATE=1 just cel`:\n{}",
        wrong.join("\n")
    );
}

/// The cases with the results of Kubernetes, one on each line.
fn file(cases: &[Value], answers: &[Value]) -> String {
    let mut out = String::from("{\"cases\": [\n");
    for (at, (case, answer)) in cases.iter().zip(answers).enumerate() {
        let mut entries = vec![(Key::new("name"), case.get("name").clone())];
        if !case.get("variables").is_null() {
            entries.push((Key::new("variables"), case.get("variables").clone()));
        }
        match outcome(answer) {
            Outcome::Error => entries.push((Key::new("error"), Value::from(true))),
            Outcome::Value { document, kind } => {
                entries.push((Key::new("type"), Value::from(kind)));
                entries.extend(document.map(|document| (Key::new("value"), document)));
            }
        }
        let line = Value::from(Map::from_entries(entries));
        let comma = if at + 1 < cases.len() { "," } else { "" };
        let _ = writeln!(out, "{line}{comma}");
    }
    out + "]}\n"
}
