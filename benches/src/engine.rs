//! The engine: the pipeline language, compiled and run incrementally, from the line of a watch
//! event to the changes, as on a cluster; and the evaluator that computes the same from
//! nothing.

use std::sync::Arc;

use cluster::source::{Arrival, Reading, Reads, Sink};
use dataflow::scratch::{Objects, Scratch, State};
use dataflow::{Budget, Circuit, TargetChange};
use document::{Value, json};
use engine::inbox::{Inbox, Input};
use expr::{Env, Functions};
use kube::ResourceExt;
use object::ObjectName;
use operator::Controller;

use crate::generate::Object;
use crate::peer::{Outcome, Peer, Versioned, plain, read_event};
use crate::workload::Workload;

/// The engine on one workload, with all that is between a watch and the changes on a
/// cluster: objects are read as the controller stores them, its inputs check them and put
/// them into its inbox, and its circuit takes them from there.
pub struct Engine {
    inbox: Arc<Inbox>,
    inputs: Vec<Input>,
    circuit: Circuit,
    env: Env,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Engine");
        out.field("objects", &self.circuit.len())
            .finish_non_exhaustive()
    }
}

impl Peer for Engine {
    type Input = (usize, Arrival);
    type Change = TargetChange;

    fn new(workload: Workload) -> Self {
        let controller = compile(workload);
        let ports = (0..controller.inputs.len()).map(|input| (0, input));
        let inbox = Arc::new(Inbox::new(ports.clone()));
        let sources = controller.inputs.iter();
        let sources = sources.map(|source| controller.sources[*source].clone());
        let inputs = ports.zip(sources.zip(controller.keeps()));
        let inputs =
            inputs.map(|(port, (source, keep))| Input::new(inbox.clone(), port, source, keep));
        let kind = dataflow::apply::OutputKind::from(&controller.targets[0].resource);
        Self {
            inputs: inputs.collect(),
            inbox,
            circuit: Circuit::new(&controller.pipeline, &[kind], Budget::default()),
            env: Env::default(),
        }
    }

    fn reader(workload: Workload) -> impl Fn(&Object) -> Self::Input {
        arrivals(workload, |own| vec![own])
    }

    fn apply<I>(&mut self, objects: I, changes: &mut Vec<TargetChange>)
    where
        I: IntoIterator<Item = Self::Input>,
    {
        for (source, object) in objects {
            let name = object.header.object_name();
            let name = name.expect("generated objects have names");
            self.inputs[source].apply(&name, &object, false);
        }
        for (_, events) in self.inbox.take().events {
            let step = self.circuit.step(events, &self.env);
            let step = step.expect("the budget is larger than the workloads");
            assert!(step.errors.is_empty(), "{:?}", step.errors);
            changes.extend(step.changes);
        }
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

/// The engine behind a watch that it shares with a reader of everything: objects are read
/// whole, and the inputs take their part of them.
#[derive(Debug)]
pub struct SharedWatch(Engine);

impl Peer for SharedWatch {
    type Input = (usize, Arrival);
    type Change = TargetChange;

    fn new(workload: Workload) -> Self {
        Self(Engine::new(workload))
    }

    fn reader(workload: Workload) -> impl Fn(&Object) -> Self::Input {
        arrivals(workload, |own| vec![own, Reads::Everything])
    }

    fn apply<I>(&mut self, objects: I, changes: &mut Vec<TargetChange>)
    where
        I: IntoIterator<Item = Self::Input>,
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

/// Reads events as a watch does with these sinks, given what the source itself reads.
fn arrivals(
    workload: Workload,
    sinks: impl Fn(Reads) -> Vec<Reads>,
) -> impl Fn(&Object) -> (usize, Arrival) {
    let engine = Engine::new(workload);
    let readings = engine.inputs.iter();
    let readings = readings.map(|input| Reading::new(&sinks(input.reads())));
    let readings: Vec<Reading> = readings.collect();
    move |object| {
        let arrival = readings[object.source].run(|| read_event(object));
        (object.source, arrival)
    }
}

impl Versioned for Arrival {
    fn version(&self) -> Option<String> {
        self.resource_version()
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
    type Input = (usize, Value);
    type Change = (ObjectName, Option<Value>, Option<Value>);

    const TIMED: usize = 5;

    fn new(workload: Workload) -> Self {
        let controller = compile(workload);
        let kind = dataflow::apply::OutputKind::from(&controller.targets[0].resource);
        Self {
            scratch: Scratch::new(controller.pipeline, vec![kind]),
            objects: Objects::new(),
            state: State::default(),
            env: Env::default(),
        }
    }

    fn reader(_: Workload) -> impl Fn(&Object) -> Self::Input {
        |object| (object.source, read_event(object))
    }

    fn apply<I>(&mut self, objects: I, changes: &mut Vec<Self::Change>)
    where
        I: IntoIterator<Item = Self::Input>,
    {
        for (source, object) in objects {
            let name = ObjectName::of(&object).expect("generated objects have names");
            self.objects.insert((source, name), object);
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

/// The controller of a workload.
pub(crate) fn compile(workload: Workload) -> Controller {
    let sources = workload.sources().iter().map(|(api_version, kind)| {
        let group = object::group_of(api_version);
        json!({"apiGroup": group, "kind": (*kind)})
    });
    let manifest = json!({
        "apiVersion": "dcontroller.io/v1alpha1",
        "kind": "Operator",
        "metadata": {"name": "bench"},
        "spec": {"controllers": [{
            "name": "bench",
            "sources": (sources.collect::<Value>()),
            "pipeline": (workload.pipeline()),
            "target": {"kind": "Target"},
        }]},
    });
    let (operator, problems) = operator::read(&manifest, &Functions::builtin());
    let operator = operator.unwrap_or_else(|| panic!("{problems:?}"));
    let controller = operator.controllers.into_iter().next();
    controller.expect("the Operator has a controller")
}

fn texts(key: &ObjectName) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&key.namespace), text(&key.name))
}
