//! Where a patch puts the elements that it appends to a list without merge keys.
//!
//! A position does not identify such an element: if two controllers append to one list, each sees
//! the list without its own elements, so both would use the same position. So the patch only says
//! that an element is appended (`$patch: append`), and [`placed`] finds its position in the
//! object: that of an element which the same controller appended before, or the end of the list.
//!
//! ```text
//! live      rules: [{host: user}, {host: ours}, {host: other}]      ours: position 1
//! patch     rules: [{host: ours, $patch: append}]
//! placed    rules: [{}, {host: ours}]
//! ```

use document::{Key, ListRef, Map, Value, View};

use crate::delta::{DIRECTIVE, directive};
use crate::keys::MergeKeys;
use crate::merge::{all_maps, position_of};
use crate::path::{FieldPath, PathElement};

/// The element of a patch that appends this one.
pub(crate) fn append(item: &Value) -> Value {
    let (key, word) = directive("append");
    match item.as_map() {
        Some(fields) => fields.with(key, word).into(),
        None => item.clone(),
    }
}

/// The element that an element of a patch appends.
pub(crate) fn appended(item: &Value) -> Option<Value> {
    let fields = item.as_map()?;
    let appends = item.get(DIRECTIVE).as_str() == Some("append");
    appends.then(|| fields.without(DIRECTIVE).into())
}

/// A patch with the positions of the elements that it appends. `own` returns the positions of the
/// elements that the same controller has appended to a list before.
pub fn placed(
    patch: &Value,
    live: &Value,
    keys: &MergeKeys,
    own: impl Fn(&FieldPath) -> Vec<usize>,
) -> Value {
    let mut places = Places {
        keys,
        own,
        fields: Vec::new(),
        place: FieldPath::default(),
    };
    places.value(patch, live)
}

struct Places<'a, F> {
    keys: &'a MergeKeys,
    own: F,
    /// The names of the fields that lead to the current value.
    fields: Vec<Key>,
    place: FieldPath,
}

impl<F: Fn(&FieldPath) -> Vec<usize>> Places<'_, F> {
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
        let mut given = Vec::new();
        let mut added = Vec::new();
        for (i, item) in items.iter().enumerate() {
            if let Some(item) = appended(item) {
                added.push(item);
                continue;
            }
            let at = live
                .as_list()
                .and_then(|live| position_of(live, item, i, identity.as_ref()));
            let step = match &identity {
                Some(identity) => PathElement::Element(identity.of(item).into()),
                None => PathElement::Index(i),
            };
            let found = at.map_or(const { &Value::NULL }, |at| live.at(at));
            given.push(self.at(step, item, found));
        }
        if !added.is_empty() {
            self.add(&mut given, added, live);
        }
        given.into()
    }

    /// Puts appended elements at their positions.
    fn add(&self, given: &mut Vec<Value>, added: Vec<Value>, live: &Value) {
        let mut own = (self.own)(&self.place);
        own.sort_unstable();
        let mut next = live.as_list().map_or(0, ListRef::len).max(given.len());
        // An element that already has the wanted content keeps its position.
        let mut at: Vec<Option<usize>> = Vec::new();
        for item in &added {
            let same = own.iter().position(|at| live.at(*at) == item);
            at.push(same.map(|same| own.remove(same)));
        }
        let mut own = own.into_iter();
        for (item, at) in added.into_iter().zip(at) {
            let at = at.or_else(|| own.next()).unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            if given.len() <= at {
                given.resize(at + 1, Value::empty_map());
            }
            given[at] = item;
        }
    }
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    fn check(patch: &Value, live: &Value, own: &[usize], expect: &Value) {
        let keys = MergeKeys::of_group("apps");
        let found = placed(patch, live, &keys, |_| own.to_vec());
        assert_eq!(found, *expect);
    }

    fn appends(items: &[&str]) -> Value {
        let items = items.iter().map(|item| append(&json!({"h": (*item)})));
        json!({"l": (items.collect::<Value>())})
    }

    fn list(items: &[&str]) -> Value {
        let items = items.iter().map(|item| match *item {
            "" => Value::empty_map(),
            item => json!({"h": item}),
        });
        json!({"l": (items.collect::<Value>())})
    }

    #[test]
    fn a_new_element_is_put_at_the_end() {
        check(&appends(&["a"]), &json!({}), &[], &list(&["a"]));
        check(
            &appends(&["a", "b"]),
            &list(&["u"]),
            &[],
            &list(&["", "a", "b"]),
        );
    }

    #[test]
    fn an_element_that_was_appended_before_keeps_its_position() {
        let live = list(&["u", "a", "other"]);
        check(&appends(&["a"]), &live, &[1], &list(&["", "a"]));
        check(&appends(&["new"]), &live, &[1], &list(&["", "new"]));
        check(
            &appends(&["a", "b"]),
            &live,
            &[1],
            &list(&["", "a", "", "b"]),
        );
        let live = list(&["u", "a", "b"]);
        check(&appends(&["b"]), &live, &[1, 2], &list(&["", "", "b"]));
    }

    #[test]
    fn other_elements_keep_their_positions() {
        let patch = json!({"l": [{}, {"x": 1}, {"h": "a", "$patch": "append"}]});
        let expect = json!({"l": [{}, {"x": 1}, {}, {"h": "a"}]});
        check(&patch, &list(&["u", "v", "w"]), &[], &expect);
    }

    #[test]
    fn lists_inside_elements_with_keys_are_found() {
        let patch =
            json!({"containers": [{"name": "app", "rules": [{"h": "a", "$patch": "append"}]}]});
        let live = json!({"containers": [{"name": "x"}, {"name": "app", "rules": [{"h": "u"}]}]});
        let expect = json!({"containers": [{"name": "app", "rules": [{}, {"h": "a"}]}]});
        check(&patch, &live, &[], &expect);
    }
}
