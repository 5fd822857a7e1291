//! Turns bytes into a pipeline and a history, and compares the incremental engine with the
//! evaluation from scratch after every step.

use std::collections::BTreeMap;

use dataflow::apply::OutputKind;
use dataflow::fields::{Keep, needs};
use dataflow::scratch::{Objects, Scratch, State};
use dataflow::{Budget, Circuit, Pipeline, SourceEvent};
use document::{Key, Location, Map, Value, json};
use expr::{Env, Functions};
use object::ObjectName;

use crate::bytes::Bytes;

const SOURCES: [&str; 2] = ["A", "B"];

/// Any bytes as a pipeline with a history.
pub fn circuit(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let count = 1 + bytes.below(2);
    let sources: Vec<String> = SOURCES[..count]
        .iter()
        .map(|&name| name.to_owned())
        .collect();
    let spec = pipeline(&mut bytes, count);
    let targets = ["T".to_owned()];
    let Ok(pipeline) = Pipeline::parse(
        &spec,
        &Location::root(),
        &sources,
        &targets,
        &Functions::builtin(),
    ) else {
        return;
    };
    let kinds = vec![OutputKind {
        api_version: json!("v1"),
        kind: json!("T"),
        placement: None,
    }];
    let mut circuit = Circuit::new(&pipeline, &kinds, Budget::default());
    let keeps: Vec<Keep> = needs(&pipeline).iter().map(Keep::fields).collect();
    let scratch = Scratch::new(pipeline, kinds);
    let mut objects = Objects::default();
    let mut state = State::default();
    let mut targets: BTreeMap<ObjectName, Value> = BTreeMap::new();
    let env = Env::default();
    for _ in 0..8 {
        if bytes.is_empty() {
            break;
        }
        let mut batch = Vec::new();
        for _ in 0..=bytes.below(3) {
            let (source, name, object) = event(&mut bytes, count);
            // Read from JSON, and taken from memory.
            let kept = object.as_ref().map(|object| {
                let read = keeps[source].read(object.to_string().as_bytes());
                let read = read.expect("printed JSON can be parsed");
                assert_eq!(read, keeps[source].of(object), "{spec}");
                read
            });
            let key = (source, name.clone());
            match object {
                Some(object) => objects.insert(key, object),
                None => objects.remove(&key),
            };
            batch.push(SourceEvent {
                source,
                name,
                object: kept,
            });
        }
        let step = circuit
            .step(batch, &env)
            .expect("the budget is large enough");
        for change in step.changes {
            assert_eq!(targets.get(&change.key), change.old_object().as_ref());
            match change.new {
                Some(new) => targets.insert(change.key, new),
                None => targets.remove(&change.key),
            };
        }
        state = scratch.eval(&objects, &state, &env);
        assert_eq!(targets, state.targets[0], "{spec}");
    }
}

fn pipeline(bytes: &mut Bytes<'_>, sources: usize) -> Value {
    let mut stages = Vec::new();
    if sources > 1 {
        let condition = match bytes.below(4) {
            0 => json!({"@eq": ["$.A.spec", "$.B.spec"]}),
            1 => json!({"@in": ["$.A.spec.a", "$.B.spec.b"]}),
            2 => json!({"@selector": ["$.A.spec", "$.B.metadata.labels"]}),
            _ => json!({"@eq": ["$.A.metadata.name", "$.B.spec.a"]}),
        };
        let soft = if bytes.byte().is_multiple_of(2) {
            json!([])
        } else {
            json!(["B"])
        };
        stages.push(json!({"@join": {"on": condition, "soft": soft}}));
        stages.push(
            json!({"@project": {"metadata": "$.A.metadata", "spec": "$.A.spec", "b": "$.B"}}),
        );
    }
    for _ in 0..bytes.below(4) {
        let (name, argument) = match bytes.below(6) {
            0 => ("@select", bytes.expression(2)),
            1 => (
                "@project",
                json!([{"$.": "$."}, {"x": (bytes.expression(2))}]),
            ),
            2 => ("@unwind", Value::from("$.spec")),
            3 => ("@gather", json!(["$.metadata.namespace", "$.spec"])),
            4 => ("@groupBy", json!([(bytes.expression(1)), "$.spec"])),
            _ => ("@distinct", Value::NULL),
        };
        stages.push(Map::from_entries(vec![(Key::new(name), argument)]).into());
    }
    Value::from(stages)
}

fn event(bytes: &mut Bytes<'_>, sources: usize) -> (usize, ObjectName, Option<Value>) {
    let source = bytes.below(sources);
    let name = ["a", "b", "c"][bytes.below(3)];
    let namespace = ["", "n"][bytes.below(2)];
    let object = (bytes.below(4) != 0).then(|| {
        let labels = bytes.value(1);
        json!({"metadata": {"name": name, "namespace": namespace, "labels": labels}, "spec": (bytes.value(2))})
    });
    (source, ObjectName::new(namespace, name), object)
}
