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
//! An element that is nowhere as we wrote it has become somebody else's. Several controllers may
//! have added the same, so all records of an object are looked at together: each element is found
//! once, and one that is exactly as we wrote it comes before one to which others have added fields.
//!
//! Elements of others, in which we have set values, are found by what others have in them, see
//! [`inside`].

mod inside;

use std::collections::{BTreeMap, BTreeSet};

use document::{ListRef, Value};
use fieldset::{FieldPath, PathElement};

pub(crate) use inside::identify;

/// How many elements are compared for all records of an object. Records may be long, and so may
/// lists; what is not found by then has become somebody else's.
const MAX_TRIES: usize = 20_000;

/// The record of one path.
pub(crate) trait Entry: Clone {
    /// Whether there was nothing at the path.
    fn is_new(&self) -> bool;

    /// Whether we added the map at the path.
    fn adds(&self) -> bool {
        self.is_new()
    }

    /// Whether a value is the recorded one. The content of a map has its own entries.
    fn holds(&self, live: &Value) -> bool;

    /// Whether an element is exactly as we wrote it; `inside` are the entries inside it.
    fn is_all(&self, inside: &[(FieldPath, &Self)], live: &Value) -> bool;

    /// A hash of what others have in the list element that the value is in, if that is known.
    fn element(&self) -> Option<&str>;

    /// Sets [`Entry::element`].
    fn set_element(&mut self, hash: String);
}

/// An element that we added, and where it is now.
struct Element<'a, T> {
    record: usize,
    root: FieldPath,
    whole: &'a T,
    /// Paths from the element.
    inside: Vec<(FieldPath, &'a T)>,
    found: Option<FieldPath>,
}

/// Gives entries of the records of one object the positions that elements have in it.
pub(crate) fn relocate<T: Entry>(records: &mut [&mut BTreeMap<FieldPath, T>], object: &Value) {
    for record in &mut *records {
        inside::follow(record, object);
    }
    let known: Vec<BTreeMap<FieldPath, T>> = records.iter().map(|one| (**one).clone()).collect();
    let all = known.iter().enumerate();
    let mut elements: Vec<Element<'_, T>> =
        all.flat_map(|(at, one)| elements_of(at, one)).collect();
    if elements.is_empty() {
        return;
    }
    let object = &without_changes(object, &known, &elements);
    let mut taken: BTreeSet<FieldPath> = BTreeSet::new();
    let mut tries = MAX_TRIES;
    for (exact, anywhere) in [(true, false), (true, true), (false, false), (false, true)] {
        // Elements that follow each other have usually moved together.
        let mut shift = 0;
        for element in elements
            .iter_mut()
            .filter(|element| element.found.is_none())
        {
            let places = candidates(&element.root, object, anywhere, shift);
            let mut places = places.take(tries.max(1));
            element.found = places.find(|at| {
                tries = tries.saturating_sub(1);
                !taken.contains(at) && element.is_at(at, object, exact)
            });
            if let Some(found) = &element.found {
                taken.insert(found.clone());
                let at = |place: &FieldPath| position(place).unwrap_or_default().cast_signed();
                shift = at(found) - at(&element.root);
            }
        }
    }
    elements.retain(|element| element.found.as_ref() != Some(&element.root));
    for element in &elements {
        records[element.record].retain(|place, _| !place.within(&element.root));
    }
    for element in &elements {
        let Some(found) = &element.found else {
            continue;
        };
        let whole = (FieldPath::default(), element.whole);
        for (inner, entry) in std::iter::once(&whole).chain(&element.inside) {
            let place = FieldPath(found.0.iter().chain(&inner.0).cloned().collect());
            records[element.record].insert(place, (*entry).clone());
        }
    }
}

/// The object without what controllers have added to elements of others: an element that another
/// controller has changed is still the one that was added.
fn without_changes<T: Entry>(
    object: &Value,
    records: &[BTreeMap<FieldPath, T>],
    elements: &[Element<'_, T>],
) -> Value {
    let mut object = object.clone();
    for (record, entries) in records.iter().enumerate() {
        let own = |place: &FieldPath| {
            let mut own = elements.iter().filter(|element| element.record == record);
            own.any(|element| place.within(&element.root))
        };
        let changes = entries.iter().rev().filter(|(place, entry)| {
            place.is_by_position() && position(place).is_none() && entry.is_new() && !own(place)
        });
        for (place, entry) in changes {
            let live = place.get(&object);
            if !live.is_null() && live.as_map().is_none() && entry.holds(live) {
                object = place.take(&object);
            }
        }
    }
    object
}

/// The elements in a record. One inside another one moves with it.
fn elements_of<T: Entry>(record: usize, entries: &BTreeMap<FieldPath, T>) -> Vec<Element<'_, T>> {
    let mut found: Vec<Element<'_, T>> = Vec::new();
    for root in outermost(entries) {
        let Some(whole) = entries.get(root) else {
            continue;
        };
        let inside = entries.range(root..).skip(1);
        let inside = inside.take_while(|(place, _)| place.within(root));
        let from = |place: &FieldPath| FieldPath(place.0[root.0.len()..].to_vec());
        found.push(Element {
            record,
            root: root.clone(),
            whole,
            inside: inside.map(|(place, entry)| (from(place), entry)).collect(),
            found: None,
        });
    }
    found
}

/// The paths of the elements without key fields that we added, without those inside others.
pub(crate) fn outermost<T: Entry>(entries: &BTreeMap<FieldPath, T>) -> Vec<&FieldPath> {
    let mut found: Vec<&FieldPath> = Vec::new();
    let added = entries.iter();
    for (place, _) in added.filter(|(place, entry)| position(place).is_some() && entry.adds()) {
        if !found.last().is_some_and(|outer| place.within(outer)) {
            found.push(place);
        }
    }
    found
}

impl<T: Entry> Element<'_, T> {
    fn is_at(&self, at: &FieldPath, object: &Value, exact: bool) -> bool {
        let live = at.get(object);
        if live.as_map().is_none() {
            return false;
        }
        if exact {
            return self
                .inside
                .iter()
                .all(|(place, entry)| entry.holds(place.get(live)))
                && self.whole.is_all(&self.inside, live);
        }
        // One that has nothing could be any.
        let mut inside = self.inside.iter();
        !self.inside.is_empty() && inside.all(|(place, entry)| entry.holds(place.get(live)))
    }
}

fn position(place: &FieldPath) -> Option<usize> {
    match place.0.last() {
        Some(PathElement::Index(at)) => Some(*at),
        Some(PathElement::Field(_) | PathElement::Element(_) | PathElement::Value(_)) | None => {
            None
        }
    }
}

/// The paths of elements of the list that has the element `root`: this one only or, with the one
/// that is shifted first, all.
fn candidates(
    root: &FieldPath,
    object: &Value,
    all: bool,
    shift: isize,
) -> impl Iterator<Item = FieldPath> {
    let list = FieldPath(root.0[..root.0.len().saturating_sub(1)].to_vec());
    let len = list.get(object).as_list().map_or(0, ListRef::len);
    let own = position(root).unwrap_or_default();
    let first = own.checked_add_signed(if all { shift } else { 0 });
    let others = if all { 0..len } else { 0..0 };
    let all = first
        .into_iter()
        .chain(others.filter(move |at| Some(*at) != first));
    all.map(move |at| {
        let mut place = list.clone();
        place.0.push(PathElement::Index(at));
        place
    })
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    impl Entry for Value {
        fn is_new(&self) -> bool {
            self.as_map().is_some()
        }

        fn holds(&self, live: &Value) -> bool {
            self == live
        }

        fn is_all(&self, inside: &[(FieldPath, &Self)], live: &Value) -> bool {
            live.as_map().is_some_and(|map| map.len() == inside.len())
        }

        fn element(&self) -> Option<&str> {
            None
        }

        fn set_element(&mut self, _: String) {}
    }

    /// The places of two added elements, `{h: a}` at 1 and `{h: b}` at 2, in this list.
    fn check(list: &Value, expect: &[&str]) {
        let entries = [
            ("/l/[1]", json!({})),
            ("/l/[1]/h", json!("a")),
            ("/l/[2]", json!({})),
            ("/l/[2]/h", json!("b")),
            ("/l/[0]/x", json!(1)),
        ];
        let mut entries: BTreeMap<FieldPath, Value> = entries
            .into_iter()
            .map(|(place, value)| (FieldPath::parse(place).unwrap(), value))
            .collect();
        let object = json!({"l": (list.clone())});
        relocate(&mut [&mut entries], &object);
        let found: Vec<String> = entries.keys().map(FieldPath::pointer).collect();
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

    #[test]
    fn elements_with_the_same_content_are_found_once_each() {
        let record = |at: usize, fields: &Value| {
            let root = FieldPath::parse(&format!("/l/[{at}]")).unwrap();
            let inside = fields.as_map().into_iter().flatten();
            let inside = inside.map(|(key, value)| {
                let mut place = root.clone();
                place.0.push(PathElement::Field(key.clone()));
                (place, value.clone())
            });
            let all = std::iter::once((root.clone(), json!({}))).chain(inside);
            all.collect::<BTreeMap<FieldPath, Value>>()
        };
        let check = |records: [(usize, Value); 2], list: Value, expect: [Option<usize>; 2]| {
            let mut all = records.map(|(at, fields)| record(at, &fields));
            let object = json!({"l": (list)});
            relocate(&mut all.each_mut(), &object);
            let found = all.map(|one| outermost(&one).first().copied().and_then(position));
            assert_eq!(found, expect, "{object}");
        };
        let a = || json!({"h": "a"});
        let more = || json!({"h": "a", "x": 1});
        check([(1, a()), (2, a())], json!([{}, (a())]), [Some(1), None]);
        let both = [Some(2), Some(1)];
        check(
            [(1, a()), (2, a())],
            json!([{}, (a()), (a())]),
            [Some(1), Some(2)],
        );
        check([(1, a()), (2, more())], json!([{}, (more()), (a())]), both);
        // One with nothing is not just any.
        check(
            [(0, json!({})), (1, a())],
            json!([(a()), (more())]),
            [None, Some(0)],
        );
        check(
            [(0, json!({})), (0, a())],
            json!([(more()), {}]),
            [Some(1), Some(0)],
        );
    }
}
