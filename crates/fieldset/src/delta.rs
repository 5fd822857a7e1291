//! The patch that turns one document into another.
//!
//! [`merge`](crate::merge) is the other direction. A patch that is computed here has only what
//! differs:
//!
//! ```text
//! old      {a: 1, b: 2, containers: [{name: app, image: x}, {name: old}]}
//! new      {a: 1, b: 3, containers: [{name: app, image: y}, {name: new}]}
//! patch    {b: 3, containers: [{name: app, image: y}, {name: new}, {name: old, $patch: delete}]}
//! ```
//!
//! JSON merge patches cannot remove or replace elements of lists. For these there are the
//! directives of Kubernetes' strategic merge patch: an element with `$patch: delete` removes the
//! element with the same key fields, and a list that starts with `{$patch: replace}` replaces the
//! whole list. In a list without key fields an element with `$patch: merge` changes the one at its
//! position in the old document, and one with `$patch: append`, a directive of our own, is appended;
//! see [`placed`](crate::placed()).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use document::{Key, ListRef, Map, Value, View};

use crate::append::{append, change};
use crate::compare::equal;
use crate::keys::{Identity, MergeKeys};
use crate::merge::{all_maps, merge_at, position_of};

/// The key of a directive.
pub(crate) const DIRECTIVE: &str = "$patch";

/// The meaning of a field that is missing from the new document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// The field is removed.
    Removes,
    /// Nothing: the field stays as it is.
    Keeps,
}

/// The patch that turns `old` into `new`; `None` if there is nothing to change. A null in `new`
/// removes a field. Elements of lists with merge keys keep their order, and new ones are appended.
/// Elements of `new` with the same key fields are one element, of which the last values count.
pub fn delta(old: &Value, new: &Value, keys: &MergeKeys, absence: Absence) -> Option<Value> {
    let path = Vec::new();
    Delta {
        keys,
        absence,
        path,
    }
    .value(old, new)
}

/// Whether an element of a patch removes the element with the same key fields.
pub(crate) fn is_delete(item: &Value) -> bool {
    item.get(DIRECTIVE).as_str() == Some("delete")
}

/// The elements of a list that replaces the whole list.
pub(crate) fn replacement(list: ListRef<'_>) -> Option<Value> {
    let first = list.iter().next()?;
    let replaces = first.get(DIRECTIVE).as_str() == Some("replace");
    replaces.then(|| list.iter().skip(1).cloned().collect())
}

pub(crate) fn directive(word: &str) -> (Key, Value) {
    (Key::new(DIRECTIVE), Value::from(word))
}

struct Delta<'a> {
    keys: &'a MergeKeys,
    absence: Absence,
    /// The names of the fields that lead to the current value.
    path: Vec<Key>,
}

impl Delta<'_> {
    fn value(&mut self, old: &Value, new: &Value) -> Option<Value> {
        if equal(old, new) {
            return None;
        }
        match (old.view(), new.view()) {
            (View::Map(old), View::Map(new)) => self.maps(old, new),
            (View::List(old), View::List(new)) if all_maps(old) && all_maps(new) => {
                self.lists(old, new)
            }
            (View::Null, View::List(items)) if all_maps(items) => Some(self.new_list(items)),
            _ => Some(new.clone()),
        }
    }

    /// A list where there was none. Others may append to it at the same time.
    fn new_list(&self, items: ListRef<'_>) -> Value {
        match self.keys.of(&self.path, &[items]) {
            Some(_) => items.iter().cloned().collect(),
            None => items.iter().map(append).collect(),
        }
    }

    fn maps(&mut self, old: &Map, new: &Map) -> Option<Value> {
        let mut changes = Vec::new();
        for (key, value) in new {
            self.path.push(key.clone());
            let change = self.value(old.get(key).unwrap_or(&Value::NULL), value);
            self.path.pop();
            changes.extend(change.map(|change| (key.clone(), change)));
        }
        if self.absence == Absence::Removes {
            let gone = old.iter().filter(|(key, _)| new.get(key).is_none());
            let gone = gone.filter(|(_, value)| !value.is_null());
            changes.extend(gone.map(|(key, _)| (key.clone(), Value::NULL)));
        }
        (!changes.is_empty()).then(|| Map::from_entries(changes).into())
    }

    fn lists(&mut self, old: ListRef<'_>, new: ListRef<'_>) -> Option<Value> {
        match self.keys.of(&self.path, &[old, new]) {
            Some(identity) => self.by_key(old, new, &identity),
            None if self.absence == Absence::Removes && new.len() < old.len() => {
                let replace: Map = [directive("replace")].into_iter().collect();
                let items = std::iter::once(replace.into()).chain(new.iter().cloned());
                Some(items.collect())
            }
            None => self.by_position(old, new),
        }
    }

    fn by_key(&mut self, old: ListRef<'_>, new: ListRef<'_>, identity: &Identity) -> Option<Value> {
        let mut changes: Vec<Value> = Vec::new();
        for item in &self.joined(new, identity) {
            let Some(at) = position_of(old, item, 0, Some(identity)) else {
                changes.push(item.clone());
                continue;
            };
            let change = self.value(old.get(at).unwrap_or(&Value::NULL), item);
            let change = change.and_then(|change| change.as_map().cloned());
            changes.extend(change.map(|change| {
                let keys = identity.of(item);
                let named = keys.iter().cloned();
                Value::from(named.fold(change, |all, (key, value)| all.with(key, value)))
            }));
        }
        if self.absence == Absence::Removes {
            let gone = old
                .iter()
                .filter(|item| position_of(new, item, 0, Some(identity)).is_none());
            changes.extend(gone.map(|item| {
                let (key, word) = directive("delete");
                Value::from(identity.of(item).with(key, word))
            }));
        }
        (!changes.is_empty()).then(|| changes.into())
    }

    /// The elements of a list, of which those with the same key fields are merged into the first
    /// one. A pipeline that appends an element need not know whether a user has one with that key.
    fn joined(&self, list: ListRef<'_>, identity: &Identity) -> Vec<Value> {
        let mut all: Vec<Value> = Vec::with_capacity(list.len());
        let mut known: BTreeMap<Value, usize> = BTreeMap::new();
        for item in list {
            match known.entry(identity.of(item).into()) {
                Entry::Occupied(first) => {
                    let joined = &mut all[*first.get()];
                    *joined = merge_at(&self.path, joined, item, self.keys);
                }
                Entry::Vacant(new) => {
                    new.insert(all.len());
                    all.push(item.clone());
                }
            }
        }
        all
    }

    /// Elements that do not change are there without fields, so that the others keep their
    /// positions.
    fn by_position(&mut self, old: ListRef<'_>, new: ListRef<'_>) -> Option<Value> {
        let mut changes: Vec<Value> = Vec::new();
        let mut last = 0;
        for (i, item) in new.iter().enumerate() {
            let Some(old) = old.get(i) else {
                changes.push(append(item));
                last = i + 1;
                continue;
            };
            let fields = self.value(old, item);
            if fields.is_some() {
                last = i + 1;
            }
            changes.push(change(&fields.unwrap_or_else(Value::empty_map)));
        }
        changes.truncate(last);
        (!changes.is_empty()).then(|| changes.into())
    }
}

#[cfg(test)]
mod tests {
    use document::json;
    use seeded::Random;

    use super::*;
    use crate::merge::merge;

    fn check(old: &Value, new: &Value, absence: Absence, expect: &Value) {
        let found = delta(old, new, &MergeKeys::of_group("apps"), absence);
        assert_eq!(found.unwrap_or_default(), *expect);
    }

    #[test]
    fn only_what_differs_is_in_the_patch() {
        let old = json!({"a": 1, "b": {"c": 1, "d": 1}, "s": [1, 2]});
        let new = json!({"a": 1, "b": {"c": 2}, "s": [1, 2], "e": {}});
        check(&old, &old, Absence::Removes, &Value::NULL);
        check(&old, &new, Absence::Keeps, &json!({"b": {"c": 2}, "e": {}}));
        check(
            &old,
            &new,
            Absence::Removes,
            &json!({"b": {"c": 2, "d": null}, "e": {}}),
        );
    }

    #[test]
    fn a_null_removes_what_exists() {
        let new = json!({"a": null, "b": null});
        check(&json!({"a": 1}), &new, Absence::Keeps, &json!({"a": null}));
    }

    #[test]
    fn elements_with_keys_are_compared_one_by_one() {
        let old =
            json!({"containers": [{"name": "app", "image": "x", "tty": true}, {"name": "old"}]});
        let new = json!({"containers": [{"name": "new"}, {"name": "app", "image": "y"}]});
        let kept = json!({"containers": [{"name": "new"}, {"name": "app", "image": "y"}]});
        check(&old, &new, Absence::Keeps, &kept);
        let removed = json!({"containers": [
            {"name": "new"}, {"name": "app", "image": "y", "tty": null}, {"name": "old", "$patch": "delete"}
        ]});
        check(&old, &new, Absence::Removes, &removed);
    }

    #[test]
    fn elements_with_the_same_key_are_one() {
        let old = json!({"containers": [{"name": "app"}, {"name": "side", "env": [1]}]});
        let appended = json!({"containers": [
            {"name": "app"}, {"name": "side", "env": [1]}, {"name": "side", "image": "s"}
        ]});
        let patch = json!({"containers": [{"name": "side", "image": "s"}]});
        for absence in [Absence::Removes, Absence::Keeps] {
            check(&old, &appended, absence, &patch);
        }
        let twice = json!({"containers": [{"name": "a", "x": 1, "y": 1}, {"name": "a", "x": 2}]});
        let one = json!({"containers": [{"name": "a", "x": 2, "y": 1}]});
        let empty = json!({"containers": [{"name": "b"}]});
        check(&empty, &twice, Absence::Keeps, &one);
    }

    #[test]
    fn elements_without_keys_are_compared_by_position() {
        let old = json!({"l": [{"a": 1}, {"a": 2}, {"a": 3}]});
        let new = json!({"l": [{"a": 1}, {"a": 4}, {"a": 3}]});
        let patch = json!({"l": [{"$patch": "merge"}, {"a": 4, "$patch": "merge"}]});
        check(&old, &new, Absence::Removes, &patch);
        let new = json!({"l": [{"a": 2}]});
        let patch = json!({"l": [{"a": 2, "$patch": "merge"}]});
        check(&old, &new, Absence::Keeps, &patch);
        let replaced = json!({"l": [{"$patch": "replace"}, {"a": 2}]});
        check(&old, &new, Absence::Removes, &replaced);
    }

    fn random_value(random: &mut Random, depth: usize) -> Value {
        match random.below(if depth == 0 { 2 } else { 5 }) {
            0 => json!(random.below(3)),
            1 => json!([(random.below(2))]),
            2 => (0..=random.below(2))
                .map(|_| json!({"name": (random.below(3).to_string()), "x": (random.below(2))}))
                .collect(),
            _ => {
                let fields = ["a", "b", "containers"].iter();
                let fields = fields.filter(|_| random.below(3) > 0);
                let fields: Vec<&str> = fields.copied().collect();
                let members = fields
                    .into_iter()
                    .map(|field| (Key::new(field), random_value(random, depth - 1)));
                members.collect::<Map>().into()
            }
        }
    }

    /// The names of the elements of keyed lists, without duplicates and in order: a merge keeps
    /// the order of the old list.
    fn normal(value: &Value, keyed: bool) -> Value {
        match value.view() {
            View::Map(map) => {
                let members = map.iter();
                let members = members
                    .map(|(key, value)| (key.clone(), normal(value, key.as_str() == "containers")));
                members.collect::<Map>().into()
            }
            View::List(list) if keyed && all_maps(list) => {
                let named: BTreeMap<String, Value> = list
                    .iter()
                    .map(|item| (item.get("name").to_string(), item.clone()))
                    .collect();
                named.into_values().collect()
            }
            _ => value.clone(),
        }
    }

    #[test]
    fn merging_the_patch_gives_the_new_document() {
        let keys = MergeKeys::of_group("apps");
        for seed in seeded::seeds(3000) {
            let random = &mut Random::new(seed);
            let [old, new] = [(); 2].map(|()| {
                let wrapped = json!({"spec": (random_value(random, 3))});
                normal(&wrapped, false)
            });
            let patch = delta(&old, &new, &keys, Absence::Removes);
            let merged = patch.map_or(old.clone(), |patch| merge(&old, &patch, &keys));
            let (merged, new) = (normal(&merged, false), normal(&new, false));
            assert!(equal(&merged, &new), "seed {seed}: {old} → {new}: {merged}");
        }
    }
}
