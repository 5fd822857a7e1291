//! What the random runs have reached.

use std::collections::BTreeMap;

use dataflow::pipeline::Pipeline;

/// Counts situations, to check that the random runs reach them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage(pub(crate) BTreeMap<String, u64>);

impl Coverage {
    /// Counts a situation.
    pub(crate) fn count(&mut self, what: impl Into<String>, times: usize) {
        if times > 0 {
            *self.0.entry(what.into()).or_default() += times as u64;
        }
    }

    /// Adds the counts of other runs.
    pub(crate) fn add(&mut self, other: &Self) {
        for (what, times) in &other.0 {
            *self.0.entry(what.clone()).or_default() += times;
        }
    }

    /// Counts what a pipeline consists of.
    pub(crate) fn pipeline(&mut self, pipeline: &Pipeline) {
        self.count("runs", 1);
        self.count(
            "runs with branches",
            usize::from(pipeline.branches.len() > 1),
        );
        for branch in &pipeline.branches {
            let names: Vec<&str> = branch
                .stages
                .iter()
                .map(|stage| stage.kind.name())
                .collect();
            for name in &names {
                self.count(format!("stage {name}"), 1);
            }
            for pair in names.windows(2) {
                self.count(format!("stages {} {}", pair[0], pair[1]), 1);
            }
            self.count(format!("branch of {} inputs", branch.inputs.len()), 1);
        }
    }
}
