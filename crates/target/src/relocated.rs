//! Finds list elements that have no key fields.
//!
//! A record has the position of such an element at the time when we added it. Others may have
//! inserted or removed elements since, so the element is found by what we wrote into it:
//!
//! ```text
//! record   /rules/[1]/host: a
//! live     rules: [{host: new}, {host: user}, {host: a}]     ─▶ /rules/[2]/host: a
//! ```
//!
//! An element that is nowhere as we wrote it has become somebody else's.

use std::collections::{BTreeMap, BTreeSet};

use document::{ListRef, Value};
use fieldset::{FieldPath, PathElement};

/// How many elements are compared for one record. Records may be long, and so may lists; what is
/// not found by then has become somebody else's.
const MAX_TRIES: usize = 10_000;

/// The entries of a record, with the positions that elements have in an object; `None` if nothing
/// changes. `adds` selects the entries of elements that we added, and `holds` tells whether
/// an element has the value of an entry.
pub(crate) fn relocated<T: Clone>(
    entries: &BTreeMap<FieldPath, T>,
    object: &Value,
    adds: impl Fn(&T) -> bool,
    holds: impl Fn(&T, &Value) -> bool,
) -> Option<BTreeMap<FieldPath, T>> {
    let added = |(place, entry): &(&FieldPath, &T)| position(place).is_some() && adds(entry);
    let mut left = entries.clone();
    let mut moved: Vec<(FieldPath, T)> = Vec::new();
    let mut taken: BTreeSet<FieldPath> = BTreeSet::new();
    let mut tries = MAX_TRIES;
    for (root, _) in entries.iter().filter(added) {
        // An element inside another one moves with it.
        let mut parents = entries.range(..root).filter(added);
        if parents.any(|(outer, _)| root.within(outer)) {
            continue;
        }
        let inside: Vec<(&FieldPath, &T)> = entries
            .range(root..)
            .take_while(|(place, _)| place.within(root))
            .collect();
        let is_at = |at: &FieldPath| {
            let there = |place: &FieldPath| place_in(place, root, at);
            let mut all = inside.iter();
            all.all(|(place, entry)| holds(entry, there(place).get(object)))
        };
        let mut candidates = candidates(root, object).take(tries.max(1));
        let found = candidates.find(|at| {
            tries = tries.saturating_sub(1);
            !taken.contains(at) && is_at(at)
        });
        taken.extend(found.clone());
        if found.as_ref() == Some(root) {
            continue;
        }
        for (place, entry) in inside {
            left.remove(place);
            let there = found.as_ref().map(|at| place_in(place, root, at));
            moved.extend(there.map(|there| (there, entry.clone())));
        }
    }
    let changes = left.len() < entries.len();
    left.extend(moved);
    changes.then_some(left)
}

fn position(place: &FieldPath) -> Option<usize> {
    match place.0.last() {
        Some(PathElement::Index(at)) => Some(*at),
        Some(PathElement::Field(_) | PathElement::Element(_) | PathElement::Value(_)) | None => {
            None
        }
    }
}

/// The paths of all elements of the list that has the element `root`; this one comes first.
fn candidates(root: &FieldPath, object: &Value) -> impl Iterator<Item = FieldPath> {
    let list = FieldPath(root.0[..root.0.len().saturating_sub(1)].to_vec());
    let len = list.get(object).as_list().map_or(0, ListRef::len);
    let first = position(root).unwrap_or_default();
    let others = (0..len).filter(move |at| *at != first);
    std::iter::once(first).chain(others).map(move |at| {
        let mut place = list.clone();
        place.0.push(PathElement::Index(at));
        place
    })
}

/// A path inside `root`, as a path inside `other`.
fn place_in(place: &FieldPath, root: &FieldPath, other: &FieldPath) -> FieldPath {
    let rest = place.0.iter().skip(root.0.len());
    FieldPath(other.0.iter().chain(rest).cloned().collect())
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    /// The places of two added elements, `{h: a}` at 1 and `{h: b}` at 2, in this list.
    fn check(list: &Value, expect: &[&str]) {
        let entries = [
            ("/l/[1]", json!({})),
            ("/l/[1]/h", json!("a")),
            ("/l/[2]", json!({})),
            ("/l/[2]/h", json!("b")),
            ("/l/[0]/x", json!(1)),
        ];
        let entries: BTreeMap<FieldPath, Value> = entries
            .into_iter()
            .map(|(place, value)| (FieldPath::parse(place).unwrap(), value))
            .collect();
        let adds = |entry: &Value| entry.as_map().is_some();
        let holds = |entry: &Value, live: &Value| match entry.as_map() {
            Some(_) => live.as_map().is_some(),
            None => entry == live,
        };
        let object = json!({"l": (list.clone())});
        let found = relocated(&entries, &object, adds, holds).unwrap_or(entries);
        let found: Vec<String> = found.keys().map(FieldPath::pointer).collect();
        assert_eq!(found, expect, "{list}");
    }

    #[test]
    fn an_added_element_is_found_by_its_content() {
        let same = ["/l/[0]/x", "/l/[1]", "/l/[1]/h", "/l/[2]", "/l/[2]/h"];
        check(&json!([{"x": 1}, {"h": "a"}, {"h": "b"}]), &same);
        check(&json!([{}, {"h": "a", "added": 1}, {"h": "b"}]), &same);
        let moved = ["/l/[0]/x", "/l/[2]", "/l/[2]/h", "/l/[3]", "/l/[3]/h"];
        check(&json!([{}, {"x": 1}, {"h": "a"}, {"h": "b"}]), &moved);
        let swapped = ["/l/[0]/x", "/l/[1]", "/l/[1]/h", "/l/[2]", "/l/[2]/h"];
        check(&json!([{}, {"h": "b"}, {"h": "a"}]), &swapped);
    }

    #[test]
    fn an_element_that_somebody_changed_is_no_longer_ours() {
        let one = ["/l/[0]/x", "/l/[2]", "/l/[2]/h"];
        check(&json!([{}, {"h": "c"}, {"h": "b"}]), &one);
        check(&json!([]), &["/l/[0]/x"]);
    }
}
