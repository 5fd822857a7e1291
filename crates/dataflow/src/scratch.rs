//! The from-scratch evaluator: all objects in, all target objects and all errors out.
//!
//! It is what the incremental engine is tested against, so it is written to be read:
//! nested loops and sorted maps, nothing looked up, nothing kept up to date. Only what
//! a stage does to one document ([`crate::apply`]) is shared with the engine.
//!
//! A state is a function of the objects, with two exceptions for which the state before
//! is handed in: a stage that fails on an origin holds what it put out for it before,
//! and `"@now"` stays as it was while the input of its stage is the same.

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

/// All source objects: by source and name.
pub type Objects = BTreeMap<(usize, ObjectName), Value>;

/// Documents at one place of a pipeline: an origin has one at the most.
type Documents = BTreeMap<Origin, Value>;

/// What a pipeline makes of a set of objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The objects of each target.
    pub targets: Vec<BTreeMap<ObjectName, Value>>,
    /// All errors that stand, conflicts included, by branch, stage and origin. Of one
    /// origin at one stage, a failed check of the output comes before a conflict.
    pub errors: Vec<RunError>,
    /// What the stages of each branch put out.
    branches: Vec<BranchMemory>,
}

/// What the stages of a branch put out.
#[derive(Clone, Debug, Default, PartialEq)]
struct BranchMemory {
    stages: Vec<stage::StageMemory>,
    /// The outputs, checked, by the origin that they leave the branch with.
    outputs: BTreeMap<Origin, (ObjectName, Value)>,
    /// How many of these are held.
    held: usize,
}

impl State {
    /// How many results of stages are in place only because the stage fails now.
    pub fn held(&self) -> usize {
        let of_branch = |branch: &BranchMemory| -> usize {
            let stages = branch.stages.iter().map(stage::StageMemory::held);
            stages.sum::<usize>() + branch.held
        };
        self.branches.iter().map(of_branch).sum()
    }

    /// How many joined rows lack a soft partner.
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

/// What is known of one evaluation while the branches run.
struct Evaluation<'a> {
    env: &'a Env,
    objects: &'a Objects,
    /// What the branches have put into each stream so far.
    streams: BTreeMap<usize, Documents>,
    errors: Vec<RunError>,
}

/// All outputs for the objects of one target: by name, then by origin, each with the
/// number of its branch.
type Outputs<'a> = BTreeMap<&'a ObjectName, BTreeMap<&'a Origin, (usize, &'a Value)>>;

impl Scratch {
    /// An evaluator; `target_kinds` are those of the pipeline's targets, in their order.
    pub fn new(pipeline: Pipeline, target_kinds: Vec<OutputKind>) -> Self {
        Self {
            pipeline,
            target_kinds,
        }
    }

    /// The state for these objects. Of the state before only what is said above is read.
    pub fn eval(&self, objects: &Objects, previous: &State, env: &Env) -> State {
        let mut run = Evaluation {
            env,
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
        let targets = (0..self.target_kinds.len())
            .map(|target| self.target(target, &branches, &mut run.errors))
            .collect();
        let mut errors = run.errors;
        // The sort is stable: conflicts, found last, stay behind other errors.
        errors.sort_by(|a, b| (a.branch, a.stage, &a.origin).cmp(&(b.branch, b.stage, &b.origin)));
        State {
            targets,
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
        // Several inputs are joined by the first stage; a single one goes in as it is.
        let mut documents = inputs.first().cloned().unwrap_or_default();
        for (i, stage) in branch.stages.iter().enumerate() {
            let before = previous.stages.get(i).unwrap_or(&nothing);
            let result = match &stage.kind {
                StageKind::Join(join) => join::run(join, &stage.at, &inputs, before, run.env),
                kind @ (StageKind::Select(_)
                | StageKind::Project(_)
                | StageKind::Unwind(_)
                | StageKind::Gather(_)
                | StageKind::GroupBy(_)
                | StageKind::Distinct
                | StageKind::Patch(_)) => stage::run(kind, &stage.at, &documents, before, run.env),
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

    /// The documents of a branch as the others see them.
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

    /// The last stage: documents become objects of the target.
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

    /// The objects of a target: of several outputs for one name, that of the first origin.
    fn target(
        &self,
        target: usize,
        branches: &[BranchMemory],
        errors: &mut Vec<RunError>,
    ) -> BTreeMap<ObjectName, Value> {
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
        let mut objects = BTreeMap::new();
        for (name, rivals) in outputs {
            let mut rivals = rivals.into_iter();
            let Some((winner, (_, object))) = rivals.next() else {
                continue;
            };
            objects.insert(name.clone(), object.clone());
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
        objects
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
