//! The fields that expressions read, to skip evaluations.
//!
//! Most updates change a few fields. An expression that reads none of them keeps its value:
//!
//! ```text
//! $.metadata.name reads metadata.name
//! old {metadata: M, status: 1}    new {metadata: M, status: 2}    no evaluation is needed
//! ```
//!
//! The comparison is conservative. If it is not known which fields an expression reads, or if
//! it uses `@now` or `@rnd`, it is always evaluated.

use document::path::{Root, Segment, same_at};
use document::{Key, Value};
use expr::{Expr, Read};

/// The fields that some expressions read of a document.
#[derive(Debug)]
pub(crate) struct Reads {
    /// The paths; `None` if they are not known, or if the values depend on something else.
    paths: Option<Box<[Box<[Segment]>]>>,
}

impl Reads {
    /// The fields that these expressions read.
    pub(crate) fn of<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> Self {
        let paths = exprs.into_iter().map(paths);
        let paths: Option<Vec<_>> = paths.collect();
        Self {
            paths: paths.map(|paths| paths.concat().into()),
        }
    }

    /// The paths below a member. Afterwards the documents to compare are the values of the member.
    /// All paths must lead through it.
    pub(crate) fn below(self, name: &Key) -> Self {
        let below = |path: Box<[Segment]>| match &*path {
            [Segment::Name(first), rest @ ..] if first == name => Some(rest.into()),
            _ => None,
        };
        Self {
            paths: self
                .paths
                .and_then(|paths| paths.into_iter().map(below).collect()),
        }
    }

    /// As [`Reads::same`], for two documents that differ in one member only. The argument is the
    /// result of [`difference`].
    pub(crate) fn same_below(&self, (key, one, other): (&Key, &Value, &Value)) -> bool {
        let same = |path: &[Segment]| match path {
            [Segment::Name(first), rest @ ..] => first != key || same_at(rest, one, other),
            _ => false,
        };
        self.paths
            .as_ref()
            .is_some_and(|paths| paths.iter().all(|path| same(path)))
    }

    /// Whether all fields that are read are certainly the same in both documents.
    pub(crate) fn same(&self, one: &Value, other: &Value) -> bool {
        self.paths
            .as_ref()
            .is_some_and(|paths| paths.iter().all(|path| same_at(path, one, other)))
    }
}

/// The only member in which two documents differ, with its old and new value. `None` if there
/// may be several.
pub(crate) fn difference<'a>(
    one: &'a Value,
    other: &'a Value,
) -> Option<(&'a Key, &'a Value, &'a Value)> {
    let (one, other) = (one.as_map()?, other.as_map()?);
    if one.len() != other.len() {
        return None;
    }
    let mut found = None;
    for ((key, a), (other, b)) in one.iter().zip(other) {
        if key != other {
            return None;
        }
        if !a.same(b) && found.replace((key, a, b)).is_some() {
            return None;
        }
    }
    found
}

/// The paths that an expression reads; `None` if one may match several fields, or if its value
/// depends on something else.
fn paths(expr: &Expr) -> Option<Vec<Box<[Segment]>>> {
    let volatile = expr.volatile();
    if volatile.now || volatile.random {
        return None;
    }
    let reads = expr.reads();
    let paths = reads.iter().map(|read| match read {
        Read::Path { path, .. } if path.is_singular() && path.root() == Root::Document => {
            Some(path.segments().into())
        }
        Read::Path { .. } | Read::Members(_) | Read::Everything => None,
    });
    paths.collect()
}

#[cfg(test)]
mod tests {
    use document::{Location, json};
    use expr::Functions;

    use super::*;

    fn check(spec: &Value, old: &Value, new: &Value, expect: bool) {
        let expr = expr::compile(
            spec,
            &Location::root(),
            &Functions::builtin(),
            expr::Items::None,
        )
        .unwrap();
        let reads = Reads::of([&expr]);
        assert_eq!(reads.same(old, new), expect, "{spec}");
        let difference = difference(old, new).expect("they differ in one member");
        assert_eq!(reads.same_below(difference), expect, "{spec}");
    }

    #[test]
    fn shared_and_missing_fields_are_the_same() {
        let shared = json!({"name": "a name that is no short text"});
        let old = json!({"metadata": (shared.clone()), "list": [1, {"a": 1}]});
        let new = json!({"metadata": (shared), "list": [2, {"a": 1}]});
        for same in [
            json!("$.metadata.name"),
            json!({"@concat": ["$.metadata.name", "-x"]}),
            json!("$.missing.field"),
            json!("$.list[1].a"),
            json!(1),
        ] {
            check(&same, &old, &new, true);
        }
        for other in [
            json!("$.list[0]"),
            json!("$.list"),
            json!("$"),
            json!({"@concat": ["$.metadata.name", "$.list[0]"]}),
            json!("$.metadata[?(@==$.list[0])]"),
            json!("@now"),
        ] {
            check(&other, &old, &new, false);
        }
    }
}
