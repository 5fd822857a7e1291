//! Patches: the cases of the specification, the public suite for RFC 6902, tests of each rule, and
//! random tests.

// A helper that unwraps is a test that fails.
#![allow(clippy::unwrap_used)]

use document::Value;
use document::patch::Patch;

mod cases;
mod errors;
mod limits;
mod moves;
mod operations;
mod paths;
mod random;

/// Checks that the patch turns the document into another one, or fails with this code. All are
/// JSON.
#[track_caller]
fn check(document: &str, patch: &str, expect: Result<&str, &str>) {
    run(document, patch, false, expect);
}

#[track_caller]
fn check_strict(document: &str, patch: &str, expect: Result<&str, &str>) {
    run(document, patch, true, expect);
}

#[track_caller]
fn run(document: &str, patch: &str, strict: bool, expect: Result<&str, &str>) {
    let document: Value = document.parse().unwrap();
    let before = document.to_string();
    let result = match Patch::read(&patch.parse().unwrap()) {
        Ok(patch) => patch
            .strict(strict)
            .apply(&document)
            .map_err(|error| error.code()),
        Err(error) => Err(error.code()),
    };
    let expect = expect.map(|text| text.parse::<Value>().unwrap());
    assert_eq!(result, expect, "{patch}");
    assert_eq!(document.to_string(), before);
}

/// One operation on `/` and so on, with the usual fields.
fn op(op: &str, path: &str, value: &str) -> String {
    format!(r#"[{{"op": "{op}", "path": "{path}", "value": {value}}}]"#)
}

fn relocate(op: &str, from: &str, path: &str) -> String {
    format!(r#"[{{"op": "{op}", "from": "{from}", "path": "{path}"}}]"#)
}
