//! The incremental engine.
//!
//! A [`Circuit`] holds the running stages of a pipeline. [`Circuit::step`] takes a batch of
//! source events and returns the changes of target objects:
//!
//! ```text
//! events ─▶ sources ─▶ branches: stage ─▶ stage ─▶ output check ─▶ targets ─▶ changes
//!           what was    (origin, old, new) through each stage        who wins
//!           there?                                                   a conflict?
//! ```
//!
//! A step is synchronous, and deterministic: it depends on the state of the circuit, the
//! batch, and the [`Env`], which contains the time. Time is data: a circuit reads no clock, but says
//! when it needs a step ([`Circuit::next_deadline`]).

pub(crate) mod branch;
mod budget;
mod errors;
pub(crate) mod meter;
mod placing;
mod pull;
mod snapshot;

use document::Value;
use expr::Env;
use object::ObjectName;
use smallvec::SmallVec;
use triomphe::Arc;

use crate::apply::{self, OutputKind};
use crate::failure::RunError;
use crate::fields::{self, Fields, Kept};
use crate::origin::{Component, Origin};
use crate::pipeline::{Input, Pipeline};
use crate::recording::Recording;
use crate::running::output::OutputChange;
use crate::running::source::SourceState;
use crate::running::target::TargetState;
use crate::running::times::Clock;
use crate::running::{Batches, Change, Detach, StepContext};
use branch::BranchState;
pub use budget::{Budget, BudgetError, Usage};
use errors::{conflict, sorted};
use meter::Meter;
use pull::Pull;
pub use snapshot::Snapshot;

/// The new state of one source object.
#[derive(Clone, Debug)]
pub struct SourceEvent {
    /// The source, by position.
    pub source: usize,
    /// The object.
    pub name: ObjectName,
    /// The fields of the object that the source keeps; `None` if the object was deleted.
    pub object: Option<Kept>,
}

impl From<&Self> for SourceEvent {
    fn from(event: &Self) -> Self {
        event.clone()
    }
}

/// The result of a step.
#[derive(Clone, Debug, Default)]
pub struct StepResult {
    /// The changes of target objects: target by target, deletes first, then sorted by name.
    pub changes: Vec<TargetChange>,
    /// The evaluations of this step that failed, and the conflicts that are new or have a new
    /// winner; sorted by branch, stage and origin.
    pub errors: Vec<RunError>,
}

/// A change of one target object, or only of the origin that it is derived from.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetChange {
    /// The target, by position.
    pub target: usize,
    /// The object.
    pub key: ObjectName,
    /// The origin of the derived document; after a delete, the origin of the old one.
    pub origin: Origin,
    /// The document that was derived before.
    pub old: Option<Derived>,
    /// The object that is derived now.
    pub new: Option<Value>,
}

impl TargetChange {
    /// The object that was derived before.
    pub fn old_object(&self) -> Option<Value> {
        self.old.as_ref().map(Derived::object)
    }
}

/// A derived document. The object is built on demand, because most replaced objects are never
/// looked at.
#[derive(Clone, Debug)]
pub struct Derived {
    document: Value,
    kind: Arc<OutputKind>,
}

impl PartialEq for Derived {
    fn eq(&self, other: &Self) -> bool {
        self.object() == other.object()
    }
}

impl Derived {
    /// The object that was derived.
    pub fn object(&self) -> Value {
        apply::object(&self.kind, &self.document)
    }
}

/// The changes for each target. Most pipelines have one.
type Outputs = SmallVec<[Vec<OutputChange>; 1]>;

/// A running pipeline.
#[derive(Debug)]
pub struct Circuit {
    pipeline: Pipeline,
    sources: Vec<SourceState>,
    branches: Vec<BranchState>,
    targets: Vec<TargetState>,
    kinds: Vec<Arc<OutputKind>>,
    budget: Budget,
    /// What others use of the budget.
    others: Usage,
    /// The join candidates that the last step checked.
    candidates: u64,
    stopped: Option<BudgetError>,
    /// Whether a stage reads `"@now"`.
    timed: bool,
    step: u32,
}

impl Circuit {
    /// Compiles a pipeline. `target_kinds` has the kind of each target.
    pub fn new(pipeline: &Pipeline, target_kinds: &[OutputKind], budget: Budget) -> Self {
        let sources = fields::needs(pipeline)
            .into_iter()
            .enumerate()
            .map(|(number, fields)| SourceState::new(number, fields, budget.bytes.is_some()))
            .collect();
        let branches = pipeline.branches.iter();
        let branches = branches.map(|branch| BranchState::new(branch, target_kinds));
        Self {
            sources,
            branches: branches.collect(),
            targets: target_kinds
                .iter()
                .map(|_| TargetState::default())
                .collect(),
            kinds: target_kinds.iter().cloned().map(Arc::new).collect(),
            pipeline: pipeline.clone(),
            budget,
            others: Usage::default(),
            candidates: 0,
            stopped: None,
            timed: pipeline.reads_now(),
            step: 0,
        }
    }

    /// The pipeline.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// The fields that a source keeps of its objects.
    pub fn fields(&self, source: usize) -> &Fields {
        self.sources[source].fields()
    }

    /// The number of objects in all sources.
    pub fn len(&self) -> usize {
        self.sources.iter().map(SourceState::len).sum()
    }

    fn bytes(&self) -> usize {
        self.sources.iter().map(SourceState::bytes).sum()
    }

    /// What the circuit uses of its budget: the objects that it holds, and the candidates of its
    /// last step.
    pub fn usage(&self) -> Usage {
        Usage {
            documents: self.len(),
            bytes: self.bytes(),
            candidates: self.candidates,
        }
    }

    /// Sets what others use of the budget, which is not left for the next step.
    pub fn share_budget(&mut self, others: Usage) {
        self.others = others;
    }

    /// The number of objects in a source.
    pub fn objects(&self, source: usize) -> usize {
        self.sources[source].len()
    }

    /// How many documents each stage of a branch yields at the moment.
    pub fn documents(&self, branch: usize) -> &[usize] {
        self.branches[branch].yields()
    }

    /// Whether an event changes what a source holds.
    pub fn is_changed_by(&self, event: &SourceEvent) -> bool {
        let new = event.object.as_ref().map(Kept::document);
        self.sources[event.source].differs(&event.name, new)
    }

    /// Whether a source holds an object.
    pub fn holds(&self, source: usize, name: &ObjectName) -> bool {
        self.sources[source].holds(name)
    }

    /// Whether a stage reads `"@now"`.
    pub fn reads_now(&self) -> bool {
        self.timed
    }

    /// The Unix time at which a step is needed, even without events: a comparison with `"@now"`
    /// has another outcome from then on.
    pub fn next_deadline(&self) -> Option<i64> {
        if !self.timed {
            return None;
        }
        let branches = self.branches.iter();
        branches.filter_map(BranchState::next_deadline).min()
    }

    /// Processes a batch of events, and what is due at the time of the environment. Only the last
    /// event of an object counts. Events that are passed by value are freed one by one while the
    /// sources store them.
    pub fn step<I>(&mut self, batch: I, env: &Env) -> Result<StepResult, BudgetError>
    where
        I: IntoIterator,
        I::Item: Into<SourceEvent>,
    {
        let batch = batch.into_iter().map(Into::into).collect();
        self.step_all(batch, env, false, None)
    }

    /// Processes a batch as [`Circuit::step`] does. In all stages that read `"@now"`, it moves on
    /// for all documents: a Periodic source ticks.
    pub fn tick<I>(&mut self, batch: I, env: &Env) -> Result<StepResult, BudgetError>
    where
        I: IntoIterator,
        I::Item: Into<SourceEvent>,
    {
        let batch = batch.into_iter().map(Into::into).collect();
        self.step_all(batch, env, true, None)
    }

    fn step_all(
        &mut self,
        batch: Vec<SourceEvent>,
        env: &Env,
        tick: bool,
        recording: Option<&mut Recording>,
    ) -> Result<StepResult, BudgetError> {
        if let Some(error) = self.stopped {
            return Err(error);
        }
        self.step = self.step.wrapping_add(1);
        let changes = self.ingest(batch, env);
        if self.len() + self.others.documents > self.budget.documents {
            return Err(self.stop(BudgetError::Documents(self.budget.documents)));
        }
        if let Some(limit) = self.budget.bytes
            && self.bytes() + self.others.bytes > limit
        {
            return Err(self.stop(BudgetError::Bytes(limit)));
        }
        let mut errors = Vec::new();
        let mut meter = Meter::new(self.budget, self.others.candidates);
        let clock = if self.timed {
            Clock::new(env, tick)
        } else {
            Clock::STOPPED
        };
        let outputs = self.run(changes, (env, clock), &mut errors, &mut meter, recording);
        self.candidates = meter.candidates() - self.others.candidates;
        if let Some(error) = meter.exceeded() {
            return Err(self.stop(error));
        }
        let changes = self.write(outputs, env, &mut errors);
        let errors = sorted(errors, || !env.is_interrupted());
        if env.is_interrupted() {
            return Err(self.stop(BudgetError::Time));
        }
        Ok(StepResult { changes, errors })
    }

    fn stop(&mut self, error: BudgetError) -> BudgetError {
        self.stopped = Some(error);
        error
    }

    /// Stores the objects in the sources. Returns the changes of each source.
    fn ingest(&mut self, batch: Vec<SourceEvent>, env: &Env) -> Batches {
        let mut changes: Batches = self.sources.iter().map(|_| Vec::new()).collect();
        let stale = superseded(&batch);
        for (event, stale) in batch.into_iter().zip(stale) {
            if env.is_interrupted() {
                break;
            }
            if !stale {
                let change = self.sources[event.source].set(event.name, event.object);
                changes[event.source].extend(change);
            }
        }
        changes
    }

    /// Runs all branches. Returns the changes for each target.
    fn run(
        &mut self,
        mut sources: Batches,
        (env, clock): (&Env, Clock),
        errors: &mut Vec<RunError>,
        meter: &mut Meter,
        mut recording: Option<&mut Recording>,
    ) -> Outputs {
        let mut outputs: Outputs = self.targets.iter().map(|_| Vec::new()).collect();
        let mut streams: Vec<Vec<Change>> = Vec::new();
        let several = self.branches.len() > 1;
        for position in 0..self.pipeline.order.len() {
            let number = self.pipeline.order[position];
            let rule = &self.pipeline.branches[number];
            let inputs: Batches = rule
                .inputs
                .iter()
                .map(|input| match *input {
                    Input::Source(source) if several => sources[source].clone(),
                    Input::Source(source) => std::mem::take(&mut sources[source]),
                    Input::Stream(stream) => streams.get(stream).cloned().unwrap_or_default(),
                })
                .collect();
            if let Some(recording) = &mut recording {
                recording.add_inputs(number, &inputs);
            }
            let mut branch = std::mem::take(&mut self.branches[number]);
            let mut cx = StepContext {
                env,
                branch: number,
                stage: 0,
                clock,
                errors,
                meter,
                recording: recording.as_deref_mut(),
            };
            let pull = Pull {
                pipeline: &self.pipeline,
                sources: &self.sources,
                branches: &self.branches,
                env,
            };
            let mut changes = branch.step(inputs, &pull, self.step, &mut cx);
            if several {
                for change in &mut changes {
                    change.origin = change.origin.behind(Component::Branch(number as u32));
                }
            }
            if let Some(stream) = rule.output.stream {
                streams.resize_with(streams.len().max(stream + 1), Vec::new);
                // A branch that reads the stream may store its documents longer than the
                // objects that contain them exist.
                for change in &mut changes {
                    change.new = change.new.take().detach();
                }
                streams[stream].extend(changes.iter().cloned());
            }
            if let Some(target) = rule.output.target {
                cx.stage = rule.stages.len();
                append(&mut outputs[target], branch.output(changes, &mut cx));
            }
            self.branches[number] = branch;
        }
        outputs
    }

    /// Applies the outputs to the targets.
    fn write(
        &mut self,
        outputs: Outputs,
        env: &Env,
        errors: &mut Vec<RunError>,
    ) -> Vec<TargetChange> {
        let mut written = Vec::new();
        for (number, outputs) in outputs.into_iter().enumerate() {
            let pull = Pull {
                pipeline: &self.pipeline,
                sources: &self.sources,
                branches: &self.branches,
                env,
            };
            let (changes, losers) =
                self.targets[number].step(outputs, &|origin| pull.output(origin), env);
            let kind = &self.kinds[number];
            let derived = |document| Derived {
                document,
                kind: kind.clone(),
            };
            written.extend(changes.into_iter().map(|change| TargetChange {
                target: number,
                key: change.key,
                origin: change.origin,
                old: change.old.map(derived),
                new: change.new.map(|document| apply::object(kind, &document)),
            }));
            errors.extend(
                losers
                    .into_iter()
                    .map(|loser| conflict(&self.pipeline, loser)),
            );
        }
        written
    }

    /// All current errors, sorted by branch, stage and origin.
    pub fn errors(&self) -> Vec<RunError> {
        let mut errors = Vec::new();
        for (number, branch) in self.branches.iter().enumerate() {
            branch.errors(number, &mut errors);
        }
        for target in &self.targets {
            errors.extend(
                target
                    .conflicts()
                    .into_iter()
                    .map(|loser| conflict(&self.pipeline, loser)),
            );
        }
        sorted(errors, || true)
    }

    /// Whether there are errors that may hide what is derived from other origins. Conflicts hide
    /// nothing, nor do outputs that cannot be where they are derived. Unlike [`Circuit::errors`]
    /// this costs the same, however many there are.
    pub fn hides(&self) -> bool {
        self.branches.iter().any(BranchState::hides)
    }

    /// Whether the circuit holds no state: no objects, groups, errors or targets.
    pub fn is_empty(&self) -> bool {
        self.sources.iter().all(SourceState::is_empty)
            && self.branches.iter().all(BranchState::is_empty)
            && self.targets.iter().all(TargetState::is_empty)
    }

    /// The running branches, for `explain`.
    pub(crate) fn branches(&self) -> &[BranchState] {
        &self.branches
    }
}

/// Appends to a list. In most pipelines it is empty; then nothing is copied.
fn append<T>(list: &mut Vec<T>, mut more: Vec<T>) {
    if list.is_empty() {
        *list = more;
    } else {
        list.append(&mut more);
    }
}

/// For each event, whether a later event of the batch has the same object.
fn superseded(batch: &[SourceEvent]) -> SmallVec<[bool; 8]> {
    if batch.is_sorted_by(|a, b| (a.source, &a.name) < (b.source, &b.name)) {
        return smallvec::smallvec![false; batch.len()];
    }
    let mut seen = hashbrown::HashSet::with_capacity_and_hasher(
        batch.len(),
        foldhash::fast::FixedState::default(),
    );
    let events = batch.iter().rev();
    let mut stale: SmallVec<[bool; 8]> = events
        .map(|event| !seen.insert((event.source, &event.name)))
        .collect();
    stale.reverse();
    stale
}
