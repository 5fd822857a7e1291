//! Checks every YAML block of the language reference: pipelines can be created, expressions
//! compile, objects are maps.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use dataflow::Pipeline;
use document::{Location, Value};
use expr::{Functions, Items};

/// The content of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Block {
    /// A `pipeline` field, on these sources.
    PipelineField(&'static [&'static str]),
    /// A stage or a list of stages, on these sources.
    Stages(&'static [&'static str]),
    /// An expression, or a map with expressions in it.
    Expression,
    /// Input or output objects of a pipeline.
    Objects,
}

const ONE: &[&str] = &["Object"];
const TWO: &[&str] = &["Gateway", "UDPRoute"];

#[rustfmt::skip]
const BLOCKS: [(&str, Block); 37] = [
    ("01-pipeline-introduction-multiple", Block::PipelineField(TWO)),
    ("01-pipeline-introduction-single", Block::PipelineField(ONE)),
    // Two alternatives under one key: the last one is used.
    ("01-pipeline-introduction", Block::PipelineField(TWO)),
    ("02-pipeline-join", Block::Stages(TWO)),
    ("03-pipeline-select", Block::Stages(ONE)),
    ("04-pipeline-select", Block::Stages(ONE)),
    ("05-pipeline-select", Block::Stages(ONE)),
    ("06-pipeline-project", Block::Stages(ONE)),
    ("07-pipeline-project", Block::Stages(ONE)),
    ("08-pipeline-project", Block::Stages(ONE)),
    ("09-pipeline-unwind-demux", Block::Stages(ONE)),
    ("10-pipeline-unwind-demux", Block::Stages(ONE)),
    ("11-pipeline-gather-mux", Block::Stages(ONE)),
    ("12-pipeline-gather-mux", Block::Objects),
    ("13-pipeline-gather-mux", Block::Stages(ONE)),
    ("14-pipeline-gather-mux", Block::Objects),
    ("15-expression-operators", Block::Expression),
    ("16-expression-operators", Block::Expression),
    ("17-expression-and", Block::Expression),
    ("18-expression-or", Block::Expression),
    ("19-expression-not", Block::Expression),
    ("20-expression-cond", Block::Expression),
    ("21-expression-switch", Block::Expression),
    ("22-expression-switch", Block::Expression),
    ("23-expression-definedOr", Block::Expression),
    ("24-expression-comparison-operators", Block::Expression),
    ("25-expression-map", Block::Expression),
    ("26-expression-filter", Block::Expression),
    ("27-expression-len", Block::Expression),
    ("28-expression-min-max", Block::Expression),
    ("29-expression-in", Block::Expression),
    ("30-expression-range", Block::Expression),
    ("31-expression-concat", Block::Expression),
    ("32-expression-type-conversion-operators", Block::Expression),
    ("33-expression-hash", Block::Expression),
    ("34-expression-rnd", Block::Expression),
    ("35-expression-now", Block::Expression),
];

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../manifest/tests/fixtures/reference")
}

/// The documents of a block. Placeholders are plain strings; where the language requires a path,
/// they are replaced by one.
fn block(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(directory().join(format!("{name}.yaml"))).unwrap();
    let text = text
        .replace("<jsonpath_to_list>", "$.list")
        .replace("<value_expression>", "$.value");
    let manifests = manifest::parse_bytes(name, text.into()).unwrap();
    manifests
        .into_iter()
        .map(|manifest| manifest.value)
        .collect()
}

fn stages(spec: &Value, sources: &[&str]) -> Result<(), String> {
    let sources: Vec<String> = sources.iter().map(ToString::to_string).collect();
    let targets = ["Target".to_owned()];
    Pipeline::parse(
        spec,
        &Location::root(),
        &sources,
        &targets,
        &Functions::builtin(),
    )
    .map(|_| ())
    .map_err(|errors| format!("{errors:?}"))
}

fn check(name: &str, kind: Block) -> Result<(), String> {
    let values = block(name);
    match (kind, values.as_slice()) {
        (Block::PipelineField(sources), [value]) => stages(value.get("pipeline"), sources),
        (Block::Stages(sources), [value]) => stages(value, sources),
        (Block::Expression, [value]) => {
            expr::compile(value, &Location::root(), &Functions::builtin(), Items::None)
                .map(|_| ())
                .map_err(|errors| format!("{errors:?}"))
        }
        (Block::Objects, objects) => {
            let named = |object: &Value| object::ObjectName::of(object).is_some();
            objects
                .iter()
                .all(named)
                .then_some(())
                .ok_or("no name".to_owned())
        }
        (_, values) => Err(format!("{} documents", values.len())),
    }
}

#[test]
fn every_block_of_the_reference_has_the_content_of_the_table() {
    for (name, kind) in BLOCKS {
        assert_eq!(check(name, kind), Ok(()), "{name}");
    }
}

#[test]
fn no_block_is_left_out_of_the_table() {
    let mut files: Vec<String> = std::fs::read_dir(directory())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    files.sort();
    let mut names = BLOCKS.map(|(name, _)| name);
    names.sort_unstable();
    assert_eq!(files, names);
}

/// The reference shows the output of some of its blocks.
#[test]
fn the_examples_with_a_result_give_it() {
    use deltic::offline::{Event, EventType};

    let stages = Value::from(vec![block("13-pipeline-gather-mux")[0].at(0).clone()]);
    let operator = document::json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
        "metadata": {"name": "test"},
        "spec": {"controllers": [{
            "name": "gather", "sources": [{"kind": "In"}], "pipeline": stages, "target": {"kind": "Out"},
        }]},
    });
    let (operator, problems) = operator::read(&operator, &Functions::builtin());
    assert_eq!(problems, []);
    let mut offline = offline::Offline::new(operator.unwrap(), dataflow::Budget::default());
    let events: Vec<Event> = block("12-pipeline-gather-mux")
        .into_iter()
        .map(|object| Event {
            kind: EventType::Added,
            object: object
                .as_map()
                .unwrap()
                .with(document::Key::new("kind"), "In".into())
                .into(),
        })
        .collect();
    let batch = offline.batch(&events, &expr::Env::default()).unwrap();
    let found: Vec<Value> = batch
        .events
        .iter()
        .map(|event| {
            event
                .object
                .as_map()
                .unwrap()
                .without("kind")
                .without("apiVersion")
                .into()
        })
        .collect();
    assert_eq!(found, block("14-pipeline-gather-mux"));
}
