//! The specification's pipeline cases: batches of events in, target objects out.

use std::collections::BTreeMap;

use dataflow::apply::TargetKind;
use dataflow::{Budget, Circuit, ObjectName, Pipeline, SourceEvent};
use document::{Location, Value, json};
use expr::{Env, Table};

fn kind_of(source: &Value) -> String {
    let kind = source.as_str().or_else(|| source.get("kind").as_str());
    kind.unwrap_or_default().to_owned()
}

fn pipeline(case: &Value) -> Result<Pipeline, String> {
    let sources: Vec<String> = case
        .get("sources")
        .as_list()
        .unwrap()
        .iter()
        .map(kind_of)
        .collect();
    let target = kind_of(case.get("target"));
    let at = Location::root().key("pipeline");
    Pipeline::parse(
        case.get("pipeline"),
        &at,
        &sources,
        &[target],
        &Table::builtin(),
    )
    .map_err(|errors| {
        errors
            .iter()
            .map(|error| format!("{}: {error}", error.at))
            .collect::<Vec<_>>()
            .join(", ")
    })
}

fn event(event: &Value, pipeline: &Pipeline) -> Option<SourceEvent> {
    let op = event.get("op").as_str()?;
    if op == "sync" {
        return None;
    }
    let object = event.get("object");
    let kind = object.get("kind").as_str()?;
    Some(SourceEvent {
        source: pipeline.sources.iter().position(|source| source == kind)?,
        name: ObjectName::of(object)?,
        object: (op != "delete").then(|| object.clone()),
    })
}

fn check(case: &Value) -> Result<(), String> {
    let pipeline = pipeline(case);
    if case.get("expect_error").as_bool() == Some(true) {
        return match pipeline {
            Err(_) => Ok(()),
            Ok(_) => Err("expected an error at creation".to_owned()),
        };
    }
    let pipeline = pipeline?;
    let kind = TargetKind {
        api_version: json!("test.view.dcontroller.io/v1alpha1"),
        kind: pipeline.targets[0].as_str().into(),
    };
    let mut circuit = Circuit::new(&pipeline, &[kind], Budget::default());
    let mut state: BTreeMap<ObjectName, Value> = BTreeMap::new();
    let steps = case.get("steps").as_list().unwrap();
    let expects = case.get("expect").as_list().unwrap();
    for (number, (batch, expect)) in steps.iter().zip(expects).enumerate() {
        let batch: Vec<_> = batch
            .as_list()
            .unwrap()
            .iter()
            .filter_map(|e| event(e, &pipeline))
            .collect();
        let step = circuit
            .step(&batch, &Env::default())
            .map_err(|error| error.to_string())?;
        for change in step.changes {
            if state.get(&change.key) != change.old.as_ref() {
                return Err(format!(
                    "step {number}: {:?} had another old value",
                    change.key
                ));
            }
            match change.new {
                Some(new) => state.insert(change.key, new),
                None => state.remove(&change.key),
            };
        }
        let found: Value = state.values().cloned().collect();
        let mut wanted = expect.get("state").as_list().unwrap().to_vec();
        wanted.sort_by_key(ObjectName::of);
        let wanted = Value::from(wanted);
        if found != wanted {
            return Err(format!(
                "step {number}: expected {wanted}, found {found}; errors {:?}",
                step.errors
            ));
        }
        if expect.get("error").as_bool() == Some(true) && step.errors.is_empty() {
            return Err(format!("step {number}: expected an error"));
        }
        if expect.get("error").is_null() && !step.errors.is_empty() {
            return Err(format!("step {number}: unexpected {:?}", step.errors));
        }
    }
    Ok(())
}

fn run(cases: &str) -> usize {
    let cases: Value = cases.parse().unwrap();
    let cases = cases.get("cases").as_list().unwrap();
    let failed: Vec<String> = cases
        .iter()
        .filter_map(|case| Some(format!("{}: {}", case.get("name"), check(case).err()?)))
        .collect();
    assert!(
        failed.is_empty(),
        "{} of {} failed:\n{}",
        failed.len(),
        cases.len(),
        failed.join("\n")
    );
    cases.len()
}

#[test]
fn every_case_of_the_specification_holds() {
    assert_eq!(run(include_str!("cases/pipeline.json")), 94);
}
