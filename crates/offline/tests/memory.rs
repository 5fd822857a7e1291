//! How much memory a run takes: an object that is only read is stored once, by the source that reads
//! it, as the fields that the pipeline reads. The tables of derived objects share their keys.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;

use dataflow::Budget;
use document::{Value, json};
use expr::Env;
use offline::{Event, EventType, Offline};
use seeded::memory::{Counting, peak_of};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const PODS: usize = 20_000;

/// The most bytes that a source may take for an object of which three fields are read: the fields,
/// the name, and its places in the tables of the source and of the batch.
const BYTES: usize = 700;

/// The same, with an object of four fields that is derived from it: its fields, its key, and its
/// places in the tables of the target.
const BYTES_WITH_TARGET: usize = 1_050;

/// Reads three fields of Pods, and yields an object for those that a condition selects.
fn offline(condition: &Value) -> Offline {
    let controller = json!({
        "name": "failed",
        "sources": [{"apiGroup": "", "kind": "Pod"}],
        "pipeline": [
            {"@select": (condition.clone())},
            {"@project": {
                "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
                "data": {"node": "$.spec.nodeName", "phase": "$.status.phase"},
            }},
        ],
        "target": {"apiGroup": "", "kind": "ConfigMap"},
    });
    let (operator, problems) = common::operator(&controller);
    let operator = operator.unwrap_or_else(|| panic!("{problems:?}"));
    Offline::new(operator, Budget::default())
}

fn pod(number: usize) -> Event {
    let phase = if number.is_multiple_of(1_000) {
        "Failed"
    } else {
        "Running"
    };
    let object = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": (format!("web-{number:08}-7d9f8b6c5-x2v4q")),
            "namespace": "shop",
            "uid": (format!("7d9f8b6c-1111-2222-3333-{number:012}")),
            "resourceVersion": (number.to_string()),
            "labels": {"app": (format!("web-with-a-long-name-{}", number % 50)), "tier": "frontend"}
        },
        "spec": {
            "nodeName": (format!("node-{}", number % 500)),
            "containers": [{"name": "main", "env": [{"name": "PADDING", "value": ("x".repeat(1_800))}]}]
        },
        "status": {"phase": phase, "podIP": "10.0.0.1"}
    });
    Event {
        kind: EventType::Added,
        object: object.packed(),
    }
}

/// A condition that holds for a few Pods.
fn few() -> Value {
    json!({"@eq": ["$.status.phase", "Failed"]})
}

/// Checks the memory of a run on all Pods: at most `bytes` for each, and `targets` objects are
/// derived.
fn check(condition: &Value, run: impl FnOnce(&mut Offline), targets: usize, bytes: usize) {
    let mut offline = offline(condition);
    let peak = peak_of(|| run(&mut offline));
    assert_eq!(offline.targets().len(), targets);
    assert!(
        peak / PODS <= bytes,
        "{} bytes for each object",
        peak / PODS
    );
}

/// All Pods in one batch, as `render` has them.
fn one_batch(offline: &mut Offline) {
    for number in 0..PODS {
        offline.add(&pod(number)).unwrap();
    }
    offline.run(&Env::default()).unwrap();
}

/// Each Pod in a batch of its own, as `replay` has them.
fn batches(offline: &mut Offline) {
    for number in 0..PODS {
        offline.batch(&[pod(number)], &Env::default()).unwrap();
    }
}

#[test]
fn an_object_that_is_only_read_is_stored_once() {
    check(&few(), one_batch, PODS / 1_000, BYTES);
    check(&few(), batches, PODS / 1_000, BYTES);
}

#[test]
fn an_object_that_is_derived_from_each_adds_little_more_than_its_fields() {
    check(&json!(true), one_batch, PODS, BYTES_WITH_TARGET);
    check(&json!(true), batches, PODS, BYTES_WITH_TARGET);
}
