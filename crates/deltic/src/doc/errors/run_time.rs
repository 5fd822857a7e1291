//! Codes of expressions at run time.

use crate::doc::codes::Trigger::{Eval, Message, Objects, Script};
use crate::doc::codes::{CodeDoc, code};

pub(super) const CODES: &[CodeDoc] = &[
    code(
        "type",
        "A value has the wrong type.",
        "Check the path; `@exists`, `@definedOr` and `@isnil` handle fields that may be missing.",
        Eval(r#"{"@abs": "$.a"}"#, "{}"),
    ),
    code(
        "text",
        "A string has the wrong content, such as a number that is none.",
        "Check the value, or test it with `@regexp` before.",
        Eval(r#"{"@int": "$.a"}"#, r#"{"a": "x"}"#),
    ),
    code(
        "incomparable",
        "A number is compared with a string that is no number.",
        "Convert both with `@string`, or select the documents before.",
        Eval(r#"{"@lt": ["$.a", 1]}"#, r#"{"a": "x"}"#),
    ),
    code(
        "arity",
        "A path yields the arguments, and there are too few or too many.",
        "Write the arguments as a list.",
        Eval(r#"{"@eq": "$.a"}"#, r#"{"a": [1]}"#),
    ),
    code(
        "overflow",
        "The result does not fit into 64 bits.",
        "Use `@float`.",
        Eval(r#"{"@mul": ["$.a", 10]}"#, r#"{"a": 9223372036854775807}"#),
    ),
    code(
        "division-by-zero",
        "A division by zero.",
        "Test the divisor with `@cond`.",
        Eval(r#"{"@div": [1, "$.a"]}"#, r#"{"a": 0}"#),
    ),
    code(
        "not-finite",
        "The result is infinite or not a number.",
        "Check the operands.",
        Eval(r#"{"@mul": ["$.a", 10]}"#, r#"{"a": 1e308}"#),
    ),
    code(
        "empty-range",
        "A range has no elements.",
        "The upper bound must be above the lower one.",
        Eval(r#"{"@rnd": [2, 2]}"#, "{}"),
    ),
    code(
        "limit",
        "An evaluation takes too many steps, or its result is too long.",
        "Simplify it, or raise `--max-steps`.",
        Eval(r#"{"@range": 100000000}"#, "{}"),
    ),
    code(
        "interrupted",
        "The evaluation took too long and was interrupted.",
        "Simplify it, or raise `--max-step-time`.",
        Message(
            "a pipeline that evaluates for longer than `deltic run --max-step-time`",
            "the evaluation was interrupted",
        ),
    ),
    code(
        "selector",
        "A value is not a label selector.",
        "Use matchLabels and matchExpressions, or a flat map of labels.",
        Eval(
            r#"{"@selector": ["$.s", {}]}"#,
            r#"{"s": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}"#,
        ),
    ),
    code(
        "pattern",
        "A computed regular expression cannot be parsed.",
        "Write the pattern into the pipeline, where it is checked.",
        Eval(r#"{"@regexp": ["$.p", "a"]}"#, r#"{"p": "["}"#),
    ),
    code(
        "path",
        "A computed path cannot be parsed.",
        "Write the path into the pipeline, where it is checked.",
        Eval(
            r#"{"@getField": {"@concat": [{"@literal": "$"}, ".["]}}"#,
            "{}",
        ),
    ),
    code(
        "too-large",
        "A document is too large.",
        "Derive less, or raise `--max-derived-bytes`; for files, `--max-document-bytes`.",
        Objects(
            r#"[{"@project": {"metadata": {"name": "$.metadata.name"}, "text": "a text of some length"}}]"#,
            r#"{"apiVersion": "o.view.dcontroller.io/v1alpha1", "kind": "A", "metadata": {"name": "a"}}"#,
            &["--max-derived-bytes", "20"],
        ),
    ),
    code(
        "too-deep",
        "A value is nested deeper than 100 levels.",
        "Write it flatter.",
        Script(r#"(yes '[' | head -n 99; yes ']' | head -n 99) | deltic eval '[["$"]]' -"#),
    ),
    code(
        "own",
        "A function of the embedding program failed.",
        "See the message.",
        Message(
            "a program that adds `@double` with `Functions::with_function`, which returns this error for a string",
            "expected an integer",
        ),
    ),
    code(
        "time-range",
        "A time is outside the years 0000 to 9999.",
        "Check the duration.",
        Eval(r#"{"@timeAdd": ["9999-12-31T00:00:00Z", "48h"]}"#, "{}"),
    ),
];
