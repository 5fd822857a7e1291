//! Small cases, each with the whole state after every batch.

mod joins;
mod stages;

use document::{Location, Map, Value, json};
use expr::{Env, Functions};
use object::ObjectName;

use super::{Objects, Scratch, State};
use crate::apply::OutputKind;
use crate::failure::{Failure, RunError};
use crate::origin::{Component, Origin};
use crate::pipeline::Pipeline;

/// Runs a history. A batch maps each source to its objects, by name and spec; null deletes one.
/// Each batch has the expected target objects, by name and spec, and the expected errors as
/// `stage origin code`.
fn check(sources: &[&str], pipeline: &Value, history: &[(Value, Value, &[&str])]) {
    check_targets(sources, &["T"], pipeline, history);
}

fn check_targets(
    sources: &[&str],
    targets: &[&str],
    pipeline: &Value,
    history: &[(Value, Value, &[&str])],
) {
    let scratch = scratch(sources, targets, pipeline);
    let mut objects = Objects::new();
    let mut state = State::default();
    for (i, (batch, expect, errors)) in history.iter().enumerate() {
        apply(batch, sources, &mut objects);
        let env = Env::new(Value::from(format!("t{i}")), 0);
        state = scratch.eval(&objects, &state, &env);
        let found: Vec<Value> = state.targets.iter().map(specs).collect();
        let found = if targets.len() == 1 {
            found[0].clone()
        } else {
            found.into()
        };
        assert_eq!(&found, expect, "targets after batch {i}");
        let found: Vec<String> = state.errors.iter().map(text).collect();
        assert_eq!(found, *errors, "errors after batch {i}");
    }
}

fn scratch(sources: &[&str], targets: &[&str], pipeline: &Value) -> Scratch {
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|&name| name.to_owned())
            .collect::<Vec<_>>()
    };
    let pipeline = Pipeline::parse(
        pipeline,
        &Location::root(),
        &names(sources),
        &names(targets),
        &Functions::builtin(),
    );
    let kinds = targets.iter().map(|&kind| OutputKind {
        api_version: json!("v1"),
        kind: kind.into(),
        placement: None,
    });
    Scratch::new(pipeline.unwrap(), kinds.collect())
}

fn apply(batch: &Value, sources: &[&str], objects: &mut Objects) {
    for (source, named) in batch.as_map().unwrap() {
        let source = sources
            .iter()
            .position(|name| *name == source.as_str())
            .unwrap();
        for (name, spec) in named.as_map().unwrap() {
            let key = (source, ObjectName::new("", name.as_str()));
            if spec.is_null() {
                objects.remove(&key);
            } else {
                let name = name.as_str();
                objects.insert(
                    key,
                    json!({"metadata": {"name": name}, "spec": (spec.clone())}),
                );
            }
        }
    }
}

fn specs(objects: &std::collections::BTreeMap<ObjectName, Value>) -> Value {
    let specs = objects.iter().map(|(name, object)| {
        assert_eq!(ObjectName::of(object).as_ref(), Some(name));
        (
            name.name.as_str().unwrap().into(),
            object.get("spec").clone(),
        )
    });
    specs.collect::<Map>().into()
}

fn text(error: &RunError) -> String {
    let mut text = format!(
        "{} {} {}",
        error.stage,
        origin_text(&error.origin),
        error.failure.code()
    );
    if let Failure::Conflict { key, winner, .. } = &error.failure {
        text = format!("{text} {key} {}", origin_text(winner));
    }
    text
}

fn origin_text(origin: &Origin) -> String {
    let parts = origin.components().iter().map(|component| match component {
        Component::Absent => "-".to_owned(),
        Component::Branch(branch) => format!("branch{branch}"),
        Component::Object(object) => object.name.name.as_str().unwrap().to_owned(),
        Component::Index(index) => format!("#{index}"),
        Component::Key(key) => key.to_string(),
    });
    parts.collect::<Vec<_>>().join("+")
}
