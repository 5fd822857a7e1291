//! What expressions read, to see without evaluating them that a change does not concern
//! them.

use document::path::{Root, Segment, same_at};
use document::{Key, Value};
use expr::{Expr, Read};

/// All that some expressions read of a document.
#[derive(Debug)]
pub(crate) struct Reads {
    /// Place by place; `None` if that is not known, or not all that their values hang on.
    places: Option<Box<[Box<[Segment]>]>>,
}

impl Reads {
    /// What these expressions read.
    pub(crate) fn of<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> Self {
        let places = exprs.into_iter().map(places);
        let places: Option<Vec<_>> = places.collect();
        Self {
            places: places.map(|places| places.concat().into()),
        }
    }

    /// The same of expressions that read nothing but this member of a document, and are
    /// asked about the member.
    pub(crate) fn below(self, name: &Key) -> Self {
        let below = |place: Box<[Segment]>| match &*place {
            [Segment::Name(first), rest @ ..] if first == name => Some(rest.into()),
            _ => None,
        };
        Self {
            places: self
                .places
                .and_then(|places| places.into_iter().map(below).collect()),
        }
    }

    /// As [`Reads::same`], of two documents that differ in one member, with its values.
    pub(crate) fn same_below(&self, (key, one, other): (&Key, &Value, &Value)) -> bool {
        let same = |place: &[Segment]| match place {
            [Segment::Name(first), rest @ ..] => first != key || same_at(rest, one, other),
            _ => false,
        };
        self.places
            .as_ref()
            .is_some_and(|places| places.iter().all(|place| same(place)))
    }

    /// Whether all that is read is certainly the same in both documents.
    pub(crate) fn same(&self, one: &Value, other: &Value) -> bool {
        self.places
            .as_ref()
            .is_some_and(|places| places.iter().all(|place| same_at(place, one, other)))
    }
}

/// The member in which two documents differ, and its values in both, if it is certainly
/// the only one.
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

/// The places that an expression reads, if each is one place and nothing else counts.
fn places(expr: &Expr) -> Option<Vec<Box<[Segment]>>> {
    let volatile = expr.volatile();
    if volatile.now || volatile.random {
        return None;
    }
    let reads = expr.reads();
    let places = reads.iter().map(|read| match read {
        Read::Path { path, .. } if path.is_singular() && path.root() == Root::Document => {
            Some(path.segments().into())
        }
        Read::Path { .. } | Read::Members(_) | Read::Everything => None,
    });
    places.collect()
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
    fn what_was_shared_and_what_is_nowhere_is_the_same() {
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
