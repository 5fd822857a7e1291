//! The cases of the specification: evaluating an expression on a document gives a value or an
//! error.

use document::{Location, Value};
use expr::{Env, Functions, Items, Scope};

fn evaluate(case: &Value) -> Result<Value, String> {
    let local = cases::field(case, "local");
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
    if cases::field(case, "expect_error").is_none() {
        return cases::check_value(case, &result?);
    }
    match result {
        Err(_) => Ok(()),
        Ok(value) => Err(format!("expected an error, found {value}")),
    }
}

#[test]
fn every_case_of_the_specification_holds() {
    let cases = cases::run(include_str!("cases/expr.json"), check);
    assert_eq!(cases.len(), 332);
}
