//! A stored part of a document does not keep the rest of it in memory. The objects of a source
//! take as much memory as the budget counts, and no old version of an object stays.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

use dataflow::apply::OutputKind;
use dataflow::fields::{Fields, Intake, Keep, Kept, needs};
use dataflow::{Budget, Circuit, Pipeline, SourceEvent};
use document::{Location, Path, Value, json};
use expr::{Env, Functions};
use object::ObjectName;
use seeded::memory::{Counting, live};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The allocated bytes since an earlier value.
fn held_since(before: isize) -> usize {
    usize::try_from(live() - before).unwrap()
}

const OBJECTS: usize = 100;
/// The length of a list of numbers that makes up most of an object.
const NUMBERS: usize = 1_500;
const BYTES: usize = NUMBERS * 16;

/// The first version of an object is large. The second one is small, and its number has the wrong
/// type.
fn object(number: usize, first: bool) -> Value {
    let numbers = if first { NUMBERS } else { 1 };
    let number_or_text = if first { json!(1) } else { json!("none") };
    let key = json!({"key": {"number": (number)}});
    json!({
        "metadata": {"name": (format!("o{number}"))},
        "spec": {
            "key": (key.clone()), "keys": [key], "n": number_or_text,
            "numbers": ((0..numbers).map(Value::from).collect::<Value>())
        }
    })
}

/// The bytes that a circuit holds after both versions of all objects.
fn held(pipeline: &Value, sources: &[&str]) -> usize {
    let sources: Vec<String> = sources.iter().map(|&source| source.to_owned()).collect();
    let (at, targets) = (Location::root(), ["T".to_owned()]);
    let pipeline =
        Pipeline::parse(pipeline, &at, &sources, &targets, &Functions::builtin()).unwrap();
    let kind = OutputKind {
        api_version: json!("v1"),
        kind: json!("T"),
        placement: None,
    };
    let keeps: Vec<Keep> = needs(&pipeline).iter().map(Keep::fields).collect();
    let before = live();
    let mut circuit = Circuit::new(&pipeline, &[kind], Budget::default());
    for first in [true, false] {
        let objects = (0..sources.len()).flat_map(|source| (0..OBJECTS).map(move |n| (source, n)));
        let events = objects.map(|(source, number)| {
            let text = object(number, first).to_string();
            SourceEvent {
                source,
                name: ObjectName::new("", &format!("o{number}")),
                object: Some(keeps[source].read(text.as_bytes()).unwrap()),
            }
        });
        let step = circuit.step(events.collect::<Vec<_>>(), &Env::default());
        assert!(
            !first || !step.unwrap().changes.is_empty(),
            "{:?}",
            pipeline.branches
        );
    }
    let held = held_since(before);
    drop(circuit);
    held
}

#[test]
fn what_is_kept_takes_no_more_memory_than_is_counted() {
    let keep = |path: &str| {
        let mut fields = Fields::default();
        fields.add_path(Path::parse(path).unwrap().segments(), &Fields::all());
        Keep::new(&fields, Intake::default())
    };
    let (own, other) = (keep("$.spec.key"), keep("$.spec.numbers"));
    let union = Keep::union([&own, &other]);
    let text = object(7, true).to_string();
    let read = || own.read(text.as_bytes()).unwrap();
    let taken = || {
        let shared = union.read(text.as_bytes()).unwrap();
        own.of(shared.document()).detached()
    };
    for (name, make) in [
        ("read", &read as &dyn Fn() -> Kept),
        ("of what several sinks read", &taken),
    ] {
        // The first object allocates the tape, which the next one uses again.
        let first = make();
        let before = live();
        let kept: Vec<Kept> = (0..OBJECTS).map(|_| make()).collect();
        let held = held_since(before);
        let counted: usize = kept.iter().map(|kept| kept.document().size()).sum();
        let list = kept.capacity() * size_of::<Kept>();
        assert!(held <= counted + list, "{name}: {held}, counted {counted}");
        assert_eq!(kept[OBJECTS - 1], first);
    }
}

#[test]
fn no_old_version_of_an_object_stays_in_memory() {
    let numbers = json!({"@gt": [{"@len": "$.spec.numbers"}, 0]});
    let select = json!({"@select": (numbers.clone())});
    let small = json!({"@project": {"metadata": "$.metadata", "key": "$.spec.key"}});
    let fails = json!({"@project": {
        "metadata": "$.metadata", "key": "$.spec.key", "n": {"@add": ["$.spec.n", 1]}
    }});
    let named = json!({"@project": {"metadata": {"name": "x"}, "group": "$"}});
    let joined = json!({"@project": {"metadata": "$.A.metadata"}});
    let conditions = |key: Value| {
        json!({"@join": {"@and": [
            key, {"@gt": [{"@len": "$.A.spec.numbers"}, 0]}, {"@gt": [{"@len": "$.B.spec.numbers"}, 0]}
        ]}})
    };
    let cases: [(&str, Value, &[&str]); 9] = [
        (
            "@gather",
            json!([(select.clone()), (small.clone()), {"@gather": ["$.key", "$.key"]}]),
            &["A"],
        ),
        (
            "@groupBy",
            json!([(select.clone()), (small.clone()), {"@groupBy": ["$.key", "$.key"]}, (named.clone())]),
            &["A"],
        ),
        (
            "@distinct",
            json!([(select.clone()), (small.clone()), "@distinct"]),
            &["A"],
        ),
        (
            "@eq",
            json!([
                (conditions(json!({"@eq": ["$.A.spec.key", "$.B.spec.key"]}))),
                (joined.clone())
            ]),
            &["A", "B"],
        ),
        (
            "@in",
            json!([
                (conditions(json!({"@in": ["$.A.spec.key", "$.B.spec.keys"]}))),
                (joined)
            ]),
            &["A", "B"],
        ),
        (
            "a failing @project",
            json!([(select.clone()), (fails.clone())]),
            &["A"],
        ),
        (
            "a failing @gather",
            json!([
                (select.clone()),
                {"@project": {"metadata": "$.metadata", "key": "$.spec.key", "n": "$.spec.n"}},
                {"@gather": [{"@add": ["$.n", 1]}, "$.key"]}
            ]),
            &["A"],
        ),
        (
            "a conflict",
            json!([(select.clone()), {"@project": {"metadata": {"name": "x"}, "key": "$.spec.key"}}]),
            &["A"],
        ),
        (
            "a stream",
            json!([
                [{"@inputs": ["A"]}, (select), (small), {"@output": "S"}],
                [{"@inputs": ["S", "A"]}, {"@join": {"@eq": ["$.S.metadata.name", "$.A.metadata.name"]}},
                    {"@project": {"metadata": "$.A.metadata", "key": "$.S.key"}}, {"@output": "T"}]
            ]),
            &["A"],
        ),
    ];
    for (name, pipeline, sources) in cases {
        let held = held(&pipeline, sources);
        assert!(
            held < OBJECTS * BYTES / 4,
            "{name}: {held} bytes, where the old versions have {}",
            OBJECTS * BYTES * sources.len()
        );
    }
}
