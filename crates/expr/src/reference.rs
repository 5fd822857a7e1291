//! The reference page of the operators, generated from the table.

use std::fmt::Write;

use crate::ops;
use crate::table::{Example, Operator};

/// `docs/reference/expressions.md`.
pub fn reference_page() -> String {
    let mut page = String::from(PREFACE);
    for (family, operators) in ops::families() {
        let _ = write!(page, "\n## {family}\n");
        for operator in operators {
            entry(&mut page, &operator);
        }
    }
    page
}

const PREFACE: &str = "\
# Reference: operators

<!-- Generated from the operator table by `UPDATE=1 cargo test -p expr`. Do not edit. -->

A map with exactly one key that starts with `@` is an operator. Unary operators take their
argument whole; the others take a list of arguments, or a path or operator that yields the list.
Each example shows an expression, what `$` is, and the result; all of them run as tests.
";

fn entry(page: &mut String, operator: &Operator) {
    let _ = write!(
        page,
        "\n### `{}`\n\n{}\n\n",
        operator.name, operator.summary
    );
    let _ = writeln!(page, "- Signature: `{}`", operator.signature);
    let _ = writeln!(page, "- Takes: {}", operator.arity);
    if !operator.aliases.is_empty() {
        let _ = writeln!(page, "- Also: `{}`", operator.aliases.join("`, `"));
    }
    let _ = write!(page, "\n| expression | `$` | result |\n|---|---|---|\n");
    for Example(expr, subject, result) in operator.examples {
        let _ = writeln!(
            page,
            "| `{}` | `{}` | `{}` |",
            cell(expr),
            cell(subject),
            cell(result)
        );
    }
}

/// Text inside a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
