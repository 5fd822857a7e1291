//! Codes of CEL at run time.

use crate::doc::codes::Trigger::Eval;
use crate::doc::codes::{CodeDoc, code};

pub(super) const CODES: &[CodeDoc] = &[
    code(
        "cel-undeclared",
        "A CEL variable does not exist.",
        "Variables are the top-level keys of the document, `object`, `item` and `now`. Use `has(object.a)` for fields that may be missing.",
        Eval(r#"{"@cel": "a + 1"}"#, "{}"),
    ),
    code(
        "cel-no-such-key",
        "A map has no such key.",
        "Test it with `has(…)`.",
        Eval(r#"{"@cel": "object.a.b"}"#, r#"{"a": {}}"#),
    ),
    code(
        "cel-out-of-range",
        "A list has no such index.",
        "Test the size first.",
        Eval(r#"{"@cel": "object.a[3]"}"#, r#"{"a": []}"#),
    ),
    code(
        "cel-type",
        "A CEL operator or function does not take these types.",
        "Convert the operands, for example with `string(…)` or `int(…)`.",
        Eval(r#"{"@cel": "object.a + 1"}"#, r#"{"a": "x"}"#),
    ),
    code(
        "cel-overflow",
        "An integer does not fit into 64 bits.",
        "Use `double(…)`.",
        Eval(
            r#"{"@cel": "object.a + 1"}"#,
            r#"{"a": 9223372036854775807}"#,
        ),
    ),
    code(
        "cel-divide-by-zero",
        "A division by zero.",
        "Test the divisor.",
        Eval(r#"{"@cel": "1 / object.a"}"#, r#"{"a": 0}"#),
    ),
    code(
        "cel-argument",
        "A CEL function cannot use this value.",
        "Check the value, for example with `isQuantity(…)`.",
        Eval(r#"{"@cel": "quantity(object.a)"}"#, r#"{"a": "x"}"#),
    ),
    code(
        "cel-cost",
        "A CEL expression costs too much.",
        "Simplify it, or raise `--max-cel-cost`.",
        Eval(
            r#"{"@cel": "lists.range(100000).all(x, lists.range(100000).all(y, true))"}"#,
            "{}",
        ),
    ),
    code(
        "cel-not-json",
        "A CEL value cannot be written as JSON.",
        "Convert it, for example with `string(…)`.",
        Eval(r#"{"@cel": "quantity('1')"}"#, "{}"),
    ),
    code(
        "cel-value-too-deep",
        "A CEL value is nested too deep.",
        "Write it flatter.",
        Eval(
            r#"{"@cel": "[1].map(x, [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]).map(x, [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]).map(x, [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]])"}"#,
            "{}",
        ),
    ),
];
