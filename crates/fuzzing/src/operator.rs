//! Any Operator on any objects: it is refused with problems, or it runs, within its bounds.
//!
//! Bytes that are YAML with an Operator are taken as they are, so that a fuzzer can start from the
//! examples. All other bytes become choices of an Operator and of objects.

use dataflow::Budget;
use document::{Bounds, Key, Map, Value, json};
use expr::{Env, Functions};
use offline::{Event, EventType, Offline, OfflineError};
use operator::Operator;
use operator::spec::{SourceKind, is_operator};

use crate::bytes::Bytes;

/// Kinds that controllers read and write; objects are of the first two.
const KINDS: [&str; 5] = ["A", "B", "V", "W", "T"];
const TYPES: [&str; 4] = ["Updater", "Patcher", "Applier", "Setter"];
/// So that a run ends soon, and documents over the bounds are likely.
const BOUNDS: Bounds = Bounds {
    depth: 24,
    bytes: 1 << 12,
};

/// Any bytes as an Operator and objects.
pub fn operator(data: &[u8]) {
    let (spec, objects) = written(data).unwrap_or_else(|| made(&mut Bytes::new(data)));
    let (operator, problems) = operator::read(&spec, &Functions::builtin());
    assert!(problems.iter().all(|problem| !problem.code.is_empty()));
    let Some(operator) = operator else {
        assert!(!problems.is_empty(), "refused without a reason: {spec}");
        return;
    };
    assert!(!operator::explain::explain(&operator).is_empty());
    let objects: Vec<Value> = objects.into_iter().filter(has_name).collect();
    let first = run(&operator, &objects);
    assert_eq!(
        first,
        run(&operator, &objects),
        "not the same twice: {spec}"
    );
    let cyclic = problems
        .iter()
        .any(|problem| matches!(problem.code, "cycle" | "whole-object"));
    if let Ok(targets) = first {
        bounded(&operator, &objects, &targets);
        if !cyclic {
            emptied(&operator, &objects);
        }
    }
}

/// YAML documents, one of which is an Operator.
fn written(data: &[u8]) -> Option<(Value, Vec<Value>)> {
    let manifests = manifest::parse_bytes("fuzz", data.to_vec()).ok()?;
    let mut values: Vec<Value> = manifests.into_iter().map(|read| read.value).collect();
    let operator = values.iter().position(is_operator)?;
    let operator = values.swap_remove(operator);
    Some((operator, values))
}

fn has_name(object: &Value) -> bool {
    object.get("kind").as_str().is_some() && object::ObjectName::of(object).is_some()
}

fn offline(operator: &Operator) -> (Offline, Env) {
    let budget = Budget {
        documents: 1000,
        bytes: Some(1 << 20),
        candidates: 10_000,
        outputs: 1000,
    };
    let mut env = Env::default();
    env.limits.steps = 10_000;
    env.limits.cel_cost = 10_000;
    env.limits.bounds = BOUNDS;
    (Offline::new(operator.clone(), budget), env)
}

/// The targets after all objects were added, in batches of three.
fn run(operator: &Operator, objects: &[Value]) -> Result<Vec<Value>, OfflineError> {
    let (mut offline, env) = offline(operator);
    feed(&mut offline, &env, objects, EventType::Added)?;
    Ok(offline.targets())
}

fn feed(
    offline: &mut Offline,
    env: &Env,
    objects: &[Value],
    kind: EventType,
) -> Result<(), OfflineError> {
    for objects in objects.chunks(3) {
        let events: Vec<Event> = objects
            .iter()
            .map(|object| Event {
                kind,
                object: object.clone(),
            })
            .collect();
        offline.batch(&events, env)?;
    }
    Ok(())
}

/// A target holds what its writers derived, each within the bounds, and what was there before.
fn bounded(operator: &Operator, objects: &[Value], targets: &[Value]) {
    let writers: usize = (operator.controllers.iter())
        .map(|controller| controller.targets.len())
        .sum();
    let before = objects.iter().map(|object| object.measure().bytes as usize);
    let most = before.max().unwrap_or_default() + (writers + 1) * BOUNDS.bytes as usize;
    for target in targets {
        assert!(target.measure().bytes as usize <= most, "{target}");
    }
}

/// Nothing is derived once all objects are gone.
fn emptied(operator: &Operator, objects: &[Value]) {
    let mut sources = (operator.controllers.iter()).flat_map(|controller| &controller.sources);
    if sources.any(|source| source.kind == SourceKind::OneShot) {
        return;
    }
    let (mut offline, env) = offline(operator);
    for kind in [EventType::Added, EventType::Deleted] {
        if feed(&mut offline, &env, objects, kind).is_err() {
            return;
        }
    }
    assert_eq!(offline.targets(), [], "derived from nothing");
    assert_eq!(offline.errors(), [], "errors of objects that are gone");
}

/// An Operator of up to three controllers, and up to six objects.
fn made(bytes: &mut Bytes<'_>) -> (Value, Vec<Value>) {
    let controllers: Value = (0..=bytes.below(3))
        .map(|number| controller(bytes, number))
        .collect();
    let spec = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"},
        "spec": {"controllers": controllers},
    });
    let objects = (0..bytes.below(7))
        .map(|_| {
            let kind = KINDS[bytes.below(2)];
            let name = ["a", "b", "c"][bytes.below(3)];
            json!({
                "apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "n"},
                "spec": (bytes.value(3)), "status": (bytes.value(1)),
            })
        })
        .collect();
    (spec, objects)
}

fn controller(bytes: &mut Bytes<'_>, number: usize) -> Value {
    let kinds: Vec<&str> = (0..=bytes.below(2))
        .map(|_| KINDS[bytes.below(KINDS.len())])
        .collect();
    let sources: Value = (kinds.iter().enumerate())
        .map(|(position, kind)| match position {
            0 => json!({"apiGroup": "", "kind": (*kind)}),
            _ => json!({"apiGroup": "", "kind": (*kind), "as": (format!("S{position}"))}),
        })
        .collect();
    let mut stages = Vec::new();
    if kinds.len() > 1 {
        stages.push(json!({"@join": (bytes.expression(2))}));
        let whole = format!("$.{}", kinds[0]);
        stages.push(json!({"@project": [{"$.": whole}, {"other": "$.S1.spec"}]}));
    }
    let first = stages.len();
    for _ in 0..bytes.below(4) {
        let (name, argument) = match bytes.below(7) {
            0 => ("@select", bytes.expression(2)),
            1 => (
                "@project",
                json!([{"$.": "$."}, {"spec": (bytes.expression(3))}]),
            ),
            2 => ("@unwind", Value::from("$.spec")),
            3 => ("@gather", json!(["$.metadata.namespace", "$.spec"])),
            4 => ("@groupBy", json!([(bytes.expression(1)), "$.spec"])),
            5 => (
                "@patch",
                json!([{"op": "add", "path": "/spec", "value": (bytes.value(2))}]),
            ),
            _ => ("@distinct", Value::NULL),
        };
        stages.push(Map::from_entries(vec![(Key::new(name), argument)]).into());
    }
    // A few pipelines are long, and some of them too long.
    if bytes.below(32) == 1 {
        let again = stages.split_off(first);
        let all = again.iter().cycle().take(bytes.below(12) * 100);
        stages.extend(all.cloned());
    }
    json!({
        "name": (format!("c{number}")),
        "sources": sources,
        "pipeline": (Value::from(stages)),
        "target": {
            "apiGroup": "", "kind": (KINDS[bytes.below(KINDS.len())]),
            "type": (TYPES[bytes.below(TYPES.len())]),
        },
    })
}
