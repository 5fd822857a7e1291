//! Random objects of a schema.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use document::{Key, Map, Value, json};
use schema::{KindSchema, Numbers, Shape, Strings, Type};
use seeded::Random;

/// A random object of a kind.
pub(crate) fn object(
    random: &mut Random,
    (group, kind): (&str, &str),
    schema: &KindSchema,
    number: usize,
) -> Value {
    let content = value(random, &schema.object, 0);
    let version = if group.is_empty() {
        "v1".to_owned()
    } else {
        format!("{group}/v1")
    };
    let mut metadata = json!({"name": (format!("n{number}")), "labels": {"in": "yes", "n": "1"}});
    if schema.namespaced
        && let Some(map) = metadata.as_map()
    {
        metadata = map.with(Key::new("namespace"), json!("ns")).into();
    }
    let map = content.as_map().unwrap();
    let map = map.with(Key::new("apiVersion"), version.into());
    let map = map.with(Key::new("kind"), kind.into());
    map.with(Key::new("metadata"), metadata).into()
}

/// A random value of a type.
fn value(random: &mut Random, of: &Type, depth: usize) -> Value {
    let mut choices = Vec::new();
    if of.boolean {
        choices.push(0);
    }
    if of.number != Numbers::None {
        choices.push(1);
    }
    if of.string != Strings::None {
        choices.push(2);
    }
    if of.list.is_some() && depth < 7 {
        choices.push(3);
    }
    if of.map.is_some() && depth < 7 {
        choices.push(4);
    }
    if of.any || choices.is_empty() {
        return json!("any");
    }
    match *random.pick(&choices) {
        0 => random.chance(50).into(),
        1 => i64::try_from(random.below(100)).unwrap().into(),
        2 => match of.string.as_known() {
            Some(known) => Value::from(&**random.pick(known)),
            None => Value::from(*random.pick(&["a", "b", "12", "true", "x-y", "Mixed Case"])),
        },
        3 => {
            let element = of.list.as_ref().unwrap();
            let count = random.below(3);
            (0..count)
                .map(|_| value(random, element, depth + 1))
                .collect()
        }
        _ => map(random, of.map.as_ref().unwrap(), depth),
    }
}

fn map(random: &mut Random, shape: &Shape, depth: usize) -> Value {
    let fields = shape.fields();
    let mut entries: Vec<(Key, Value)> = Vec::new();
    for (name, field) in &fields.named {
        if random.chance(if depth == 0 { 90 } else { 50 }) {
            entries.push((name.clone(), value(random, field, depth + 1)));
        }
    }
    if let Some(rest) = &fields.rest {
        for key in ["app", "k"] {
            if random.chance(60) {
                entries.push((Key::new(key), value(random, rest, depth + 1)));
            }
        }
    }
    Map::from_entries(entries).into()
}

/// Whether a server would accept an object as a `ConfigMap`.
pub(crate) fn is_config_map(object: &Value) -> bool {
    let strings = |value: &Value| {
        let map = value.as_map();
        value.is_null()
            || map.is_some_and(|map| map.values().all(|v| v.as_str().is_some() || v.is_null()))
    };
    let metadata = object.get("metadata");
    let name = metadata.get("name").as_str().unwrap_or_default();
    let label = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    strings(object.get("data"))
        && strings(metadata.get("labels"))
        && metadata.get("namespace").as_str().is_some()
        && !name.is_empty()
        && name.chars().all(label)
        && !name.starts_with(['-', '.'])
        && !name.ends_with(['-', '.'])
}
