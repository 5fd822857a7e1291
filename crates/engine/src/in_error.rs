//! The source objects and the origins of a controller that are in error.
//!
//! An error must neither remove nor replace what was derived before it. What that is, only the
//! origins in the marks of the objects on the cluster tell. All parts of the engine that keep an
//! object because of an error look its origin up here:
//!
//! | an error | concerns |
//! |---|---|
//! | of a stage, or of an object that cannot be read | in a sweep: all that has an object in common with it, because a document that is missing may change others; otherwise its own origin |
//! | of an output that cannot be where it is derived | its own origin, in the kind of that output |
//!
//! A mark may be that of an earlier generation of the Operator, in which a source had another name,
//! so names of sources are not compared, only their kinds:
//!
//! ```text
//! claim   [{"source": "Widget", "name": "a"}]    now: {kind: Widget, as: Main}
//! error   [{"source": "Main", "name": "a"}]      the same object
//! ```

mod origins;

use std::collections::{BTreeMap, BTreeSet};

use dataflow::pipeline::{Branch, Input, StageKind};
use dataflow::{Failure, Origin};
use object::{GroupKind, ObjectName};
use operator::Controller;
pub(crate) use origins::{Claimed, Objects, Origins};

use crate::controller_task::ControllerTask;

/// An origin in error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failed {
    /// Whether the output may be missing in what is derived from other origins.
    pub(crate) hides: bool,
    /// Whether a stage behind the error combines documents, so that one that is missing changes the
    /// document that others are in.
    pub(crate) combined: bool,
    /// The targets for which it yields an object that cannot be there.
    misplaced: BTreeSet<usize>,
}

/// The origins of a controller that are in error now.
pub(crate) fn failed(controller: &Controller, task: &ControllerTask) -> BTreeMap<Origin, Failed> {
    let mut all: BTreeMap<Origin, Failed> = BTreeMap::new();
    let combines = combining(controller);
    for error in task.failures() {
        let branch = &controller.pipeline.branches[error.branch];
        let failed = all.entry(error.origin).or_default();
        if error.failure.is_misplaced() {
            failed.misplaced.extend(branch.output.target);
            continue;
        }
        // Of a group whose document is too large, no member is missing.
        let of_group = matches!(error.failure, Failure::GroupBounds { .. });
        let behind = branch
            .stages
            .iter()
            .skip(error.stage + usize::from(of_group));
        failed.hides = true;
        failed.combined |= behind.map(|stage| &stage.kind).any(StageKind::groups)
            || reads_on(controller, branch).any(|reader| combines[reader]);
    }
    all
}

/// For each branch, whether it or one behind it combines documents.
fn combining(controller: &Controller) -> Vec<bool> {
    let pipeline = &controller.pipeline;
    let mut combines = vec![false; pipeline.branches.len()];
    for number in pipeline.order.iter().rev() {
        let branch = &pipeline.branches[*number];
        let mut stages = branch.stages.iter().map(|stage| &stage.kind);
        combines[*number] = stages.any(|stage| stage.groups() || stage.is_soft())
            || reads_on(controller, branch).any(|reader| combines[reader]);
    }
    combines
}

/// The branches that read the output of a branch.
fn reads_on<'a>(
    controller: &'a Controller,
    branch: &'a Branch,
) -> impl Iterator<Item = usize> + 'a {
    let stream = branch.output.stream.map(Input::Stream);
    let branches = controller.pipeline.branches.iter().enumerate();
    let readers = branches.filter(move |(_, reader)| {
        let mut inputs = reader.inputs.iter();
        inputs.any(|input| Some(*input) == stream)
    });
    readers.map(|(number, _)| number)
}

/// The origins and source objects of a controller that are in error.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct InError {
    /// The source objects of errors that may hide what is derived from other origins.
    objects: Objects,
    /// The origins of these errors.
    hiding: Origins,
    /// The origins whose outputs cannot be where they are derived, by the kind of these.
    misplaced: BTreeMap<GroupKind, Origins>,
}

impl InError {
    /// These origins.
    pub(crate) fn new(controller: &Controller, failed: &BTreeMap<Origin, Failed>) -> Self {
        let mut all = Self::default();
        for (origin, failed) in failed {
            let described = origin.describe(&controller.pipeline.sources);
            let claimed = Claimed::new(&described, Some(controller));
            if failed.hides {
                all.objects.insert_all(&claimed);
                all.hiding.insert(&claimed);
            }
            for target in &failed.misplaced {
                let kind = controller.targets[*target].resource.group_kind();
                all.misplaced.entry(kind).or_default().insert(&claimed);
            }
        }
        all
    }

    /// Adds the objects of inputs that cannot be read.
    pub(crate) fn with_unreadable<'a>(
        mut self,
        controller: &Controller,
        objects: impl Iterator<Item = &'a (usize, ObjectName)>,
    ) -> Self {
        for (input, name) in objects {
            self.objects.insert(kind_of(controller, *input), name);
        }
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.hides() && self.misplaced.is_empty()
    }

    /// Whether there are errors that may hide what is derived from other origins.
    pub(crate) fn hides(&self) -> bool {
        !self.objects.is_empty() || !self.hiding.is_empty()
    }

    /// Whether what was derived for an object of this kind from this origin is in error itself.
    pub(crate) fn covers(&self, kind: &GroupKind, origin: &Claimed<'_>) -> bool {
        let misplaced = self.misplaced.get(kind);
        self.hiding.covers(origin) || misplaced.is_some_and(|origins| origins.covers(origin))
    }

    /// Whether an error may be the reason why an object of this kind is no longer derived from this
    /// origin. `any` says whether an origin that does not name its objects counts as one with any
    /// object.
    pub(crate) fn concerns(&self, kind: &GroupKind, origin: &Claimed<'_>, any: bool) -> bool {
        let misplaced = self.misplaced.contains_key(kind) && origin.is_hidden();
        let unnamed = any && ((self.hides() && origin.is_unnamed()) || misplaced);
        unnamed || self.objects.has_one_of(origin) || self.covers(kind, origin)
    }
}

/// The kind of an input.
pub(crate) fn kind_of(controller: &Controller, input: usize) -> Option<GroupKind> {
    let source = controller.inputs.get(input)?;
    Some(controller.sources[*source].resource.group_kind())
}

#[cfg(test)]
mod tests;
