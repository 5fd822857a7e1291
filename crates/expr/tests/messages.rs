//! Messages of expressions: what was found, what is expected, and the fix.
#![allow(clippy::unwrap_used)]

use document::{Location, Value};
use expr::{Env, Functions, Items, Scope};

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
