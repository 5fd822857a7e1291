//! Time: arithmetic on times and durations. Comparison as times is in `compare.rs`.

use document::{Number, Value};

use super::{TWO, finite, function, text, types};
use crate::error::ErrorKind;
use crate::function::{Arity, Body, Example, Function};
use crate::time::{Time, decimal_seconds, duration};
use crate::types::{Gives, Takes};

pub(super) fn functions() -> Vec<Function> {
    vec![
        function(
            "@timeAdd",
            TWO,
            Body::Strict(add),
            types(&[Takes::Time, Takes::Duration], Gives::String),
            r#"{"@timeAdd": [<time>, <duration>]}"#,
            "The time after a duration, in UTC. A time is an RFC 3339 date-time with upper-case `T` and `Z`. A duration is written as in Go, with `d` for 24 hours (`1h30m`, `-5m`, `2d`), or is a number of seconds.",
            &[
                Example(
                    r#"{"@timeAdd": ["$.start", "1h30m"]}"#,
                    r#"{"start": "2026-01-01T00:00:00Z"}"#,
                    r#""2026-01-01T01:30:00Z""#,
                ),
                Example(
                    r#"{"@timeAdd": ["2026-01-01T02:00:00+02:00", -0.5]}"#,
                    "{}",
                    r#""2025-12-31T23:59:59.5Z""#,
                ),
                Example(
                    r#"{"@timeAdd": ["@now", "2d"]}"#,
                    "{}",
                    r#""2026-01-04T03:04:05Z""#,
                ),
                Example(r#"{"@timeAdd": ["2026-01-01", "1h"]}"#, "{}", "error: text"),
                Example(
                    r#"{"@timeAdd": ["9999-12-31T23:59:59Z", "1s"]}"#,
                    "{}",
                    "error: time-range",
                ),
            ],
        ),
        function(
            "@timeSub",
            TWO,
            Body::Strict(|args| {
                seconds(time(&args[0])?.unix_nanos() - time(&args[1])?.unix_nanos())
            }),
            types(&[Takes::Time], Gives::Number),
            r#"{"@timeSub": [<time>, <time>]}"#,
            "The seconds from the second time to the first, negative if the first is earlier.",
            &[
                Example(
                    r#"{"@timeSub": ["@now", "2026-01-02T00:00:00Z"]}"#,
                    "{}",
                    "11045",
                ),
                Example(
                    r#"{"@timeSub": ["2026-01-01T00:00:00Z", "2026-01-01T00:00:01.5Z"]}"#,
                    "{}",
                    "-1.5",
                ),
            ],
        ),
        function(
            "@unix",
            Arity::Unary,
            Body::Whole(|value| seconds(time(value)?.unix_nanos())),
            types(&[Takes::Time], Gives::Number),
            r#"{"@unix": <time>}"#,
            "The seconds from 1970-01-01T00:00:00Z to the time.",
            &[
                Example(r#"{"@unix": "1970-01-02T00:00:00Z"}"#, "{}", "86400"),
                Example(r#"{"@unix": "yesterday"}"#, "{}", "error: text"),
            ],
        ),
    ]
}

/// A time, written as RFC 3339.
fn time(value: &Value) -> Result<Time, ErrorKind> {
    Time::parse(text(value)?).ok_or(ErrorKind::Text {
        expected: "a time such as 2026-01-02T03:04:05Z",
    })
}

fn add(args: &[Value]) -> Result<Value, ErrorKind> {
    let sum = time(&args[0])?.after(nanoseconds(&args[1])?);
    let sum = sum.ok_or(ErrorKind::TimeRange)?;
    Ok(sum.to_string().into())
}

/// The nanoseconds of a duration: a text such as `1h30m`, or a number of seconds.
fn nanoseconds(value: &Value) -> Result<i128, ErrorKind> {
    match value.as_number() {
        Some(Number::Int(seconds)) => Ok(i128::from(seconds) * 1_000_000_000),
        // The whole seconds and the fraction are exact, so that only the fraction is rounded.
        Some(Number::Float(seconds)) => {
            let nanos = (seconds.fract() * 1e9).round() as i128;
            Ok((seconds.trunc() as i128)
                .saturating_mul(1_000_000_000)
                .saturating_add(nanos))
        }
        None => {
            let text = value.as_str().ok_or(ErrorKind::Type {
                expected: "a duration such as \"1h30m\", or a number of seconds",
                found: value.kind(),
            })?;
            duration(text).ok_or(ErrorKind::Text {
                expected: "a duration such as \"1h30m\"",
            })
        }
    }
}

/// Nanoseconds as seconds: an int if they are whole, otherwise the nearest float.
fn seconds(nanos: i128) -> Result<Value, ErrorKind> {
    let nearest: f64 = decimal_seconds(nanos).parse().unwrap_or(f64::NAN);
    finite(nearest)
}
