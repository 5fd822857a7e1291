//! Computes the current document of an origin on demand.
//!
//! Stages do not store their outputs. Sometimes one needs a document that is not part of the
//! change: the next template of a `@gather`, or the document of a target object for which a
//! second origin comes.
//! It is pulled through the stages before, from the source:
//!
//! ```text
//! source ─▶ @select ─▶ @project ─▶ @gather
//!                                    │ document(web)?
//!    ◀───────────────────────────────┘ back to source.document(web)
//!    ────────▶ current                 and forward through the stages
//!              ──────────▶ current
//! ```
//!
//! Joins and groups know their current documents, so the way back ends there. A stage that fails on
//! the origin returns what it holds.

use document::Value;
use expr::Env;

use crate::origin::{Component, Origin};
use crate::pipeline::{Input, Pipeline};
use crate::running::Upstream;
use crate::running::output::Keyed;
use crate::running::source::SourceState;
use crate::running::transform::TransformState;
use crate::running::unwind::UnwindState;

use super::branch::{BranchState, StageState};

/// The parts of a circuit that are needed to compute documents.
pub(crate) struct Pull<'a> {
    pub(crate) pipeline: &'a Pipeline,
    pub(crate) sources: &'a [SourceState],
    pub(crate) branches: &'a [BranchState],
    pub(crate) env: &'a Env,
}

/// The stages before the one that runs.
pub(crate) struct StagesBefore<'a> {
    pub(crate) pull: &'a Pull<'a>,
    pub(crate) branch: usize,
    pub(crate) stages: &'a [StageState],
}

impl Upstream for StagesBefore<'_> {
    fn document(&self, origin: &Origin) -> Option<Value> {
        self.pull.through(self.branch, self.stages, origin)
    }
}

impl Pull<'_> {
    /// The output of an origin to a target. The origin includes the branch.
    pub(crate) fn output(&self, origin: &Origin) -> Option<Keyed> {
        let (branch, inner) = self.branch(origin)?;
        let state = self.branches.get(branch)?;
        let check = state.output_check()?;
        // The output check knows documents by the origin that includes the branch.
        let input = self.through(branch, &state.stages, &inner);
        check.current(input.as_ref(), origin)
    }

    /// Splits an origin outside of its branch into the branch and the origin inside of it.
    fn branch(&self, origin: &Origin) -> Option<(usize, Origin)> {
        if self.pipeline.branches.len() == 1 {
            return Some((0, origin.clone()));
        }
        match origin.components().split_first()? {
            (Component::Branch(branch), rest) => Some((*branch as usize, Origin::of_slice(rest))),
            _ => None,
        }
    }

    /// The document that the last of these stages puts out. The way may be long: it is a loop, so that
    /// it needs no stack.
    fn through(&self, branch: usize, stages: &[StageState], origin: &Origin) -> Option<Value> {
        let (document, ahead) = self.known(branch, stages, origin);
        ahead.into_iter().rev().fold(document, |input, stage| {
            let input = input.as_ref();
            match stage {
                Ahead::Transform(transform, origin) => transform.current(input, &origin, self.env),
                Ahead::Unwind(unwind, parent, index) => unwind.current(input, &parent, index),
            }
        })
    }

    /// Goes back to the nearest document that is known, and returns it with the stages that it has to
    /// pass through, the last one first.
    fn known<'s>(
        &'s self,
        mut branch: usize,
        mut stages: &'s [StageState],
        origin: &Origin,
    ) -> (Option<Value>, Vec<Ahead<'s>>) {
        let mut origin = origin.clone();
        let mut ahead = Vec::new();
        let document = loop {
            let Some((stage, before)) = stages.split_last() else {
                match self.pipeline.branches[branch].inputs.first() {
                    Some(Input::Source(source)) => break self.sources[*source].document(&origin),
                    Some(Input::Stream(_)) => {
                        let Some((from, inner)) = self.branch(&origin) else {
                            break None;
                        };
                        let Some(state) = self.branches.get(from) else {
                            break None;
                        };
                        (branch, stages, origin) = (from, &state.stages, inner);
                        continue;
                    }
                    None => break None,
                }
            };
            match stage {
                StageState::Transform(transform) => {
                    ahead.push(Ahead::Transform(transform, origin.clone()));
                }
                StageState::Unwind(unwind) => {
                    let Some((parent, Component::Index(index))) = origin.split_last() else {
                        break None;
                    };
                    ahead.push(Ahead::Unwind(unwind, parent.clone(), *index as usize));
                    origin = parent;
                }
                StageState::Join(join) => match join.soft.last() {
                    Some(soft) => break soft.current(&origin),
                    None => break join.hard.current(&origin, self.env),
                },
                StageState::Gather(gather) => {
                    break group_key(&origin).and_then(|key| gather.current(key));
                }
                StageState::GroupBy(group) => {
                    break group_key(&origin).and_then(|key| group.current(key));
                }
                StageState::Distinct(distinct) => {
                    break group_key(&origin).and_then(|key| distinct.current(key));
                }
            }
            stages = before;
        };
        (document, ahead)
    }
}

/// A stage that computes a document from the one before, with the origin of its input.
enum Ahead<'a> {
    Transform(&'a TransformState, Origin),
    /// The position of the element.
    Unwind(&'a UnwindState, Origin, usize),
}

fn group_key(origin: &Origin) -> Option<&Value> {
    match origin.components() {
        [Component::Key(key)] => Some(key),
        _ => None,
    }
}
