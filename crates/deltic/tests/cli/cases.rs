//! Runs the cases of the specification through the command: expressions as lines, pipelines as
//! Operators whose events are replayed.

use std::collections::BTreeMap;
use std::fmt::Write;

use document::{Value, json};

use crate::common::{Files, deltic_on};

const EXPR: &str = include_str!("../../../expr/tests/cases/expr.json");
const PIPELINE: &str = include_str!("../../../dataflow/tests/cases/pipeline.json");

const TIME: &str = include_str!("../../../dataflow/tests/cases/time.json");

const PATCH: &str = include_str!("../../../document/tests/cases/patch.json");
const MORE_PATCH: &str = include_str!("../../../patch/tests/cases/more.json");

/// Sends every case as a line. Returns the answers.
fn answered(cases: &[Value], command: &str) -> Vec<Value> {
    let mut stdin = String::new();
    for case in cases {
        writeln!(stdin, "{case}").unwrap();
    }
    let run = deltic_on(stdin, &[command, "--jsonl"]).ended(0);
    let lines = run.stdout.lines();
    let answers: Vec<Value> = lines.map(|line| line.parse().unwrap()).collect();
    assert_eq!(answers.len(), cases.len());
    answers
}

/// Checks each case of a file with the answer of a command.
fn check_lines(file: &str, command: &str, check: fn(&Value, &Value) -> Result<(), String>) {
    let cases = cases::read(file);
    let mut answers = answered(&cases, command).into_iter();
    cases::all_hold(&cases, |case| {
        let answer = answers.next().unwrap();
        check(case, &answer).map_err(|why| format!("{why}; the answer is {answer}"))
    });
}

#[test]
fn every_patch_case_holds_through_lines() {
    for file in [PATCH, MORE_PATCH] {
        check_lines(file, "patch", check_patch);
    }
}

fn check_patch(case: &Value, answer: &Value) -> Result<(), String> {
    let Some(code) = cases::field(case, "code") else {
        return check_answer(case, answer);
    };
    let at = case.get("at").as_str().map(|at| format!(", at {at}"));
    let error = answer.get("error").as_str().unwrap_or_default();
    let right = answer.get("code") == code && at.is_none_or(|at| error.ends_with(&at));
    let expected = || format!("expected {code} at {}", case.get("at"));
    right.then_some(()).ok_or_else(expected)
}

#[test]
fn every_expression_case_holds_through_lines() {
    check_lines(EXPR, "eval", check_answer);
}

fn check_answer(case: &Value, answer: &Value) -> Result<(), String> {
    if cases::field(case, "expect_error").is_some() {
        let failed =
            answer.get("error").as_str().is_some() && answer.get("code").as_str().is_some();
        let expected = || "expected an error with its code".to_owned();
        return failed.then_some(()).ok_or_else(expected);
    }
    match cases::field(answer, "value") {
        Some(value) => cases::check_value(case, value),
        None => Err("expected a value".to_owned()),
    }
}

/// A source or target of a case: a Kind, or a map with apiVersion and kind.
fn resource(spec: &Value) -> Value {
    if !spec.get("type").is_null() {
        return spec.clone();
    }
    let Some(version) = spec.get("apiVersion").as_str() else {
        let kind = spec.as_str().or(spec.get("kind").as_str()).unwrap();
        return json!({"kind": kind});
    };
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    json!({"apiGroup": group, "version": version, "kind": (spec.get("kind").clone())})
}

/// A controller of a case; a case with only one is the controller itself.
fn controller(spec: &Value) -> Value {
    let sources = spec.get("sources").as_list().unwrap();
    let sources: Value = sources.iter().map(resource).collect();
    let name = spec
        .get("name")
        .as_str()
        .filter(|_| spec.get("steps").is_null());
    json!({
        "name": (name.unwrap_or("test")),
        "sources": sources,
        "pipeline": (spec.get("pipeline").clone()),
        "target": (resource(spec.get("target"))),
    })
}

fn operator(case: &Value) -> String {
    let controllers: Value = match case.get("controllers").as_list() {
        Some(controllers) => controllers.iter().map(controller).collect(),
        None => Value::list([controller(case)]),
    };
    manifest::to_yaml(&json!({
        "apiVersion": "dcontroller.io/v1alpha1",
        "kind": "Operator",
        "metadata": {"name": "test"},
        "spec": {"controllers": controllers},
    }))
}

/// The events of a step as one array, or its tick.
fn batch(step: &Value) -> String {
    let time = step.at(0).get("time");
    if !time.is_null() {
        return format!("{{\"type\":\"TICK\",\"time\":{time}}}\n");
    }
    let mut batch = String::from("[");
    for event in step.as_list().unwrap() {
        let kind = match event.get("op").as_str().unwrap() {
            "add" => "ADDED",
            "update" | "upsert" => "MODIFIED",
            "delete" => "DELETED",
            "sync" => continue,
            other => panic!("unknown op {other}"),
        };
        let comma = if batch.len() > 1 { "," } else { "" };
        let object = event.get("object");
        write!(batch, "{comma}{{\"type\":\"{kind}\",\"object\":{object}}}").unwrap();
    }
    batch + "]\n"
}

fn check(case: &Value) -> Result<(), String> {
    let name = case.get("name").as_str().unwrap().replace('/', "-");
    let files = Files::new(&format!("case-{name}")).with("operator.yaml", &operator(case));
    let steps = case.get("steps").as_list();
    let events: String = steps
        .iter()
        .flat_map(|steps| steps.iter().map(batch))
        .collect();
    let mut args = vec!["replay", "-f", "operator.yaml", "--output", "jsonl"];
    if let Some(now) = case.get("now").as_str() {
        args.extend(["--now", now]);
    }
    let run = files.deltic_on(events, &args);
    if case.get("expect_error").as_bool() == Some(true) {
        let placed = run.stderr.contains("--> operator.yaml:");
        return match (run.code, placed) {
            (2, true) => Ok(()),
            (code, _) => Err(format!(
                "expected a place and 2, found {code}: {}",
                run.stderr
            )),
        };
    }
    let mut expects = case.get("expect").as_list().unwrap().to_vec();
    let stops = |expect: &Value| expect.get("stops").as_bool() == Some(true);
    let stopped = expects.pop_if(|expect| stops(expect)).is_some();
    if (run.code == 0) == stopped {
        return Err(format!("ended with {}: {}", run.code, run.stderr));
    }
    let lines: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| line.parse().unwrap())
        .collect();
    if lines.len() != expects.len() {
        return Err(format!("{} lines for {} steps", lines.len(), expects.len()));
    }
    let mut state = BTreeMap::new();
    for (number, (line, expect)) in lines.iter().zip(&expects).enumerate() {
        step(line, expect, &mut state).map_err(|error| format!("step {number}: {error}"))?;
    }
    Ok(())
}

type State = BTreeMap<(Value, Value, Value), Value>;

fn step(line: &Value, expect: &Value, state: &mut State) -> Result<(), String> {
    let key = |object: &Value| {
        let metadata = object.get("metadata");
        (
            object.get("kind").clone(),
            metadata.get("namespace").clone(),
            metadata.get("name").clone(),
        )
    };
    for event in line.get("events").as_list().unwrap() {
        let object = event.get("object");
        match (event.get("type").as_str(), state.contains_key(&key(object))) {
            (Some("ADDED"), false) | (Some("MODIFIED"), true) => {
                state.insert(key(object), object.clone());
            }
            (Some("DELETED"), true) => {
                state.remove(&key(object));
            }
            (kind, known) => return Err(format!("{kind:?}, known before: {known}: {object}")),
        }
    }
    let found: Value = state.values().cloned().collect();
    let mut wanted = expect.get("state").as_list().unwrap().to_vec();
    wanted.sort_by_key(key);
    if found != Value::from(wanted.clone()) {
        return Err(format!("expected {}, found {found}", Value::from(wanted)));
    }
    let errors = line.get("errors").as_list().unwrap();
    if errors.is_empty() == (expect.get("error").as_bool() == Some(true)) {
        return Err(format!("unexpected errors {}", line.get("errors")));
    }
    Ok(())
}

#[test]
fn every_time_case_holds_through_replay() {
    let cases = cases::run(TIME, check);
    assert_eq!(cases.len(), 35);
}

#[test]
fn every_pipeline_case_holds_through_replay() {
    let cases = cases::run(PIPELINE, check);
    assert_eq!(cases.len(), 94);
}
