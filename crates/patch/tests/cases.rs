//! The cases in `cases/`, and those of the specification: applying a patch to a document yields a
//! document, or an error with its code and location.

use document::{Location, Value};
use patch::{Edit, Form, Limits, RESOURCE, UnknownFields};

const SPECIFICATION: &str = include_str!("../../document/tests/cases/patch.json");
const MORE: &str = include_str!("cases/more.json");

const FORM: Form = Form {
    operations: "patch",
    beside: &[],
    unknown: UnknownFields::Ignore,
};

/// The result of a case: a document, or a code and a location.
fn evaluate(case: &Value) -> Result<Value, (&'static str, String)> {
    let edit = Edit::compile(case, &Location::root(), FORM).map_err(|errors| {
        let error = &errors[0];
        (error.code(), error.at.to_string())
    })?;
    let variables = |name: &str, resource: &Value| {
        let vars = cases::field(case.get("vars"), name);
        let keys = cases::field(resource, name);
        vars.or(keys).filter(|_| name != RESOURCE).cloned()
    };
    let document = case.get("doc");
    let patched = edit
        .apply(document, &variables, &Limits::default())
        .map_err(|error| (error.code(), error.at.to_string()))?;
    Ok(patched.unwrap_or_else(|| document.clone()))
}

fn check(case: &Value) -> Result<(), String> {
    let has = |field: &str| cases::field(case, field);
    match (evaluate(case), has("expect")) {
        (Ok(value), Some(expect)) if value == *expect => Ok(()),
        (Ok(value), _) => Err(format!("found {value}")),
        (Err((code, at)), None) => {
            let right = |field: &str, found: &str| {
                has(field).is_none_or(|expect| expect.as_str() == Some(found))
            };
            if right("code", code) && right("at", &at) {
                Ok(())
            } else {
                Err(format!("found {code} at {at}"))
            }
        }
        (Err((code, at)), Some(_)) => Err(format!("found {code} at {at}")),
    }
}

#[test]
fn every_case_of_the_specification_holds() {
    assert_eq!(cases::run(SPECIFICATION, check).len(), 84);
}

#[test]
fn every_case_of_our_own_holds() {
    assert!(cases::run(MORE, check).len() >= 140);
}
