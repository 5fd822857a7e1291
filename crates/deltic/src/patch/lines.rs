//! `deltic patch --jsonl`: reads lines with a document and a patch, and answers each with a line
//! with the patched document.

use document::{Location, Map, Value};
use patch::{Edit, Form, Limits, UnknownFields};

use super::variable;
use crate::exit::{Outcome, Stop};
use crate::lines::{self, Refusal};
use crate::output::Output;

/// Other fields of a line, and of its operations, are ignored.
const FORM: Form = Form {
    operations: "patch",
    beside: &["doc", "vars"],
    unknown: UnknownFields::Ignore,
};

pub(super) fn run(
    limits: &Limits,
    now: &Value,
    max_bytes: u64,
    output: &mut Output,
) -> Result<Outcome, Stop> {
    lines::run(max_bytes, output, |_, line| answer(&line, now, limits))
}

fn answer(line: &Value, now: &Value, limits: &Limits) -> Result<Value, Refusal> {
    let bad = |message: &str| Refusal::new("bad-line", message);
    let document = line
        .as_map()
        .and_then(|map| map.get_str("doc"))
        .ok_or_else(|| bad("expected a map with doc and patch"))?;
    let vars = match line.get("vars") {
        vars if vars.is_null() => Map::from_entries(Vec::new()),
        vars => vars
            .as_map()
            .cloned()
            .ok_or_else(|| bad("expected vars to be a map"))?,
    };
    let edit = Edit::compile(line, &Location::root(), FORM).map_err(|errors| {
        // Compiling fails with at least one error.
        let error = &errors[0];
        Refusal::at(error.code(), &error.to_string(), &error.at)
    })?;
    // `vars` itself is a variable, too.
    let all = |name: &str| (name == "vars").then(|| Value::from(vars.clone()));
    let variables = |name: &str, resource: &Value| match vars.get_str(name) {
        None => all(name).or_else(|| variable(&vars, now, name, resource)),
        Some(_) => variable(&vars, now, name, resource),
    };
    let patched = edit
        .apply(document, &variables, limits)
        .map_err(|error| Refusal::at(error.code(), &error.to_string(), &error.at))?;
    Ok(patched.unwrap_or_else(|| document.clone()))
}
