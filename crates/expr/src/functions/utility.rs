//! Utilities: hashes, random numbers, literals, CEL.

use document::Value;
use md5::{Digest, Md5};

use super::{TWO, function, types};
use crate::error::ErrorKind;
use crate::function::{Arity, Body, Example, Form, Function};
use crate::types::{Gives, Takes};

pub(super) fn functions() -> Vec<Function> {
    vec![
        function(
            "@hash",
            Arity::Unary,
            Body::Whole(hash),
            types(&[Takes::Anything], Gives::String),
            r#"{"@hash": <value>}"#,
            "Six characters that depend only on the value, for use in names. Null has a hash, too.",
            &[
                Example(r#"{"@hash": 1}"#, "{}", r#""bnezbv""#),
                Example(r#"{"@hash": "$.missing"}"#, "{}", r#""3alqt8""#),
            ],
        ),
        function(
            "@rnd",
            TWO,
            Body::Form(Form::Random),
            types(&[Takes::Anything], Gives::Anything),
            r#"{"@rnd": [<min>, <max>]}"#,
            "An integer from min up to, but not including, max. It depends on the Operator, the location in the spec, the object and the item, and does not change on updates or restarts.",
            &[
                Example(r#"{"@rnd": [7, 8]}"#, "{}", "7"),
                Example(r#"{"@rnd": [5, 5]}"#, "{}", "error: empty-range"),
            ],
        ),
        function(
            "@nil",
            Arity::Unary,
            Body::Form(Form::Nothing),
            types(&[Takes::Anything], Gives::Anything),
            r#"{"@nil": <ignored>}"#,
            "Null.",
            &[Example(r#"{"@nil": null}"#, "{}", "null")],
        ),
        function(
            "@literal",
            Arity::Unary,
            Body::Form(Form::Literal),
            types(&[Takes::Anything], Gives::Anything),
            r#"{"@literal": <anything>}"#,
            "The argument as it is written: no paths, no operators.",
            &[Example(
                r#"{"@literal": {"@eq": "$.a"}}"#,
                "{}",
                r#"{"@eq":"$.a"}"#,
            )],
        ),
        function(
            "@cel",
            Arity::Unary,
            Body::Form(Form::Cel),
            types(&[Takes::Anything], Gives::Anything),
            r#"{"@cel": "<CEL expression>"}"#,
            "A CEL expression with the Kubernetes functions. Variables: the top-level keys of the document, `object` (the document), `item` (`$$`) and `now` (the time, a timestamp).",
            &[
                Example(
                    r#"{"@cel": "spec.replicas > 2 && has(spec.paused) == false"}"#,
                    r#"{"spec": {"replicas": 3}}"#,
                    "true",
                ),
                Example(
                    r#"{"@cel": "now - timestamp(start) > duration('24h')"}"#,
                    r#"{"start": "2026-01-01T00:00:00Z"}"#,
                    "true",
                ),
                Example(
                    r#"{"@map": [{"@cel": "item * 2"}, "$.l"]}"#,
                    r#"{"l": [1, 2]}"#,
                    "[2,4]",
                ),
            ],
        ),
    ]
}

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The first six digits of the MD5 of the canonical JSON, in base 36 with leading zeros.
#[allow(clippy::unnecessary_wraps)] // All functions of a `Body` have this signature.
fn hash(value: &Value) -> Result<Value, ErrorKind> {
    let digest = Md5::digest(value.canonical().as_bytes());
    let mut number = u128::from_be_bytes(digest.into());
    let mut digits = [b'0'; 25];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(number % 36) as usize];
        number /= 36;
    }
    Ok(String::from_utf8_lossy(&digits[..6]).as_ref().into())
}
