//! Operators for tests, and a check of what they derive.

use dataflow::Budget;
use document::{Value, json};
use expr::{Env, Functions};
use offline::Offline;
use offline::{Event, EventType};
use operator::{Operator, Problem, read};

/// The Operator `test` with one controller, and its problems.
pub(crate) fn operator(controller: &Value) -> (Option<Operator>, Vec<Problem>) {
    let manifest = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "test"},
        "spec": {"controllers": [(controller.clone())]},
    });
    read(&manifest, &Functions::builtin())
}

/// Checks the target objects after a batch of objects.
#[allow(dead_code, reason = "not every test file compares targets")]
pub(crate) fn check(controller: &Value, objects: &[Value], expect: &Value) {
    let (operator, problems) = operator(controller);
    let operator = operator.unwrap_or_else(|| panic!("{problems:?}"));
    let mut offline = Offline::new(operator, Budget::default());
    let added = objects.iter().map(|object| Event {
        kind: EventType::Added,
        object: object.clone(),
    });
    let batch = offline
        .batch(&added.collect::<Vec<_>>(), &Env::default())
        .unwrap();
    assert_eq!(batch.errors, []);
    assert_eq!(Value::from(offline.targets()), *expect);
}
