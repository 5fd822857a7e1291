//! Computes the current document of an origin on demand.
//!
//! Stages do not store their outputs. Sometimes one needs a document that is not part of the
//! change: the next template of a `@gather`, or the document of a target object for which a
//! second origin comes.
//! It is pulled through the stages before, backwards to the source:
//!
//! ```text
//! source ─▶ @select ─▶ @project ─▶ @gather
//!                                    │ document(web)?
//!                         ◀──────────┘ through(@project, web)
//!              ◀──────────             through(@select, web)
//!    ◀─────────                        source.document(web)
//! ```
//!
//! A stage that fails on the origin returns what it holds. Joins and groups know their current
//! documents, so the way back ends there.

use document::Value;
use expr::Env;

use crate::origin::{Component, Origin};
use crate::pipeline::{Input, Pipeline};
use crate::running::Upstream;
use crate::running::output::Keyed;
use crate::running::source::SourceState;

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

    /// The document that the last of these stages puts out.
    fn through(&self, branch: usize, stages: &[StageState], origin: &Origin) -> Option<Value> {
        let Some((stage, before)) = stages.split_last() else {
            return self.input(branch, origin);
        };
        match stage {
            StageState::Join(join) => match join.soft.last() {
                Some(soft) => soft.current(origin),
                None => join.hard.current(origin, self.env),
            },
            StageState::Transform(transform) => {
                let input = self.through(branch, before, origin);
                transform.current(input.as_ref(), origin, self.env)
            }
            StageState::Unwind(unwind) => {
                let (parent, last) = origin.split_last()?;
                let Component::Index(index) = last else {
                    return None;
                };
                let input = self.through(branch, before, &parent);
                unwind.current(input.as_ref(), &parent, *index as usize)
            }
            StageState::Gather(gather) => gather.current(group_key(origin)?),
            StageState::GroupBy(group) => group.current(group_key(origin)?),
            StageState::Distinct(distinct) => distinct.current(group_key(origin)?),
        }
    }

    /// The document that enters a branch without a join.
    fn input(&self, branch: usize, origin: &Origin) -> Option<Value> {
        match *self.pipeline.branches[branch].inputs.first()? {
            Input::Source(source) => self.sources[source].document(origin),
            Input::Stream(_) => {
                let (from, inner) = self.branch(origin)?;
                let state = self.branches.get(from)?;
                self.through(from, &state.stages, &inner)
            }
        }
    }
}

fn group_key(origin: &Origin) -> Option<&Value> {
    match origin.components() {
        [Component::Key(key)] => Some(key),
        _ => None,
    }
}
