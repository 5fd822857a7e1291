//! Runs the test cases in `crates/*/tests/cases/*.json`: those of the specification, and our own.
//!
//! A file is `{"cases": [{"name": …, …}, …]}`. The other fields of a case depend on the test. This
//! crate does what all tests need: it checks that names are unique, runs all cases before the test
//! fails, and names those that do not hold.
//!
//! ```
//! use document::Value;
//!
//! let file = r#"{"cases": [
//!     {"name": "a sum", "terms": [1, 2], "expect": 3},
//!     {"name": "no term", "terms": [], "expect": 0}
//! ]}"#;
//! let cases = cases::run(file, |case| {
//!     let terms = case.get("terms").as_list().into_iter().flatten();
//!     let sum: i64 = terms.filter_map(Value::as_int).sum();
//!     cases::check_value(case, &sum.into())
//! });
//! assert_eq!(cases.len(), 2);
//! ```
//!
//! This crate is only for tests.

#![allow(clippy::missing_panics_doc)] // A test fails by panicking.

use std::collections::BTreeSet;

use document::{Path, Value};
use regex::Regex;

/// Checks that the page of errors shows this message in the example of a code. That is for codes
/// whose examples no command runs.
pub fn documented(code: &str, message: &str) {
    let page = include_str!("../../../docs/reference/errors.md");
    let mut entries = page.split("\n### ");
    let entry = entries.find(|entry| entry.lines().next() == Some(code));
    let entry = entry.unwrap_or_else(|| panic!("the page has no code {code}"));
    assert!(
        entry.contains(&format!(": `{message}`\n")),
        "{code}: the message is {message:?}, and the page has {entry}"
    );
}

/// The cases of a file.
pub fn read(file: &str) -> Vec<Value> {
    let file: Value = file.parse().expect("a file of cases is JSON");
    let cases = file.get("cases").as_list().expect("it has a list of cases");
    let cases = cases.to_vec();
    let names: BTreeSet<&str> = cases.iter().map(name).collect();
    assert_eq!(names.len(), cases.len(), "two cases have one name");
    cases
}

/// Checks all cases of a file, and returns them.
pub fn run(file: &str, check: impl FnMut(&Value) -> Result<(), String>) -> Vec<Value> {
    let cases = read(file);
    all_hold(&cases, check);
    cases
}

/// Checks all cases, then fails with the names of those that do not hold, and the reasons.
pub fn all_hold(cases: &[Value], mut check: impl FnMut(&Value) -> Result<(), String>) {
    let failed: Vec<String> = cases
        .iter()
        .filter_map(|case| Some(format!("{}: {}", name(case), check(case).err()?)))
        .collect();
    assert!(
        failed.is_empty(),
        "{} of {} cases do not hold:\n{}",
        failed.len(),
        cases.len(),
        failed.join("\n")
    );
}

fn name(case: &Value) -> &str {
    case.get("name").as_str().expect("a case has a name")
}

/// A field of a case. Unlike [`Value::get`], this distinguishes null from a missing field.
pub fn field<'a>(case: &'a Value, name: &str) -> Option<&'a Value> {
    case.as_map()?.get_str(name)
}

/// Compares a result with the `expect` of a case, or with its `check`:
/// `{"type": "int_range", "min", "max_exclusive"}` or `{"type": "regex", "pattern"}`, which applies
/// to the value at `path`.
pub fn check_value(case: &Value, found: &Value) -> Result<(), String> {
    match field(case, "expect") {
        Some(expect) if expect == found => Ok(()),
        Some(expect) => Err(format!("expected {expect}, found {found}")),
        None => check_rule(case.get("check"), found),
    }
}

fn check_rule(rule: &Value, value: &Value) -> Result<(), String> {
    let path = rule.get("path").as_str().unwrap_or("$");
    let path = Path::parse(path).map_err(|error| error.to_string())?;
    let found = path.first(value, value).unwrap_or(&Value::NULL);
    let passes = match rule.get("type").as_str() {
        Some("int_range") => is_in_range(rule, found),
        Some("regex") => {
            let pattern = rule.get("pattern").as_str().unwrap_or_default();
            let regex = Regex::new(pattern).map_err(|error| error.to_string())?;
            found.as_str().is_some_and(|text| regex.is_match(text))
        }
        other => return Err(format!("unknown check {other:?}")),
    };
    let failed = || format!("{found} does not pass {rule}");
    passes.then_some(()).ok_or_else(failed)
}

fn is_in_range(rule: &Value, found: &Value) -> bool {
    let found = found.as_int();
    found.is_some()
        && found >= rule.get("min").as_int()
        && found < rule.get("max_exclusive").as_int()
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    const FILE: &str = r#"{"cases": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}"#;

    #[test]
    #[should_panic(expected = "2 of 3 cases do not hold:\na: no\nc: no")]
    fn all_cases_run_and_those_that_fail_are_named() {
        run(FILE, |case| match name(case) {
            "b" => Ok(()),
            _ => Err("no".to_owned()),
        });
    }

    #[test]
    #[should_panic(expected = "two cases have one name")]
    fn two_cases_with_one_name_are_an_error() {
        read(r#"{"cases": [{"name": "a"}, {"name": "a"}]}"#);
    }

    #[test]
    fn null_is_an_expectation_and_a_missing_field_is_none() {
        assert_eq!(check_value(&json!({"expect": null}), &Value::NULL), Ok(()));
        assert!(check_value(&json!({"expect": null}), &json!(1)).is_err());
        assert!(check_value(&json!({}), &Value::NULL).is_err());
    }

    #[test]
    fn rules_look_at_a_place() {
        let range = json!({"check":
            {"type": "int_range", "path": "$.n", "min": 1, "max_exclusive": 3}});
        for (number, passes) in [(0, false), (1, true), (2, true), (3, false)] {
            let found = check_value(&range, &json!({"n": number}));
            assert_eq!(found.is_ok(), passes, "{number}: {found:?}");
        }
        assert!(check_value(&range, &json!({"n": "1"})).is_err());
        let text = json!({"check": {"type": "regex", "pattern": "^a+$"}});
        assert_eq!(check_value(&text, &json!("aa")), Ok(()));
        assert!(check_value(&text, &json!("ab")).is_err());
        assert!(check_value(&json!({"check": {"type": "none"}}), &json!(1)).is_err());
    }
}
