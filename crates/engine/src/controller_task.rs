//! A running controller: its circuit, and what it derives.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::object::Unreadable;
use dataflow::fields::Kept;
use dataflow::{Circuit, Component, Failure, Origin, RunError, SourceEvent, StepResult};
use document::Value;
use expr::{Env, Interrupt};
use object::{ObjectKey, ObjectName};
use operator::Controller;
use target::{Author, Desired, Owner};
use tokio::runtime::RuntimeFlavor;

use super::deletions::Removals;
use crate::Budget;

fn is_multi_threaded() -> bool {
    let runtime = tokio::runtime::Handle::try_current();
    runtime.is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}

/// A running controller.
#[derive(Debug)]
pub(super) struct ControllerTask {
    pub(super) circuit: Circuit,
    /// Whether all that it reads has been told once: then it writes.
    pub(super) open: bool,
    /// What it derives and may not be written yet: before it is open nothing may.
    pub(super) pending: BTreeMap<ObjectKey, Option<Desired>>,
    /// What it does not derive any more, as far as that is summed.
    pub(super) removals: Removals,
    /// Why it has stopped for good.
    pub(super) stopped: Option<String>,
    budget: Budget,
    /// How many objects it derives, those of views among them.
    pub(super) outputs: usize,
    /// For each target.
    authors: Vec<Arc<Author>>,
    /// The uids of the objects of each input.
    uids: Vec<HashMap<ObjectName, Value>>,
    /// The objects that cannot be read, by input and name.
    pub(super) unreadable: BTreeMap<(usize, ObjectName), Unreadable>,
}

impl ControllerTask {
    pub(super) fn new(
        operator: &str,
        rank: usize,
        controller: &Controller,
        budget: Budget,
    ) -> Self {
        let targets = controller.targets.iter();
        let kinds: Vec<_> = targets
            .clone()
            .map(|t| dataflow::apply::OutputKind::from(&t.resource))
            .collect();
        let authors = targets
            .map(|target| Author::new(operator, &controller.name, rank, target.clone()))
            .map(Arc::new);
        Self {
            circuit: Circuit::new(&controller.pipeline, &kinds, budget.circuit()),
            budget,
            outputs: 0,
            open: false,
            pending: BTreeMap::new(),
            removals: Removals::new(),
            stopped: None,
            authors: authors.collect(),
            uids: vec![HashMap::new(); controller.inputs.len()],
            unreadable: BTreeMap::new(),
        }
    }

    /// How many objects it could not read, or derive something from.
    pub(super) fn error_count(&self) -> usize {
        self.unreadable.len() + self.failures().len()
    }

    /// The errors because of which something may be missing. A conflict is none of them: the
    /// other origin's document is there, and what waits is known.
    pub(super) fn failures(&self) -> Vec<RunError> {
        let mut errors = self.circuit.errors();
        errors.retain(|error| !matches!(error.failure, Failure::Conflict { .. }));
        errors
    }

    /// Runs the circuit; `None` if it has used more than it may. One small object may take as
    /// long as a step may take, so nobody else waits for any step.
    pub(super) fn step(&mut self, batch: Vec<SourceEvent>, env: &Env) -> Option<StepResult> {
        if !is_multi_threaded() {
            return self.step_here(batch, env);
        }
        tokio::task::block_in_place(|| self.step_here(batch, env))
    }

    fn step_here(&mut self, batch: Vec<SourceEvent>, env: &Env) -> Option<StepResult> {
        if self.stopped.is_some() {
            return None;
        }
        for event in &batch {
            self.note(event);
        }
        let start = Instant::now();
        let mut env = env.clone();
        let limit = self.budget.step_time;
        env.interrupt = Interrupt::when(move || start.elapsed() > limit);
        let step = match self.circuit.step(batch, &env) {
            Ok(step) => step,
            Err(error) => {
                let exceeded = self.exceeded(self.outputs, start.elapsed());
                self.stop(exceeded.unwrap_or_else(|| error.to_string()));
                return None;
            }
        };
        let mut outputs = self.outputs;
        for change in &step.changes {
            match (&change.old, &change.new) {
                (None, Some(_)) => outputs += 1,
                (Some(_), None) => outputs = outputs.saturating_sub(1),
                _ => {}
            }
        }
        if let Some(why) = self.exceeded(outputs, start.elapsed()) {
            self.stop(why);
            return None;
        }
        self.outputs = outputs;
        Some(step)
    }

    /// Ends for good, and holds nothing any more. What was written stays derived.
    fn stop(&mut self, why: String) {
        self.stopped = Some(why);
        let pending = std::mem::take(&mut self.pending);
        let unwritten = pending.values().flatten().count();
        self.outputs = self.outputs.saturating_sub(unwritten);
        self.removals.clear();
        self.uids.iter_mut().for_each(HashMap::clear);
        let targets = self.authors.iter();
        let kinds: Vec<_> = targets
            .map(|a| dataflow::apply::OutputKind::from(&a.target.resource))
            .collect();
        let pipeline = self.circuit.pipeline().clone();
        self.circuit = Circuit::new(&pipeline, &kinds, self.budget.circuit());
    }

    /// Which budget a step has exceeded, if one.
    fn exceeded(&self, outputs: usize, took: Duration) -> Option<String> {
        let Budget {
            outputs: most,
            step_time,
            ..
        } = self.budget;
        if outputs > most {
            return Some(format!("more than {most} objects are derived"));
        }
        let seconds = step_time.as_secs();
        (took > step_time).then(|| format!("one batch took more than {seconds} s"))
    }

    /// Notes the uid of an object, where the pipeline may yield references to owners.
    fn note(&mut self, event: &SourceEvent) {
        let uids = &mut self.uids[event.source];
        let uid = event.object.as_ref().map(Kept::uid);
        match uid.filter(|uid| !uid.is_null()) {
            None if uids.is_empty() => return,
            Some(uid) => uids.insert(event.name.clone(), uid.clone()),
            None => uids.remove(&event.name),
        };
    }

    /// What a change says about an object.
    pub(super) fn desired(
        &self,
        controller: &Controller,
        change: dataflow::TargetChange,
    ) -> (ObjectKey, Option<Desired>) {
        let author = &self.authors[change.target];
        let key = ObjectKey {
            kind: author.target.resource.group_kind(),
            name: change.key,
        };
        let origin = &change.origin;
        let desired = change.new.map(|document| {
            let references = document.get("metadata").get("ownerReferences");
            let owners = if references.is_null() {
                Arc::default()
            } else {
                self.owners(origin).into()
            };
            Desired {
                author: author.clone(),
                document,
                origin: origin.describe(&controller.pipeline.sources),
                owners,
            }
        });
        (key, desired)
    }

    /// The source objects of an origin that have a uid.
    fn owners(&self, origin: &Origin) -> Vec<Owner> {
        let objects = origin.components().iter();
        let owners = objects.filter_map(|component| {
            let Component::Object(object) = component else {
                return None;
            };
            let uids = self.uids.get(object.source as usize)?;
            Some(Owner {
                uid: uids.get(&object.name)?.as_str()?.to_owned(),
                namespace: object.name.namespace.as_str()?.to_owned(),
            })
        });
        owners.collect()
    }
}
