//! Deep merge.

use crate::key::Key;
use crate::map::Map;
use crate::value::Value;

/// `base` with `over` on top: maps merge key by key, everything else (lists and null
/// too) is replaced.
///
/// ```
/// use document::{json, merge};
///
/// let base = json!({"a": {"x": 1, "y": [1, 2]}, "b": 1});
/// let over = json!({"a": {"y": [3], "z": null}});
/// assert_eq!(merge(&base, &over), json!({"a": {"x": 1, "y": [3], "z": null}, "b": 1}));
/// ```
pub fn merge(base: &Value, over: &Value) -> Value {
    match (base.as_map(), over.as_map()) {
        (Some(base), Some(over)) => Value::from(merge_maps(base, over)),
        _ => over.clone(),
    }
}

/// Applies a JSON merge patch (RFC 7396): maps merge, `null` removes a member, and everything else
/// replaces.
///
/// ```
/// use document::{json, merge_patch};
///
/// let object = json!({"a": {"b": 1, "c": 2}, "l": [1, 2]});
/// let patch = json!({"a": {"b": null, "d": {"e": null, "f": 3}}, "l": [3]});
/// assert_eq!(merge_patch(&object, &patch), json!({"a": {"c": 2, "d": {"f": 3}}, "l": [3]}));
/// ```
#[must_use]
pub fn merge_patch(document: &Value, patch: &Value) -> Value {
    let Some(patch) = patch.as_map() else {
        return patch.clone();
    };
    let mut merged = map_of(document);
    for (key, value) in patch {
        merged = if value.is_null() {
            merged.without(key.as_str())
        } else {
            merged.with(key.clone(), merge_patch(document.get_key(key), value))
        };
    }
    merged.into()
}

fn map_of(value: &Value) -> Map {
    let map = value.as_map().cloned();
    map.unwrap_or_else(|| Map::from_sorted(Vec::new()))
}

fn merge_maps(base: &Map, over: &Map) -> Map {
    if base.is_empty() {
        return over.clone();
    }
    let mut entries: Vec<(Key, Value)> = Vec::with_capacity(base.len() + over.len());
    let (mut left, mut right) = (base.iter().peekable(), over.iter().peekable());
    loop {
        match (left.peek(), right.peek()) {
            (Some((a, x)), Some((b, y))) => match a.cmp(b) {
                std::cmp::Ordering::Less => entries.extend(left.next().cloned()),
                std::cmp::Ordering::Greater => entries.extend(right.next().cloned()),
                std::cmp::Ordering::Equal => {
                    entries.push((a.clone(), merge(x, y)));
                    left.next();
                    right.next();
                }
            },
            (Some(_), None) => entries.extend(left.next().cloned()),
            (None, Some(_)) => entries.extend(right.next().cloned()),
            (None, None) => return Map::from_sorted(entries),
        }
    }
}
