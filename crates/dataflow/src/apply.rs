//! The effect of each stage on one document, as pure functions. The incremental engine and the
//! from-scratch evaluator share them.

mod patch;

use std::sync::Arc;

use document::path::Segment;
use document::{Key, Location, Map, Path, Value};
use expr::{Env, ErrorKind, Expr, Scope};
use object::metadata::KEYS;
use object::{GroupKind, KindRef, NameRule, ObjectName, Placement};
use smallvec::SmallVec;

use crate::failure::{Failure, OutputProblem};
use crate::pipeline::Project;

pub use self::patch::patch;

/// Evaluates a condition of `@select` or `@join`.
pub fn condition(condition: &Expr, at: &Location, scope: &Scope<'_>) -> Result<bool, Failure> {
    let value = condition.eval(scope)?;
    value.as_bool().ok_or_else(|| Failure::Condition {
        found: value.kind(),
        at: at.clone(),
    })
}

/// Checks that the result of a stage is within the bounds.
pub fn admit(document: &Value, at: &Location, env: &Env) -> Result<(), Failure> {
    let admitted = env.limits.bounds.admit(document);
    admitted.map_err(|problem| Failure::Bounds {
        problem,
        at: at.clone(),
    })
}

/// Checks that the document of a group is within the bounds.
pub fn admit_group(document: &Value, at: &Location, env: &Env) -> Result<(), Failure> {
    let admitted = env.limits.bounds.admit(document);
    admitted.map_err(|problem| Failure::GroupBounds {
        problem,
        at: at.clone(),
    })
}

/// Runs `@project` on one document.
pub fn project(project: &Project, at: &Location, scope: &Scope<'_>) -> Result<Value, Failure> {
    let merge = |result: &Value, item: &Value| {
        let failed = |kind: ErrorKind| {
            let at = at.clone();
            Box::new(expr::Error { at, kind })
        };
        scope.env.merge(result, item).map_err(failed)
    };
    let mut result = Value::empty_map();
    match project {
        Project::Whole(expr) => {
            let value = expr.eval(scope)?;
            match value.as_list() {
                Some(items) => {
                    for item in items {
                        result = merge(&result, item)?;
                    }
                }
                None => result = value,
            }
        }
        Project::Steps(steps) => {
            for step in steps {
                result = if let Expr::Map(map) = step {
                    map.eval_onto(Some(&result), scope)?
                } else {
                    merge(&result, &step.eval(scope)?)?
                };
            }
        }
    }
    if result.as_map().is_none() {
        return Err(Failure::NoObject {
            found: result.kind(),
            at: at.clone(),
        });
    }
    admit(&result, at, scope.env)?;
    Ok(result)
}

/// The elements of an unwound list. Each replaces the list in a copy of the document.
#[derive(Debug)]
pub struct Unwound<'a> {
    path: &'a Path,
    document: &'a Value,
    name: &'a str,
    items: Option<document::ListRef<'a>>,
}

/// Finds the list to unwind. [`Unwound::element`] builds the documents.
pub fn unwind<'a>(
    path: &'a Path,
    at: &Location,
    document: &'a Value,
) -> Result<Unwound<'a>, Failure> {
    let list = path
        .first(document, document)
        .filter(|list| !list.is_null());
    let Some(list) = list else {
        return Ok(Unwound {
            path,
            document,
            name: "",
            items: None,
        });
    };
    let items = list.as_list().ok_or_else(|| Failure::NoList {
        path: path.to_string(),
        found: list.kind(),
        at: at.clone(),
    })?;
    let name = document.get_key(&KEYS.metadata).get_key(&KEYS.name);
    let name = name.as_str().filter(|name| !name.is_empty());
    let Some(name) = name else {
        return Err(Failure::NoNameToUnwind { at: at.clone() });
    };
    Ok(Unwound {
        path,
        document,
        name,
        items: Some(items),
    })
}

impl Unwound<'_> {
    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.items.map_or(0, document::ListRef::len)
    }

    /// Whether both documents are equal, apart from the list.
    pub fn same_around(&self, other: &Self) -> bool {
        if self.items.is_none() || other.items.is_none() {
            return false;
        }
        if let ([Segment::Name(name)], Some(a), Some(b)) = (
            self.path.segments(),
            self.document.as_map(),
            other.document.as_map(),
        ) {
            // Both maps contain the list, so their entries pair up if all others are equal.
            return a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(x, y)| x.0 == y.0 && (x.0 == *name || x.1 == y.1));
        }
        let around = |unwound: &Self| {
            let emptied = unwound
                .path
                .set(unwound.document, Value::NULL, unwound.document);
            emptied.ok()
        };
        around(self) == around(other)
    }

    /// Whether both lists have the same item at an index.
    pub fn same_item(&self, other: &Self, index: usize) -> bool {
        let item = |unwound: &Self| unwound.items.and_then(|items| items.get(index));
        matches!((item(self), item(other)), (Some(a), Some(b)) if a == b)
    }

    /// The document of one element.
    pub fn element(&self, index: usize) -> Option<Value> {
        let item = self.items?.get(index)?;
        let name = numbered(self.name, index);
        let map = self.document.as_map()?;
        if let [Segment::Name(field)] = self.path.segments()
            && *field != KEYS.metadata
        {
            let metadata = map.get(&KEYS.metadata)?.as_map()?;
            let metadata = metadata.replace(&[(&KEYS.name, &name)]).into();
            let replaced = map.replace(&[(field, item), (&KEYS.metadata, &metadata)]);
            return Some(replaced.into());
        }
        // The path matches in this document, so a value can be set there.
        let document = self
            .path
            .set(self.document, item.clone(), self.document)
            .ok()?;
        let map = document.as_map()?;
        let metadata = map.get(&KEYS.metadata)?.as_map()?;
        let metadata = metadata.with(KEYS.name.clone(), name);
        Some(map.with(KEYS.metadata.clone(), metadata.into()).into())
    }
}

/// `<name>-<index>`. It avoids `format!`, which is slow for the millions of names of a first
/// list.
fn numbered(name: &str, index: usize) -> Value {
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut rest = index;
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let mut text = String::with_capacity(name.len() + 1 + digits.len() - start);
    text.push_str(name);
    text.push('-');
    text.extend(digits[start..].iter().copied().map(char::from));
    Value::from(text)
}

/// The kind of a target's objects.
#[derive(Clone, Debug)]
pub struct OutputKind {
    /// `apiVersion` of the target.
    pub api_version: Value,
    /// `kind` of the target.
    pub kind: Value,
    /// Where its objects may be; `None` for a view, whose objects may be anywhere.
    pub placement: Option<Placement>,
}

impl From<&KindRef> for OutputKind {
    fn from(target: &KindRef) -> Self {
        Self {
            api_version: target.api_version().into(),
            kind: target.kind.as_str().into(),
            placement: (!target.is_view()).then(Placement::default),
        }
    }
}

impl OutputKind {
    /// The kind as it is on a cluster: with its rule for names, and with the only namespace in which
    /// its objects may be, unless it is a view.
    #[must_use]
    pub fn on_cluster(mut self, kind: &GroupKind, boundary: Option<Arc<str>>) -> Self {
        if let Some(placement) = &mut self.placement {
            placement.names = NameRule::of(kind);
            placement.boundary = boundary;
        }
        self
    }
}

/// Checks the metadata of an output and builds the target object.
pub fn output(
    target: &OutputKind,
    at: &Location,
    document: &Value,
) -> Result<(ObjectName, Value), Failure> {
    let key = output_key(target.placement.as_ref(), at, document)?;
    Ok((key, object(target, document)))
}

/// The name of the target object, if the metadata of the output is valid and the object can be there.
pub fn output_key(
    placement: Option<&Placement>,
    at: &Location,
    document: &Value,
) -> Result<ObjectName, Failure> {
    let problem = |problem| Failure::Output {
        problem,
        at: at.clone(),
    };
    if document.as_map().is_none() {
        return Err(problem(OutputProblem::NoObject(document.kind())));
    }
    let metadata = document.get_key(&KEYS.metadata);
    let metadata = metadata
        .as_map()
        .ok_or_else(|| problem(OutputProblem::NoMetadata(metadata.kind())))?;
    let name = metadata.get(&KEYS.name).cloned().unwrap_or_default();
    match name.as_str() {
        Some("") => return Err(problem(OutputProblem::EmptyName)),
        Some(_) => {}
        None => return Err(problem(OutputProblem::NoName(name.kind()))),
    }
    let namespace = match metadata.get(&KEYS.namespace) {
        None => Value::from(""),
        Some(namespace) if namespace.as_str().is_some() => namespace.clone(),
        Some(other) => return Err(problem(OutputProblem::Namespace(other.kind()))),
    };
    let key = ObjectName { namespace, name };
    if let Some(placement) = placement {
        let checked = placement.check(&key);
        checked.map_err(|why| problem(OutputProblem::Misplaced(why)))?;
    }
    Ok(key)
}

/// Whether two outputs share their metadata. False does not mean that it differs.
pub(crate) fn same_metadata(one: &Value, other: &Value) -> bool {
    let metadata = one.get_key(&KEYS.metadata);
    metadata.as_map().is_some() && metadata.same(other.get_key(&KEYS.metadata))
}

/// Whether a field of an output's metadata is part of the object. An empty namespace is not.
fn is_used(key: &Key, value: &Value) -> bool {
    let used = [
        &KEYS.name,
        &KEYS.namespace,
        &KEYS.labels,
        &KEYS.annotations,
        &KEYS.owner_references,
    ];
    used.contains(&key) && !(*key == KEYS.namespace && value.as_str() == Some(""))
}

/// Builds the target object: the fields of the output, the apiVersion and kind of the target,
/// and the used fields of the metadata.
pub fn object(target: &OutputKind, document: &Value) -> Value {
    let Some(fields) = document.as_map() else {
        return document.clone();
    };
    let metadata = match document.get_key(&KEYS.metadata).as_map() {
        Some(metadata) if metadata.iter().any(|(key, value)| !is_used(key, value)) => {
            let used = metadata.iter().filter(|(key, value)| is_used(key, value));
            Value::from(used.cloned().collect::<Map>())
        }
        _ => document.get_key(&KEYS.metadata).clone(),
    };
    let identity = [
        (&KEYS.api_version, &target.api_version),
        (&KEYS.kind, &target.kind),
        (&KEYS.metadata, &metadata),
    ];
    // Both are sorted by key.
    let mut entries: SmallVec<[(Key, Value); 12]> = SmallVec::new();
    let mut identity = identity.into_iter().peekable();
    for (key, value) in fields {
        while let Some((own, value)) = identity.next_if(|(own, _)| *own <= key) {
            entries.push((own.clone(), value.clone()));
        }
        if entries.last().is_none_or(|(last, _)| last != key) {
            entries.push((key.clone(), value.clone()));
        }
    }
    entries.extend(identity.map(|(key, value)| (key.clone(), value.clone())));
    Map::from_sorted_iter(entries.into_iter()).into()
}

/// Whether two outputs give the same target object.
pub fn same_object(one: &Value, other: &Value) -> bool {
    if one.same(other) {
        return true;
    }
    let (Some(a), Some(b)) = (one.as_map(), other.as_map()) else {
        return one == other;
    };
    let keys = &*KEYS;
    let own = |key: &Key| *key == keys.metadata || *key == keys.api_version || *key == keys.kind;
    let fields = a.iter().filter(|(key, _)| !own(key));
    if !fields.eq(b.iter().filter(|(key, _)| !own(key))) {
        return false;
    }
    let (one, other) = (one.get_key(&KEYS.metadata), other.get_key(&KEYS.metadata));
    match (one.as_map(), other.as_map()) {
        (Some(a), Some(b)) => {
            let used = |entry: &&(Key, Value)| is_used(&entry.0, &entry.1);
            one.same(other) || a.iter().filter(used).eq(b.iter().filter(used))
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_numbered_in_decimal() {
        for index in [0, 7, 10, 99, 100, 12_345, usize::MAX] {
            assert_eq!(numbered("a", index), Value::from(format!("a-{index}")));
        }
    }
}
