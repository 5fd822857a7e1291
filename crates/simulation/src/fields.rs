//! Reads and changes fields of documents.

pub use document::merge_patch;
use document::{Key, Map, Value, View};

/// The value at a path; null if there is none.
pub fn at<'a>(document: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(document, |value, field| value.get(field))
}

/// The text at a path; empty if there is none.
pub fn text<'a>(document: &'a Value, path: &[&str]) -> &'a str {
    at(document, path).as_str().unwrap_or_default()
}

/// The document with a field set; missing maps on the way are created.
#[must_use]
pub fn set(document: &Value, path: &[&str], value: Value) -> Value {
    let Some((first, rest)) = path.split_first() else {
        return value;
    };
    let map = map_of(document);
    let inner = set(document.get(first), rest, value);
    map.with(Key::new(first), inner).into()
}

/// The document without a field.
#[must_use]
pub fn unset(document: &Value, path: &[&str]) -> Value {
    let (Some(map), [first, rest @ ..]) = (document.as_map(), path) else {
        return document.clone();
    };
    match map.get_str(first) {
        None => document.clone(),
        Some(_) if rest.is_empty() => map.without(first).into(),
        Some(inner) => map.with(Key::new(first), unset(inner, rest)).into(),
    }
}

/// The document with a field copied from another one, or removed if that does not have it.
#[must_use]
pub fn copied(document: &Value, path: &[&str], from: &Value) -> Value {
    match at(from, path) {
        value if value.is_null() => unset(document, path),
        value => set(document, path, value.clone()),
    }
}

/// The document without null fields.
#[must_use]
pub fn without_nulls(document: &Value) -> Value {
    match document.view() {
        View::Map(map) => {
            let there = map.iter().filter(|(_, value)| !value.is_null());
            let there = there.map(|(key, value)| (key.clone(), without_nulls(value)));
            there.collect::<Map>().into()
        }
        View::List(list) => list.iter().map(without_nulls).collect(),
        _ => document.clone(),
    }
}

fn map_of(document: &Value) -> Map {
    let map = document.as_map().cloned();
    map.unwrap_or_else(|| Map::from_sorted(Vec::new()))
}
