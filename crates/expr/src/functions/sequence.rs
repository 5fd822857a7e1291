//! Lists: functions that evaluate a body for each item `$$`, aggregates, and ranges.

use std::cmp::Ordering;

use document::{ListRef, Location, Number, OutOfBounds, Value, View, json};
use smallvec::SmallVec;

use super::{TWO, boolean, finite, function, int, list, number, shallow, text, types};
use crate::error::{Error, ErrorKind};
use crate::expr::Expr;
use crate::function::{Arity, Body, Cost, Example, Function, Yields};
use crate::scope::{Env, Scope};
use crate::types::{Gives, Takes};

/// The length of the longest list that `@range` builds.
pub const MAX_RANGE: u64 = 100_000;

pub(super) fn functions() -> Vec<Function> {
    let mut functions = walking();
    functions.extend(measuring());
    functions.extend(making());
    functions
}

fn walking() -> Vec<Function> {
    vec![
        function(
            "@map",
            TWO,
            Body::Each(map, Yields::Results),
            types(&[Takes::Anything, Takes::List], Gives::Results),
            r#"{"@map": [<expression of $$>, <list>]}"#,
            "The results of the expression for each item `$$`, as a list.",
            &[
                Example(
                    r#"{"@map": ["$$.name", "$.ports"]}"#,
                    r#"{"ports": [{"name": "http"}, {"name": "dns"}]}"#,
                    r#"["http","dns"]"#,
                ),
                Example(r#"{"@map": [{"@mul": ["$$", 2]}, [1, 2]]}"#, "{}", "[2,4]"),
            ],
        ),
        function(
            "@filter",
            TWO,
            Body::Each(filter, Yields::Items),
            types(&[Takes::Boolean, Takes::List], Gives::TheItems),
            r#"{"@filter": [<condition on $$>, <list>]}"#,
            "The items for which the condition holds.",
            &[Example(
                r#"{"@filter": [{"@gt": ["$$", 1]}, "$.l"]}"#,
                r#"{"l": [1, 2, 3]}"#,
                "[2,3]",
            )],
        ),
        function(
            "@any",
            TWO,
            Body::Each(
                |body, items, scope| Ok((find(true, body, items, scope)?).into()),
                Yields::Results,
            ),
            types(&[Takes::Boolean, Takes::List], Gives::Boolean),
            r#"{"@any": [<condition on $$>, <list>]}"#,
            "Whether the condition holds for an item; false for an empty list.",
            &[Example(
                r#"{"@any": [{"@eq": ["$$", 2]}, "$.l"]}"#,
                r#"{"l": [1, 2]}"#,
                "true",
            )],
        ),
        function(
            "@all",
            TWO,
            Body::Each(
                |body, items, scope| Ok((!find(false, body, items, scope)?).into()),
                Yields::Results,
            ),
            types(&[Takes::Boolean, Takes::List], Gives::Boolean),
            r#"{"@all": [<condition on $$>, <list>]}"#,
            "Whether the condition holds for all items; true for an empty list.",
            &[Example(
                r#"{"@all": [{"@gt": ["$$", 0]}, "$.l"]}"#,
                r#"{"l": [1, 2]}"#,
                "true",
            )],
        ),
        function(
            "@none",
            TWO,
            Body::Each(
                |body, items, scope| Ok((!find(true, body, items, scope)?).into()),
                Yields::Results,
            ),
            types(&[Takes::Boolean, Takes::List], Gives::Boolean),
            r#"{"@none": [<condition on $$>, <list>]}"#,
            "Whether the condition holds for no item; true for an empty list.",
            &[Example(
                r#"{"@none": [{"@gt": ["$$", 5]}, "$.l"]}"#,
                r#"{"l": [1, 2]}"#,
                "true",
            )],
        ),
        function(
            "@sortBy",
            TWO,
            Body::Each(sort_by, Yields::Items),
            types(&[Takes::Number, Takes::List], Gives::TheItems),
            r#"{"@sortBy": [<comparison of $$.a and $$.b>, <list>]}"#,
            "The sorted list. The comparison gives a number below, equal to or above 0. Equal items keep their order.",
            &[Example(
                r#"{"@sortBy": [{"@sub": ["$$.a.n", "$$.b.n"]}, "$.l"]}"#,
                r#"{"l": [{"n": 2}, {"n": 1}]}"#,
                r#"[{"n":1},{"n":2}]"#,
            )],
        ),
    ]
}

fn measuring() -> Vec<Function> {
    vec![
        Function {
            list_argument: Some(0),
            cost: Cost::Shallow,
            ..function(
                "@len",
                Arity::Unary,
                Body::Whole(len),
                types(&[Takes::Sized], Gives::Integer),
                r#"{"@len": <list, string or map>}"#,
                "The number of items, characters or entries.",
                &[
                    Example(r#"{"@len": "$.l"}"#, r#"{"l": [1, 2]}"#, "2"),
                    Example(r#"{"@len": ["$.l"]}"#, r#"{"l": [1, 2]}"#, "2"),
                    Example(r#"{"@len": "héllo"}"#, "{}", "5"),
                ],
            )
        },
        function(
            "@min",
            Arity::Unary,
            Body::List(|items| extreme(items, Ordering::Less)),
            types(&[Takes::Numbers], Gives::NumberOrNull),
            r#"{"@min": <list of numbers>}"#,
            "The least number; null for an empty list.",
            &[Example(
                r#"{"@min": ["$.a", "$.b"]}"#,
                r#"{"a": 100, "b": 80}"#,
                "80",
            )],
        ),
        function(
            "@max",
            Arity::Unary,
            Body::List(|items| extreme(items, Ordering::Greater)),
            types(&[Takes::Numbers], Gives::NumberOrNull),
            r#"{"@max": <list of numbers>}"#,
            "The greatest number; null for an empty list.",
            &[Example(r#"{"@max": [1, 2.5, "3"]}"#, "{}", "3")],
        ),
        function(
            "@sum",
            Arity::Unary,
            Body::List(|items| super::math::sum(items.iter())),
            types(&[Takes::Numbers], Gives::Number),
            r#"{"@sum": <list of numbers>}"#,
            "The sum; 0 for an empty list.",
            &[Example(r#"{"@sum": "$.l"}"#, r#"{"l": [1, 2.5]}"#, "3.5")],
        ),
        function(
            "@lexmin",
            Arity::Unary,
            Body::List(|items| lexical(items, Ordering::Less)),
            types(&[Takes::List], Gives::StringOrNull),
            r#"{"@lexmin": <list of strings>}"#,
            "The first string in bytewise order; null for an empty list.",
            &[Example(r#"{"@lexmin": ["b", "a"]}"#, "{}", r#""a""#)],
        ),
        function(
            "@lexmax",
            Arity::Unary,
            Body::List(|items| lexical(items, Ordering::Greater)),
            types(&[Takes::List], Gives::StringOrNull),
            r#"{"@lexmax": <list of strings>}"#,
            "The last string in bytewise order; null for an empty list.",
            &[Example(r#"{"@lexmax": ["b", "a"]}"#, "{}", r#""b""#)],
        ),
    ]
}

fn making() -> Vec<Function> {
    vec![
        shallow(function(
            "@list",
            Arity::Unary,
            Body::List(|items| Ok(items.iter().cloned().collect())),
            types(&[Takes::List], Gives::TheList),
            r#"{"@list": <list>}"#,
            "The list itself; an error for anything else.",
            &[
                Example(r#"{"@list": "$.l"}"#, r#"{"l": [1]}"#, "[1]"),
                Example(r#"{"@list": 5}"#, "{}", "error: type"),
            ],
        )),
        function(
            "@range",
            Arity::Nary(1, Some(2)),
            Body::Strict(range),
            types(&[Takes::Number], Gives::Integers),
            r#"{"@range": [<from>, <to>]}"#,
            "The integers from the first argument up to, but not including, the second. With one argument n: from 1 to n.",
            &[
                Example(r#"{"@range": [0, "$.n"]}"#, r#"{"n": 3}"#, "[0,1,2]"),
                Example(r#"{"@range": 3}"#, "{}", "[1,2,3]"),
                Example(r#"{"@range": [5, 2]}"#, "{}", "[]"),
            ],
        ),
        Function {
            list_argument: Some(0),
            cost: Cost::Shallow,
            ..function(
                "@enumerate",
                Arity::Unary,
                Body::Metered(enumerate),
                types(&[Takes::List], Gives::Numbered),
                r#"{"@enumerate": <list>}"#,
                "Each item with its position, from 0.",
                &[Example(
                    r#"{"@enumerate": ["a", "b"]}"#,
                    "{}",
                    r#"[{"index":0,"value":"a"},{"index":1,"value":"b"}]"#,
                )],
            )
        },
    ]
}

fn map(body: &Expr, items: ListRef<'_>, scope: &Scope<'_>) -> Result<Value, Box<Error>> {
    let mut tally = scope.env.tally();
    // Most lists are short, and need no memory of their own before the result.
    let mut out: SmallVec<[Value; 8]> = SmallVec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let value = body.eval(&scope.with_item(item, index))?;
        tally.element(&value).map_err(out_of_bounds)?;
        out.push(value);
    }
    tally.list(out).map_err(out_of_bounds)
}

/// An error without a location; the call adds its own.
fn out_of_bounds(error: OutOfBounds) -> Box<Error> {
    ErrorKind::from(error).at(&Location::root())
}

fn enumerate(args: &[Value], env: &Env) -> Result<Value, ErrorKind> {
    let mut tally = env.tally();
    let mut out = Vec::new();
    for (index, value) in list(&args[0])?.iter().enumerate() {
        env.charge(1)?;
        let entry = json!({"index": index, "value": (value.clone())});
        tally.element(&entry)?;
        out.push(entry);
    }
    Ok(tally.list(out)?)
}

fn condition(body: &Expr, scope: &Scope<'_>) -> Result<bool, Box<Error>> {
    boolean(&body.eval(scope)?).map_err(|kind| kind.at(&Location::root()))
}

fn filter(body: &Expr, items: ListRef<'_>, scope: &Scope<'_>) -> Result<Value, Box<Error>> {
    let mut out = Vec::new();
    for (index, item) in items.iter().enumerate() {
        if condition(body, &scope.with_item(item, index))? {
            out.push(item.clone());
        }
    }
    Ok(out.into())
}

/// Whether the condition has the `wanted` value for any item.
fn find(
    wanted: bool,
    body: &Expr,
    items: ListRef<'_>,
    scope: &Scope<'_>,
) -> Result<bool, Box<Error>> {
    for (index, item) in items.iter().enumerate() {
        if condition(body, &scope.with_item(item, index))? == wanted {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A merge sort. Unlike the standard library's, it can stop at an error, and an
/// inconsistent comparison leads to a wrong order at worst.
fn sort_by(body: &Expr, items: ListRef<'_>, scope: &Scope<'_>) -> Result<Value, Box<Error>> {
    let mut sorted: Vec<Value> = items.to_vec();
    let mut width = 1;
    while width < sorted.len() {
        let mut merged = Vec::with_capacity(sorted.len());
        for run in sorted.chunks(2 * width) {
            let (left, right) = run.split_at(width.min(run.len()));
            merge_runs(left, right, body, scope, &mut merged)?;
        }
        sorted = merged;
        width *= 2;
    }
    Ok(sorted.into())
}

fn merge_runs(
    mut left: &[Value],
    mut right: &[Value],
    body: &Expr,
    scope: &Scope<'_>,
    merged: &mut Vec<Value>,
) -> Result<(), Box<Error>> {
    while let ([a, ..], [b, ..]) = (left, right) {
        let pair = json!({"a": (a.clone()), "b": (b.clone())});
        scope
            .env
            .charge(1)
            .map_err(|kind| kind.at(&Location::root()))?;
        let order = body.eval(&scope.with_item(&pair, 0))?;
        let order = number(&order).map_err(|kind| kind.at(&Location::root()))?;
        if order > Number::Int(0) {
            merged.push(b.clone());
            right = &right[1..];
        } else {
            merged.push(a.clone());
            left = &left[1..];
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
    Ok(())
}

fn len(value: &Value) -> Result<Value, ErrorKind> {
    match value.view() {
        View::List(items) => Ok(items.len().into()),
        View::Str(text) => Ok(text.chars().count().into()),
        View::Map(map) => Ok(map.len().into()),
        View::Null | View::Bool(_) | View::Int(_) | View::Float(_) | View::Bytes(_) => {
            Err(ErrorKind::Type {
                expected: "a list, a string or a map",
                found: value.kind(),
            })
        }
    }
}

fn extreme(items: ListRef<'_>, wanted: Ordering) -> Result<Value, ErrorKind> {
    let mut best: Option<Number> = None;
    for item in items {
        let item = number(item)?;
        if best.is_none_or(|best| item.cmp(&best) == wanted) {
            best = Some(item);
        }
    }
    best.map_or(Ok(Value::NULL), finite)
}

fn lexical(items: ListRef<'_>, wanted: Ordering) -> Result<Value, ErrorKind> {
    let mut best: Option<&str> = None;
    for item in items {
        let item = text(item)?;
        if best.is_none_or(|best| item.cmp(best) == wanted) {
            best = Some(item);
        }
    }
    Ok(best.map_or(Value::NULL, Value::from))
}

fn range(args: &[Value]) -> Result<Value, ErrorKind> {
    let (from, to) = match args {
        [to] => (1, int(to)?.checked_add(1).ok_or(ErrorKind::Overflow)?),
        [from, to] => (int(from)?, int(to)?),
        _ => (0, 0),
    };
    if from >= to {
        return Ok(Value::list([]));
    }
    if to.abs_diff(from) > MAX_RANGE {
        return Err(ErrorKind::Limit {
            what: "the length of a range",
            limit: MAX_RANGE,
        });
    }
    Ok((from..to).map(Value::from).collect())
}
