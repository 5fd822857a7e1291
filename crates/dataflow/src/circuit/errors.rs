//! The errors that a circuit reports, in their order.

use crate::failure::{Failure, RunError};
use crate::origin::{Component, Origin};
use crate::pipeline::Pipeline;
use crate::running::sort;
use crate::running::target::Loser;

pub(super) fn conflict(pipeline: &Pipeline, loser: Loser) -> RunError {
    let branch = branch_of(pipeline, &loser.origin);
    RunError {
        branch,
        stage: pipeline.branches[branch].stages.len(),
        failure: Failure::Conflict {
            key: loser.key.to_string(),
            winner: loser.winner,
            at: pipeline.branches[branch].at.clone(),
        },
        origin: loser.origin,
    }
}

/// The branch that derived an output.
fn branch_of(pipeline: &Pipeline, origin: &Origin) -> usize {
    match origin.components().first() {
        Some(Component::Branch(branch)) if pipeline.branches.len() > 1 => *branch as usize,
        _ => 0,
    }
}

/// Sorts errors by branch, stage and origin, and keeps one of each. A group that is too large,
/// and a conflict, may have the same origin as another error; they are kept beside it.
pub(super) fn sorted(mut errors: Vec<RunError>, goes_on: impl FnMut() -> bool) -> Vec<RunError> {
    if errors.is_empty() {
        return errors;
    }
    let rank = |error: &RunError| match error.failure {
        Failure::Conflict { .. } => 2,
        Failure::GroupBounds { .. } => 1,
        Failure::Expression(_)
        | Failure::Patch(_)
        | Failure::NoPlace { .. }
        | Failure::Condition { .. }
        | Failure::NoObject { .. }
        | Failure::NoList { .. }
        | Failure::NoNameToUnwind { .. }
        | Failure::Output { .. }
        | Failure::Bounds { .. } => 0,
    };
    let place = |error: &RunError| (error.branch, error.stage, rank(error));
    let compare = |a: &RunError, b: &RunError| {
        (a.branch, a.stage)
            .cmp(&(b.branch, b.stage))
            .then_with(|| a.origin.cmp(&b.origin))
            .then_with(|| rank(a).cmp(&rank(b)))
    };
    sort::by(&mut errors, |error| &error.origin, compare, goes_on);
    errors.dedup_by(|a, b| place(a) == place(b) && a.origin == b.origin);
    errors
}
