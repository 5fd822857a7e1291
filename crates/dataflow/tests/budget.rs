//! Budgets: a circuit that exceeds its budget stops with the code of the limit, and stays
//! stopped.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

use dataflow::apply::OutputKind;
use dataflow::fields::{Fields, Keep};
use dataflow::{Budget, BudgetError, Circuit, Pipeline, SourceEvent};
use document::{Location, Value, json};
use expr::{Env, Functions};
use object::ObjectName;

fn circuit(pipeline: &Value, sources: &[&str], budget: Budget) -> Circuit {
    let sources: Vec<String> = sources.iter().map(|&source| source.to_owned()).collect();
    let target = "T".to_owned();
    let pipeline = Pipeline::parse(
        pipeline,
        &Location::root(),
        &sources,
        &[target],
        &Functions::builtin(),
    )
    .unwrap();
    let kind = OutputKind {
        api_version: json!("v1"),
        kind: json!("T"),
        placement: None,
    };
    Circuit::new(&pipeline, &[kind], budget)
}

fn objects(source: usize, count: usize) -> Vec<SourceEvent> {
    (0..count)
        .map(|i| SourceEvent {
            source,
            name: ObjectName::new("", &format!("o{i}")),
            object: Some(Keep::fields(&Fields::all()).of(
                &json!({"metadata": {"name": (format!("o{i}"))}, "spec": "a text of some length"}),
            )),
        })
        .collect()
}

fn check(mut circuit: Circuit, batches: &[Vec<SourceEvent>], expect: BudgetError) {
    let env = Env::default();
    let (last, fine) = batches.split_last().unwrap();
    for batch in fine {
        circuit.step(batch, &env).unwrap();
    }
    assert_eq!(circuit.step(last, &env).unwrap_err(), expect);
    assert_eq!(
        circuit.step(Vec::<SourceEvent>::new(), &env).unwrap_err(),
        expect,
        "it stays stopped"
    );
}

#[test]
fn too_many_objects_stop_the_circuit() {
    let budget = Budget {
        documents: 10,
        ..Budget::default()
    };
    let circuit = circuit(&json!([]), &["A"], budget);
    check(
        circuit,
        &[objects(0, 10), objects(0, 11)],
        BudgetError::Documents(10),
    );
}

#[test]
fn too_many_bytes_stop_the_circuit() {
    let budget = Budget {
        bytes: Some(10_000),
        ..Budget::default()
    };
    let pipeline = json!([]);
    check(
        circuit(&pipeline, &["A"], budget),
        &[objects(0, 20), objects(0, 1000)],
        BudgetError::Bytes(10_000),
    );
}

#[test]
fn deleted_objects_give_their_bytes_back() {
    let budget = Budget {
        bytes: Some(10_000),
        ..Budget::default()
    };
    let mut circuit = circuit(&json!([]), &["A"], budget);
    for _ in 0..100 {
        circuit.step(objects(0, 20), &Env::default()).unwrap();
        let gone: Vec<_> = objects(0, 20)
            .into_iter()
            .map(|event| SourceEvent {
                object: None,
                ..event
            })
            .collect();
        circuit.step(&gone, &Env::default()).unwrap();
    }
    assert!(circuit.is_empty());
}

#[test]
fn a_cross_join_stops_at_its_candidates() {
    let budget = Budget {
        candidates: 1_000,
        ..Budget::default()
    };
    let circuit = circuit(&json!({"@join": true}), &["A", "B"], budget);
    check(
        circuit,
        &[objects(0, 100), objects(1, 100)],
        BudgetError::Candidates(1_000),
    );
}

#[test]
fn a_cross_join_stops_at_what_it_gives() {
    let budget = Budget {
        outputs: 1_000,
        ..Budget::default()
    };
    let circuit = circuit(&json!({"@join": true}), &["A", "B"], budget);
    check(
        circuit,
        &[objects(0, 100), objects(1, 100)],
        BudgetError::Outputs(1_000),
    );
}

#[test]
fn a_step_ends_when_it_is_interrupted() {
    let pipelines = [
        json!({"@join": {"@ne": ["$.A.metadata.name", "$.B.metadata.name"]}}),
        json!({"@project": {"metadata": "$.metadata"}}),
    ];
    for (pipeline, sources) in pipelines.iter().zip([&["A", "B"][..], &["A"]]) {
        let mut circuit = circuit(pipeline, sources, Budget::default());
        let mut env = Env::default();
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let times = std::sync::Arc::new(asked);
        let counted = times.clone();
        let count = std::sync::atomic::Ordering::Relaxed;
        env.interrupt = expr::Interrupt::when(move || counted.fetch_add(1, count) >= 3);
        let mut batch = objects(0, 100);
        if sources.len() > 1 {
            batch.extend(objects(1, 100));
        }
        let stopped = circuit.step(batch, &env);
        assert_eq!(stopped.err(), Some(BudgetError::Time), "{pipeline}");
        // The step ends at once.
        assert_eq!(times.load(count), 4);
        let again = circuit.step(objects(0, 1), &Env::default());
        assert_eq!(again.err(), Some(BudgetError::Time));
    }
}

#[test]
fn evaluation_steps_are_an_error_of_the_document() {
    let pipeline = json!([{"@project": {
        "metadata": "$.metadata",
        "n": {"@len": {"@map": [{"@len": {"@range": 1000}}, {"@range": 1000}]}},
    }}]);
    let mut circuit = circuit(&pipeline, &["A"], Budget::default());
    let mut env = Env::default();
    env.limits.steps = 1_000;
    let step = circuit.step(objects(0, 1), &env).unwrap();
    assert!(step.changes.is_empty());
    assert_eq!(step.errors[0].failure.code(), "limit");
}

#[test]
fn a_list_that_multiplies_stops_the_circuit() {
    let stages = [
        json!({"@project": {"metadata": "$.metadata", "s": {"@range": 1000}}}),
        json!({"@unwind": "$.s"}),
    ];
    let pipeline: Value = stages.iter().cycle().take(6).cloned().collect();
    let budget = Budget {
        bytes: Some(4 << 20),
        ..Budget::default()
    };
    check(
        circuit(&pipeline, &["A"], budget),
        &[objects(0, 1)],
        BudgetError::Unwound(4 << 20),
    );
}
