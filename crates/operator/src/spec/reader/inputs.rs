//! Names of inputs that are none: whether the name or the source is wrong.

use dataflow::pipeline::{PipelineError, PipelineErrorKind};
use schema::Catalog;

use crate::problem::Problem;
use crate::spec::Source;

/// The problem of an error in a pipeline with these sources.
pub(super) fn problem(error: PipelineError, sources: &[Source]) -> Problem {
    let misspelled = misspelled_source(&error, sources);
    let problem = Problem::from(error);
    match misspelled {
        Some((found, meant)) => problem.with_help(format!(
            "the source has kind: {found}; did you mean kind: {meant} there?"
        )),
        None => problem,
    }
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
