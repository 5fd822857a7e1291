//! Comparison: equality by value, order of numbers and of strings, membership.

use std::cmp::Ordering;

use document::{Number, Value};

use super::{TWO, function, list, types};
use crate::error::ErrorKind;
use crate::expr::NowSide;
use crate::function::{Body, Example, Function, Relation};
use crate::scope::Env;
use crate::time::Time;
use crate::types::{Gives, Takes};

pub(super) fn functions() -> Vec<Function> {
    let order = |name, signature, summary, relation, examples| {
        function(
            name,
            TWO,
            Body::Order(relation),
            types(&[Takes::Ordered], Gives::Boolean),
            signature,
            summary,
            examples,
        )
    };
    vec![
        function(
            "@eq",
            TWO,
            Body::Equality { negated: false },
            types(&[Takes::Anything], Gives::Boolean),
            r#"{"@eq": [<a>, <b>]}"#,
            "Whether both are deeply equal; numbers are compared by value. A written `null` tests for null. Two computed nulls are not equal, so that missing fields do not match each other.",
            &[
                Example(r#"{"@eq": ["$.a", 1]}"#, r#"{"a": 1.0}"#, "true"),
                Example(r#"{"@eq": [1, "1"]}"#, "{}", "false"),
                Example(r#"{"@eq": ["$.missing", null]}"#, "{}", "true"),
                Example(r#"{"@eq": ["$.missing", "$.absent"]}"#, "{}", "false"),
            ],
        ),
        Function {
            aliases: &["@neq"],
            ..function(
                "@ne",
                TWO,
                Body::Equality { negated: true },
                types(&[Takes::Anything], Gives::Boolean),
                r#"{"@ne": [<a>, <b>]}"#,
                "The opposite of `@eq`.",
                &[
                    Example(r#"{"@ne": ["$.a", 2]}"#, r#"{"a": 1}"#, "true"),
                    Example(r#"{"@neq": ["$.missing", null]}"#, "{}", "false"),
                ],
            )
        },
        order(
            "@gt",
            r#"{"@gt": [<a>, <b>]}"#,
            "Whether a is above b. Numbers and numeric strings compare as numbers, two RFC 3339 times as times, other strings bytewise. A comparison of `@now` with a time sets a deadline: the stage is evaluated again when the outcome changes.",
            Relation::Greater,
            &[
                Example(r#"{"@gt": ["10", 9]}"#, "{}", "true"),
                Example(r#"{"@gt": ["b", "a"]}"#, "{}", "true"),
                Example(r#"{"@gt": ["b", 1]}"#, "{}", "error: incomparable"),
            ],
        ),
        order(
            "@gte",
            r#"{"@gte": [<a>, <b>]}"#,
            "Whether a is above or equal to b.",
            Relation::GreaterOrEqual,
            &[Example(
                r#"{"@gte": ["$.ready", "$.want"]}"#,
                r#"{"ready": 3, "want": 3}"#,
                "true",
            )],
        ),
        order(
            "@lt",
            r#"{"@lt": [<a>, <b>]}"#,
            "Whether a is below b.",
            Relation::Less,
            &[
                Example(r#"{"@lt": [1, 1.5]}"#, "{}", "true"),
                Example(
                    r#"{"@lt": ["@now", {"@timeAdd": ["$.created", "24h"]}]}"#,
                    r#"{"created": "2026-01-02T00:00:00Z"}"#,
                    "true",
                ),
            ],
        ),
        order(
            "@lte",
            r#"{"@lte": [<a>, <b>]}"#,
            "Whether a is below or equal to b.",
            Relation::LessOrEqual,
            &[
                Example(r#"{"@lte": [2, 1]}"#, "{}", "false"),
                Example(
                    r#"{"@lte": ["2026-01-01T02:00:00+02:00", "2026-01-01T00:00:00Z"]}"#,
                    "{}",
                    "true",
                ),
            ],
        ),
        Function {
            list_argument: Some(1),
            ..function(
                "@in",
                TWO,
                Body::Strict(member),
                types(&[Takes::Anything, Takes::List], Gives::Boolean),
                r#"{"@in": [<element>, <list>]}"#,
                "Whether the list has an element that is equal to the first argument.",
                &[
                    Example(
                        r#"{"@in": ["nginx", {"@map": ["$$.image", "$.containers"]}]}"#,
                        r#"{"containers": [{"image": "nginx"}]}"#,
                        "true",
                    ),
                    Example(r#"{"@in": [1, "$.missing"]}"#, "{}", "error: type"),
                ],
            )
        },
    ]
}

/// Deep equality. Two nulls are equal only if one is written in the expression, because
/// missing fields must not match each other.
pub(crate) fn equal(args: &[Value], written_null: bool) -> bool {
    matches!(args, [a, b] if a == b && (written_null || !a.is_null()))
}

/// Whether two arguments are in this order.
pub(crate) fn is_ordered(relation: Relation, args: &[Value]) -> Result<bool, ErrorKind> {
    let order = compare(args)?;
    Ok(match relation {
        Relation::Less => order.is_lt(),
        Relation::LessOrEqual => order.is_le(),
        Relation::Greater => order.is_gt(),
        Relation::GreaterOrEqual => order.is_ge(),
    })
}

/// Sets a deadline if one side is `"@now"`, the other a time, and the outcome will change.
pub(crate) fn set_deadline(relation: Relation, side: NowSide, args: &[Value], env: &Env) {
    let times = |args: &[Value]| {
        let [a, b] = args else { return None };
        Some((Time::parse(a.as_str()?)?, Time::parse(b.as_str()?)?))
    };
    let Some((a, b)) = times(args) else { return };
    let (now, other) = match side {
        NowSide::Left => (a, b),
        NowSide::Right => (b, a),
    };
    // The outcome changes at `other`, or right after it.
    let from = match (side, relation) {
        (NowSide::Left, Relation::Less | Relation::GreaterOrEqual)
        | (NowSide::Right, Relation::Greater | Relation::LessOrEqual) => other.ceil(),
        (NowSide::Left, Relation::LessOrEqual | Relation::Greater)
        | (NowSide::Right, Relation::GreaterOrEqual | Relation::Less) => other.seconds() + 1,
    };
    if from > now.seconds() {
        env.set_deadline(from);
    }
}

/// Compares numbers and numeric strings as numbers, two RFC 3339 times as times, other strings
/// bytewise.
fn compare(args: &[Value]) -> Result<Ordering, ErrorKind> {
    let [a, b] = args else {
        return Err(ErrorKind::Arity {
            expected: "2".to_owned(),
            found: args.len(),
        });
    };
    match (comparable(a)?, comparable(b)?) {
        (Ok(x), Ok(y)) => Ok(x.cmp(&y)),
        (Err(x), Err(y)) => Ok(match (Time::parse(x), Time::parse(y)) {
            (Some(x), Some(y)) => x.cmp(&y),
            _ => x.cmp(y),
        }),
        _ => Err(ErrorKind::Incomparable(a.kind(), b.kind())),
    }
}

/// A number or numeric string as a number, any other string as it is.
fn comparable(value: &Value) -> Result<Result<Number, &str>, ErrorKind> {
    if let Some(number) = value.as_number() {
        return Ok(Ok(number));
    }
    let text = value.as_str().ok_or(ErrorKind::Type {
        expected: "a number or a string",
        found: value.kind(),
    })?;
    Ok(Number::parse(text).ok_or(text))
}

fn member(args: &[Value]) -> Result<Value, ErrorKind> {
    let items = list(&args[1])?;
    Ok(items.iter().any(|item| *item == args[0]).into())
}
