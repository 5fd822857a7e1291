//! How many documents pass through the stages of a controller.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;

use dataflow::Budget;
use document::{Value, json};
use expr::Env;
use offline::{Event, EventType, Offline};

fn pod(name: &str, phase: &str, n: usize) -> Value {
    let list: Value = (0..n).map(Value::from).collect();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "phase": phase, "list": list})
}

#[test]
fn documents_are_counted_after_every_stage() {
    let controller = json!({
        "name": "c",
        "sources": [{"apiGroup": "", "kind": "Pod"}],
        "pipeline": [
            {"@select": {"@eq": ["$.phase", "Running"]}},
            {"@unwind": "$.list"},
            {"@gather": ["$.phase", "$.list"]},
        ],
        "target": {"kind": "T"},
    });
    let (operator, problems) = common::operator(&controller);
    let operator = operator.unwrap_or_else(|| panic!("{problems:?}"));
    let mut offline = Offline::new(operator, Budget::default());
    let mut counts = |kind: EventType, object: Value| {
        let event = Event { kind, object };
        offline.batch(&[event], &Env::default()).unwrap();
        let flow = offline.flows().pop().unwrap();
        let stages = flow.branches[0].stages.iter().map(|(_, count)| *count);
        (flow.sources[0].1, stages.collect::<Vec<_>>())
    };
    let added = EventType::Added;
    assert_eq!(counts(added, pod("a", "Pending", 3)), (1, vec![0, 0, 0]));
    assert_eq!(counts(added, pod("b", "Running", 3)), (2, vec![1, 3, 1]));
    assert_eq!(counts(added, pod("c", "Running", 0)), (3, vec![2, 3, 1]));
    let modified = EventType::Modified;
    assert_eq!(counts(modified, pod("a", "Running", 2)), (3, vec![3, 5, 1]));
    assert_eq!(counts(modified, pod("b", "Failed", 3)), (3, vec![2, 2, 1]));
    let deleted = EventType::Deleted;
    assert_eq!(counts(deleted, pod("a", "Running", 2)), (2, vec![1, 0, 0]));
    assert_eq!(counts(deleted, pod("c", "", 0)), (1, vec![0, 0, 0]));
}
