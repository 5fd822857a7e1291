//! List elements that were removed, and how they are put back to where they were.
//!
//! The order of a list may matter, so of an element that is removed one remembers which one was
//! before it. That one may be removed, too, and need not come back at the same time:
//!
//! ```text
//! before    [a, b, c, d]
//! removed   b (after a), c (after b)      ─▶ [a, d]
//! back      c: b is not there, but is known to come after a      ─▶ [a, c, d]
//! ```
//!
//! If it is not known where an element was, it is put at the end.

use std::collections::BTreeMap;

use document::{Value, View};

use crate::path::{FieldPath, find, key_fields};

/// The key fields of the list element before the one at a path: an empty map if that is the first
/// one, `None` if it cannot be found.
pub fn element_before(place: &FieldPath, object: &Value) -> Option<Value> {
    let keys = place.key_fields()?;
    let list = place.outer();
    let list = list.get(object).as_list()?;
    match find(list, keys)?.checked_sub(1) {
        None => Some(Value::empty_map()),
        Some(before) => key_fields(list.iter().nth(before)?, keys.as_map()?),
    }
}

/// A list element that was removed.
#[derive(Clone, Copy, Debug)]
pub struct RemovedElement<'a> {
    /// Its key fields.
    pub keys: &'a Value,
    /// The element, if it comes back now.
    pub element: Option<&'a Value>,
    /// The key fields of the element that was before it, as [`element_before`] returns them.
    pub after: Option<&'a Value>,
}

/// The object with removed elements of a list put back. A list that is missing is created.
#[must_use]
pub fn put_back(list: &FieldPath, object: &Value, removed: &[RemovedElement<'_>]) -> Value {
    let live = match list.get(object).view() {
        View::List(items) => items.to_vec(),
        View::Null => Vec::new(),
        _ => return object.clone(),
    };
    list.set(object, &Order::new(live, removed).items().into())
}

/// What an element comes after.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Anchor {
    /// Nothing: it is the first one.
    Start,
    /// An element of the list, by position.
    Live(usize),
    /// Another element that was removed, by position.
    Removed(usize),
}

/// The elements of a list, and those to put between them.
struct Order<'a> {
    live: Vec<Value>,
    /// Those that are not in the list.
    removed: Vec<RemovedElement<'a>>,
    /// Their positions, by what they come after.
    after: BTreeMap<Anchor, Vec<usize>>,
}

impl<'a> Order<'a> {
    fn new(mut live: Vec<Value>, all: &[RemovedElement<'a>]) -> Self {
        let mut removed: Vec<RemovedElement<'a>> = Vec::with_capacity(all.len());
        let items = Value::from(live.clone());
        let at = |keys: &Value| items.as_list().and_then(|items| find(items, keys));
        for one in all {
            match (at(one.keys), one.element) {
                (None, _) => removed.push(*one),
                (Some(at), Some(element)) => live[at] = element.clone(),
                (Some(_), None) => {}
            }
        }
        let known: BTreeMap<&Value, usize> = removed.iter().map(|one| one.keys).zip(0..).collect();
        let anchor = |keys: &Value| match at(keys) {
            _ if keys.as_map().is_some_and(document::Map::is_empty) => Some(Anchor::Start),
            Some(at) => Some(Anchor::Live(at)),
            None => known.get(keys).copied().map(Anchor::Removed),
        };
        let mut after: BTreeMap<Anchor, Vec<usize>> = BTreeMap::new();
        for (i, one) in removed.iter().enumerate() {
            if let Some(anchor) = one.after.and_then(anchor) {
                after.entry(anchor).or_default().push(i);
            }
        }
        Self {
            live,
            removed,
            after,
        }
    }

    fn items(mut self) -> Vec<Value> {
        let mut items = Vec::with_capacity(self.live.len() + self.removed.len());
        let mut left = vec![true; self.removed.len()];
        self.insert(Anchor::Start, &mut items, &mut left);
        for (at, item) in std::mem::take(&mut self.live).into_iter().enumerate() {
            items.push(item);
            self.insert(Anchor::Live(at), &mut items, &mut left);
        }
        let last = self.removed.iter().zip(left).filter(|(_, left)| *left);
        items.extend(last.filter_map(|(one, _)| one.element.cloned()));
        items
    }

    /// Adds the elements that come after another one, directly or after each other.
    fn insert(&self, anchor: Anchor, items: &mut Vec<Value>, left: &mut [bool]) {
        let after = |anchor: Anchor| self.after.get(&anchor).into_iter().flatten().rev();
        let mut next: Vec<usize> = after(anchor).copied().collect();
        while let Some(at) = next.pop() {
            left[at] = false;
            items.extend(self.removed[at].element.cloned());
            next.extend(after(Anchor::Removed(at)));
        }
    }
}

#[cfg(test)]
mod tests {
    use document::{ListRef, json};

    use super::*;

    /// The list after elements were put back. Each comes with the one before it.
    fn check(live: &str, removed: &[(&str, Option<&str>)], expect: &str) {
        let named = |name: char| json!({"name": (name.to_string()), "x": 1});
        let keys = |name: &str| match name {
            "" => Value::empty_map(),
            name => json!({"name": name}),
        };
        let object = json!({"l": (live.chars().map(named).collect::<Value>())});
        let all: Vec<_> = removed
            .iter()
            .map(|(name, after)| (keys(name), json!({"name": (*name)}), after.map(keys)))
            .collect();
        let removed = all.iter().map(|(keys, element, after)| RemovedElement {
            keys,
            element: Some(element),
            after: after.as_ref(),
        });
        let list = FieldPath::of(&["l"]);
        let back = put_back(&list, &object, &removed.collect::<Vec<_>>());
        let names = list
            .get(&back)
            .as_list()
            .into_iter()
            .flat_map(ListRef::iter);
        let names: String = names.filter_map(|item| item.get("name").as_str()).collect();
        assert_eq!(names, expect, "{live} and {all:?}");
    }

    #[test]
    fn elements_come_back_to_where_they_were() {
        check("b", &[("a", Some(""))], "ab");
        check("ac", &[("b", Some("a"))], "abc");
        check("", &[("a", Some("")), ("b", Some("a"))], "ab");
        // In any order, and with new ones of others.
        check(
            "cnf",
            &[
                ("e", Some("d")),
                ("d", Some("c")),
                ("a", Some("z")),
                ("z", Some("")),
            ],
            "zacdenf",
        );
        check("ab", &[("c", None)], "abc");
        check("ab", &[("c", Some("gone"))], "abc");
        check("a", &[("b", Some("c")), ("c", Some("b"))], "abc");
        check("ab", &[("a", Some("b"))], "ab");
    }

    #[test]
    fn one_that_stays_away_keeps_the_place_of_the_next() {
        let [a, b, c] = ["a", "b", "c"].map(|name| json!({"name": name}));
        let removed = [
            RemovedElement {
                keys: &b,
                element: None,
                after: Some(&a),
            },
            RemovedElement {
                keys: &c,
                element: Some(&c),
                after: Some(&b),
            },
        ];
        let live = json!({"l": [(a.clone()), {"name": "d"}]});
        let back = put_back(&FieldPath::of(&["l"]), &live, &removed);
        assert_eq!(
            back,
            json!({"l": [(a.clone()), (c.clone()), {"name": "d"}]})
        );
    }

    #[test]
    fn the_element_before_is_named_by_its_key_fields() {
        let place = |at: &str| FieldPath::parse(&format!("/ports/[{at}]")).unwrap();
        let object =
            json!({"ports": [{"port": 1, "name": "x"}, {"port": 2}, {"name": "y"}, {"port": 3}]});
        let before = |port: i64| {
            let keys = json!({"port": port, "protocol": "TCP"});
            element_before(&place(&keys.to_string()), &object)
        };
        assert_eq!(before(1), Some(json!({})));
        assert_eq!(before(2), Some(json!({"port": 1, "protocol": "TCP"})));
        assert_eq!(before(3), None, "the one before it has no number");
        assert_eq!(before(4), None);
        assert_eq!(element_before(&place("0"), &object), None);
    }
}
