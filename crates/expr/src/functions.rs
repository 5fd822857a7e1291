//! The built-in functions, one file per family.
//!
//! Each file begins with a list: name, arity, body, types, documentation and examples. The bodies
//! follow. The examples run as tests and appear in the reference page.

pub mod access;
pub mod compare;
pub mod convert;
pub mod logic;
pub mod math;
pub mod sequence;
pub mod string;
pub mod time;
pub mod utility;

use document::{ListRef, Number, Value};

use crate::error::ErrorKind;
use crate::function::{Arity, Body, Cost, Example, Function};
use crate::types::{Gives, Takes, Types};

/// The name of an added function is taken, or does not start with `@`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("operator name {0:?} is taken or does not start with `@`")]
pub struct BadName(pub &'static str);

/// All functions by family, in the order of the reference page.
pub(crate) fn families() -> [(&'static str, Vec<Function>); 9] {
    [
        ("Logic and conditions", logic::functions()),
        ("Comparison", compare::functions()),
        ("Lists", sequence::functions()),
        ("Strings", string::functions()),
        ("Numbers", math::functions()),
        ("Time", time::functions()),
        ("Type conversion", convert::functions()),
        ("Fields and maps", access::functions()),
        ("Utilities", utility::functions()),
    ]
}

pub(crate) fn all() -> impl Iterator<Item = Function> {
    families().into_iter().flat_map(|(_, functions)| functions)
}

/// A function without aliases and without a list argument.
const fn function(
    name: &'static str,
    arity: Arity,
    body: Body,
    types: Types,
    signature: &'static str,
    summary: &'static str,
    examples: &'static [Example],
) -> Function {
    Function {
        name,
        aliases: &[],
        arity,
        body,
        types,
        list_argument: None,
        joins_one_list: false,
        cost: Cost::Written,
        signature,
        summary,
        examples,
    }
}

/// What the arguments of a function must be, the last one for all that follow, and what it gives.
const fn types(takes: &'static [Takes], gives: Gives) -> Types {
    Types { takes, gives }
}

/// Marks a function that reads its arguments, but nothing deep inside them.
fn shallow(function: Function) -> Function {
    Function {
        cost: Cost::Shallow,
        ..function
    }
}

const TWO: Arity = Arity::Nary(2, Some(2));

pub(crate) fn list(value: &Value) -> Result<ListRef<'_>, ErrorKind> {
    value.as_list().ok_or(ErrorKind::Type {
        expected: "a list",
        found: value.kind(),
    })
}

pub(crate) fn text(value: &Value) -> Result<&str, ErrorKind> {
    value.as_str().ok_or(ErrorKind::Type {
        expected: "a string",
        found: value.kind(),
    })
}

pub(crate) fn boolean(value: &Value) -> Result<bool, ErrorKind> {
    value.as_bool().ok_or(ErrorKind::Type {
        expected: "a boolean",
        found: value.kind(),
    })
}

/// A number or a numeric string.
pub(crate) fn number(value: &Value) -> Result<Number, ErrorKind> {
    if let Some(number) = value.as_number() {
        return Ok(number);
    }
    match value.as_str() {
        Some(text) => Number::parse(text).ok_or_else(|| ErrorKind::Text {
            expected: if cel_interpreter::is_quantity_text(text) {
                "a number, but a quantity: use CEL, quantity(…).asApproximateFloat()"
            } else {
                "a number"
            },
        }),
        None => Err(ErrorKind::Type {
            expected: "a number",
            found: value.kind(),
        }),
    }
}

/// An int or an integer string.
pub(crate) fn int(value: &Value) -> Result<i64, ErrorKind> {
    match number(value) {
        Ok(Number::Int(i)) => Ok(i),
        Ok(Number::Float(_)) => Err(ErrorKind::Type {
            expected: "an integer",
            found: value.kind(),
        }),
        Err(ErrorKind::Type { found, .. }) => Err(ErrorKind::Type {
            expected: "an integer",
            found,
        }),
        Err(_) => Err(ErrorKind::Text {
            expected: "an integer",
        }),
    }
}

pub(crate) fn finite(number: impl Into<Number>) -> Result<Value, ErrorKind> {
    Value::number(number).ok_or(ErrorKind::NotFinite)
}
