//! Arithmetic: on integers if all operands are integers, otherwise on floats.

use document::{Number, Value};

use super::{TWO, finite, function, number, types};
use crate::error::ErrorKind;
use crate::function::{Arity, Body, Example, Function};
use crate::types::{Gives, Takes};

pub(super) fn functions() -> Vec<Function> {
    let mut functions = binary();
    functions.extend(unary());
    functions
}

fn binary() -> Vec<Function> {
    vec![
        function(
            "@add",
            Arity::Nary(2, None),
            Body::Strict(|args| sum(args.iter())),
            types(&[Takes::Number], Gives::Arithmetic),
            r#"{"@add": [<number>, <number>, …]}"#,
            "The sum.",
            &[
                Example(r#"{"@add": ["$.n", 1]}"#, r#"{"n": 2}"#, "3"),
                Example(
                    r#"{"@add": [9223372036854775807, 1]}"#,
                    "{}",
                    "error: overflow",
                ),
                Example(r#"{"@add": ["$.missing", 1]}"#, "{}", "error: type"),
            ],
        ),
        function(
            "@sub",
            TWO,
            Body::Strict(|args| arithmetic(&args[0], &args[1], i64::checked_sub, |a, b| a - b)),
            types(&[Takes::Number], Gives::Arithmetic),
            r#"{"@sub": [<number>, <number>]}"#,
            "The difference.",
            &[Example(r#"{"@sub": [5, 0.5]}"#, "{}", "4.5")],
        ),
        function(
            "@mul",
            Arity::Nary(2, None),
            Body::Strict(product),
            types(&[Takes::Number], Gives::Arithmetic),
            r#"{"@mul": [<number>, <number>, …]}"#,
            "The product.",
            &[Example(r#"{"@mul": [-2, 5]}"#, "{}", "-10")],
        ),
        function(
            "@div",
            TWO,
            Body::Strict(div),
            types(&[Takes::Number], Gives::Number),
            r#"{"@div": [<number>, <number>]}"#,
            "The quotient; an integer if it is exact.",
            &[
                Example(r#"{"@div": [6, 3]}"#, "{}", "2"),
                Example(r#"{"@div": [1, 4]}"#, "{}", "0.25"),
                Example(r#"{"@div": [1, 0]}"#, "{}", "error: division-by-zero"),
            ],
        ),
        function(
            "@mod",
            TWO,
            Body::Strict(modulo),
            types(&[Takes::Number], Gives::Arithmetic),
            r#"{"@mod": [<number>, <number>]}"#,
            "The remainder, with the sign of the dividend.",
            &[
                Example(r#"{"@mod": [7, 3]}"#, "{}", "1"),
                Example(r#"{"@mod": [-7, 3]}"#, "{}", "-1"),
            ],
        ),
    ]
}

fn unary() -> Vec<Function> {
    vec![
        function(
            "@neg",
            Arity::Unary,
            Body::Whole(|value| rounded(value, i64::checked_neg, |f| -f)),
            types(&[Takes::Number], Gives::Arithmetic),
            r#"{"@neg": <number>}"#,
            "The number with the other sign.",
            &[Example(r#"{"@neg": 3}"#, "{}", "-3")],
        ),
        function(
            "@abs",
            Arity::Unary,
            Body::Whole(|value| rounded(value, i64::checked_abs, f64::abs)),
            types(&[Takes::Number], Gives::Arithmetic),
            r#"{"@abs": <number>}"#,
            "The number without its sign.",
            &[Example(r#"{"@abs": -2.5}"#, "{}", "2.5")],
        ),
        function(
            "@ceil",
            Arity::Unary,
            Body::Whole(|value| rounded(value, Some, f64::ceil)),
            types(&[Takes::Number], Gives::Arithmetic),
            r#"{"@ceil": <number>}"#,
            "The number rounded up.",
            &[Example(r#"{"@ceil": 1.2}"#, "{}", "2")],
        ),
        function(
            "@floor",
            Arity::Unary,
            Body::Whole(|value| rounded(value, Some, f64::floor)),
            types(&[Takes::Number], Gives::Arithmetic),
            r#"{"@floor": <number>}"#,
            "The number rounded down.",
            &[Example(r#"{"@floor": "1.8"}"#, "{}", "1")],
        ),
    ]
}

fn arithmetic(
    a: &Value,
    b: &Value,
    ints: fn(i64, i64) -> Option<i64>,
    floats: fn(f64, f64) -> f64,
) -> Result<Value, ErrorKind> {
    match (number(a)?, number(b)?) {
        (Number::Int(a), Number::Int(b)) => ints(a, b).map(Value::from).ok_or(ErrorKind::Overflow),
        (a, b) => finite(floats(a.to_f64(), b.to_f64())),
    }
}

/// Folds numbers as integers until an operand is a float.
fn fold<'a>(
    values: impl Iterator<Item = &'a Value> + Clone,
    start: i64,
    ints: fn(i64, i64) -> Option<i64>,
    floats: fn(f64, f64) -> f64,
) -> Result<Value, ErrorKind> {
    let mut all_ints = true;
    for value in values.clone() {
        all_ints &= matches!(number(value)?, Number::Int(_));
    }
    if all_ints {
        let mut total = start;
        for value in values {
            if let Number::Int(i) = number(value)? {
                total = ints(total, i).ok_or(ErrorKind::Overflow)?;
            }
        }
        return Ok(total.into());
    }
    let mut total = start as f64;
    for value in values {
        total = floats(total, number(value)?.to_f64());
    }
    finite(total)
}

pub(super) fn sum<'a>(values: impl Iterator<Item = &'a Value> + Clone) -> Result<Value, ErrorKind> {
    fold(values, 0, i64::checked_add, |a, b| a + b)
}

fn product(args: &[Value]) -> Result<Value, ErrorKind> {
    fold(args.iter(), 1, i64::checked_mul, |a, b| a * b)
}

fn div(args: &[Value]) -> Result<Value, ErrorKind> {
    let (a, b) = (number(&args[0])?, number(&args[1])?);
    if b == Number::Int(0) {
        return Err(ErrorKind::DivisionByZero);
    }
    match (a, b) {
        // An exact quotient is an integer. Only `i64::MIN / -1` overflows.
        (Number::Int(a), Number::Int(b)) if a.checked_rem(b) == Some(0) => Ok((a / b).into()),
        (Number::Int(i64::MIN), Number::Int(-1)) => Err(ErrorKind::Overflow),
        (a, b) => finite(a.to_f64() / b.to_f64()),
    }
}

fn modulo(args: &[Value]) -> Result<Value, ErrorKind> {
    let (a, b) = (number(&args[0])?, number(&args[1])?);
    if b == Number::Int(0) {
        return Err(ErrorKind::DivisionByZero);
    }
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => Ok(a.wrapping_rem(b).into()),
        (a, b) => finite(a.to_f64() % b.to_f64()),
    }
}

fn rounded(
    value: &Value,
    ints: fn(i64) -> Option<i64>,
    floats: fn(f64) -> f64,
) -> Result<Value, ErrorKind> {
    match number(value)? {
        Number::Int(i) => ints(i).map(Value::from).ok_or(ErrorKind::Overflow),
        Number::Float(f) => finite(floats(f)),
    }
}
