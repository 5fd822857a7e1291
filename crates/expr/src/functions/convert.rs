//! Type conversion. It is strict: a value that does not fit is an error.

use document::{Value, View};

use super::{function, number, shallow, types};
use crate::error::ErrorKind;
use crate::function::{Arity, Body, Example, Function};
use crate::types::{Gives, Takes};

pub(super) fn functions() -> Vec<Function> {
    vec![
        function(
            "@string",
            Arity::Unary,
            Body::Whole(|value| Ok(Value::from(string_form(value)?.as_ref()))),
            types(&[Takes::NotNull], Gives::String),
            r#"{"@string": <value>}"#,
            "The value as a string; lists and maps as compact JSON with sorted keys. Null is an error.",
            &[
                Example(r#"{"@string": "$.n"}"#, r#"{"n": 3}"#, r#""3""#),
                Example(r#"{"@string": [5]}"#, "{}", r#""[5]""#),
                Example(r#"{"@string": "$.missing"}"#, "{}", "error: type"),
            ],
        ),
        function(
            "@int",
            Arity::Unary,
            Body::Whole(to_int),
            types(&[Takes::Number], Gives::Integer),
            r#"{"@int": <integer or decimal string>}"#,
            "The value as an integer.",
            &[
                Example(r#"{"@int": "+5"}"#, "{}", "5"),
                Example(r#"{"@int": 1.5}"#, "{}", "error: type"),
                Example(r#"{"@int": "x"}"#, "{}", "error: text"),
            ],
        ),
        function(
            "@float",
            Arity::Unary,
            Body::Whole(|value| super::finite(number(value)?)),
            types(&[Takes::Number], Gives::Number),
            r#"{"@float": <number or numeric string>}"#,
            "The value as a number. An integral number becomes an integer.",
            &[
                Example(r#"{"@float": "1.5"}"#, "{}", "1.5"),
                Example(r#"{"@float": "1e3"}"#, "{}", "1000"),
            ],
        ),
        shallow(function(
            "@bool",
            Arity::Unary,
            Body::Whole(to_bool),
            types(&[Takes::BooleanString], Gives::Boolean),
            r#"{"@bool": <boolean, "true" or "false">}"#,
            "The value as a boolean.",
            &[
                Example(r#"{"@bool": "true"}"#, "{}", "true"),
                Example(r#"{"@bool": "yes"}"#, "{}", "error: text"),
                Example(r#"{"@bool": 1}"#, "{}", "error: type"),
            ],
        )),
        shallow(function(
            "@sqlbool",
            Arity::Unary,
            Body::Whole(|value| {
                if value.is_null() {
                    return Ok(false.into());
                }
                super::boolean(value).map(Value::from)
            }),
            types(&[Takes::Anything], Gives::Boolean),
            r#"{"@sqlbool": <boolean or null>}"#,
            "The boolean; null counts as false.",
            &[Example(r#"{"@sqlbool": "$.missing"}"#, "{}", "false")],
        )),
    ]
}

/// The string form of a value, as in `@string` and `@concat`.
pub fn string_form(value: &Value) -> Result<std::borrow::Cow<'_, str>, ErrorKind> {
    match value.view() {
        View::Str(text) => Ok(text.into()),
        View::Null | View::Bytes(_) => Err(ErrorKind::Type {
            expected: "a value with a string form",
            found: value.kind(),
        }),
        View::Bool(_) | View::Int(_) | View::Float(_) | View::List(_) | View::Map(_) => {
            Ok(value.to_string().into())
        }
    }
}

fn to_int(value: &Value) -> Result<Value, ErrorKind> {
    match value.view() {
        View::Int(_) => Ok(value.clone()),
        View::Str(text) => {
            let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return Err(ErrorKind::Text {
                    expected: "an integer",
                });
            }
            text.parse::<i64>()
                .map(Value::from)
                .map_err(|_| ErrorKind::Overflow)
        }
        View::Null
        | View::Bool(_)
        | View::Float(_)
        | View::List(_)
        | View::Map(_)
        | View::Bytes(_) => Err(ErrorKind::Type {
            expected: "an integer",
            found: value.kind(),
        }),
    }
}

fn to_bool(value: &Value) -> Result<Value, ErrorKind> {
    match value.view() {
        View::Bool(_) => Ok(value.clone()),
        View::Str("true") => Ok(true.into()),
        View::Str("false") => Ok(false.into()),
        View::Str(_) => Err(ErrorKind::Text {
            expected: "\"true\" or \"false\"",
        }),
        View::Null
        | View::Int(_)
        | View::Float(_)
        | View::List(_)
        | View::Map(_)
        | View::Bytes(_) => Err(ErrorKind::Type {
            expected: "a boolean",
            found: value.kind(),
        }),
    }
}
