//! Codes of setters.

use crate::doc::codes::Trigger::{Eval, Script};
use crate::doc::codes::{CodeDoc, code};

pub(super) const CODES: &[CodeDoc] = &[
    code(
        "set-not-map",
        "A member is set in a value that is not a map.",
        "Check the path.",
        Eval(r#"{"a": [1], "$.a.b": 2}"#, "{}"),
    ),
    code(
        "set-not-list",
        "An element is set in a value that is not a list.",
        "Check the path.",
        Eval(r#"{"a": {"b": 1}, "$.a[0]": 2}"#, "{}"),
    ),
    code(
        "set-scalar",
        "A field is set in a text, number or boolean.",
        "Check the path.",
        Eval(r#"{"a": 1, "$.a[*]": 2}"#, "{}"),
    ),
    code(
        "set-no-match",
        "A filter or wildcard that is set matches nothing.",
        "Set the field only where it exists, with `@cond`.",
        Eval(r#"{"a": [], "$.a[*].b": 2}"#, "{}"),
    ),
    code(
        "set-no-element",
        "A negative index is before the start of a list.",
        "Check the index.",
        Eval(r#"{"a": [1], "$.a[-2]": 2}"#, "{}"),
    ),
    code(
        "set-too-far",
        "An index is far beyond the end of a list.",
        "Check the index.",
        Eval(r#"{"$.a[100000]": 2}"#, "{}"),
    ),
    code(
        "set-descendants",
        "A path with `..` is set.",
        "Name the fields.",
        Eval(
            r#"{"@setField": [{"@concat": [{"@literal": "$"}, "..a"]}, 1]}"#,
            "{}",
        ),
    ),
    code(
        "set-too-many-matches",
        "A path that is set has too many matches, or takes too many steps to search.",
        "Name the fields.",
        Script(
            r#"(yes '[' | head -n 90; yes ']' | head -n 90) | deltic eval '{"a": "$", "$.a[?@..[?@..[?@..[?@..[?@..x]]]]]": 1}' -"#,
        ),
    ),
];
