//! A running controller: its circuit, and its output that is not written yet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::object::Unreadable;
use dataflow::{Circuit, Failure, RunError, SourceEvent, StepResult, TargetChange};
use document::Value;
use expr::{Env, Interrupt};
use object::{ObjectKey, ObjectName};
use operator::Controller;
use target::desired::with_valid_owners;
use target::in_place::InPlace;
use target::owners::Owners;
use target::{Author, Desired};
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
    /// Whether it may write: all of its inputs have been delivered once.
    pub(super) open: bool,
    /// Output that may not be written yet, in particular all output before it is open.
    pub(super) pending: BTreeMap<ObjectKey, Option<Desired>>,
    /// Removals that are counted for `maxDeletions`, and wait.
    pub(super) removals: Removals,
    /// Why it has stopped for good.
    pub(super) stopped: Option<String>,
    budget: Budget,
    /// How many objects it derives, including those in views.
    pub(super) outputs: usize,
    /// The targets whose objects it changes in place.
    in_place: InPlace,
    /// The author of each target.
    authors: Vec<Arc<Author>>,
    /// The source objects that may be owners.
    owners: Owners,
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
            in_place: InPlace::new(controller),
            authors: authors.collect(),
            owners: Owners::new(controller.inputs.len()),
            unreadable: BTreeMap::new(),
        }
    }

    /// The number of objects that cannot be read, or for which a stage fails.
    pub(super) fn error_count(&self) -> usize {
        self.unreadable.len() + self.failures().len()
    }

    /// The errors that may hide some output. Conflicts are not among them: the winning document
    /// is there, and the losing one is known.
    pub(super) fn failures(&self) -> Vec<RunError> {
        let mut errors = self.circuit.errors();
        errors.retain(|error| !matches!(error.failure, Failure::Conflict { .. }));
        errors
    }

    /// Steps the circuit. Returns `None` if it exceeded its budget. Even a small batch may take
    /// as long as the budget allows, so other tasks move to other threads meanwhile.
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
            self.owners.note(event);
        }
        self.in_place.enter(&batch);
        let start = Instant::now();
        let mut env = env.clone();
        let limit = self.budget.step_time;
        env.interrupt = Interrupt::when(move || start.elapsed() > limit);
        let mut step = match self.circuit.step(batch, &env) {
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
        let errors = || self.circuit.errors();
        step.changes = self.in_place.patches(step.changes, errors);
        Some(step)
    }

    /// Stops for good and frees the state. What was written stays.
    fn stop(&mut self, why: String) {
        self.stopped = Some(why);
        let pending = std::mem::take(&mut self.pending);
        let unwritten = pending.values().flatten().count();
        self.outputs = self.outputs.saturating_sub(unwritten);
        self.removals.clear();
        self.owners.clear();
        self.in_place.clear();
        let targets = self.authors.iter();
        let kinds: Vec<_> = targets
            .map(|a| dataflow::apply::OutputKind::from(&a.target.resource))
            .collect();
        let pipeline = self.circuit.pipeline().clone();
        self.circuit = Circuit::new(&pipeline, &kinds, self.budget.circuit());
    }

    /// The budget that a step has exceeded, if any.
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
        (took > step_time).then(|| format!("one batch took longer than {seconds} s"))
    }

    /// The object of a view that a change derives, without ownerReferences of others.
    pub(super) fn view_object(&self, change: &mut TargetChange) -> Option<Value> {
        let document = change.new.take()?;
        let namespace = change.key.namespace.as_str().unwrap_or_default();
        let owners = || self.owners.of(&change.origin);
        Some(with_valid_owners(document, owners, namespace))
    }

    /// The key of a changed object, and what is desired of it.
    pub(super) fn desired(
        &self,
        controller: &Controller,
        change: TargetChange,
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
                self.owners.of(origin).into()
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
}
