//! Documents on demand: what reaches a stage under an origin, computed from the sources
//! and what the stages hold. It spares keeping every derived document.

use document::Value;
use expr::Env;

use crate::origin::{Component, Origin};
use crate::pipeline::{Input, Pipeline};
use crate::running::Upstream;
use crate::running::output::Keyed;
use crate::running::source::SourceState;

use super::branch::{BranchState, StageState};

/// The whole circuit, to look documents up in.
pub(crate) struct Pull<'a> {
    pub(crate) pipeline: &'a Pipeline,
    pub(crate) sources: &'a [SourceState],
    pub(crate) branches: &'a [BranchState],
    pub(crate) env: &'a Env,
}

/// The stages before one that is being run.
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
    /// What an origin (with its branch) puts out to a target.
    pub(crate) fn output(&self, origin: &Origin) -> Option<Keyed> {
        let (branch, inner) = self.branch(origin)?;
        let state = self.branches.get(branch)?;
        let check = state.output_check()?;
        // The check knows documents by the origin with the branch.
        let input = self.through(branch, &state.stages, &inner);
        check.current(input.as_ref(), origin)
    }

    /// The branch of an origin that has left it, and the origin inside of it.
    fn branch(&self, origin: &Origin) -> Option<(usize, Origin)> {
        if self.pipeline.branches.len() == 1 {
            return Some((0, origin.clone()));
        }
        match origin.components().split_first()? {
            (Component::Branch(branch), rest) => Some((*branch as usize, Origin::of_slice(rest))),
            _ => None,
        }
    }

    /// The document that comes out of the last of these stages of a branch.
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

    /// The document that comes into a branch without a join.
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
