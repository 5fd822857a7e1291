//! The engine: the pipeline language, compiled and run incrementally; and the evaluator
//! that computes the same from nothing.

use dataflow::apply::TargetKind;
use dataflow::fields::{Fields, Reader, needs};
use dataflow::scratch::{Objects, Scratch, State};
use dataflow::{Budget, Circuit, ObjectName, Pipeline, SourceEvent, TargetChange};
use document::{Location, Value};
use expr::{Env, Table};

use crate::generate::Object;
use crate::peer::{Outcome, Peer, plain};
use crate::workload::Workload;

/// The target of every workload.
const TARGET: &str = "Target";

/// The engine on one workload. Its documents are read without the fields that the pipeline
/// does not read, as a running controller reads them.
#[derive(Debug)]
pub struct Engine {
    circuit: Circuit,
    env: Env,
}

impl Peer for Engine {
    type Input = SourceEvent;
    type Change = TargetChange;

    fn new(workload: Workload) -> Self {
        let (pipeline, kind) = compile(workload);
        Self {
            circuit: Circuit::new(&pipeline, &[kind], Budget::default()),
            env: Env::default(),
        }
    }

    fn reader(workload: Workload) -> impl Fn(&Object) -> SourceEvent {
        let (pipeline, _) = compile(workload);
        let readers: Vec<Reader> = needs(&pipeline).iter().map(Fields::reader).collect();
        move |object| {
            let document = readers[object.source].read(object.json.as_bytes());
            event(object, document.expect("generated objects are JSON"))
        }
    }

    fn apply<I>(&mut self, objects: I, changes: &mut Vec<TargetChange>)
    where
        I: IntoIterator<Item = SourceEvent>,
    {
        let step = self
            .circuit
            .step(objects, &self.env)
            .expect("the budget is larger than the workloads");
        assert!(step.errors.is_empty(), "{:?}", step.errors);
        changes.extend(step.changes);
    }

    fn key(change: &TargetChange) -> (String, String) {
        texts(&change.key)
    }

    fn outcome(change: &TargetChange) -> Outcome {
        Outcome {
            key: texts(&change.key),
            old: change.old_object().as_ref().map(plain),
            new: change.new.as_ref().map(plain),
        }
    }
}

/// The engine on documents with all of their fields: those that nobody reads are left out
/// in the step, and freed there.
#[derive(Debug)]
pub struct WholeDocuments(Engine);

impl Peer for WholeDocuments {
    type Input = SourceEvent;
    type Change = TargetChange;

    fn new(workload: Workload) -> Self {
        Self(Engine::new(workload))
    }

    fn reader(_: Workload) -> impl Fn(&Object) -> SourceEvent {
        whole
    }

    fn apply<I>(&mut self, objects: I, changes: &mut Vec<TargetChange>)
    where
        I: IntoIterator<Item = SourceEvent>,
    {
        self.0.apply(objects, changes);
    }

    fn key(change: &TargetChange) -> (String, String) {
        Engine::key(change)
    }

    fn outcome(change: &TargetChange) -> Outcome {
        Engine::outcome(change)
    }
}

/// The from-scratch evaluator on one workload: all objects again for every batch.
#[derive(Debug)]
pub struct FromScratch {
    scratch: Scratch,
    objects: Objects,
    state: State,
    env: Env,
}

impl Peer for FromScratch {
    type Input = SourceEvent;
    type Change = (ObjectName, Option<Value>, Option<Value>);

    const TIMED: usize = 5;

    fn new(workload: Workload) -> Self {
        let (pipeline, kind) = compile(workload);
        Self {
            scratch: Scratch::new(pipeline, vec![kind]),
            objects: Objects::new(),
            state: State::default(),
            env: Env::default(),
        }
    }

    fn reader(_: Workload) -> impl Fn(&Object) -> SourceEvent {
        whole
    }

    fn apply<I>(&mut self, objects: I, changes: &mut Vec<Self::Change>)
    where
        I: IntoIterator<Item = SourceEvent>,
    {
        for event in objects {
            if let Some(object) = event.object {
                self.objects.insert((event.source, event.name), object);
            }
        }
        let new = self.scratch.eval(&self.objects, &self.state, &self.env);
        assert!(new.errors.is_empty(), "{:?}", new.errors);
        let old = std::mem::replace(&mut self.state, new);
        let old = old.targets.into_iter().next().unwrap_or_default();
        for (key, document) in &self.state.targets[0] {
            let before = old.get(key);
            if before != Some(document) {
                changes.push((key.clone(), before.cloned(), Some(document.clone())));
            }
        }
        for (key, document) in old {
            if !self.state.targets[0].contains_key(&key) {
                changes.push((key, Some(document), None));
            }
        }
    }

    fn key((key, ..): &Self::Change) -> (String, String) {
        texts(key)
    }

    fn outcome((key, old, new): &Self::Change) -> Outcome {
        Outcome {
            key: texts(key),
            old: old.as_ref().map(plain),
            new: new.as_ref().map(plain),
        }
    }
}

/// The pipeline of a workload and the kind of its target.
pub(crate) fn compile(workload: Workload) -> (Pipeline, TargetKind) {
    let sources: Vec<String> = workload
        .sources()
        .iter()
        .map(|(_, kind)| (*kind).to_owned())
        .collect();
    let targets = [TARGET.to_owned()];
    let pipeline = Pipeline::parse(
        &workload.pipeline(),
        &Location::root(),
        &sources,
        &targets,
        &Table::builtin(),
    )
    .expect("the pipelines of the workloads are right");
    let kind = TargetKind {
        api_version: Value::from("bench.view.dcontroller.io/v1alpha1"),
        kind: Value::from(TARGET),
    };
    (pipeline, kind)
}

/// Reads an object with all of its fields.
fn whole(object: &Object) -> SourceEvent {
    let document = object.json.parse();
    event(object, document.expect("generated objects are JSON"))
}

fn event(object: &Object, document: Value) -> SourceEvent {
    SourceEvent {
        source: object.source,
        name: ObjectName::of(&document).expect("generated objects have names"),
        object: Some(document),
    }
}

fn texts(key: &ObjectName) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&key.namespace), text(&key.name))
}
