//! The operators, one file per family. Each is a small function; its entry in the
//! family's list says what it takes and how it is explained.

pub mod access;
pub mod compare;
pub mod convert;
pub mod logic;
pub mod math;
pub mod sequence;
pub mod string;
pub mod utility;

use document::{ListRef, Number, Value};

use crate::error::ErrorKind;
use crate::table::{Arity, Body, Cost, Example, Operator};

/// A name that an operator of your own cannot have: it is taken, or lacks the `@`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no free operator name: it must start with `@` and not be taken")]
pub struct BadName(pub &'static str);

/// All operators of the language, by family, in reading order.
pub(crate) fn families() -> [(&'static str, Vec<Operator>); 8] {
    [
        ("Logic and conditions", logic::operators()),
        ("Comparison", compare::operators()),
        ("Lists", sequence::operators()),
        ("Strings", string::operators()),
        ("Numbers", math::operators()),
        ("Type conversion", convert::operators()),
        ("Fields and maps", access::operators()),
        ("Utilities", utility::operators()),
    ]
}

pub(crate) fn all() -> impl Iterator<Item = Operator> {
    families().into_iter().flat_map(|(_, operators)| operators)
}

/// An entry without aliases and list argument.
const fn operator(
    name: &'static str,
    arity: Arity,
    body: Body,
    signature: &'static str,
    summary: &'static str,
    examples: &'static [Example],
) -> Operator {
    Operator {
        name,
        aliases: &[],
        arity,
        body,
        list_argument: None,
        cost: Cost::Written,
        signature,
        summary,
        examples,
    }
}

/// This operator, which looks at its arguments but not far into them.
fn shallow(operator: Operator) -> Operator {
    Operator {
        cost: Cost::Shallow,
        ..operator
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
        Some(text) => Number::parse(text).ok_or(ErrorKind::Text {
            expected: "a number",
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
