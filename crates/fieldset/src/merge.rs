//! The deep merge of a patch into an object.

use document::{Key, Value, View};

use crate::append::{appended, changes};
use crate::delta::{is_delete, replacement};
use crate::keys::{Identity, MergeKeys};

/// Deeply merges a patch into a live value. Maps merge, and null removes. Lists of maps merge
/// element by element, by merge keys if the elements have them, otherwise by position. Other
/// lists are replaced. For the directives `$patch`, see [`delta`](crate::delta()).
pub fn merge(live: &Value, patch: &Value, keys: &MergeKeys) -> Value {
    Merge {
        keys,
        path: Vec::new(),
    }
    .value(live, patch)
}

/// As [`merge`], for values that are at these field names of an object.
pub(crate) fn merge_at(path: &[Key], live: &Value, patch: &Value, keys: &MergeKeys) -> Value {
    let path = path.to_vec();
    Merge { keys, path }.value(live, patch)
}

struct Merge<'a> {
    keys: &'a MergeKeys,
    /// The names of the fields that lead to the current value.
    path: Vec<Key>,
}

impl Merge<'_> {
    fn value(&mut self, live: &Value, patch: &Value) -> Value {
        match (live.view(), patch.view()) {
            (View::Map(live), View::Map(patch)) => {
                let mut result = live.clone();
                for (key, value) in patch {
                    if value.is_null() {
                        result = result.without(key.as_str());
                        continue;
                    }
                    // Removing a field that does not exist must not create the maps around it.
                    let missing = result.get(key).is_none_or(|old| old.kind() != value.kind());
                    if missing && only_removes(value) {
                        continue;
                    }
                    self.path.push(key.clone());
                    let merged = match result.get(key) {
                        Some(old) => self.value(old, value),
                        None => self.value(&Value::empty_map(), value),
                    };
                    self.path.pop();
                    result = result.with(key.clone(), merged);
                }
                result.into()
            }
            (View::List(live), View::List(patch)) if all_maps(live) && all_maps(patch) => {
                replacement(patch).unwrap_or_else(|| self.lists(live, patch))
            }
            (_, View::List(items)) if all_maps(items) => {
                let given = items.iter();
                let given = given.filter(|item| !is_delete(item) && changes(item).is_none());
                let given = given.map(|item| appended(item).unwrap_or_else(|| item.clone()));
                let given: Value = given.collect();
                let replaced = given.as_list().and_then(replacement);
                replaced.unwrap_or(given)
            }
            (_, View::Map(_)) if live.as_map().is_none() => self.value(&Value::empty_map(), patch),
            _ => patch.clone(),
        }
    }

    fn lists(&mut self, live: document::ListRef<'_>, patch: document::ListRef<'_>) -> Value {
        let identity = self.keys.of(&self.path, &[live, patch]);
        let mut result = live.to_vec();
        let mut gone = Vec::new();
        for (position, item) in patch.iter().enumerate() {
            if let Some(item) = appended(item) {
                result.push(item);
                continue;
            }
            if let Some(fields) = changes(item) {
                if let Some(live) = live.get(position) {
                    result[position] = self.value(live, &fields.into());
                }
                continue;
            }
            match position_of(live, item, position, identity.as_ref()) {
                Some(at) if is_delete(item) => gone.push(at),
                Some(at) => result[at] = self.value(&result[at], item),
                None if is_delete(item) => {}
                None => result.push(self.value(&Value::empty_map(), item)),
            }
        }
        gone.sort_unstable();
        gone.dedup();
        for at in gone.into_iter().rev() {
            result.remove(at);
        }
        result.into()
    }
}

/// Whether a patch only removes fields or elements, or changes existing ones.
fn only_removes(patch: &Value) -> bool {
    let removes = |value: &Value| value.is_null() || only_removes(value);
    match patch.view() {
        View::Map(map) => !map.is_empty() && map.values().all(removes),
        View::List(list) => {
            let creates = |item: &Value| !is_delete(item) && changes(item).is_none();
            !list.is_empty() && !list.iter().any(creates)
        }
        _ => false,
    }
}

/// The position in `list` of the element that `item` refers to: the element with the same key
/// or, without keys, the one at the same position.
pub fn position_of(
    list: document::ListRef<'_>,
    item: &Value,
    position: usize,
    identity: Option<&Identity>,
) -> Option<usize> {
    match identity {
        Some(identity) => {
            let wanted = identity.of(item);
            list.iter()
                .position(|other| Value::from(identity.of(other)) == Value::from(wanted.clone()))
        }
        None => (position < list.len()).then_some(position),
    }
}

/// Whether all items of a list are maps, so that they are merged one by one.
pub fn all_maps(items: document::ListRef<'_>) -> bool {
    !items.is_empty() && items.iter().all(|item| item.as_map().is_some())
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    fn check(live: &Value, patch: &Value, expect: &Value) {
        assert_eq!(merge(live, patch, &MergeKeys::of_group("apps")), *expect);
    }

    #[test]
    fn a_patch_of_one_container_keeps_the_others() {
        check(
            &json!({"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}}),
            &json!({"spec": {"containers": [{"name": "b", "image": "2"}]}}),
            &json!({"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]}}),
        );
    }

    #[test]
    fn lists_without_a_merge_key_merge_by_position() {
        check(
            &json!({"l": [{"a": 1, "b": 1}, {"a": 2}]}),
            &json!({"l": [{"b": 2}]}),
            &json!({"l": [{"a": 1, "b": 2}, {"a": 2}]}),
        );
        check(
            &json!({"l": [1, 2]}),
            &json!({"l": [3]}),
            &json!({"l": [3]}),
        );
    }

    #[test]
    fn removing_a_missing_field_creates_no_maps() {
        let removal = json!({"a": {"b": {"c": null}}});
        for live in [json!({}), json!({"a": 1}), json!({"a": {"x": 1}})] {
            check(&live, &removal, &live);
        }
        check(
            &json!({"a": {"b": {"c": 1, "d": 1}}}),
            &removal,
            &json!({"a": {"b": {"d": 1}}}),
        );
        check(
            &json!({}),
            &json!({"a": {"b": {"c": null}, "empty": {}}}),
            &json!({"a": {"empty": {}}}),
        );
    }

    #[test]
    fn ports_are_identified_by_number_and_protocol() {
        check(
            &json!({"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53}]}),
            &json!({"ports": [{"port": 53, "protocol": "TCP", "name": "dns"}]}),
            &json!({"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP", "name": "dns"}]}),
        );
    }

    #[test]
    fn custom_kinds_have_the_merge_keys_of_their_schema() {
        let live = json!({"spec": {"containers": [{"name": "a", "x": 1}, {"name": "b"}]}});
        let patch = json!({"spec": {"containers": [{"name": "b", "x": 2}]}});
        let keys = MergeKeys::of_group("example.com");
        assert_eq!(
            merge(&live, &patch, &keys),
            json!({"spec": {"containers": [{"name": "b", "x": 2}, {"name": "b"}]}}),
            "by position"
        );
        let list = ["spec", "containers"].map(str::to_owned).to_vec();
        let keys = keys.with(list, vec!["name".to_owned()]);
        assert_eq!(
            merge(&live, &patch, &keys),
            json!({"spec": {"containers": [{"name": "a", "x": 1}, {"name": "b", "x": 2}]}})
        );
    }
}
