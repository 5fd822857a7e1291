//! Runs `@patch` on one document.

use document::path::Segment;
use document::{Location, Value};
use expr::{NOW, Scope};
use patch::{Limits, RESOURCE};

use crate::failure::Failure;
use crate::pipeline::Patch;

/// Patches the resource, which is the part of the document that `at` names. Without a match of
/// the condition the document stays as it is.
pub fn patch(stage: &Patch, at: &Location, scope: &Scope<'_>) -> Result<Value, Failure> {
    let document = scope.document;
    let limits = Limits::from(scope.env);
    let resource = stage.resource_path.first(document, document);
    let Some(resource) = resource.filter(|resource| !resource.is_null()) else {
        return nothing(stage, at, scope, &limits);
    };
    let variables = |name: &str, resource: &Value| match name {
        NOW => Some(scope.now.clone()),
        name => variable(stage, document, name, resource),
    };
    let Some(patched) = stage.edit.apply(resource, &variables, &limits)? else {
        return Ok(document.clone());
    };
    let patched = current(stage, document, &patched);
    if patched.as_map().is_none() {
        return Err(Failure::NoObject {
            found: patched.kind(),
            at: at.clone(),
        });
    }
    super::admit(&patched, at, scope.env)?;
    Ok(patched)
}

/// The result for a document without the resource: an error, unless the condition excludes it.
fn nothing(
    stage: &Patch,
    at: &Location,
    scope: &Scope<'_>,
    limits: &Limits,
) -> Result<Value, Failure> {
    let document = scope.document;
    let shown = if stage.hides_versions.1 {
        &expr::without_versions(document)
    } else {
        document
    };
    let variables = |name: &str, _: &Value| match name {
        RESOURCE => None,
        NOW => Some(scope.now.clone()),
        name => member(shown, name),
    };
    if stage.edit.selects(&Value::NULL, &variables, limits)? {
        return Err(Failure::NoPlace {
            path: stage.resource_path.to_string(),
            at: at.clone(),
        });
    }
    Ok(document.clone())
}

/// A variable of an expression: a top-level key of the document. It sees the operations that
/// were applied before, so the resource is replaced by its current form.
fn variable(stage: &Patch, document: &Value, name: &str, resource: &Value) -> Option<Value> {
    let (hide_of_resource, hide_of_document) = stage.hides_versions;
    if name == RESOURCE {
        return hide_of_resource.then(|| expr::without_versions(resource));
    }
    if hide_of_document {
        let document = expr::without_versions(&current(stage, document, resource));
        return member(&document, name);
    }
    match stage.resource_path.segments() {
        [] => member(resource, name),
        [Segment::Name(key)] if key.as_str() == name => Some(resource.clone()),
        [Segment::Name(key), ..] if key.as_str() != name => member(document, name),
        _ => member(&current(stage, document, resource), name),
    }
}

fn member(document: &Value, name: &str) -> Option<Value> {
    document.as_map()?.get_str(name).cloned()
}

/// The document with the current form of the resource. The path matches in the document, so a
/// value can be set there.
fn current(stage: &Patch, document: &Value, resource: &Value) -> Value {
    let current = stage
        .resource_path
        .set(document, resource.clone(), document);
    current.unwrap_or_else(|_| document.clone())
}
