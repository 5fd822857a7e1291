//! Where a patch puts the elements that it appends to a list without merge keys.
//!
//! A position says nothing about such an element: if two controllers append to one list, each of
//! them sees the list without its own elements, and both mean the same position. So a patch that is
//! computed from what a pipeline saw says of each element what it does ([`delta`](crate::delta())):
//! it changes one that the pipeline saw (`$patch: merge`), or is appended (`$patch: append`).
//! [`placed`] finds the positions in the object. Own elements, which the pipeline did not see, are
//! skipped. What is appended stays where the same controller has appended it before, or gets a
//! position at the end of the list:
//!
//! ```text
//! live      rules: [{host: ours}, {host: user}, {host: other}]      own: position 0
//! patch     rules: [{$patch: merge, tls: on}, {$patch: append, host: ours}]
//! placed    rules: [{host: ours}, {$patch: merge, tls: on}]
//! ```
//!
//! An element with `$patch: merge` and nothing else keeps the positions of those after it. It is no
//! wish: nobody sets or keeps an element with it.

use document::{Key, ListRef, Map, Value, View};

use crate::delta::{DIRECTIVE, directive};
use crate::keys::MergeKeys;
use crate::merge::{all_maps, position_of};
use crate::path::{FieldPath, PathElement};

/// The element of a patch that appends this one.
pub(crate) fn append(item: &Value) -> Value {
    directed(item, "append")
}

/// The element of a patch that changes an existing one. If the list has become shorter, it has no
/// effect.
pub(crate) fn change(fields: &Value) -> Value {
    directed(fields, "merge")
}

fn directed(item: &Value, word: &str) -> Value {
    let (key, word) = directive(word);
    match item.as_map() {
        Some(fields) => fields.with(key, word).into(),
        None => item.clone(),
    }
}

/// The element that an element of a patch appends.
pub(crate) fn appended(item: &Value) -> Option<Value> {
    without_directive(item, "append").map(Value::from)
}

/// What an element of a patch changes in an existing one.
pub(crate) fn changes(item: &Value) -> Option<Map> {
    without_directive(item, "merge")
}

fn without_directive(item: &Value, word: &str) -> Option<Map> {
    let fields = item.as_map()?;
    let has = item.get(DIRECTIVE).as_str() == Some(word);
    has.then(|| fields.without(DIRECTIVE))
}

/// Whether a patch has lists whose elements refer to what a pipeline saw.
pub fn is_relative(patch: &Value) -> bool {
    match patch.view() {
        View::Map(fields) => fields.values().any(is_relative),
        View::List(items) if all_maps(items) => refers(items) || items.iter().any(is_relative),
        _ => false,
    }
}

/// Whether the elements of a list refer to those that a pipeline saw.
fn refers(items: ListRef<'_>) -> bool {
    let mut words = items.iter().map(|item| item.get(DIRECTIVE).as_str());
    words.any(|word| matches!(word, Some("append" | "merge")))
}

/// A patch with the positions that its elements have in an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placed {
    /// The patch.
    pub patch: Value,
    /// The paths of the elements that it appends.
    pub added: Vec<FieldPath>,
}

/// The patch with the positions that its elements have in an object. `own` are the paths of the
/// elements that the same controller has appended before, and `is` tells whether one of them was
/// appended as this element.
pub fn placed(
    patch: &Value,
    live: &Value,
    keys: &MergeKeys,
    own: &[FieldPath],
    is: &dyn Fn(&FieldPath, &Value) -> bool,
) -> Placed {
    let mut places = Places {
        keys,
        own,
        is,
        fields: Vec::new(),
        place: FieldPath::default(),
        added: Vec::new(),
    };
    let patch = places.value(patch, live);
    let added = places.added;
    Placed { patch, added }
}

struct Places<'a> {
    keys: &'a MergeKeys,
    own: &'a [FieldPath],
    is: &'a dyn Fn(&FieldPath, &Value) -> bool,
    /// The names of the fields that lead to the current value.
    fields: Vec<Key>,
    place: FieldPath,
    added: Vec<FieldPath>,
}

impl Places<'_> {
    fn value(&mut self, patch: &Value, live: &Value) -> Value {
        match patch.view() {
            View::Map(fields) => {
                let members = fields.iter().map(|(key, value)| {
                    self.fields.push(key.clone());
                    let value = self.at(PathElement::Field(key.clone()), value, live.get_key(key));
                    self.fields.pop();
                    (key.clone(), value)
                });
                members.collect::<Map>().into()
            }
            View::List(items) if all_maps(items) && refers(items) => self.relative(items, live),
            View::List(items) if all_maps(items) => self.list(items, live),
            _ => patch.clone(),
        }
    }

    fn at(&mut self, step: PathElement, patch: &Value, live: &Value) -> Value {
        self.place.0.push(step);
        let value = self.value(patch, live);
        self.place.0.pop();
        value
    }

    fn list(&mut self, items: ListRef<'_>, live: &Value) -> Value {
        let lists: Vec<ListRef<'_>> = live.as_list().into_iter().chain([items]).collect();
        let identity = self.keys.of(&self.fields, &lists);
        let given = items.iter().enumerate().map(|(i, item)| {
            let at = live
                .as_list()
                .and_then(|live| position_of(live, item, i, identity.as_ref()));
            let step = match &identity {
                Some(identity) => PathElement::Element(identity.of(item).into()),
                None => PathElement::Index(i),
            };
            let found = at.map_or(const { &Value::NULL }, |at| live.at(at));
            self.at(step, item, found)
        });
        given.collect()
    }

    /// A list whose elements refer to those that a pipeline saw.
    fn relative(&mut self, items: ListRef<'_>, live: &Value) -> Value {
        let len = live.as_list().map_or(0, ListRef::len);
        let own = self.own.iter();
        let own = own.filter_map(|place| place.position_in(&self.place));
        let mut own: Vec<usize> = own.filter(|at| *at < len).collect();
        own.sort_unstable();
        let skipped = own.clone();
        let mut seen = (0..len).filter(|at| skipped.binary_search(at).is_err());
        let mut list = Sparse::default();
        let mut added = Vec::new();
        for item in items {
            if let Some(item) = appended(item) {
                added.push(item);
                continue;
            }
            // An element that is gone by now is not created again.
            let Some(at) = seen.next() else {
                continue;
            };
            if changes(item).is_some_and(|fields| !fields.is_empty()) {
                let item = self.at(PathElement::Index(at), item, live.at(at));
                list.put(at, item);
            }
        }
        let mut new = len..;
        for item in added {
            let mut left = own.iter();
            let same = left.position(|at| (self.is)(&self.index(*at), &item));
            let at = match same {
                Some(same) => Some(own.remove(same)),
                None => new.next(),
            };
            if let Some(at) = at {
                self.added.push(self.index(at));
                list.put(at, item);
            }
        }
        list.into()
    }

    /// The path of an element of the current list.
    fn index(&self, at: usize) -> FieldPath {
        let mut place = self.place.clone();
        place.0.push(PathElement::Index(at));
        place
    }
}

/// The elements of a list at some positions.
#[derive(Default)]
struct Sparse(Vec<Value>);

impl Sparse {
    fn put(&mut self, at: usize, item: Value) {
        if self.0.len() <= at {
            self.0.resize(at + 1, change(&Value::empty_map()));
        }
        self.0[at] = item;
    }
}

impl From<Sparse> for Value {
    /// An empty list would replace the one that is there.
    fn from(mut list: Sparse) -> Self {
        if list.0.is_empty() {
            list.0.push(change(&Value::empty_map()));
        }
        list.0.into()
    }
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;
    use crate::merge::merge;
    use crate::walk::leaves;

    fn keys() -> MergeKeys {
        MergeKeys::of_group("apps")
    }

    fn place(at: usize) -> FieldPath {
        FieldPath::parse(&format!("/l/[{at}]")).unwrap()
    }

    /// The list after a patch, and the positions of the elements that it appends.
    fn check(patch: &Value, live: &Value, own: &[usize], expect: &Value, added: &[usize]) {
        let own: Vec<FieldPath> = own.iter().map(|at| place(*at)).collect();
        let is = |place: &FieldPath, item: &Value| place.get(live).get("h") == item.get("h");
        let found = placed(patch, live, &keys(), &own, &is);
        let places: Vec<FieldPath> = added.iter().map(|at| place(*at)).collect();
        assert_eq!(found.added, places, "{}", found.patch);
        assert_eq!(merge(live, &found.patch, &keys()), *expect);
        for (leaf, _) in leaves(&found.patch, &keys()) {
            let changes = |leaf: &FieldPath| {
                let (live, new) = (leaf.get(live), leaf.get(expect));
                live != new || places.iter().any(|place| leaf.within(place))
            };
            assert!(changes(&leaf), "{leaf} is no wish: {}", found.patch);
        }
    }

    fn appends(items: &[&str]) -> Value {
        let items = items.iter().map(|item| append(&json!({"h": (*item)})));
        json!({"l": (items.collect::<Value>())})
    }

    fn list(items: &[&str]) -> Value {
        let items = items.iter().map(|item| json!({"h": (*item)}));
        json!({"l": (items.collect::<Value>())})
    }

    #[test]
    fn a_new_element_is_put_at_the_end() {
        let (empty, one) = (json!({}), list(&["u"]));
        check(&appends(&["a"]), &empty, &[], &list(&["a"]), &[0]);
        let all = list(&["u", "a", "b"]);
        check(&appends(&["a", "b"]), &one, &[], &all, &[1, 2]);
        let nothing = json!({"l": [{"$patch": "append"}]});
        check(&nothing, &one, &[], &json!({"l": [{"h": "u"}, {}]}), &[1]);
    }

    #[test]
    fn an_element_that_was_appended_before_keeps_its_position() {
        let live = list(&["u", "a", "other"]);
        check(&appends(&["a"]), &live, &[1], &live, &[1]);
        let new = list(&["u", "a", "other", "new"]);
        check(&appends(&["new"]), &live, &[1], &new, &[3]);
        let both = list(&["u", "a", "other", "b"]);
        check(&appends(&["a", "b"]), &live, &[1], &both, &[1, 3]);
        check(&appends(&["b", "a"]), &both, &[1, 3], &both, &[3, 1]);
        let live = list(&["u", "a", "b"]);
        check(&appends(&["b"]), &live, &[1, 2], &live, &[2]);
    }

    #[test]
    fn an_element_with_fields_of_others_stays() {
        let live = json!({"l": [{"h": "b", "x": 1}, {"h": "b"}, {"h": "a", "x": 1}]});
        check(&appends(&["a"]), &live, &[0, 2], &live, &[2]);
        check(&appends(&["b", "b"]), &live, &[0, 1], &live, &[0, 1]);
    }

    #[test]
    fn changes_skip_the_own_elements() {
        let patch = json!({"l": [{"x": 1, "$patch": "merge"}, {"h": "a", "$patch": "append"}]});
        let live = list(&["a", "u"]);
        let expect = json!({"l": [{"h": "a"}, {"h": "u", "x": 1}]});
        check(&patch, &live, &[0], &expect, &[0]);
        let expect = json!({"l": [{"h": "a", "x": 1}, {"h": "u"}, {"h": "a"}]});
        check(&patch, &live, &[], &expect, &[2]);
        // The element that the pipeline saw is gone.
        check(&patch, &list(&["a"]), &[0], &list(&["a"]), &[0]);
        let patch = json!({"l": [{"x": 1, "$patch": "merge"}]});
        for live in [json!({}), json!({"l": 1}), list(&["a"])] {
            check(&patch, &live, &[0], &live, &[]);
        }
    }

    #[test]
    fn lists_inside_elements_with_keys_are_found() {
        let patch =
            json!({"containers": [{"name": "app", "rules": [{"h": "a", "$patch": "append"}]}]});
        let live = json!({"containers": [{"name": "x"}, {"name": "app", "rules": [{"h": "u"}]}]});
        let found = placed(&patch, &live, &keys(), &[], &|_, _| false);
        let place = FieldPath::parse("/containers/[{\"name\":\"app\"}]/rules/[1]");
        assert_eq!(Some(&found.added[0]), place.as_ref());
        let expect = json!({"containers": [
            {"name": "x"}, {"name": "app", "rules": [{"h": "u"}, {"h": "a"}]}
        ]});
        assert_eq!(merge(&live, &found.patch, &keys()), expect);
    }
}
