//! `deltic eval --jsonl`: reads lines with an expression, and answers each with a line with its
//! value.

use document::{Location, Value};
use expr::{Env, Functions, Items, Scope};

use crate::exit::{Outcome, Stop};
use crate::lines::{self, Refusal};
use crate::output::Output;
use crate::run::Settings;

pub(super) fn run(
    settings: &Settings,
    max_bytes: u64,
    output: &mut Output,
) -> Result<Outcome, Stop> {
    lines::run(max_bytes, output, |number, line| {
        answer(&line, &settings.env_of(number))
    })
}

fn answer(line: &Value, env: &Env) -> Result<Value, Refusal> {
    let spec = line
        .as_map()
        .and_then(|map| map.get_str("expr"))
        .ok_or_else(|| Refusal::new("bad-line", "expected a map with expr"))?;
    let local = line.as_map().and_then(|map| map.get_str("local"));
    let items = match local {
        Some(_) => Items::Given,
        None => Items::None,
    };
    let expr =
        expr::compile(spec, &Location::root(), &Functions::builtin(), items).map_err(|errors| {
            // Compiling fails with at least one error.
            let error = &errors[0];
            Refusal::at(error.code(), &error.to_string(), &error.at)
        })?;
    let mut scope = Scope::new(env, line.get("subject"));
    if let Some(local) = local {
        scope = scope.with_local(local);
    }
    expr.eval(&scope)
        .map_err(|error| Refusal::at(error.code(), &error.to_string(), &error.at))
}
