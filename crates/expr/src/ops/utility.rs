//! Utilities: hashes, random numbers, literals, CEL.

use document::Value;
use md5::{Digest, Md5};

use super::{TWO, operator};
use crate::error::ErrorKind;
use crate::table::{Arity, Body, Example, Form, Operator};

pub(super) fn operators() -> Vec<Operator> {
    vec![
        operator(
            "@hash",
            Arity::Unary,
            Body::Whole(hash),
            r#"{"@hash": <value>}"#,
            "Six characters that depend on the value alone, for names. Takes null.",
            &[
                Example(r#"{"@hash": 1}"#, "{}", r#""bnezbv""#),
                Example(r#"{"@hash": "$.missing"}"#, "{}", r#""3alqt8""#),
            ],
        ),
        operator(
            "@rnd",
            TWO,
            Body::Form(Form::Random),
            r#"{"@rnd": [<min>, <max>]}"#,
            "An integer from min up to, but without, max. It hangs on the operator, the place in the spec, the object and the item, and does not change on updates or restarts.",
            &[
                Example(r#"{"@rnd": [7, 8]}"#, "{}", "7"),
                Example(r#"{"@rnd": [5, 5]}"#, "{}", "error: empty-range"),
            ],
        ),
        operator(
            "@nil",
            Arity::Unary,
            Body::Form(Form::Nothing),
            r#"{"@nil": <ignored>}"#,
            "Null.",
            &[Example(r#"{"@nil": null}"#, "{}", "null")],
        ),
        operator(
            "@literal",
            Arity::Unary,
            Body::Form(Form::Literal),
            r#"{"@literal": <anything>}"#,
            "The argument as it is written: no paths, no operators.",
            &[Example(
                r#"{"@literal": {"@eq": "$.a"}}"#,
                "{}",
                r#"{"@eq":"$.a"}"#,
            )],
        ),
        operator(
            "@cel",
            Arity::Unary,
            Body::Form(Form::Cel),
            r#"{"@cel": "<CEL expression>"}"#,
            "A CEL expression with the Kubernetes functions. Variables: the top-level keys of the document, `object` (the document) and `item` (`$$`).",
            &[
                Example(
                    r#"{"@cel": "spec.replicas > 2 && has(spec.paused) == false"}"#,
                    r#"{"spec": {"replicas": 3}}"#,
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

/// MD5 of the canonical JSON as one number, in base 36, 25 digits, of which the first six.
#[allow(clippy::unnecessary_wraps)] // The signature of the table.
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
