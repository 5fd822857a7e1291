//! Pipelines that write a whole source object back to where it came from.

use document::{Key, Location};
use schema::{Origin, Type};

use crate::problem::Problem;
use crate::spec::{Controller, Target, TargetType};

/// The problem of a result that is a source object of the target's own kind and name. Such a pipeline
/// writes back what a user has just changed, and creates a deleted object again.
pub(super) fn check(
    controller: &Controller,
    target: &Target,
    document: &Type,
    at: &Location,
) -> Option<Problem> {
    if target.kind == TargetType::Patcher {
        return None;
    }
    let metadata = document.field(&Key::new("metadata"))?;
    let name = metadata.field(&Key::new("name"))?.origin?;
    if !name.is(&["metadata", "name"]) {
        return None;
    }
    let source = controller.inputs.get(name.source)?;
    let source = &controller.sources[*source].resource;
    if source.group != target.resource.group || source.kind != target.resource.kind {
        return None;
    }
    // A copy in another namespace is another object.
    let namespace = metadata.field(&Key::new("namespace"))?.origin;
    let same =
        |origin: &Origin| origin.source == name.source && origin.is(&["metadata", "namespace"]);
    if namespace.is_some_and(|origin| !same(&origin)) {
        return None;
    }
    let from = |origin: &Option<Origin>, names: usize| {
        let origin = origin.as_ref();
        origin.is_some_and(|origin| origin.source == name.source && origin.path.len() == names)
    };
    let whole = from(&document.origin, 0);
    let fields = document.fields();
    let mut fields = fields.iter().flat_map(|fields| &fields.named);
    let content = fields.any(|(key, field)| {
        !matches!(key.as_str(), "metadata" | "status" | "apiVersion" | "kind")
            && from(&field.origin, 1)
    });
    if !whole && !content {
        return None;
    }
    let kind = &source.kind;
    let message = format!(
        "the result is the whole {kind} that it was read from: this overwrites what others change in it, and creates it again when it is deleted"
    );
    let problem = Problem::warning(super::WHOLE_OBJECT, at, message);
    Some(problem.with_help(
        "yield only the fields that you own, or use `type: Patcher`, which writes only the difference",
    ))
}
