//! Elements of lists that are merged by name: reads and changes of a leaf inside them.
//!
//! A step `[a]` leads to the element with the name `a`.

use document::{Key, Map, Value, json};
use fieldset::{FieldPath, PathElement};

use crate::fields::{set, text, unset};

/// The elements of a list with their names, if all are maps that have one.
pub(super) fn named(value: &Value) -> Option<Vec<(&str, &Value)>> {
    let list = value.as_list().filter(|list| !list.is_empty())?;
    let named = list.iter().map(|element| {
        let name = element.get("name").as_str()?;
        Some((name, element))
    });
    named.collect()
}

fn element(step: &str) -> Option<&str> {
    step.strip_prefix('[')?.strip_suffix(']')
}

/// A leaf as a server shows it in a conflict: `.spec.containers[name="a"].image`.
pub(super) fn shown(leaf: &[String]) -> String {
    let steps = leaf.iter().map(|step| match element(step) {
        Some(name) => format!("[name={name:?}]"),
        None => format!(".{step}"),
    });
    steps.collect()
}

/// Whether a step leads to an element of a list.
pub(super) fn is_element(step: &str) -> bool {
    element(step).is_some()
}

/// The path of a leaf.
pub(super) fn path(leaf: &[String]) -> FieldPath {
    let steps = leaf.iter().map(|step| match element(step) {
        Some(name) => PathElement::Element(json!({"name": name})),
        None => PathElement::Field(Key::new(step)),
    });
    FieldPath(steps.collect())
}

/// The value of a leaf; null if there is none.
pub(super) fn get<'a>(value: &'a Value, leaf: &[String]) -> &'a Value {
    leaf.iter().fold(value, |value, step| match element(step) {
        Some(name) => {
            let list = value.as_list().into_iter().flatten();
            let mut found = list.filter(|element| text(element, &["name"]) == name);
            found.next().unwrap_or_else(|| value.get(""))
        }
        None => value.get(step),
    })
}

/// The value with a leaf set.
pub(super) fn put(value: &Value, leaf: &[String], new: Value) -> Value {
    let Some((step, rest)) = leaf.split_first() else {
        return new;
    };
    let Some(name) = element(step) else {
        return set(value, &[step], put(value.get(step), rest, new));
    };
    let mut list: Vec<Value> = value.as_list().into_iter().flatten().cloned().collect();
    let found = list.iter().position(|one| text(one, &["name"]) == name);
    let at = found.unwrap_or(list.len());
    if found.is_none() {
        list.push(json!({"name": name}));
    }
    list[at] = put(&list[at], rest, new);
    list.into()
}

/// The value without a leaf, and without the maps and lists that this leaves empty; `spec` itself
/// stays. The name of an element goes with its last other field.
pub(super) fn remove(value: &Value, leaf: &[String]) -> Value {
    let without = removed(value, leaf);
    match leaf {
        [top, _, ..] if top != "status" && without.get(top).is_null() => {
            set(&without, &[top], json!({}))
        }
        _ => without,
    }
}

fn removed(value: &Value, leaf: &[String]) -> Value {
    let Some((step, rest)) = leaf.split_first() else {
        return value.clone();
    };
    if let Some(name) = element(step) {
        return without_in_element(value, name, rest);
    }
    if rest.is_empty() {
        return unset(value, &[step]);
    }
    let inner = removed(value.get(step), rest);
    let is_empty = inner.as_map().is_some_and(Map::is_empty) || inner == json!([]);
    if is_empty || inner.is_null() {
        return unset(value, &[step]);
    }
    set(value, &[step], inner)
}

fn without_in_element(list: &Value, name: &str, rest: &[String]) -> Value {
    let all = list.as_list().into_iter().flatten();
    let left = all.filter_map(|element| {
        if text(element, &["name"]) != name {
            return Some(element.clone());
        }
        let fields = element.as_map().map_or(0, Map::len);
        if rest == ["name"] {
            return (fields > 1).then(|| element.clone());
        }
        Some(removed(element, rest))
    });
    left.collect()
}
