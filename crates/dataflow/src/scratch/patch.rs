//! `@patch`, from scratch: builds the whole document again for every variable of an expression.

use document::{Location, Value};
use expr::Scope;
use patch::{Limits, RESOURCE};

use crate::failure::Failure;
use crate::pipeline::Patch;

pub(super) fn patched(stage: &Patch, at: &Location, scope: &Scope<'_>) -> Result<Value, Failure> {
    let (document, env) = (scope.document, scope.env);
    let found = stage.resource_path.first(document, document).cloned();
    let resource = found.unwrap_or_default();
    let missing = resource.is_null();
    let with =
        |resource: &Value| match stage
            .resource_path
            .set(document, resource.clone(), document)
        {
            Ok(whole) if !missing => whole,
            _ => document.clone(),
        };
    let hidden = |value: Value, hide: bool| {
        if hide {
            expr::without_versions(&value)
        } else {
            value
        }
    };
    let (of_resource, of_document) = stage.hides_versions;
    let variables = |name: &str, resource: &Value| {
        if name == expr::NOW {
            return Some(scope.now.clone());
        }
        if name == RESOURCE {
            return Some(hidden(resource.clone(), of_resource));
        }
        let whole = hidden(with(resource), of_document);
        whole.as_map()?.get_str(name).cloned()
    };
    let limits = Limits::from(env);
    if !stage.edit.selects(&resource, &variables, &limits)? {
        return Ok(document.clone());
    }
    if missing {
        let path = stage.resource_path.to_string();
        let at = at.clone();
        return Err(Failure::NoPlace { path, at });
    }
    let changed = stage.edit.apply(&resource, &variables, &limits)?;
    let whole = changed.map_or_else(|| document.clone(), |changed| with(&changed));
    if whole.as_map().is_none() {
        let found = whole.kind();
        let at = at.clone();
        return Err(Failure::NoObject { found, at });
    }
    crate::apply::admit(&whole, at, env)?;
    Ok(whole)
}
