//! Fields and maps.

use document::{Map, Value};
use object::{LabelSelector, SelectorError};

use super::{TWO, function, shallow, types};
use crate::error::ErrorKind;
use crate::function::{Arity, Body, Cost, Example, Form, Function};
use crate::scope::Env;
use crate::types::{Gives, Takes};

pub(super) fn functions() -> Vec<Function> {
    let mut functions = fields();
    functions.extend(maps());
    functions
}

fn fields() -> Vec<Function> {
    vec![
        Function {
            aliases: &["@has"],
            cost: Cost::Shallow,
            ..function(
                "@exists",
                Arity::Unary,
                Body::Whole(|value| Ok((!value.is_null()).into())),
                types(&[Takes::Anything], Gives::Boolean),
                r#"{"@exists": <path or expression>}"#,
                "Whether there is a value that is not null.",
                &[
                    Example(r#"{"@exists": "$.a.b"}"#, r#"{"a": {"b": ""}}"#, "true"),
                    Example(r#"{"@has": "$.a.c"}"#, r#"{"a": {"b": ""}}"#, "false"),
                ],
            )
        },
        shallow(function(
            "@isnil",
            Arity::Unary,
            Body::Whole(|value| Ok(value.is_null().into())),
            types(&[Takes::Anything], Gives::Boolean),
            r#"{"@isnil": <expression>}"#,
            "Whether the value is null.",
            &[Example(r#"{"@isnil": "$.a"}"#, "{}", "true")],
        )),
        function(
            "@query",
            Arity::Unary,
            Body::Form(Form::Query),
            types(&[Takes::Anything], Gives::Anything),
            r#"{"@query": <path>}"#,
            "All matches of a path, as a list.",
            &[Example(
                r#"{"@query": "$.l[*].n"}"#,
                r#"{"l": [{"n": 1}, {"n": 2}]}"#,
                "[1,2]",
            )],
        ),
        function(
            "@getField",
            Arity::Unary,
            Body::Form(Form::GetField),
            types(&[Takes::Anything], Gives::Anything),
            r#"{"@getField": <path, or operator that computes one>}"#,
            "The value at a path. The path may be computed.",
            &[
                Example(
                    r#"{"@getField": {"@concat": [{"@literal": "$."}, "$.which"]}}"#,
                    r#"{"which": "b", "b": 2}"#,
                    "2",
                ),
                Example(r#"{"@getField": "$.b"}"#, r#"{"b": 2}"#, "2"),
            ],
        ),
        function(
            "@setField",
            TWO,
            Body::Form(Form::SetField),
            types(&[Takes::Anything], Gives::Anything),
            r#"{"@setField": [<path>, <value>]}"#,
            "The document with this field set. For a `$$` path: the item with this field set.",
            &[
                Example(
                    r#"{"@setField": ["$.a.b", 1]}"#,
                    r#"{"c": 2}"#,
                    r#"{"a":{"b":1},"c":2}"#,
                ),
                Example(
                    r#"{"@map": [{"@setField": ["$$.x", 0]}, "$.l"]}"#,
                    r#"{"l": [{"y": 1}]}"#,
                    r#"[{"x":0,"y":1}]"#,
                ),
            ],
        ),
    ]
}

fn maps() -> Vec<Function> {
    vec![
        function(
            "@dict",
            Arity::Unary,
            Body::Form(Form::Dict),
            types(&[Takes::Anything], Gives::Anything),
            r#"{"@dict": {<key>: <expression>, …}}"#,
            "A map with literal keys, even those that start with `@` or `$`.",
            &[Example(
                r#"{"@dict": {"$.a": "$.a"}}"#,
                r#"{"a": 1}"#,
                r#"{"$.a":1}"#,
            )],
        ),
        shallow(function(
            "@keys",
            Arity::Unary,
            Body::Whole(|value| {
                Ok(map(value)?
                    .iter()
                    .map(|(key, _)| Value::from(key.as_str()))
                    .collect())
            }),
            types(&[Takes::Map], Gives::Strings),
            r#"{"@keys": <map>}"#,
            "The keys of a map, in order.",
            &[Example(
                r#"{"@keys": "$."}"#,
                r#"{"b": 1, "a": 2}"#,
                r#"["a","b"]"#,
            )],
        )),
        shallow(function(
            "@values",
            Arity::Unary,
            Body::Whole(|value| Ok(map(value)?.values().cloned().collect())),
            types(&[Takes::Map], Gives::Values),
            r#"{"@values": <map>}"#,
            "The values of a map, in the order of its keys.",
            &[Example(
                r#"{"@values": "$."}"#,
                r#"{"b": 1, "a": 2}"#,
                "[2,1]",
            )],
        )),
        function(
            "@merge",
            Arity::Nary(0, None),
            Body::Metered(merge),
            types(&[Takes::Map], Gives::Merged),
            r#"{"@merge": [<map>, …]}"#,
            "The maps merged deeply, later ones on top. Lists are replaced.",
            &[Example(
                r#"{"@merge": ["$.a", {"x": {"z": 2}}]}"#,
                r#"{"a": {"x": {"y": 1}}}"#,
                r#"{"x":{"y":1,"z":2}}"#,
            )],
        ),
        function(
            "@selector",
            TWO,
            Body::Strict(|args| selector(&args[0], &args[1]).map(Value::from)),
            types(&[Takes::MapOrNull], Gives::Boolean),
            r#"{"@selector": [<label selector>, <labels>]}"#,
            "Whether the labels match the selector. A selector has matchLabels and matchExpressions (In, NotIn, Exists, DoesNotExist); a flat map is matchLabels. An empty selector matches everything; null on either side gives false.",
            &[
                Example(
                    r#"{"@selector": ["$.sel", "$.labels"]}"#,
                    r#"{"sel": {"app": "web"}, "labels": {"app": "web", "x": "y"}}"#,
                    "true",
                ),
                Example(
                    r#"{"@selector": [{"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, "$.labels"]}"#,
                    r#"{"labels": {"app": "web"}}"#,
                    "false",
                ),
            ],
        ),
    ]
}

fn map(value: &Value) -> Result<&Map, ErrorKind> {
    value.as_map().ok_or(ErrorKind::Type {
        expected: "a map",
        found: value.kind(),
    })
}

fn merge(args: &[Value], env: &Env) -> Result<Value, ErrorKind> {
    let mut merged = Value::empty_map();
    for arg in args {
        map(arg)?;
        merged = env.merge(&merged, arg)?;
    }
    Ok(merged)
}

/// Whether labels match a label selector.
pub fn selector(selector: &Value, labels: &Value) -> Result<bool, ErrorKind> {
    let selector = label_selector(selector)?;
    check_labels(labels)?;
    Ok(selector.is_some_and(|selector| selector.matches(labels)))
}

/// Checks that labels are a map or null.
pub fn check_labels(labels: &Value) -> Result<(), ErrorKind> {
    if labels.is_null() {
        return Ok(());
    }
    map(labels).map(drop)
}

/// Parses a label selector; `None` for null, which matches nothing.
pub fn label_selector(value: &Value) -> Result<Option<LabelSelector>, ErrorKind> {
    LabelSelector::new(value).map_err(|error| match error {
        SelectorError::NotAMap(found) => ErrorKind::Type {
            expected: "a map",
            found,
        },
        SelectorError::Requirement(why) | SelectorError::Query { why, .. } => {
            ErrorKind::Selector(why)
        }
    })
}
