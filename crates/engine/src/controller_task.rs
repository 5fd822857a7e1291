//! A running controller: its circuit, and its output that is not written yet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::object::Unreadable;
use dataflow::apply::OutputKind;
use dataflow::{Circuit, Failure, RunError, SourceEvent, StepResult, TargetChange};
use document::Value;
use expr::{Env, Interrupt};
use object::{ObjectKey, ObjectName, OperatorId};
use operator::Controller;
use target::desired::with_valid_owners;
use target::in_place::InPlace;
use target::owners::Owners;
use target::{Author, Desired};

use super::deletions::Removals;
use super::masks::Masks;
use super::task::Pending;
use super::turns::Halt;
use crate::Budget;
use crate::budget::UsedByOthers;
use crate::forgotten::Forgotten;

/// Until when a batch may run.
#[derive(Clone, Debug)]
pub(super) struct Deadline {
    start: Instant,
    limit: Duration,
    halt: Halt,
}

impl Deadline {
    pub(super) fn new(start: Instant, limit: Duration, halt: &Halt) -> Self {
        Self {
            start,
            limit,
            halt: halt.clone(),
        }
    }

    /// Whether the batch took too long, or the engine has to end.
    pub(super) fn is_over(&self) -> bool {
        self.halt.is_raised() || self.start.elapsed() > self.limit
    }
}

/// A running controller.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // Any of them goes with any other.
pub(super) struct ControllerTask {
    pub(super) circuit: Circuit,
    /// Whether it may write: all of its inputs have been delivered once.
    pub(super) open: bool,
    /// When it was opened.
    pub(super) opened: Option<tokio::time::Instant>,
    /// Whether a Periodic source ticks in the next step.
    pub(super) ticks: bool,
    /// Whether some of its objects were not as derived when the status was last computed.
    pub(super) syncing: bool,
    /// Output that may not be written yet, in particular all output before it is open.
    pub(super) pending: Pending,
    /// Removals that are counted for `maxDeletions`, and wait.
    pub(super) removals: Removals,
    /// Why it has stopped: it has exceeded this budget.
    pub(super) stopped: Option<String>,
    /// When it has stopped.
    pub(super) stopped_at: Option<tokio::time::Instant>,
    /// Whether something that it reads has changed since it stopped.
    pub(super) missed: bool,
    /// The budget that it exceeded in the last engine of the Operator.
    pub(super) exceeded_before: Option<String>,
    budget: Budget,
    /// How long it has worked on the current batch.
    worked: Duration,
    halt: Halt,
    /// How many objects it derives for each target, including those in views.
    outputs: Vec<usize>,
    /// The targets whose objects it changes in place.
    in_place: InPlace,
    /// The author of each target.
    authors: Vec<Arc<Author>>,
    /// The source objects that may be owners.
    owners: Owners,
    /// The objects that cannot be read, by input and name.
    unreadable: UnreadableInputs,
    /// The origins that are in error since it opened.
    pub(super) forgotten: Forgotten,
    /// How often its errors may have changed.
    revision: u64,
    /// How often one of its errors may have ended.
    pub(super) ended: u64,
}

/// Objects that cannot be read, by input and name.
pub(super) type UnreadableInputs = BTreeMap<(usize, ObjectName), Unreadable>;

impl ControllerTask {
    pub(super) fn new(
        operator: &OperatorId,
        rank: usize,
        controller: &Controller,
        budget: Budget,
        boundary: Option<&str>,
    ) -> Self {
        let boundary: Option<Arc<str>> = boundary.map(Into::into);
        let targets = controller.targets.iter();
        let kinds: Vec<_> = targets
            .clone()
            .map(|t| {
                OutputKind::from(&t.resource).on_cluster(&t.resource.group_kind(), boundary.clone())
            })
            .collect();
        let authors = targets
            .map(|target| Author::new(operator, &controller.name, rank, target.clone()))
            .map(Arc::new);
        Self {
            circuit: Circuit::new(&controller.pipeline, &kinds, budget.circuit()),
            budget,
            worked: Duration::ZERO,
            halt: Halt::default(),
            outputs: vec![0; controller.targets.len()],
            open: false,
            opened: None,
            ticks: false,
            syncing: false,
            pending: Pending::default(),
            removals: Removals::new(),
            stopped: None,
            in_place: InPlace::new(controller),
            stopped_at: None,
            missed: false,
            exceeded_before: None,
            authors: authors.collect(),
            owners: Owners::new(controller.inputs.len()),
            unreadable: BTreeMap::new(),
            forgotten: Forgotten::default(),
            revision: 0,
            ended: 0,
        }
    }

    /// Sets what interrupts a step besides the budget, and the budget that the controller
    /// exceeded in the last engine.
    pub(super) fn started(self, halt: Halt, exceeded_before: Option<String>) -> Self {
        Self {
            exceeded_before,
            halt,
            ..self
        }
    }

    /// How many objects it derives, including those in views.
    pub(super) fn outputs(&self) -> usize {
        self.outputs.iter().sum()
    }

    /// How many objects it derives of each kind.
    pub(super) fn outputs_by_kind(&self) -> BTreeMap<&str, usize> {
        let mut kinds = BTreeMap::new();
        for (author, count) in self.authors.iter().zip(&self.outputs) {
            *kinds
                .entry(author.target.resource.kind.as_str())
                .or_default() += count;
        }
        kinds
    }

    /// Whether there are errors that may hide what is derived from other origins.
    pub(super) fn hides(&self) -> bool {
        !self.unreadable.is_empty() || self.circuit.hides()
    }

    /// The number of objects that cannot be read, or for which a stage fails.
    pub(super) fn error_count(&self) -> usize {
        self.unreadable.len() + self.circuit.count_errors()
    }

    /// Notes after a step, in which evaluations `failed` or not, that errors may have ended. `before`
    /// is how many there were.
    pub(super) fn note_errors(&mut self, before: usize, failed: bool) {
        // As many may have begun.
        let ended = self.error_count() < before || (failed && before > 0);
        self.ended += u64::from(ended);
        let mut forgotten = std::mem::take(&mut self.forgotten);
        forgotten.step(self, failed);
        self.forgotten = forgotten;
    }

    /// Looks which origins are still in error since the start.
    pub(super) fn look_at_forgotten(&mut self, controller: &Controller) {
        if self.stopped.is_some() {
            return;
        }
        let mut forgotten = std::mem::take(&mut self.forgotten);
        if let Some(now) = forgotten.look(controller, self) {
            forgotten = now;
            self.ended += 1;
        }
        self.forgotten = forgotten;
    }

    /// The errors that hide outputs. Conflicts are not among them: the winning document
    /// is there, and the losing one is known.
    pub(super) fn failures(&self) -> Vec<RunError> {
        let mut errors = self.circuit.errors();
        errors.retain(|error| !matches!(error.failure, Failure::Conflict { .. }));
        errors
    }

    /// The objects that cannot be read.
    pub(super) fn unreadable(&self) -> &UnreadableInputs {
        &self.unreadable
    }

    /// Sets which objects cannot be read. Returns those of before.
    pub(super) fn set_unreadable(&mut self, now: UnreadableInputs) -> UnreadableInputs {
        self.revision += 1;
        let before = std::mem::replace(&mut self.unreadable, now);
        let mut gone = before.keys();
        self.ended += u64::from(gone.any(|object| !self.unreadable.contains_key(object)));
        before
    }

    /// The errors of its sources and its pipeline change only together with this number.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether an event changes what the controller knows of the object.
    pub(super) fn is_changed_by(&self, event: &SourceEvent) -> bool {
        self.circuit.is_changed_by(event) || self.owners.is_changed_by(event)
    }

    /// A new batch begins.
    pub(super) fn begin_batch(&mut self) {
        self.worked = Duration::ZERO;
    }

    /// The end of the time that is left for the current batch.
    pub(super) fn deadline(&self, start: Instant) -> Deadline {
        let left = self.budget.step_time.saturating_sub(self.worked);
        Deadline::new(start, left, &self.halt)
    }

    /// Adds to the time that it has worked on the current batch.
    pub(super) fn worked(&mut self, time: Duration) {
        self.worked += time;
    }

    /// Steps the circuit. Returns `None` if it exceeded its budget, or was interrupted. Even a
    /// small batch may take as long as the budget allows.
    pub(super) fn step(
        &mut self,
        batch: Vec<SourceEvent>,
        env: &Env,
        others: &UsedByOthers,
    ) -> Option<StepResult> {
        if self.stopped.is_some() {
            self.missed = true;
            return None;
        }
        for event in &batch {
            self.owners.note(event);
        }
        self.in_place.enter(&batch);
        self.revision += 1;
        let start = Instant::now();
        let mut env = env.clone();
        let deadline = self.deadline(start);
        self.circuit.share_budget(others.circuits);
        env.interrupt = Interrupt::when(move || deadline.is_over());
        let result = if std::mem::take(&mut self.ticks) {
            self.circuit.tick(batch, &env)
        } else {
            self.circuit.step(batch, &env)
        };
        let mut step = match result {
            Ok(step) => step,
            // What the circuit holds now is wrong, but nothing uses it any more.
            Err(_) if self.halt.is_raised() => return None,
            Err(error) => {
                let exceeded = self.exceeded(0, start.elapsed());
                self.stop(exceeded.unwrap_or_else(|| error.to_string()));
                return None;
            }
        };
        let mut outputs = self.outputs.clone();
        for change in &step.changes {
            let count = &mut outputs[change.target];
            match (&change.old, &change.new) {
                (None, Some(_)) => *count += 1,
                (Some(_), None) => *count = count.saturating_sub(1),
                _ => {}
            }
        }
        let all = outputs.iter().sum::<usize>() + others.outputs;
        if let Some(why) = self.exceeded(all, start.elapsed()) {
            self.stop(why);
            return None;
        }
        self.outputs = outputs;
        let errors = || self.circuit.errors();
        step.changes = self.in_place.patches(step.changes, errors);
        Some(step)
    }

    /// Stops, because writing the result of a step took too long.
    pub(super) fn out_of_time(&mut self) {
        let why = self.exceeded(0, Duration::MAX);
        self.stop(why.unwrap_or_default());
    }

    /// Stops and frees the state. What was written stays. The next engine of the Operator tries
    /// again.
    fn stop(&mut self, why: String) {
        self.stopped = Some(why);
        self.stopped_at = Some(tokio::time::Instant::now());
        for unwritten in self.pending.take().values().flatten() {
            let authors = self.authors.iter().zip(&mut self.outputs);
            for (_, count) in authors.filter(|(author, _)| Arc::ptr_eq(author, &unwritten.author)) {
                *count = count.saturating_sub(1);
            }
        }
        self.removals.clear();
        self.owners.clear();
        self.in_place.clear();
        self.revision += 1;
        self.circuit = self.circuit.emptied();
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
        let took = self.worked.saturating_add(took);
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
        masks: &Masks,
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
                origin: masks.claimed(controller, origin),
                owners,
            }
        });
        (key, desired)
    }
}
