//! The cases of the specification, and the public suite for RFC 6902.

use document::Value;
use document::patch::Patch;

/// The document after the patch, or the error.
fn apply(patch: &Value, document: &Value) -> Result<Value, String> {
    let patch = Patch::read(patch).map_err(|error| error.to_string())?;
    patch.apply(document).map_err(|error| error.to_string())
}

#[test]
fn the_cases_of_the_specification_pass() {
    let file: Value = include_str!("../cases/patch.json").parse().unwrap();
    let cases = file.get("cases").as_list().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let name = case.get("name").as_str().unwrap();
        let result = apply(case.get("patch"), case.get("doc"));
        match case.as_map().unwrap().get_str("expect") {
            Some(expect) => assert_eq!(result.as_ref(), Ok(expect), "{name}"),
            None => assert!(result.is_err(), "{name}: {result:?}"),
        }
    }
}

/// Cases in which our specification differs from RFC 6902: `add` creates missing maps along its
/// path. The suite expects these to fail.
const PARENTS_ARE_MADE: [&str; 2] = [
    "4.1. add with missing object",
    "A.12.  Adding to a Non-existent Target",
];

fn suite(text: &str) {
    let suite: Value = text.parse().unwrap();
    let mut ran = 0;
    for case in suite.as_list().unwrap() {
        if case.get("disabled") == &Value::from(true) {
            continue;
        }
        ran += 1;
        let name = case.get("comment").as_str().unwrap_or_default();
        let result = apply(case.get("patch"), case.get("doc"));
        let fields = case.as_map().unwrap();
        match (fields.get_str("error"), fields.get_str("expected")) {
            (Some(_), _) if PARENTS_ARE_MADE.contains(&name) => {
                assert!(result.is_ok(), "{name}: {result:?}");
            }
            (Some(error), _) => assert!(result.is_err(), "{name}: {error}, not {result:?}"),
            (None, Some(expected)) => assert_eq!(result.as_ref(), Ok(expected), "{name}"),
            // It is enough that the patch can be applied.
            (None, None) => assert!(result.is_ok(), "{name}: {result:?}"),
        }
    }
    assert!(ran > 0);
}

#[test]
fn the_public_suite_passes() {
    suite(include_str!("../cases/rfc6902/tests.json"));
}

#[test]
fn the_examples_of_the_rfc_pass() {
    suite(include_str!("../cases/rfc6902/spec_tests.json"));
}
