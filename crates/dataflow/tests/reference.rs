//! Runs the examples of all stages, and checks that the reference page is up to date.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use dataflow::apply::OutputKind;
use dataflow::fields::{Intake, Keep};
use dataflow::reference::{STAGES, StageExample};
use dataflow::{Budget, Circuit, Pipeline, SourceEvent};
use document::{Location, Map, Value};
use expr::{Env, Functions};
use object::ObjectName;

fn documents(text: &str) -> Vec<Value> {
    let manifests = manifest::parse_bytes("example", text.as_bytes().to_vec());
    let manifests = manifests.unwrap_or_else(|error| panic!("{error}\n{text}"));
    manifests
        .into_iter()
        .map(|manifest| manifest.value)
        .collect()
}

fn without_type(object: &Value) -> Value {
    let map: &Map = object.as_map().unwrap();
    map.without("kind").without("apiVersion").into()
}

/// Checks that an example yields the output that it shows.
fn check(example: &StageExample) {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (sources, targets) = (names(example.sources), names(example.targets));
    let spec = documents(example.pipeline).pop().unwrap();
    let functions = Functions::builtin();
    let pipeline = Pipeline::parse(&spec, &Location::root(), &sources, &targets, &functions);
    let pipeline = pipeline.unwrap_or_else(|errors| panic!("{}: {errors:?}", example.title));
    let kinds: Vec<_> = targets
        .iter()
        .map(|kind| OutputKind {
            api_version: "v1".into(),
            kind: kind.as_str().into(),
            placement: None,
        })
        .collect();
    let mut circuit = Circuit::new(&pipeline, &kinds, Budget::default());
    let events: Vec<SourceEvent> = documents(example.input)
        .iter()
        .map(|object| {
            let kind = object.get("kind").as_str().unwrap();
            let source = sources.iter().position(|source| source == kind).unwrap();
            let keep = Keep::new(circuit.fields(source), Intake::default());
            SourceEvent {
                source,
                name: ObjectName::of(object).unwrap(),
                object: Some(keep.of(object)),
            }
        })
        .collect();
    let result = circuit.step(events, &Env::default()).unwrap();
    assert_eq!(result.errors, [], "{}", example.title);
    let found: Vec<Value> = result
        .changes
        .iter()
        .map(|change| without_type(change.new.as_ref().unwrap()))
        .collect();
    assert_eq!(found, documents(example.output), "{}", example.title);
}

#[test]
fn every_example_of_a_stage_holds() {
    for doc in STAGES {
        assert!(!doc.examples.is_empty(), "{} has no example", doc.name);
        doc.examples.iter().for_each(check);
    }
}

#[test]
fn every_stage_is_documented() {
    let documented = |name: &str| {
        let named =
            |doc: &&dataflow::reference::StageDoc| doc.name == name || doc.aliases.contains(&name);
        STAGES.iter().any(|doc| named(&doc))
    };
    for name in dataflow::pipeline::STAGE_NAMES {
        assert!(documented(name), "{name}");
    }
}

#[test]
fn the_reference_page_is_up_to_date() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/pipeline.md"
    );
    let page = dataflow::reference::pipeline_page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(Path::new(path), &page).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == page,
        "docs/reference/pipeline.md is out of date: run `UPDATE=1 cargo test -p dataflow`"
    );
}
