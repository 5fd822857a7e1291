//! Whether a pipeline can yield a status. Where that is not known, it may.

use dataflow::pipeline::{Project, Stage, StageKind};
use document::path::{Root, Segment};
use expr::{Expr, MapExpr};
use operator::Controller;

/// Whether documents for this target may have a `status`.
pub(super) fn may_yield(controller: &Controller, target: usize) -> bool {
    let branches = &controller.pipeline.branches;
    branches
        .iter()
        .filter(|branch| branch.output.target == Some(target))
        .any(|branch| behind(&branch.stages))
}

/// Whether documents may have a status behind these stages.
fn behind(stages: &[Stage]) -> bool {
    let Some((stage, before)) = stages.split_last() else {
        return true;
    };
    match &stage.kind {
        StageKind::Project(Project::Whole(expr)) => projected(expr, before),
        StageKind::Project(Project::Steps(steps)) => {
            steps.iter().any(|step| projected(step, before))
        }
        StageKind::Unwind(path) => starts_with_status(path.segments()) || behind(before),
        StageKind::Gather(gather) => starts_with_status(gather.path.segments()) || behind(before),
        StageKind::Select(_) | StageKind::Distinct => behind(before),
        StageKind::GroupBy(_) => false,
        // A patch may add one anywhere.
        StageKind::Join(_) | StageKind::Patch(_) => true,
    }
}

/// Whether what an expression makes may have a status.
fn projected(expr: &Expr, before: &[Stage]) -> bool {
    match expr {
        Expr::Map(map) => built(map, before),
        Expr::Literal(value) => !value.get("status").is_null(),
        Expr::Path(path) if is_document(&path.path) => behind(before),
        _ => true,
    }
}

fn built(map: &MapExpr, before: &[Stage]) -> bool {
    let copied = map.copy.as_ref();
    copied.is_some_and(|copied| projected(copied, before))
        || map.entries.iter().any(|(key, _)| key.as_str() == "status")
        || map
            .setters
            .iter()
            .any(|setter| starts_with_status(setter.path.segments()))
}

/// Whether a path leads into the status, or perhaps does.
fn starts_with_status(segments: &[Segment]) -> bool {
    match segments.first() {
        Some(Segment::Name(name)) => name.as_str() == "status",
        _ => true,
    }
}

/// `$`, the document as the stages before put it out.
fn is_document(path: &document::Path) -> bool {
    matches!(path.root(), Root::Document) && path.segments().is_empty()
}
