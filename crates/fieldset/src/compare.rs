//! Compares desired with live values. Null equals absent throughout.

use crate::keys::MergeKeys;
use crate::merge::{all_maps, position_of};
use crate::path::{FieldPath, PathElement};
use crate::quantity;
use document::{Key, ListRef, Map, Value, View};

/// Whether two values are equal.
pub fn equal(a: &Value, b: &Value) -> bool {
    if a.same(b) {
        return true;
    }
    match (a.view(), b.view()) {
        (View::Map(a), View::Map(b)) => equal_maps(a, b, |_| false),
        (View::List(a), View::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        _ => a == b,
    }
}

/// Whether two maps are equal, except for the ignored keys.
pub fn equal_maps(a: &Map, b: &Map, ignored: impl Fn(&str) -> bool) -> bool {
    let given = |map: &'_ Map| {
        map.iter()
            .filter(|(key, value)| !value.is_null() && !ignored(key.as_str()))
            .cloned()
            .collect::<Vec<_>>()
    };
    let (a, b) = (given(a), given(b));
    a.len() == b.len()
        && a.iter()
            .zip(&b)
            .all(|((x, a), (y, b))| x == y && equal(a, b))
}

/// Whether the live value contains every wanted field. The server may have written quantities
/// differently, and may have dropped empty maps and lists. If `merged`, lists of maps may have
/// additional elements.
pub fn covers(live: &Value, wanted: &Value, keys: &MergeKeys, merged: bool) -> bool {
    Cover {
        keys,
        merged,
        path: Vec::new(),
    }
    .value(live, wanted)
}

/// Whether the live value at a path equals the wanted one, up to what the server normalizes.
pub fn same_at(place: &FieldPath, live: &Value, wanted: &Value, keys: &MergeKeys) -> bool {
    if equal(live, wanted) {
        return true;
    }
    let fields = place.0.iter().filter_map(|step| match step {
        PathElement::Field(field) => Some(field.clone()),
        PathElement::Element(_) | PathElement::Index(_) | PathElement::Value(_) => None,
    });
    match (live.as_str(), wanted.as_str()) {
        (Some(live), Some(wanted)) if keys.built_in() => {
            quantity::may_be_at(&fields.collect::<Vec<_>>()) && quantity::equal(live, wanted)
        }
        _ => false,
    }
}

/// The wanted value. Where the live value covers it, the live value is used, with all fields
/// that the server has added.
pub fn as_live(live: &Value, wanted: &Value, keys: &MergeKeys) -> Value {
    Cover {
        keys,
        merged: false,
        path: Vec::new(),
    }
    .as_live(live, wanted)
}

struct Cover<'a> {
    keys: &'a MergeKeys,
    merged: bool,
    path: Vec<Key>,
}

fn is_empty(value: &Value) -> bool {
    match value.view() {
        View::Null => true,
        View::Map(map) => map.is_empty(),
        View::List(list) => list.is_empty(),
        _ => false,
    }
}

impl Cover<'_> {
    fn value(&mut self, live: &Value, wanted: &Value) -> bool {
        if live.same(wanted) {
            return true;
        }
        match (live.view(), wanted.view()) {
            (View::Map(live), View::Map(wanted)) => wanted.iter().all(|(key, wanted)| {
                self.path.push(key.clone());
                let covered = self.value(live.get(key).unwrap_or(&Value::NULL), wanted);
                self.path.pop();
                covered
            }),
            (View::List(live), View::List(wanted)) => self.list(live, wanted),
            (View::Null, _) => is_empty(wanted),
            (View::Str(live), View::Str(wanted)) if self.keys.built_in() => {
                live == wanted || (quantity::may_be_at(&self.path) && quantity::equal(live, wanted))
            }
            _ => live == wanted,
        }
    }

    fn as_live(&mut self, live: &Value, wanted: &Value) -> Value {
        if !live.is_null() && self.value(live, wanted) {
            return live.clone();
        }
        match (live.view(), wanted.view()) {
            (View::Map(live), View::Map(wanted)) => {
                let entries = wanted.iter().map(|(key, wanted)| {
                    self.path.push(key.clone());
                    let value = self.as_live(live.get(key).unwrap_or(&Value::NULL), wanted);
                    self.path.pop();
                    (key.clone(), value)
                });
                entries.collect::<Map>().into()
            }
            (View::List(live), View::List(list)) if live.len() == list.len() => {
                let pairs = live.iter().zip(list);
                pairs
                    .map(|(live, wanted)| self.as_live(live, wanted))
                    .collect()
            }
            _ => wanted.clone(),
        }
    }

    fn list(&mut self, live: ListRef<'_>, wanted: ListRef<'_>) -> bool {
        if self.merged && all_maps(live) && all_maps(wanted) {
            let identity = self.keys.of(&self.path, &[live, wanted]);
            return wanted.iter().enumerate().all(|(i, item)| {
                let at = position_of(live, item, i, identity.as_ref());
                let found = at.and_then(|at| live.get(at));
                found.is_some_and(|found| self.value(found, item))
            });
        }
        let mut pairs = live.iter().zip(wanted);
        live.len() == wanted.len() && pairs.all(|(live, wanted)| self.value(live, wanted))
    }
}

/// The JSON merge patch from `from` to `to`; `None` if they are equal.
pub fn diff(from: &Value, to: &Value) -> Option<Value> {
    if equal(from, to) {
        return None;
    }
    let (Some(before), Some(after)) = (from.as_map(), to.as_map()) else {
        return Some(without_nulls(to));
    };
    let removed = before
        .iter()
        .filter(|(key, value)| !value.is_null() && to.get_key(key).is_null())
        .map(|(key, _)| (key.clone(), Value::NULL));
    let changed = after.iter().filter(|(_, value)| !value.is_null());
    let changed = changed.filter_map(|(key, value)| {
        let change = diff(from.get_key(key), value)?;
        Some((key.clone(), change))
    });
    Some(removed.chain(changed).collect::<Map>().into())
}

/// The value, with all parts that equal those of `other` sharing its memory. The other parts do not
/// keep the document that they come from in memory, which may be far larger: objects that a server
/// sends have `managedFields`.
pub fn sharing(value: &Value, other: &Value) -> Value {
    if value.same(other) || value == other {
        return other.clone();
    }
    match (value.view(), other.view()) {
        (View::Map(map), View::Map(_)) => map
            .iter()
            .map(|(key, value)| (key.clone(), sharing(value, other.get_key(key))))
            .collect::<Map>()
            .into(),
        _ => value.detached(),
    }
}

/// The value without null members; shares memory with the original if there are none.
pub fn without_nulls(value: &Value) -> Value {
    if !has_null(value) {
        return value.clone();
    }
    match value.view() {
        View::Map(map) => map
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), without_nulls(value)))
            .collect::<Map>()
            .into(),
        View::List(list) => list.iter().map(without_nulls).collect(),
        _ => value.clone(),
    }
}

fn has_null(value: &Value) -> bool {
    match value.view() {
        View::Map(map) => map.values().any(|value| value.is_null() || has_null(value)),
        View::List(list) => list.iter().any(has_null),
        _ => false,
    }
}

/// The wanted value, filled up with further fields of the live one, except those that were part
/// of the `earlier` wanted value: these were removed on purpose.
pub fn fill(wanted: &Value, live: &Value, earlier: &Value) -> Value {
    match (wanted.view(), live.view()) {
        (View::Null, _) if earlier.is_null() => live.clone(),
        (View::Map(map), View::Map(live)) => {
            let mut entries: Vec<(Key, Value)> = Vec::with_capacity(live.len());
            for (key, value) in live {
                let filled = fill(wanted.get_key(key), value, earlier.get_key(key));
                entries.push((key.clone(), filled));
            }
            let own = map.iter().filter(|(key, _)| live.get(key).is_none());
            entries.extend(own.cloned());
            let given = entries.into_iter().filter(|(_, value)| !value.is_null());
            given.collect::<Map>().into()
        }
        (View::List(list), View::List(live)) if list.len() == live.len() => list
            .iter()
            .zip(live)
            .enumerate()
            .map(|(i, (wanted, live))| fill(wanted, live, earlier.at(i)))
            .collect(),
        _ => wanted.clone(),
    }
}

/// How many paths [`differences`] returns at most.
const MAX_DIFFERENCES: usize = 10;

/// The paths at which the live value differs from the expected one.
pub fn differences(expected: &Value, live: &Value) -> Vec<FieldPath> {
    let mut places = Vec::new();
    differ(expected, live, &mut FieldPath::default(), &mut places);
    places
}

fn differ(expected: &Value, live: &Value, here: &mut FieldPath, places: &mut Vec<FieldPath>) {
    if places.len() >= MAX_DIFFERENCES || equal(expected, live) {
        return;
    }
    match (expected.view(), live.view()) {
        (View::Map(a), View::Map(b)) => {
            let keys: std::collections::BTreeSet<&Key> =
                a.iter().chain(b).map(|(key, _)| key).collect();
            for key in keys {
                here.0.push(PathElement::Field(key.clone()));
                differ(expected.get_key(key), live.get_key(key), here, places);
                here.0.pop();
            }
        }
        (View::List(a), View::List(b)) if a.len() == b.len() => {
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                here.0.push(PathElement::Index(i));
                differ(a, b, here, places);
                here.0.pop();
            }
        }
        _ => places.push(here.clone()),
    }
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    #[test]
    fn null_equals_absent() {
        assert!(equal(&json!({"a": null, "b": 1}), &json!({"b": 1})));
        assert!(equal(&json!([{"a": null}]), &json!([{}])));
        assert!(!equal(&json!({"a": {}}), &json!({})));
        let keys = MergeKeys::of_group("apps");
        assert!(covers(&json!({"b": 1}), &json!({"a": null}), &keys, false));
    }

    #[test]
    fn the_live_value_may_have_more_fields() {
        let keys = MergeKeys::of_group("apps");
        let check = |live: Value, wanted: Value, expect: bool, keyed: bool| {
            for (merged, expect) in [(false, expect), (true, keyed)] {
                assert_eq!(
                    covers(&live, &wanted, &keys, merged),
                    expect,
                    "{live} {wanted}"
                );
            }
        };
        check(json!({"a": 1, "b": 2}), json!({"a": 1}), true, true);
        check(json!({"a": 1}), json!({"a": 1, "b": 2}), false, false);
        check(json!({"a": 1}), json!({"b": {}, "c": []}), true, true);
        check(json!({"b": {"x": 1}}), json!({"b": {}}), true, true);
        let cpu = |text: &str| json!({"spec": {"requests": {"cpu": text}, "text": "1"}});
        check(cpu("1"), cpu("1000m"), true, true);
        check(cpu("1"), cpu("1001m"), false, false);
        check(
            json!({"spec": {"text": "1"}}),
            json!({"spec": {"text": "1000m"}}),
            false,
            false,
        );
        check(json!({"a": [1, 2]}), json!({"a": [1]}), false, false);
        check(json!({"a": "1"}), json!({"a": 1}), false, false);
        let two = json!({"containers": [{"name": "a", "x": 1}, {"name": "b"}]});
        check(
            two.clone(),
            json!({"containers": [{"name": "b"}]}),
            false,
            true,
        );
        check(
            two,
            json!({"containers": [{"name": "a"}, {"name": "b"}]}),
            true,
            true,
        );
    }

    #[test]
    fn covered_values_are_taken_from_the_live_object() {
        let keys = MergeKeys::of_group("apps");
        let live = json!({"spec": {
            "claims": [{"kind": "Claim", "requests": {"storage": "512Mi"}}],
            "pods": [{"name": "a", "policy": "Always"}, {"name": "b"}], "replicas": 1,
        }});
        let wanted = json!({"spec": {
            "claims": [{"requests": {"storage": "0.5Gi"}}],
            "pods": [{"name": "a"}, {"name": "b", "value": ""}],
        }});
        let expect = json!({"spec": {
            "claims": [{"kind": "Claim", "requests": {"storage": "512Mi"}}],
            "pods": [{"name": "a", "policy": "Always"}, {"name": "b", "value": ""}],
        }});
        assert_eq!(as_live(&live, &wanted, &keys), expect);
        assert_eq!(as_live(&live, &live, &keys), live);
        assert_eq!(as_live(&Value::NULL, &wanted, &keys), wanted);
    }

    #[test]
    fn a_diff_turns_one_value_into_the_other() {
        let check = |from: Value, to: Value, expect: Value| {
            assert_eq!(diff(&from, &to), Some(expect));
        };
        check(
            json!({"a": 1, "b": {"c": 1, "d": 2}, "l": [1]}),
            json!({"b": {"c": 2}, "l": [1, 2], "n": {"x": null}}),
            json!({"a": null, "b": {"c": 2, "d": null}, "l": [1, 2], "n": {}}),
        );
        assert_eq!(diff(&json!({"a": null}), &json!({})), None);
    }

    #[test]
    fn equal_parts_share_their_memory() {
        let text = "a text that is too long to be stored inline";
        let value = json!({"a": {"b": text, "c": 1}, "d": text});
        let other = json!({"a": {"b": text, "c": 2}, "x": 1});
        let shared = sharing(&value, &other);
        assert_eq!(shared, value);
        assert!(shared.get("a").get("b").same(other.get("a").get("b")));
        let copy: Value = value.to_string().parse().unwrap();
        assert!(sharing(&copy, &value).same(&value));
    }

    #[test]
    fn what_is_not_shared_keeps_no_larger_document_in_memory() {
        let text = r#"{"data": {"a": "1"}, "labels": {"b": "2"}, "managedFields": [{"f": {}}]}"#;
        let live = text.parse::<Value>().unwrap().packed();
        assert!(!live.get("labels").detached().same(live.get("labels")));
        let shared = sharing(&live, &json!({"data": {"a": "1"}}));
        assert_eq!(shared, live);
        let rest = shared.get("labels");
        assert!(rest.detached().same(rest));
    }

    #[test]
    fn fill_keeps_fields_that_were_never_wanted() {
        assert_eq!(
            fill(
                &json!({"a": 1, "l": [{"x": 1}]}),
                &json!({"a": 2, "assigned": 3, "dropped": 4, "l": [{"y": 2}]}),
                &json!({"a": 1, "dropped": 4}),
            ),
            json!({"a": 1, "assigned": 3, "l": [{"x": 1, "y": 2}]})
        );
    }

    #[test]
    fn differences_have_paths() {
        let texts = |a: &Value, b: &Value| {
            let places = differences(a, b);
            places
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<String>>()
        };
        assert_eq!(
            texts(
                &json!({"spec": {"a": 1, "b": 2, "l": [{"x": 1}]}}),
                &json!({"spec": {"a": 1, "b": 3, "l": [{"x": 2}], "c": 1}}),
            ),
            [".spec.b", ".spec.c", ".spec.l[0].x"]
        );
    }
}
