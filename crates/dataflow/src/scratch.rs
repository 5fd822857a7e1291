//! The from-scratch evaluator: computes all target objects and all errors from all objects.
//!
//! It is the oracle for the incremental engine. Tests run both on the same history and compare
//! them after every batch:
//!
//! ```text
//! batch 1 ─▶ circuit.step ─▶ changes ─▶ targets ─┐
//!    │                                           = ?
//!    └─▶ objects ─▶ scratch.eval ─▶ targets ─────┘
//! ```
//!
//! So the oracle must be obviously right, not fast: nested loops over sorted maps, no indexes, no
//! incremental state. Only the functions for one document ([`crate::apply`]) are shared with the
//! engine.
//!
//! The state after batch k is a function of the objects and of the state before:
//!
//! ```text
//! state[k] = eval(objects[k], state[k-1])
//! ```
//!
//! The state before is needed for two things only. A stage that fails on an origin holds its
//! last output for it. And `"@now"` keeps its value while the input of its stage is the same, until
//! a deadline or a tick.

mod join;
mod patch;
mod stage;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use document::Value;
use expr::Env;
use object::ObjectName;

use crate::apply::{self, OutputKind};
use crate::failure::{Failure, RunError};
use crate::origin::{Component, Origin};
use crate::pipeline::{Branch, Input, Pipeline, StageKind};

/// All source objects, by source and name.
pub type Objects = BTreeMap<(usize, ObjectName), Value>;

/// The documents between two stages. An origin has at most one.
type Documents = BTreeMap<Origin, Value>;

/// The result of an evaluation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The objects of each target.
    pub targets: Vec<BTreeMap<ObjectName, Value>>,
    /// The origins of these objects.
    pub origins: Vec<BTreeMap<ObjectName, Origin>>,
    /// All errors including conflicts, sorted by branch, stage and origin. If an origin has both,
    /// the error of the output check comes before the conflict.
    pub errors: Vec<RunError>,
    /// The outputs of the stages of each branch, for the next evaluation.
    branches: Vec<BranchMemory>,
}

/// The outputs of the stages of a branch.
#[derive(Clone, Debug, Default, PartialEq)]
struct BranchMemory {
    stages: Vec<stage::StageMemory>,
    /// The checked outputs of the branch. The origins include the branch.
    outputs: BTreeMap<Origin, (ObjectName, Value)>,
    /// The number of these that are held.
    held: usize,
}

impl State {
    /// The number of held outputs of all stages.
    pub fn held(&self) -> usize {
        let of_branch = |branch: &BranchMemory| -> usize {
            let stages = branch.stages.iter().map(stage::StageMemory::held);
            stages.sum::<usize>() + branch.held
        };
        self.branches.iter().map(of_branch).sum()
    }

    /// The Unix time at which a comparison with `"@now"` has another outcome.
    pub fn next_deadline(&self) -> Option<i64> {
        let stages = self.branches.iter().flat_map(|branch| &branch.stages);
        stages.filter_map(stage::StageMemory::next_deadline).min()
    }

    /// The number of joined rows without a soft partner.
    pub fn without_partner(&self) -> usize {
        let stages = self.branches.iter().flat_map(|branch| &branch.stages);
        stages.map(stage::StageMemory::without_partner).sum()
    }
}

/// The evaluator of one pipeline.
#[derive(Clone, Debug)]
pub struct Scratch {
    pipeline: Pipeline,
    target_kinds: Vec<OutputKind>,
}

/// The time of an evaluation.
#[derive(Clone, Copy)]
struct Moment<'a> {
    env: &'a Env,
    /// Whether a Periodic source ticks.
    tick: bool,
}

/// The state of one evaluation while the branches run.
struct Evaluation<'a> {
    time: Moment<'a>,
    objects: &'a Objects,
    /// The documents of each stream so far.
    streams: BTreeMap<usize, Documents>,
    errors: Vec<RunError>,
}

/// All outputs for one target by name and origin, each with the number of its branch.
type Outputs<'a> = BTreeMap<&'a ObjectName, BTreeMap<&'a Origin, (usize, &'a Value)>>;

impl Scratch {
    /// An evaluator; `target_kinds` has the kind of each target.
    pub fn new(pipeline: Pipeline, target_kinds: Vec<OutputKind>) -> Self {
        Self {
            pipeline,
            target_kinds,
        }
    }

    /// The state for these objects. `previous` is read only for holds and `"@now"`.
    pub fn eval(&self, objects: &Objects, previous: &State, env: &Env) -> State {
        self.evaluate(objects, previous, Moment { env, tick: false })
    }

    /// The state for these objects after a tick of a Periodic source: `"@now"` is the time of the
    /// environment everywhere.
    pub fn tick(&self, objects: &Objects, previous: &State, env: &Env) -> State {
        self.evaluate(objects, previous, Moment { env, tick: true })
    }

    fn evaluate(&self, objects: &Objects, previous: &State, time: Moment<'_>) -> State {
        let mut run = Evaluation {
            time,
            objects,
            streams: BTreeMap::new(),
            errors: Vec::new(),
        };
        let nothing = BranchMemory::default();
        let mut branches = vec![BranchMemory::default(); self.pipeline.branches.len()];
        for &number in &self.pipeline.order {
            let before = previous.branches.get(number).unwrap_or(&nothing);
            branches[number] = self.branch(number, before, &mut run);
        }
        let (targets, origins) = (0..self.target_kinds.len())
            .map(|target| self.target(target, &branches, &mut run.errors))
            .unzip();
        let mut errors = run.errors;
        // The sort is stable, so conflicts, which are found last, stay behind other errors.
        errors.sort_by(|a, b| (a.branch, a.stage, &a.origin).cmp(&(b.branch, b.stage, &b.origin)));
        State {
            targets,
            origins,
            errors,
            branches,
        }
    }

    fn branch(
        &self,
        number: usize,
        previous: &BranchMemory,
        run: &mut Evaluation<'_>,
    ) -> BranchMemory {
        let branch = &self.pipeline.branches[number];
        let inputs: Vec<Documents> = branch
            .inputs
            .iter()
            .map(|input| run.input(*input))
            .collect();
        let mut state = BranchMemory::default();
        let nothing = stage::StageMemory::default();
        // The first stage joins several inputs. A single input is passed to it as it is.
        let mut documents = inputs.first().cloned().unwrap_or_default();
        for (i, stage) in branch.stages.iter().enumerate() {
            let before = previous.stages.get(i).unwrap_or(&nothing);
            let result = match &stage.kind {
                StageKind::Join(join) => join::run(join, &stage.at, &inputs, before, run.time.env),
                kind @ (StageKind::Select(_)
                | StageKind::Project(_)
                | StageKind::Unwind(_)
                | StageKind::Gather(_)
                | StageKind::GroupBy(_)
                | StageKind::Distinct
                | StageKind::Patch(_)) => stage::run(kind, &stage.at, &documents, before, run.time),
            };
            documents = result.documents;
            state.stages.push(result.memory);
            let failures = result.failures.into_iter();
            run.errors
                .extend(failures.map(|(origin, failure)| RunError {
                    branch: number,
                    stage: i,
                    origin,
                    failure,
                }));
        }
        let documents = self.leave(number, documents);
        if let Some(target) = branch.output.target {
            self.check(
                number,
                &self.target_kinds[target],
                &documents,
                previous,
                &mut state,
                run,
            );
        }
        if let Some(stream) = branch.output.stream {
            run.streams.entry(stream).or_default().extend(documents);
        }
        state
    }

    /// Adds the branch to the origins, for the other branches and the target.
    fn leave(&self, number: usize, documents: Documents) -> Documents {
        if self.pipeline.branches.len() == 1 {
            return documents;
        }
        let component = Component::Branch(number as u32);
        documents
            .into_iter()
            .map(|(origin, document)| (origin.behind(component.clone()), document))
            .collect()
    }

    /// The output check: turns documents into target objects.
    fn check(
        &self,
        number: usize,
        kind: &OutputKind,
        documents: &Documents,
        previous: &BranchMemory,
        state: &mut BranchMemory,
        run: &mut Evaluation<'_>,
    ) {
        let branch = &self.pipeline.branches[number];
        for (origin, document) in documents {
            let output = match apply::output(kind, &branch.at, document) {
                Ok(output) => Some(output),
                Err(failure) => {
                    run.errors
                        .push(output_error(branch, number, origin, failure));
                    let held = previous.outputs.get(origin).cloned();
                    state.held += usize::from(held.is_some());
                    held
                }
            };
            if let Some(output) = output {
                state.outputs.insert(origin.clone(), output);
            }
        }
    }

    /// The objects of a target and their origins. Of several outputs for one name the first origin
    /// wins.
    fn target(
        &self,
        target: usize,
        branches: &[BranchMemory],
        errors: &mut Vec<RunError>,
    ) -> (BTreeMap<ObjectName, Value>, BTreeMap<ObjectName, Origin>) {
        let mut outputs = Outputs::new();
        for (number, branch) in self.pipeline.branches.iter().enumerate() {
            if branch.output.target != Some(target) {
                continue;
            }
            for (origin, (name, object)) in &branches[number].outputs {
                let rivals = outputs.entry(name).or_default();
                rivals.insert(origin, (number, object));
            }
        }
        let (mut objects, mut origins) = (BTreeMap::new(), BTreeMap::new());
        for (name, rivals) in outputs {
            let mut rivals = rivals.into_iter();
            let Some((winner, (_, object))) = rivals.next() else {
                continue;
            };
            objects.insert(name.clone(), object.clone());
            origins.insert(name.clone(), winner.clone());
            for (loser, (number, other)) in rivals {
                if other != object {
                    let branch = &self.pipeline.branches[number];
                    let failure = Failure::Conflict {
                        key: key_text(name),
                        winner: winner.clone(),
                        at: branch.at.clone(),
                    };
                    errors.push(output_error(branch, number, loser, failure));
                }
            }
        }
        (objects, origins)
    }
}

impl Evaluation<'_> {
    /// All documents of an input.
    fn input(&self, input: Input) -> Documents {
        match input {
            Input::Source(source) => self
                .objects
                .iter()
                .filter(|((of, _), _)| *of == source)
                .map(|((_, name), object)| {
                    (Origin::object(source as u32, name.clone()), object.clone())
                })
                .collect(),
            Input::Stream(stream) => self.streams.get(&stream).cloned().unwrap_or_default(),
        }
    }
}

fn output_error(branch: &Branch, number: usize, origin: &Origin, failure: Failure) -> RunError {
    RunError {
        branch: number,
        stage: branch.stages.len(),
        origin: origin.clone(),
        failure,
    }
}

/// `namespace/name`, or `name` alone.
fn key_text(name: &ObjectName) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match text(&name.namespace).as_str() {
        "" => text(&name.name),
        namespace => format!("{namespace}/{}", text(&name.name)),
    }
}
