//! The cases of the specification: evaluating an expression on a document gives a value or an
//! error.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

use document::{Location, Path, Value};
use expr::{Env, Functions, Items, Scope};

fn evaluate(case: &Value) -> Result<Value, String> {
    let local = case.as_map().and_then(|map| map.get_str("local"));
    let items = if local.is_some() {
        Items::Given
    } else {
        Items::None
    };
    let compiled = expr::compile(
        case.get("expr"),
        &Location::root(),
        &Functions::builtin(),
        items,
    )
    .map_err(|errors| errors[0].to_string())?;
    let env = Env::new(Value::from("2026-01-02T03:04:05Z"), 7);
    let mut scope = Scope::new(&env, case.get("subject"));
    if let Some(local) = local {
        scope = scope.with_local(local);
    }
    compiled.eval(&scope).map_err(|error| error.to_string())
}

fn check(case: &Value) -> Result<(), String> {
    let result = evaluate(case);
    let has = |name: &str| case.as_map().and_then(|map| map.get_str(name));
    if has("expect_error").is_some() {
        return match result {
            Err(_) => Ok(()),
            Ok(value) => Err(format!("expected an error, found {value}")),
        };
    }
    let value = result?;
    if let Some(expect) = has("expect") {
        return if value == *expect {
            Ok(())
        } else {
            Err(format!("expected {expect}, found {value}"))
        };
    }
    passes(case.get("check"), &value)
}

fn passes(rule: &Value, value: &Value) -> Result<(), String> {
    let path =
        Path::parse(rule.get("path").as_str().unwrap_or("$")).map_err(|error| error.to_string())?;
    let found = path.first(value, value).unwrap_or(&Value::NULL);
    let good = match rule.get("type").as_str() {
        Some("int_range") => found.as_int().is_some_and(|i| {
            Some(i) >= rule.get("min").as_int() && Some(i) < rule.get("max_exclusive").as_int()
        }),
        Some("regex") => {
            let pattern = rule.get("pattern").as_str().unwrap_or_default();
            let regex = regex::Regex::new(pattern).map_err(|error| error.to_string())?;
            found.as_str().is_some_and(|text| regex.is_match(text))
        }
        other => return Err(format!("unknown check {other:?}")),
    };
    if good {
        Ok(())
    } else {
        Err(format!("{found} does not pass {rule}"))
    }
}

fn run(cases: &str) -> usize {
    let cases: Value = cases.parse().unwrap();
    let cases = cases.get("cases").as_list().unwrap();
    let failed: Vec<String> = cases
        .iter()
        .filter_map(|case| Some(format!("{}: {}", case.get("name"), check(case).err()?)))
        .collect();
    assert!(
        failed.is_empty(),
        "{} of {} failed:\n{}",
        failed.len(),
        cases.len(),
        failed.join("\n")
    );
    cases.len()
}

#[test]
fn every_case_of_the_specification_holds() {
    assert_eq!(run(include_str!("cases/expr.json")), 332);
}
