//! Variables with types that no document has, such as uint, as literals of an expression.

use std::fmt::Write;

use document::{Key, Map, Value};

use crate::oracle::{document, text};

/// The expression and its variables as a document. Variables that a document cannot hold become
/// variables of a macro with a literal: `x + 1u` is `[2u].map(x, x + 1u)[0]`.
pub(crate) fn bound(expr: &str, variables: &Value) -> (String, Value) {
    let mut expr = expr.to_owned();
    let mut entries = Vec::new();
    for (name, value) in variables.as_map().into_iter().flatten() {
        if is_plain(value) {
            let value = document(value).expect("a document holds it");
            entries.push((Key::new(name.as_str()), value));
        } else {
            let literal = literal(value);
            expr = format!("[{literal}].map({}, {expr}\n)[0]", name.as_str());
        }
    }
    (expr, Value::from(Map::from_entries(entries)))
}

/// Whether a document holds a value of this type: it has no doubles without a fraction.
fn is_plain(value: &Value) -> bool {
    let items = value.get("items").as_list().into_iter().flatten();
    let entries = value.get("entries").as_list().into_iter().flatten();
    match text(value, "type") {
        "null_type" | "bool" | "int" | "string" => true,
        "list" => items.into_iter().all(is_plain),
        "map" => entries.into_iter().all(|entry| {
            let part = |at| entry.as_list().and_then(|entry| entry.get(at));
            part(0).is_some_and(|key| text(key, "type") == "string")
                && part(1).is_some_and(is_plain)
        }),
        _ => false,
    }
}

fn literal(value: &Value) -> String {
    let shown = text(value, "text");
    let list = |value: &Value| -> Vec<String> {
        let items = value.as_list().into_iter().flatten();
        items.map(literal).collect()
    };
    match text(value, "type") {
        "null_type" => "null".to_owned(),
        "uint" => format!("{shown}u"),
        "double" => format!("double({})", quoted(shown)),
        "string" => quoted(shown),
        "bytes" => format!("base64.decode({})", quoted(shown)),
        "google.protobuf.Timestamp" => format!("timestamp({})", quoted(shown)),
        "google.protobuf.Duration" => format!("duration({})", quoted(shown)),
        "list" => format!("[{}]", list(value.get("items")).join(", ")),
        "map" => {
            let entries = value.get("entries").as_list().into_iter().flatten();
            let entries = entries.map(|entry| list(entry).join(": "));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        // An int, a boolean or the name of a type.
        _ => shown.to_owned(),
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("'");
    for c in text.chars() {
        let _ = write!(out, "\\U{:08x}", u32::from(c));
    }
    out + "'"
}
