//! The documents between the stages, recorded to explain a result.
//!
//! Nothing is recorded while a circuit runs. To explain its state, all objects are evaluated again
//! in a new circuit ([`crate::Circuit::record`]), which stores what each stage yields:
//!
//! ```text
//!             inputs        @select          @project          outputs
//! [Pod a/web] {replicas: 3} {replicas: 3}    {n: 3, …}         Large a/web
//! [Pod a/db]  {replicas: 1}
//! ```
//!
//! [`crate::provenance`] reads it.

use std::collections::BTreeMap;

use document::Value;

use crate::circuit::TargetChange;
use crate::failure::RunError;
use crate::origin::Origin;
use crate::pipeline::Pipeline;
use crate::running::{Batches, Change};

/// The documents at one point of a pipeline. An origin has at most one.
pub type Documents = BTreeMap<Origin, Value>;

/// What the stages of a pipeline yield for a set of objects.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The documents of each branch.
    pub branches: Vec<RecordedBranch>,
    /// The errors, sorted by branch, stage and origin.
    pub errors: Vec<RunError>,
    /// The objects of the targets, each with the origin that won its name.
    pub outputs: Vec<TargetChange>,
}

/// The documents of one branch.
#[derive(Clone, Debug, Default)]
pub struct RecordedBranch {
    /// The documents of each input.
    pub inputs: Vec<Documents>,
    /// The documents that each stage yields.
    pub stages: Vec<Documents>,
}

impl Recording {
    /// A recording without documents.
    pub fn new(pipeline: &Pipeline) -> Self {
        let branches = pipeline.branches.iter().map(|branch| RecordedBranch {
            inputs: vec![Documents::new(); branch.inputs.len()],
            stages: vec![Documents::new(); branch.stages.len()],
        });
        Self {
            branches: branches.collect(),
            errors: Vec::new(),
            outputs: Vec::new(),
        }
    }

    pub(crate) fn add_inputs(&mut self, branch: usize, inputs: &Batches) {
        let recorded = &mut self.branches[branch].inputs;
        for (documents, changes) in recorded.iter_mut().zip(inputs) {
            add(documents, changes);
        }
    }

    pub(crate) fn add_stage(&mut self, branch: usize, stage: usize, changes: &[Change]) {
        add(&mut self.branches[branch].stages[stage], changes);
    }
}

fn add(documents: &mut Documents, changes: &[Change]) {
    let new = changes
        .iter()
        .filter_map(|change| Some((change.origin.clone(), change.new.clone()?)));
    documents.extend(new);
}

impl RecordedBranch {
    /// The documents that a stage reads, unless it is a join.
    pub fn before(&self, stage: usize) -> Option<&Documents> {
        match stage.checked_sub(1) {
            Some(before) => self.stages.get(before),
            None => self.inputs.first(),
        }
    }

    /// The documents that leave the branch.
    pub fn last(&self) -> Option<&Documents> {
        self.before(self.stages.len())
    }
}
