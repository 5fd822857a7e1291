//! Derived documents are bounded: a stage with a result that is too deep or too large fails on
//! that origin and holds. Every step can be interrupted.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dataflow::apply::OutputKind;
use dataflow::fields::{Fields, Keep};
use dataflow::{Budget, BudgetError, Circuit, Pipeline, SourceEvent, StepResult};
use document::{Location, Value, json};
use expr::{Env, Functions, Interrupt};
use object::ObjectName;

fn circuit(pipeline: &Value, sources: &[&str]) -> Circuit {
    let sources: Vec<String> = sources.iter().map(|&source| source.to_owned()).collect();
    let at = Location::root();
    let targets = ["T".to_owned()];
    let pipeline =
        Pipeline::parse(pipeline, &at, &sources, &targets, &Functions::builtin()).unwrap();
    let kind = OutputKind {
        api_version: json!("v1"),
        kind: json!("T"),
        placement: None,
    };
    Circuit::new(&pipeline, &[kind], Budget::default())
}

fn event(source: usize, name: &str, spec: &Value) -> SourceEvent {
    let object = json!({"metadata": {"name": name}, "spec": (spec.clone())});
    SourceEvent {
        source,
        name: ObjectName::new("", name),
        object: Some(Keep::fields(&Fields::all()).of(&object)),
    }
}

fn small() -> Env {
    let mut env = Env::default();
    env.limits.bounds.bytes = 2_000;
    env.limits.bounds.depth = 12;
    env
}

fn codes(step: &StepResult) -> Vec<(&'static str, String)> {
    let errors = step.errors.iter();
    errors
        .map(|error| (error.failure.code(), error.failure.at().to_string()))
        .collect()
}

/// Runs a small and then a large version of an object through a pipeline. The second one must
/// fail at a location, and the object that was derived from the first stays.
fn holds(pipeline: &Value, sources: &[&str], large: &Value, expect: (&'static str, &str)) {
    let mut circuit = circuit(pipeline, sources);
    let env = small();
    let others = (1..sources.len()).map(|source| event(source, "a", &json!(1)));
    let first = others
        .chain([event(0, "a", &json!([1]))])
        .collect::<Vec<_>>();
    let step = circuit.step(&first, &env).unwrap();
    assert_eq!(
        (step.changes.len(), codes(&step)),
        (1, vec![]),
        "{pipeline}"
    );
    for _ in 0..2 {
        let step = circuit.step([event(0, "a", large)], &env).unwrap();
        assert_eq!(step.changes, [], "{pipeline}");
        let standing: Vec<_> = circuit.errors().iter().map(|e| e.failure.code()).collect();
        assert_eq!(standing, [expect.0], "{pipeline}");
    }
    let mut again = circuit.step([event(0, "b", large)], &env).unwrap();
    again
        .errors
        .retain(|error| error.failure.code() == expect.0);
    assert_eq!(
        codes(&again),
        [(expect.0, expect.1.to_owned())],
        "{pipeline}"
    );
    // The error ends when the input is small again, or deleted.
    let good = [event(0, "a", &json!([2])), event(0, "b", &json!([2]))];
    let step = circuit.step(good, &env).unwrap();
    assert!(
        !step.changes.is_empty() && circuit.errors().is_empty(),
        "{pipeline}"
    );
    for name in ["a", "b"] {
        circuit.step([event(0, name, large)], &env).unwrap();
    }
    let gone = |source, name| SourceEvent {
        object: None,
        ..event(source, name, &Value::NULL)
    };
    let all = (0..sources.len()).flat_map(|source| [gone(source, "a"), gone(source, "b")]);
    circuit.step(all, &env).unwrap();
    assert!(circuit.is_empty(), "{pipeline}");
}

fn long() -> Value {
    Value::from("t".repeat(900))
}

fn deep() -> Value {
    (0..9).fold(json!(1), |inner, _| json!([inner]))
}

#[test]
fn a_stage_that_makes_too_much_holds() {
    let name = json!({"name": "$.metadata.name"});
    let copy = |value: Value| json!({"@project": {"metadata": "$.metadata", "spec": value}});
    for (stage, place) in [
        (
            copy(json!(["$.spec", "$.spec", "$.spec"])),
            "[0].@project.spec",
        ),
        (
            json!({"@project": [{"$.": "$."}, {"$.a.b": "$.spec"}, {"c": "$.spec"}]}),
            "[0].@project[2]",
        ),
        (
            json!({"@project": {"@map": [
                {"metadata": (name.clone()), "spec": ["$$", "$$", "$$"]},
                ["$.spec"]
            ]}}),
            "[0].@project.@map[0].spec",
        ),
        (
            json!({"@project": {"@map": [
                {"metadata": (name), "spec": [{"@merge": [{"a": "$$"}, {"b": "$$", "c": "$$"}]}]},
                ["$.spec"]
            ]}}),
            "[0].@project.@map[0].spec[0].@merge",
        ),
        (
            json!({"@patch": {"operations": [
                {"op": "copy", "from": "/spec", "path": "/a"},
                {"op": "copy", "from": "/spec", "path": "/b"}
            ]}}),
            "[0].@patch.operations[1]",
        ),
        (
            json!({"@patch": {"operations": [
                {"op": "add", "path": "/a", "value": ["${resource}", "${resource}"]}
            ]}}),
            "[0].@patch.operations[0]",
        ),
    ] {
        holds(&json!([stage]), &["A"], &long(), ("too-large", place));
    }
    let nested = (0..5).fold(json!("$.spec"), |inner, _| json!({"a": inner}));
    let pipeline = json!([(copy(nested))]);
    holds(
        &pipeline,
        &["A"],
        &deep(),
        ("too-deep", "[0].@project.spec.a"),
    );
}

#[test]
fn joined_documents_are_bounded() {
    let join = json!({"@join": {"@ne": ["$.A.spec", "$.B.metadata.name"]}});
    let twice = json!({"@project": {"metadata": "$.A.metadata", "a": "$.A", "b": "$.B"}});
    let pipeline = json!([join, twice]);
    let mut circuit = circuit(&pipeline, &["A", "B"]);
    let env = small();
    let step = circuit.step([event(0, "a", &long()), event(1, "b", &json!(1))], &env);
    assert_eq!(step.unwrap().changes.len(), 1);
    // Two of them are too large.
    let step = circuit
        .step([event(1, "b", &json!([(long()), (long())]))], &env)
        .unwrap();
    assert_eq!(step.changes, []);
    assert_eq!(codes(&step), [("too-large", "[0].@join".to_owned())]);
    let step = circuit.step([event(1, "b", &json!(2))], &env).unwrap();
    assert_eq!((step.changes.len(), circuit.errors().len()), (1, 0));
}

#[test]
fn a_group_that_grows_too_large_holds_what_it_was() {
    for (pipeline, place, good) in [
        (json!([{"@gather": ["all", "$.spec"]}]), "[0].@gather", 2),
        (
            json!([
                {"@groupBy": ["all", "$.spec"]},
                {"@project": {"metadata": {"name": "all"}, "list": "$.values"}}
            ]),
            "[0].@groupBy",
            1,
        ),
        (
            json!([
                {"@groupBy": ["all", "$.spec", {"distinct": true}]},
                {"@project": {"metadata": {"name": "all"}, "list": "$.values"}}
            ]),
            "[0].@groupBy",
            1,
        ),
    ] {
        let mut circuit = circuit(&pipeline, &["A"]);
        let env = small();
        let member = |i: usize| event(0, &format!("m{i}"), &json!([(long()), i]));
        let mut written = 0;
        for i in 0..10 {
            let step = circuit.step([member(i)], &env).unwrap();
            if step.changes.is_empty() {
                assert_eq!(codes(&step), [("too-large", place.to_owned())]);
                assert_eq!(circuit.errors(), step.errors);
                continue;
            }
            written += 1;
        }
        assert_eq!(written, good, "{pipeline}");
        let gone = (0..10).map(|i| SourceEvent {
            object: None,
            ..member(i)
        });
        // With one member left the group is small enough again.
        let step = circuit.step(gone.clone().take(9), &env).unwrap();
        assert!(!step.changes.is_empty() && circuit.errors().is_empty());
        circuit.step(gone, &env).unwrap();
        assert!(circuit.is_empty());
    }
}

#[test]
fn stages_that_double_a_document_end_with_an_error() {
    let double = json!({"@project": {"metadata": "$.metadata", "spec": ["$.spec", "$.spec"]}});
    let mut stages = vec![double; 60];
    stages.push(json!({"@project": {
        "metadata": "$.metadata",
        "hash": {"@hash": "$.spec"},
        "equal": {"@eq": ["$.spec", ["$.spec"]]}
    }}));
    let mut circuit = circuit(&stages.into(), &["A"]);
    let step = circuit.step([event(0, "a", &json!("x"))], &Env::default());
    let errors = step.unwrap().errors;
    assert_eq!(errors[0].failure.code(), "too-large");
    assert_eq!(errors[0].stage, 20);
}

#[test]
fn stages_that_nest_a_document_end_with_an_error() {
    let nested = (0..60).fold(json!("$.spec"), |inner, _| json!({"a": inner}));
    let nest = json!({"@project": {"metadata": "$.metadata", "spec": nested}});
    let mut circuit = circuit(&Value::list(vec![nest; 300]), &["A"]);
    let step = circuit.step([event(0, "a", &json!("x"))], &Env::default());
    let errors = step.unwrap().errors;
    assert_eq!(errors[0].failure.code(), "too-deep");
    assert_eq!(errors[0].stage, 1);
}

/// Raised at the nth check.
fn raised_at(n: usize) -> (Interrupt, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let raised = move || counted.fetch_add(1, Ordering::Relaxed) + 1 >= n;
    (Interrupt::when(raised), asked)
}

#[test]
fn every_stage_can_be_interrupted() {
    let project = json!({"@project": {"metadata": "$.metadata", "spec": "$.spec"}});
    let one = json!({"@project": {"metadata": {"name": "one"}, "spec": "$.spec"}});
    for (pipeline, sources) in [
        (json!([]), &["A"][..]),
        (json!([project]), &["A"]),
        (json!([{"@select": {"@exists": "$.spec"}}]), &["A"]),
        (json!([{"@unwind": "$.spec"}]), &["A"]),
        (json!([{"@gather": ["$.spec[0]", "$.spec"]}]), &["A"]),
        (json!([{"@groupBy": ["$.spec[0]", "$.spec"]}]), &["A"]),
        (
            json!([{"@groupBy": [1, "$.spec", {"distinct": true}]}]),
            &["A"],
        ),
        (json!(["@distinct"]), &["A"]),
        // All of them yield the same object.
        (json!([one]), &["A"]),
        (
            json!([{"@patch": {"operations": [{"op": "add", "path": "/a", "value": 1}]}}]),
            &["A"],
        ),
        (
            json!([{"@join": {"@eq": ["$.A.spec[0]", "$.B.spec[0]"]}}]),
            &["A", "B"],
        ),
        (
            json!([{"@join": {"on": {"@eq": ["$.A.spec[0]", "$.B.spec[0]"]}, "soft": ["B"]}}]),
            &["A", "B"],
        ),
    ] {
        let batch = || {
            let sources = 0..sources.len();
            let events = sources.flat_map(|source| {
                (0..15).map(move |i| event(source, &format!("o{i}"), &json!([(i % 3), i])))
            });
            events.collect::<Vec<_>>()
        };
        // The number of checks of a step that is not interrupted.
        let (never, asked) = raised_at(usize::MAX);
        let mut env = Env::default();
        env.interrupt = never;
        circuit(&pipeline, sources).step(batch(), &env).unwrap();
        let asks = asked.load(Ordering::Relaxed);
        assert!(asks > 15, "{pipeline} asks {asks} times");
        for n in 1..=asks {
            let (interrupt, asked) = raised_at(n);
            let mut env = Env::default();
            env.interrupt = interrupt;
            let mut circuit = circuit(&pipeline, sources);
            let stopped = circuit.step(batch(), &env).err();
            assert_eq!(stopped, Some(BudgetError::Time), "{pipeline}, at {n}");
            // A patch checks the interrupt itself, and the step does so once more.
            assert!(asked.load(Ordering::Relaxed) <= n + 1, "{pipeline}");
        }
    }
}

#[test]
fn an_evaluation_is_interrupted_on_the_way() {
    let long = json!({"@len": {"@map": [{"@len": {"@range": 1000}}, {"@range": 1000}]}});
    let pipeline = json!([{"@project": {"metadata": "$.metadata", "n": long}}]);
    let mut circuit = circuit(&pipeline, &["A"]);
    let (interrupt, asked) = raised_at(6);
    let mut env = Env::default();
    env.interrupt = interrupt;
    let stopped = circuit.step([event(0, "a", &json!(1))], &env).err();
    assert_eq!(stopped, Some(BudgetError::Time));
    assert_eq!(asked.load(Ordering::Relaxed), 6);
}

#[test]
fn planning_takes_bounded_work() {
    // Each pair of stages doubles the fields that are read of the document before it.
    let mut stages = Vec::new();
    for _ in 0..60 {
        stages.push(json!({"@project": {"metadata": "$.metadata", "c": "$[0]"}}));
        let both = json!({"metadata": "$.metadata", "p": "$.c.p", "q": "$.c.q"});
        stages.push(json!({"@project": both}));
    }
    stages.push(json!({"@project": {"metadata": "$.metadata", "x": "$.c.z"}}));
    assert!(circuit(&stages.into(), &["A"]).fields(0).all);

    let filters = (0..30).fold("$.x".to_owned(), |path, _| format!("$..[?({path})]"));
    circuit(&json!([{"@select": {"@exists": filters}}]), &["A"]);

    let path = format!("$.spec{}", ".a".repeat(90));
    let deep = json!({"@project": {"metadata": "$.metadata", "spec": path}});
    circuit(&Value::list(vec![deep; 1_000]), &["A"]);
}

/// Runs a test on a thread with a small stack.
fn with_stack(bytes: usize, test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(bytes);
    thread.spawn(test).unwrap().join().unwrap();
}

/// Stages that pass documents on, and a last one.
fn stages(last: Value) -> Value {
    let pass = json!({"@select": true});
    let stages = (0..dataflow::pipeline::MAX_STAGES - 1).map(|_| pass.clone());
    stages.chain([last]).collect()
}

/// Branches that pass documents on, and a last one with a stage.
fn branches(last: &Value) -> Value {
    let count = dataflow::pipeline::MAX_STAGES / 3;
    let name = |number: usize| match number {
        0 => "A".to_owned(),
        number if number == count => "T".to_owned(),
        number => format!("s{number}"),
    };
    let branches = (0..count).map(|number| {
        let stage = match number {
            number if number + 1 == count => last.clone(),
            _ => json!({"@select": true}),
        };
        json!([{"@inputs": [(name(number))]}, stage, {"@output": (name(number + 1))}])
    });
    branches.collect()
}

#[test]
fn a_long_pipeline_is_pulled_without_the_stack() {
    let one = json!({"@project": {"metadata": {"name": "one"}, "spec": "$.spec"}});
    let gather = json!({"@gather": ["all", "$.spec"]});
    for pipeline in [
        stages(one.clone()),
        stages(gather.clone()),
        branches(&one),
        branches(&gather),
    ] {
        with_stack(160 << 10, move || {
            let mut circuit = circuit(&pipeline, &["A"]);
            let both = [event(0, "a", &json!(1)), event(0, "b", &json!(2))];
            circuit.step(both, &Env::default()).unwrap();
            // Now the document of b is needed, which is not part of the change.
            let gone = SourceEvent {
                object: None,
                ..event(0, "a", &json!(1))
            };
            let step = circuit.step([gone], &Env::default()).unwrap();
            let written: Vec<_> = step.changes.iter().map(|change| &change.new).collect();
            let last = written.last().unwrap().as_ref().unwrap();
            assert!(
                [&json!(2), &json!([2])].contains(&last.get("spec")),
                "{last}"
            );
        });
    }
}
