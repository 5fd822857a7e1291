//! The functions and macros as data, for the reference.

use std::fmt::Write;

use crate::function::table::{self, FAMILIES};

/// A function or macro for users.
pub struct Documented {
    /// With its namespace, as in `math.abs`.
    pub name: &'static str,
    /// How it is called; several forms are separated by commas.
    pub signature: &'static str,
    /// What it returns.
    pub summary: &'static str,
    /// Examples, which the tests run.
    pub examples: &'static [Example],
}

/// An expression and its result as JSON, or `error: CODE`.
pub struct Example(pub &'static str, pub &'static str);

impl Documented {
    pub(crate) const fn new(
        name: &'static str,
        signature: &'static str,
        summary: &'static str,
        examples: &'static [Example],
    ) -> Self {
        Self {
            name,
            signature,
            summary,
            examples,
        }
    }
}

/// All macros and functions, in families with a title.
///
/// ```
/// let mut functions = cel_interpreter::reference().flat_map(|(_, functions)| functions);
/// let quantity = functions.find(|function| function.name == "quantity").unwrap();
/// assert_eq!(quantity.signature, "quantity(<string>)");
/// ```
pub fn reference() -> impl Iterator<Item = (&'static str, Vec<&'static Documented>)> {
    let macros = ("Macros", table::macros().iter().collect());
    let families = FAMILIES.iter().map(|family| {
        let functions = family.functions.iter();
        (
            family.title,
            functions.map(|function| &function.documented).collect(),
        )
    });
    std::iter::once(macros).chain(families)
}

/// The reference page of CEL in Markdown.
pub fn reference_page() -> String {
    let mut page = String::from(HEAD);
    for (title, functions) in reference() {
        let _ = write!(page, "\n## {title}\n");
        for function in functions {
            let _ = write!(
                page,
                "\n### `{}`\n\n{}\n\n",
                function.name, function.summary
            );
            let forms = function.signature.replace("), ", ")`, `");
            let _ = writeln!(page, "- Signature: `{forms}`\n");
            page.push_str("| expression | result |\n|---|---|\n");
            for Example(expression, result) in function.examples {
                let _ = writeln!(page, "| {} | `{result}` |", code(expression));
            }
        }
    }
    page
}

/// Code in a cell of a table.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

const HEAD: &str = "\
# Reference: CEL

<!-- Generated from the functions of `cel-interpreter` by `UPDATE=1 cargo test -p cel-interpreter`. Do not edit. -->

`@cel` in expressions and `${…}` in patches are [CEL](https://cel.dev), as Kubernetes 1.36 has it for
validation rules and admission policies ([conformance](cel-conformance.md)). Each example shows an expression
and its result. All examples run as tests.

The operators are `+ - * / %`, `== != < <= > >=`, `&& || !`, `a ? b : c`, `in`, `x.member`, `x['key']`,
`list[0]`, and for optionals `x.?member`, `x[?key]`, `[?optional]` and `{?'key': optional}`. A result is written
as JSON: a timestamp in UTC, a duration in seconds (`5400s`), bytes in base64, an optional as its value or
null. Values of the types of Kubernetes (quantities, addresses, URLs, versions) have no JSON form.

Documents have no types for CEL: `1 == 'a'` is false, and a wrong type is an error when the expression is
evaluated. An int is accepted where a double is expected, because `2.0` in a document is the int 2.
";
