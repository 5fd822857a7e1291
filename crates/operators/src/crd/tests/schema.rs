//! Checks a value against the schema of the definition, as the API server does.

use cel_interpreter::{Limits, Program};
use document::{Value, View};
use regex::Regex;

/// All errors of a value, each as `path: message`.
pub(super) fn check(schema: &Value, value: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    walk(schema, value, "", &mut wrong);
    wrong
}

fn items(list: &Value) -> Vec<Value> {
    list.as_list()
        .map(document::ListRef::to_vec)
        .unwrap_or_default()
}

fn walk(schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
    let free = schema.get("x-kubernetes-preserve-unknown-fields") == &Value::from(true);
    if !has_type(schema, value, free) {
        wrong.push(format!("{at}: {}", value.kind()));
        return;
    }
    let allowed = items(schema.get("enum"));
    if !allowed.is_empty() && !allowed.contains(value) {
        wrong.push(format!("{at}: enum"));
    }
    match value.view() {
        View::Str(text) => check_text(schema, text, at, wrong),
        View::Int(number)
            if schema
                .get("minimum")
                .as_int()
                .is_some_and(|min| number < min) =>
        {
            wrong.push(format!("{at}: minimum"));
        }
        View::List(_) => check_list(schema, value, at, wrong),
        View::Map(_) => check_map(schema, value, free, at, wrong),
        _ => {}
    }
    for rule in items(schema.get("x-kubernetes-validations")) {
        let text = rule.get("rule").as_str().unwrap();
        let program = Program::compile(text).unwrap();
        let myself = |name: &str| (name == "self").then(|| value.clone());
        let held = program.eval(&myself, &Limits::default());
        if held != Ok(Value::from(true)) {
            wrong.push(format!("{at}: {}", rule.get("message").as_str().unwrap()));
        }
    }
}

fn has_type(schema: &Value, value: &Value, free: bool) -> bool {
    if schema.get("x-kubernetes-int-or-string") == &Value::from(true) {
        return value.as_int().is_some() || value.as_str().is_some();
    }
    match schema.get("type").as_str() {
        None => free,
        Some("object") => value.as_map().is_some(),
        Some("array") => value.as_list().is_some(),
        Some("string") => value.as_str().is_some(),
        Some("integer") => value.as_int().is_some(),
        Some("boolean") => value.as_bool().is_some(),
        Some(other) => panic!("this check does not know {other}"),
    }
}

fn outside(schema: &Value, min: &str, max: &str, count: usize) -> bool {
    let count = i64::try_from(count).unwrap();
    schema.get(min).as_int().is_some_and(|min| count < min)
        || schema.get(max).as_int().is_some_and(|max| count > max)
}

fn check_text(schema: &Value, text: &str, at: &str, wrong: &mut Vec<String>) {
    if outside(schema, "minLength", "maxLength", text.len()) {
        wrong.push(format!("{at}: length"));
    }
    if let Some(pattern) = schema.get("pattern").as_str()
        && !Regex::new(pattern).unwrap().is_match(text)
    {
        wrong.push(format!("{at}: pattern"));
    }
}

fn check_list(schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
    let values = items(value);
    if outside(schema, "minItems", "maxItems", values.len()) {
        wrong.push(format!("{at}: length"));
    }
    let keys = items(schema.get("x-kubernetes-list-map-keys"));
    for (i, item) in values.iter().enumerate() {
        let same = |other: &Value| {
            !keys.is_empty()
                && keys.iter().all(|key| {
                    let key = key.as_str().unwrap();
                    item.get(key) == other.get(key)
                })
        };
        if values[..i].iter().any(same) {
            wrong.push(format!("{at}[{i}]: duplicate"));
        }
        if !schema.get("items").is_null() {
            walk(schema.get("items"), item, &format!("{at}[{i}]"), wrong);
        }
    }
}

fn check_map(schema: &Value, value: &Value, free: bool, at: &str, wrong: &mut Vec<String>) {
    for field in items(schema.get("required")) {
        let field = field.as_str().unwrap();
        if value.get(field).is_null() {
            wrong.push(format!("{at}.{field}: required"));
        }
    }
    let embedded = at == ".metadata";
    for (key, member) in value.as_map().unwrap() {
        let at = format!("{at}.{key}");
        match schema.get("properties").get(key.as_str()) {
            known if !known.is_null() => walk(known, member, &at, wrong),
            _ if free || embedded => {}
            _ => wrong.push(format!("{at}: unknown")),
        }
    }
}
