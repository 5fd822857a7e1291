//! Reads and sets fields of documents by path.

use document::path::{Path, Root, TooManyMatches};
use document::{Location, Map, Value};
use object::metadata::KEYS;

use crate::error::{Error, ErrorKind};
use crate::expr::{Expr, PathExpr, SetFieldPath};
use crate::functions;
use crate::scope::Scope;

/// This many steps of a path search count as one step of the evaluation.
const SEARCH_STEPS: usize = 8;

/// Charges for a path search.
fn pay_search(steps: usize, at: &Location, scope: &Scope<'_>) -> Result<(), Box<Error>> {
    if steps == 0 {
        return Ok(());
    }
    let steps = steps.div_ceil(SEARCH_STEPS);
    scope.env.charge(steps).map_err(|kind| kind.at(at))
}

#[inline]
pub(super) fn read<'a>(
    path: &Path,
    at: &Location,
    scope: &Scope<'a>,
) -> Result<&'a Value, Box<Error>> {
    static NULL: Value = Value::NULL;
    let (value, rest) = path.plain(scope.document, scope.item_or_null());
    let value = if rest == 0 {
        value
    } else {
        search(path, at, scope)?
    };
    Ok(value.unwrap_or(&NULL))
}

#[inline(never)]
fn search<'a>(
    path: &Path,
    at: &Location,
    scope: &Scope<'a>,
) -> Result<Option<&'a Value>, Box<Error>> {
    let found = path.find_first(scope.document, scope.item_or_null());
    pay_search(found.steps, at, scope)?;
    found.result.map_err(|error| too_long(error, at))
}

fn too_long(error: TooManyMatches, at: &Location) -> Box<Error> {
    ErrorKind::Path(error.to_string()).at(at)
}

impl PathExpr {
    pub(super) fn read(&self, scope: &Scope<'_>) -> Result<Value, Box<Error>> {
        let value = read(&self.path, &self.at, scope)?;
        if self.hides_versions {
            let members = value.as_map().map_or(0, Map::len);
            let paid = scope.env.charge(members);
            paid.map_err(|kind| kind.at(&self.at))?;
            return Ok(without_versions(value));
        }
        Ok(value.clone())
    }

    pub(super) fn query(&self, scope: &Scope<'_>) -> Result<Value, Box<Error>> {
        let found = self.path.find_all(scope.document, scope.item_or_null());
        pay_search(found.steps, &self.at, scope)?;
        let matches = found.result.map_err(|error| too_long(error, &self.at))?;
        let at = |kind: ErrorKind| kind.at(&self.at);
        scope.env.charge(matches.len()).map_err(at)?;
        let all: Value = matches
            .into_iter()
            .map(|value| {
                if self.hides_versions {
                    without_versions(value)
                } else {
                    value.clone()
                }
            })
            .collect();
        scope.env.admit(&all).map_err(at)?;
        Ok(all)
    }
}

/// Removes `metadata.resourceVersion` and `metadata.generation` from a source object, from
/// its metadata, or from a joined document. Only paths that name these fields read them.
pub fn without_versions(value: &Value) -> Value {
    let Some(map) = value.as_map() else {
        return value.clone();
    };
    if let Some(metadata) = map.get(&KEYS.metadata) {
        let metadata = metadata_without_versions(metadata);
        return map.with(KEYS.metadata.clone(), metadata).into();
    }
    if map
        .values()
        .any(|member| !member.get_key(&KEYS.metadata).is_null())
    {
        return map
            .iter()
            .map(|(key, member)| (key.clone(), without_versions(member)))
            .collect::<Map>()
            .into();
    }
    metadata_without_versions(value)
}

fn metadata_without_versions(metadata: &Value) -> Value {
    match metadata.as_map() {
        Some(map) => map.without("resourceVersion").without("generation").into(),
        None => metadata.clone(),
    }
}

pub(super) fn computed_path(text: &Value, at: &Location) -> Result<Path, Box<Error>> {
    let text = functions::text(text).map_err(|kind| kind.at(at))?;
    if !text.starts_with('$') {
        return Err(ErrorKind::Path("it must start with `$`".to_owned()).at(at));
    }
    // The text is a value of a document, so the message must not contain it.
    Path::parse(text)
        .map_err(|error| ErrorKind::Path(format!("wrong at character {}", error.offset + 1)).at(at))
}

pub(super) fn set_field(
    field: &(SetFieldPath, Expr),
    at: &Location,
    scope: &Scope<'_>,
) -> Result<Value, Box<Error>> {
    let computed;
    let path = match &field.0 {
        SetFieldPath::Fixed(path) => path,
        SetFieldPath::Computed(expr) => {
            computed = computed_path(&expr.eval(scope)?, at)?;
            &computed
        }
    };
    let value = field.1.eval(scope)?;
    let target = match path.root() {
        Root::Document => scope.document,
        Root::Item => scope.item_or_null(),
    };
    set(path, target, value, at, scope)
}

/// Sets a value at a path of `target`.
pub(super) fn set(
    path: &Path,
    target: &Value,
    value: Value,
    at: &Location,
    scope: &Scope<'_>,
) -> Result<Value, Box<Error>> {
    let found = path.find_and_set(target, value, scope.document);
    pay_search(found.steps, at, scope)?;
    let result = found
        .result
        .map_err(|error| ErrorKind::from(error).at(at))?;
    scope.env.admit(&result).map_err(|kind| kind.at(at))?;
    Ok(result)
}
