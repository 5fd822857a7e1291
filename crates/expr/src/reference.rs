//! The reference page of the operators, generated from the functions and their examples.

use std::fmt::Write;

use crate::function::{Example, Function};
use crate::functions;

/// `docs/reference/expressions.md`.
pub fn reference_page() -> String {
    let mut page = String::from(PREFACE);
    for (family, functions) in functions::families() {
        let _ = write!(page, "\n## {family}\n");
        for function in functions {
            add_function(&mut page, &function);
        }
    }
    page
}

const PREFACE: &str = "\
# Reference: operators

<!-- Generated from the functions of `expr` by `UPDATE=1 cargo test -p expr`. Do not edit. -->

A map with exactly one key that starts with `@` is an operator. Unary operators take their
argument as it is; the others take a list of arguments, or a path or operator that yields the list.
Each example shows an expression, the value of `$`, and the result. All examples run as tests.
";

fn add_function(page: &mut String, function: &Function) {
    let _ = write!(
        page,
        "\n### `{}`\n\n{}\n\n",
        function.name, function.summary
    );
    let _ = writeln!(page, "- Signature: `{}`", function.signature);
    let _ = writeln!(page, "- Takes: {}", function.arity);
    if !function.aliases.is_empty() {
        let _ = writeln!(page, "- Also: `{}`", function.aliases.join("`, `"));
    }
    add_examples(page, function.examples);
}

/// Adds a table of examples.
pub(crate) fn add_examples(page: &mut String, examples: &[Example]) {
    let _ = write!(page, "\n| expression | `$` | result |\n|---|---|---|\n");
    for Example(expr, subject, result) in examples {
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
