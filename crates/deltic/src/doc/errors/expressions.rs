//! Codes of expressions that do not compile.

use crate::doc::codes::Trigger::{Eval, Script};
use crate::doc::codes::{CodeDoc, code};

pub(super) const CODES: &[CodeDoc] = &[
    code(
        "unknown-operator",
        "No operator has this name.",
        "Correct the name. A map with one key that starts with `@` is always an operator; `@literal` writes one as data.",
        Eval(r#"{"@conact": ["a"]}"#, "{}"),
    ),
    code(
        "bad-path",
        "A string that starts with `$` is not a path.",
        "See paths.md; `@literal` writes such a string as data.",
        Eval(r#""$.a[""#, "{}"),
    ),
    code(
        "bad-arity",
        "An operator has too few or too many arguments.",
        "The message shows the signature.",
        Eval(r#"{"@eq": [1]}"#, "{}"),
    ),
    code(
        "item-out-of-scope",
        "`$$` is used where there is no item.",
        "Use `$`, or put it into `@map`, `@filter`, `@any`, `@all`, `@none` or `@sortBy`.",
        Eval(r#""$$.a""#, "{}"),
    ),
    code(
        "root-setter",
        "`\"$\"` is the key of a map.",
        "Use `\"$.\"` to copy all keys of a map.",
        Eval(r#"{"$": 1}"#, "{}"),
    ),
    code(
        "bad-setter",
        "A path cannot be set, whatever the document.",
        "Write it without `..`.",
        Eval(r#"{"$..a": 1}"#, "{}"),
    ),
    code(
        "bad-pattern",
        "A regular expression cannot be parsed.",
        "Correct it; the syntax is that of RE2.",
        Eval(r#"{"@regexp": ["[", "a"]}"#, "{}"),
    ),
    code(
        "too-many-patterns",
        "An Operator has too many regular expressions.",
        "Combine them with `|`.",
        Script(r#"deltic eval "[$(seq 300 | sed 's/.*/{\"@regexp\": [\"&\", \"1\"]},/')1]""#),
    ),
    code(
        "bad-cel",
        "A CEL expression cannot be compiled.",
        "Correct it at the column that is shown.",
        Eval(r#"{"@cel": "a ="}"#, "{}"),
    ),
];
