//! The recorded results of Kubernetes.

use std::fmt::Write;

use cel_interpreter::Example;
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

#[test]
fn examples_of_the_reference_are_those_of_kubernetes() {
    let functions = cel_interpreter::reference().flat_map(|(_, functions)| functions);
    let examples: Vec<&Example> = functions.flat_map(|function| function.examples).collect();
    let none = Value::from(Map::from_entries(Vec::new()));
    let answers = oracle::eval(examples.iter().map(|Example(expr, _)| (*expr, &none)));
    let mut compared = 0;
    for (Example(expr, result), answer) in examples.iter().zip(&answers) {
        // Kubernetes does not have all functions, and checks types.
        if answer.get("refused").as_bool() == Some(true) {
            continue;
        }
        compared += 1;
        match outcome(answer) {
            Outcome::Error => assert!(result.starts_with("error: "), "{expr}: {answer}"),
            Outcome::Value { document, .. } => {
                let document = document.map(|document| document.to_string());
                assert_eq!(document.as_deref(), Some(*result), "{expr}");
            }
        }
    }
    assert!(compared > 120, "{compared} of {} examples", examples.len());
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
