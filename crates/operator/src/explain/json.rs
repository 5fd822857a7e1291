//! The plan of an Operator as data, for programs.

use dataflow::Circuit;
use dataflow::explain::{BranchPlan, ChangePlan, JoinPlan, Lookup, StagePlan};
use dataflow::pipeline::{Branch, Input};
use document::{Key, Map, Value, json};

use super::circuit;
use crate::spec::{Controller, Operator, Source, SourceKind, Target};
use object::KindRef;

/// The plan of an Operator: what [`super::explain`] prints.
pub fn to_json(operator: &Operator) -> Value {
    json!({
        "operator": (operator.name.as_str()),
        "controllers": (Value::list(operator.controllers.iter().map(controller))),
    })
}

fn controller(controller: &Controller) -> Value {
    let circuit = circuit(controller);
    let sources = controller.sources.iter().enumerate();
    let sources = sources.map(|(position, source)| {
        let mut inputs = controller.inputs.iter();
        let input = inputs.position(|other| *other == position);
        with(
            &source_json(source),
            input.map(|input| keeps(&circuit, input)),
        )
    });
    let plans = circuit.explain();
    let branches = controller.pipeline.branches.iter().zip(&plans);
    let branches = branches.map(|(branch, plan)| branch_json(controller, branch, plan));
    json!({
        "name": (controller.name.as_str()),
        "sources": (Value::list(sources.collect::<Vec<_>>())),
        "branches": (Value::list(branches.collect::<Vec<_>>())),
        "targets": (Value::list(controller.targets.iter().map(target))),
    })
}

/// The fields that a source stores; `["$"]` for all of them.
fn keeps(circuit: &Circuit, input: usize) -> (&'static str, Value) {
    let fields = circuit.fields(input);
    let kept = if fields.all {
        json!(["$"])
    } else {
        strings(&fields.describe())
    };
    ("keeps", kept)
}

fn source_json(source: &Source) -> Value {
    let mut value = with(
        &kind_json(&source.resource),
        [("as", source.name.as_str().into())],
    );
    value = match source.kind {
        SourceKind::Watcher => with(&value, [("type", "Watcher".into())]),
        SourceKind::OneShot => with(&value, [("type", "OneShot".into())]),
        SourceKind::Periodic(period) => {
            let period = Value::number(period.as_secs_f64()).unwrap_or_default();
            with(&value, [("type", "Periodic".into()), ("seconds", period)])
        }
    };
    let namespace = source.namespace.as_deref();
    value = with(
        &value,
        namespace.map(|namespace| ("namespace", namespace.into())),
    );
    let selector = source.selector.as_ref();
    with(
        &value,
        selector.map(|selector| ("labelSelector", selector.to_string().into())),
    )
}

fn target(target: &Target) -> Value {
    with(
        &kind_json(&target.resource),
        [("type", target.kind.as_str().into())],
    )
}

fn kind_json(kind: &KindRef) -> Value {
    json!({
        "apiGroup": (kind.group.as_str()),
        "version": (kind.version.as_deref().map_or(Value::NULL, Value::from)),
        "kind": (kind.kind.as_str()),
        "view": (kind.is_view()),
    })
}

fn branch_json(controller: &Controller, branch: &Branch, plan: &BranchPlan) -> Value {
    let input = |input: &Input| match *input {
        Input::Source(source) => json!({"source": (controller.pipeline.sources[source].as_str())}),
        Input::Stream(stream) => json!({"stream": (number(stream))}),
    };
    let target = branch.output.target.map(|target| {
        let kind = &controller.targets[target].resource.kind;
        ("target", Value::from(kind.as_str()))
    });
    let stream = branch
        .output
        .stream
        .map(|stream| ("stream", number(stream)));
    json!({
        "inputs": (Value::list(branch.inputs.iter().map(input))),
        "stages": (Value::list(plan.stages.iter().map(stage))),
        "output": (with(&Value::empty_map(), target.into_iter().chain(stream))),
    })
}

fn stage(stage: &StagePlan) -> Value {
    let value = json!({"name": (stage.name), "cost": (stage.cost)});
    with(
        &value,
        stage.join.as_ref().map(|join| ("join", join_json(join))),
    )
}

fn join_json(join: &JoinPlan) -> Value {
    let filter = |(input, condition): &(String, String)| json!({"input": (input.as_str()), "condition": (condition.as_str())});
    let change = |change: &ChangePlan| {
        json!({
            "input": (change.input.as_str()),
            "finds": (Value::list(change.lookups.iter().map(lookup))),
        })
    };
    json!({
        "filters": (Value::list(join.filters.iter().map(filter))),
        "changes": (Value::list(join.changes.iter().map(change))),
        "soft": (Value::list(join.soft.iter().map(lookup))),
    })
}

fn lookup(lookup: &Lookup) -> Value {
    json!({
        "input": (lookup.input.as_str()),
        "keys": (strings(&lookup.keys)),
        "checks": (strings(&lookup.checks)),
    })
}

fn strings(texts: &[String]) -> Value {
    Value::list(texts.iter().map(|text| Value::from(text.as_str())))
}

fn number(number: usize) -> Value {
    i64::try_from(number).unwrap_or(i64::MAX).into()
}

/// The map with more entries.
fn with(value: &Value, entries: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let map = value.as_map().cloned().into_iter();
    let mut all: Vec<(Key, Value)> = map.flat_map(|map| map.entries().to_vec()).collect();
    all.extend(
        entries
            .into_iter()
            .map(|(key, value)| (Key::new(key), value)),
    );
    Map::from_entries(all).into()
}
