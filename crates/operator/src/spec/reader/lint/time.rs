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
            // One warning for a stage is enough.
            if let Some(at) = computes_with_now(&stage.kind) {
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

/// Where a stage first computes with the time.
fn computes_with_now(stage: &StageKind) -> Option<&Location> {
    match stage {
        StageKind::Select(expr) | StageKind::Project(Project::Whole(expr)) => first(expr),
        StageKind::Project(Project::Steps(steps)) => steps.iter().find_map(first),
        StageKind::GroupBy(group) => group.value.as_ref().and_then(first),
        StageKind::Patch(patch) => {
            let mut found = None;
            patch.edit.expressions(&mut |expression, _| {
                if expression.program.reads_variable(expr::NOW) && found.is_none() {
                    found = Some(&expression.at);
                }
            });
            found
        }
        StageKind::Join(_) | StageKind::Unwind(_) | StageKind::Gather(_) | StageKind::Distinct => {
            None
        }
    }
}

fn first(expr: &Expr) -> Option<&Location> {
    expr.computes_with_now().into_iter().next()
}
