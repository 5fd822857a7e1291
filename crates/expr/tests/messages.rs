//! Messages of expressions: what was found, what is expected, and the fix.
#![allow(clippy::unwrap_used)]

use document::{Location, Value};
use expr::{Arity, Env, Functions, Items, Scope};

/// Checks the message of a spec that does not compile, and its help.
fn refused(spec: &str, message: &str, help: &str) {
    let spec: Value = spec.parse().unwrap();
    let compiled = expr::compile(&spec, &Location::root(), &Functions::builtin(), Items::None);
    let errors = compiled.unwrap_err();
    let [error] = errors.as_slice() else {
        panic!("{errors:?}");
    };
    assert_eq!(error.to_string(), message);
    assert_eq!(error.help().as_deref(), Some(help));
}

/// Checks the message of an evaluation that fails.
fn fails(spec: &str, message: &str) {
    let spec: Value = spec.parse().unwrap();
    let compiled = expr::compile(&spec, &Location::root(), &Functions::builtin(), Items::None);
    let env = Env::default();
    let error = compiled
        .unwrap()
        .eval(&Scope::new(&env, &Value::NULL))
        .unwrap_err();
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_wrong_number_of_arguments_shows_the_signature() {
    refused(
        r#"{"@eq": [1]}"#,
        "@eq takes 2 arguments, found 1",
        r#"it is written {"@eq": [<a>, <b>]}"#,
    );
}

#[test]
fn the_time_is_a_string() {
    refused(
        r#"{"@now": null}"#,
        "unknown operator @now",
        "`\"@now\"` is a string, without an argument",
    );
}

#[test]
fn a_template_is_a_path_or_cel() {
    refused(
        r#""${status.phase}""#,
        "bad path \"${status.phase}\": found `{`, expected `.`, `[` or the end of the path, at offset 1 of the path",
        r#"write the path $.status.phase, or CEL: {"@cel": "status.phase"}"#,
    );
    refused(
        r#""${a + 1}""#,
        "bad path \"${a + 1}\": found `{`, expected `.`, `[` or the end of the path, at offset 1 of the path",
        r#"write {"@cel": "a + 1"}"#,
    );
}

#[test]
fn a_comparison_says_which_operand_is_no_number() {
    fails(
        r#"{"@lt": ["1", "x"]}"#,
        "cannot compare a string that is a number with a string that is not a number",
    );
    fails(
        r#"{"@lt": [1, "x"]}"#,
        "cannot compare an integer with a string that is not a number",
    );
}

#[test]
fn the_page_of_errors_has_the_messages_of_an_interrupt_and_of_own_functions() {
    let interrupted = expr::ErrorKind::Interrupted;
    cases::documented(interrupted.code(), &interrupted.to_string());
    let functions = Functions::builtin().with_function("@double", Arity::Unary, |args| {
        let number = args[0].as_int().ok_or("expected an integer")?;
        Ok(Value::from(number * 2))
    });
    let spec: Value = r#"{"@double": "a"}"#.parse().unwrap();
    let double = expr::compile(&spec, &Location::root(), &functions.unwrap(), Items::None);
    let env = Env::default();
    let error = double.unwrap().eval(&Scope::new(&env, &Value::NULL));
    let error = error.unwrap_err();
    cases::documented(error.code(), &error.to_string());
}

#[test]
fn a_quantity_is_named_where_a_number_is_needed() {
    let quantity =
        "the string is not a number, but a quantity: use CEL, quantity(…).asApproximateFloat()";
    fails(r#"{"@sum": ["100m", "1Gi"]}"#, quantity);
    fails(r#"{"@sum": ["100 m"]}"#, "the string is not a number");
}
