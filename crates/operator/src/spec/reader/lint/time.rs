//! Warnings about computations with the time that nothing repeats.

use dataflow::pipeline::{Project, StageKind};
use document::Location;
use expr::Expr;

use super::super::SpecReader;
use crate::problem::Problem;
use crate::spec::{Controller, SourceKind};

impl SpecReader<'_> {
    /// Warns about stages that compute with `"@now"`, if no Periodic source lets it move on.
    pub(super) fn time_that_stands_still(&mut self, controller: &Controller) {
        let mut sources = controller.sources.iter();
        if sources.any(|source| matches!(source.kind, SourceKind::Periodic(_))) {
            return;
        }
        let stages = controller.pipeline.branches.iter();
        for stage in stages.flat_map(|branch| &branch.stages) {
            for at in computes_with_now(&stage.kind) {
                let problem = Problem::warning(
                    "time-stands-still",
                    at,
                    "this is computed when the input changes, and not again when time passes",
                );
                self.problems.push(problem.with_help(
                    r#"compare with a time, such as {"@gt": ["@now", {"@timeAdd": ["$.metadata.creationTimestamp", "24h"]}]}, which is evaluated when the outcome changes; or add a source of type Periodic"#,
                ));
            }
        }
    }
}

/// Where a stage computes with the time.
fn computes_with_now(stage: &StageKind) -> Vec<&Location> {
    match stage {
        StageKind::Select(expr) | StageKind::Project(Project::Whole(expr)) => {
            expr.computes_with_now()
        }
        StageKind::Project(Project::Steps(steps)) => {
            steps.iter().flat_map(Expr::computes_with_now).collect()
        }
        StageKind::GroupBy(group) => {
            let value = group.value.as_ref();
            value.map(Expr::computes_with_now).unwrap_or_default()
        }
        StageKind::Patch(patch) => {
            let mut found = Vec::new();
            patch.edit.expressions(&mut |expression, _| {
                if expression.program.reads_variable(expr::NOW) {
                    found.push(&expression.at);
                }
            });
            found
        }
        StageKind::Join(_) | StageKind::Unwind(_) | StageKind::Gather(_) | StageKind::Distinct => {
            Vec::new()
        }
    }
}
