//! The problems of a pipeline that are about its sources and targets: whether the name of an input
//! or the source is wrong, and which target has no branch.

use dataflow::pipeline::{PipelineError, PipelineErrorKind};
use document::{Location, Value};
use schema::Catalog;

use crate::problem::Problem;
use crate::spec::Source;

/// The problem of a controller whose sources are all Periodic.
pub(super) fn only_periodic(at: &Location) -> Problem {
    let message = "a Periodic source delivers no objects, and there is no other source";
    let problem = Problem::error("no-source", at, message);
    problem.with_help(
        "add a source whose objects the pipeline reads; `type: OneShot` delivers one object",
    )
}

/// The problem of an error in the pipeline of a controller with these sources.
pub(super) fn problem(
    error: PipelineError,
    sources: &[Source],
    spec: &Value,
    controller: &Location,
) -> Problem {
    let misspelled = misspelled_source(&error, sources);
    let target = target_place(&error, spec, controller);
    let mut problem = Problem::from(error);
    problem.at = target.unwrap_or(problem.at);
    match misspelled {
        Some((found, meant)) => problem.with_help(format!(
            "the source has kind: {found}; did you mean kind: {meant} there?"
        )),
        None => problem,
    }
}

/// The place of a target that no branch feeds.
fn target_place(error: &PipelineError, spec: &Value, controller: &Location) -> Option<Location> {
    let PipelineErrorKind::TargetWithoutBranch { name } = &error.kind else {
        return None;
    };
    let is_it = |target: &Value| target.get("kind").as_str() == Some(name);
    let at = match spec.get("targets").as_list() {
        Some(targets) => controller
            .key("targets")
            .index(targets.iter().position(is_it)?),
        None => controller.key("target"),
    };
    Some(at.key("kind"))
}

/// The kind of a source that does not exist, and that of Kubernetes which the pipeline uses in its
/// place.
fn misspelled_source(error: &PipelineError, sources: &[Source]) -> Option<(String, String)> {
    let PipelineErrorKind::UnknownName {
        what: "input" | "source",
        name,
        nearest: Some(nearest),
        ..
    } = &error.kind
    else {
        return None;
    };
    let catalog = Catalog::default();
    let exists = |kind: &str| catalog.kinds().any(|(_, known)| known == kind);
    let source = sources.iter().find(|source| source.name == *nearest)?;
    let kind = &source.resource.kind;
    (kind == nearest && exists(name) && !exists(kind)).then(|| (kind.clone(), name.clone()))
}
