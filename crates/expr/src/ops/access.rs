//! Fields and maps.

use document::{Key, Map, Value};

use super::{TWO, operator, shallow};
use crate::error::ErrorKind;
use crate::scope::Env;
use crate::table::{Arity, Body, Cost, Example, Form, Operator};

pub(super) fn operators() -> Vec<Operator> {
    let mut operators = fields();
    operators.extend(maps());
    operators
}

fn fields() -> Vec<Operator> {
    vec![
        Operator {
            aliases: &["@has"],
            cost: Cost::Shallow,
            ..operator(
                "@exists",
                Arity::Unary,
                Body::Whole(|value| Ok((!value.is_null()).into())),
                r#"{"@exists": <path or expression>}"#,
                "Whether there is a value that is not null.",
                &[
                    Example(r#"{"@exists": "$.a.b"}"#, r#"{"a": {"b": ""}}"#, "true"),
                    Example(r#"{"@has": "$.a.c"}"#, r#"{"a": {"b": ""}}"#, "false"),
                ],
            )
        },
        shallow(operator(
            "@isnil",
            Arity::Unary,
            Body::Whole(|value| Ok(value.is_null().into())),
            r#"{"@isnil": <expression>}"#,
            "Whether the value is null.",
            &[Example(r#"{"@isnil": "$.a"}"#, "{}", "true")],
        )),
        operator(
            "@query",
            Arity::Unary,
            Body::Form(Form::Query),
            r#"{"@query": <path>}"#,
            "All matches of a path, as a list.",
            &[Example(
                r#"{"@query": "$.l[*].n"}"#,
                r#"{"l": [{"n": 1}, {"n": 2}]}"#,
                "[1,2]",
            )],
        ),
        operator(
            "@getField",
            Arity::Unary,
            Body::Form(Form::GetField),
            r#"{"@getField": <path, or operator that computes one>}"#,
            "The value at a path that may be computed.",
            &[
                Example(
                    r#"{"@getField": {"@concat": [{"@literal": "$."}, "$.which"]}}"#,
                    r#"{"which": "b", "b": 2}"#,
                    "2",
                ),
                Example(r#"{"@getField": "$.b"}"#, r#"{"b": 2}"#, "2"),
            ],
        ),
        operator(
            "@setField",
            TWO,
            Body::Form(Form::SetField),
            r#"{"@setField": [<path>, <value>]}"#,
            "The document (or for a `$$` path the item) with this field set.",
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

fn maps() -> Vec<Operator> {
    vec![
        operator(
            "@dict",
            Arity::Unary,
            Body::Form(Form::Dict),
            r#"{"@dict": {<key>: <expression>, …}}"#,
            "A map whose keys are taken literally, also those that start with `@` or `$`.",
            &[Example(
                r#"{"@dict": {"$.a": "$.a"}}"#,
                r#"{"a": 1}"#,
                r#"{"$.a":1}"#,
            )],
        ),
        shallow(operator(
            "@keys",
            Arity::Unary,
            Body::Whole(|value| {
                Ok(map(value)?
                    .iter()
                    .map(|(key, _)| Value::from(key.as_str()))
                    .collect())
            }),
            r#"{"@keys": <map>}"#,
            "The keys of a map, in order.",
            &[Example(
                r#"{"@keys": "$."}"#,
                r#"{"b": 1, "a": 2}"#,
                r#"["a","b"]"#,
            )],
        )),
        shallow(operator(
            "@values",
            Arity::Unary,
            Body::Whole(|value| Ok(map(value)?.values().cloned().collect())),
            r#"{"@values": <map>}"#,
            "The values of a map, in the order of its keys.",
            &[Example(
                r#"{"@values": "$."}"#,
                r#"{"b": 1, "a": 2}"#,
                "[2,1]",
            )],
        )),
        operator(
            "@merge",
            Arity::Nary(0, None),
            Body::Metered(merge),
            r#"{"@merge": [<map>, …]}"#,
            "The maps merged deeply, later ones on top. Lists are replaced.",
            &[Example(
                r#"{"@merge": ["$.a", {"x": {"z": 2}}]}"#,
                r#"{"a": {"x": {"y": 1}}}"#,
                r#"{"x":{"y":1,"z":2}}"#,
            )],
        ),
        operator(
            "@selector",
            TWO,
            Body::Strict(|args| selector(&args[0], &args[1]).map(Value::from)),
            r#"{"@selector": [<label selector>, <labels>]}"#,
            "Whether the labels match: a flat map is matchLabels; or matchLabels and matchExpressions (In, NotIn, Exists, DoesNotExist). An empty selector matches all, null on either side gives false.",
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
    let selector = Selector::parse(selector)?;
    check_labels(labels)?;
    Ok(selector.is_some_and(|selector| selector.matches(labels)))
}

/// Labels must be a map, or null for none known.
pub fn check_labels(labels: &Value) -> Result<(), ErrorKind> {
    if labels.is_null() {
        return Ok(());
    }
    map(labels).map(drop)
}

/// A label selector, checked.
#[derive(Debug)]
pub struct Selector<'a> {
    labels: Option<&'a Map>,
    expressions: Vec<Requirement<'a>>,
}

#[derive(Debug)]
enum Requirement<'a> {
    In(&'a str, &'a Value),
    NotIn(&'a str, &'a Value),
    Exists(&'a str),
    DoesNotExist(&'a str),
}

impl<'a> Selector<'a> {
    /// Reads a selector; `None` for null, which matches nothing.
    pub fn parse(value: &'a Value) -> Result<Option<Self>, ErrorKind> {
        if value.is_null() {
            return Ok(None);
        }
        let fields = map(value)?;
        let structured = !fields.is_empty()
            && fields.iter().all(|(key, value)| match key.as_str() {
                "matchLabels" => value.as_map().is_some() || value.is_null(),
                "matchExpressions" => value.as_list().is_some() || value.is_null(),
                _ => false,
            });
        if !structured {
            return Ok(Some(Self {
                labels: Some(fields),
                expressions: Vec::new(),
            }));
        }
        let expressions = match value.get("matchExpressions").as_list() {
            Some(list) => list.iter().map(requirement).collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        Ok(Some(Self {
            labels: value.get("matchLabels").as_map(),
            expressions,
        }))
    }

    /// The pair under which an index finds this selector: its first required label.
    pub fn first_pair(&self) -> Option<(&Key, &Value)> {
        self.labels?.iter().next().map(|(key, value)| (key, value))
    }

    /// Whether these labels match; null matches nothing.
    pub fn matches(&self, labels: &Value) -> bool {
        let Some(labels) = labels.as_map() else {
            return false;
        };
        let pairs = self.labels.is_none_or(|wanted| {
            wanted
                .iter()
                .all(|(key, value)| labels.get(key).is_some_and(|label| same_text(label, value)))
        });
        pairs
            && self
                .expressions
                .iter()
                .all(|expression| expression.holds(labels))
    }
}

/// Whether two label values have the same string form.
pub fn same_text(a: &Value, b: &Value) -> bool {
    a == b || label_text(a) == label_text(b)
}

/// The string form of a label value; null has one too, so that it equals itself.
pub fn label_text(value: &Value) -> std::borrow::Cow<'_, str> {
    match value.as_str() {
        Some(text) => text.into(),
        None => value.to_string().into(),
    }
}

fn requirement(value: &Value) -> Result<Requirement<'_>, ErrorKind> {
    let key = value
        .get("key")
        .as_str()
        .ok_or(ErrorKind::Selector("an expression needs a key"))?;
    let values = || {
        let values = value.get("values");
        match values.as_list() {
            Some(list) if !list.is_empty() => Ok(values),
            _ => Err(ErrorKind::Selector("In and NotIn need values")),
        }
    };
    match value.get("operator").as_str() {
        Some("In") => Ok(Requirement::In(key, values()?)),
        Some("NotIn") => Ok(Requirement::NotIn(key, values()?)),
        Some("Exists") => Ok(Requirement::Exists(key)),
        Some("DoesNotExist") => Ok(Requirement::DoesNotExist(key)),
        _ => Err(ErrorKind::Selector(
            "the operator must be In, NotIn, Exists or DoesNotExist",
        )),
    }
}

impl Requirement<'_> {
    fn holds(&self, labels: &Map) -> bool {
        let has = |key, values: &Value| {
            labels.get_str(key).is_some_and(|label| {
                values
                    .as_list()
                    .is_some_and(|values| values.iter().any(|value| same_text(value, label)))
            })
        };
        match self {
            Self::In(key, values) => has(key, values),
            Self::NotIn(key, values) => !has(key, values),
            Self::Exists(key) => labels.get_str(key).is_some(),
            Self::DoesNotExist(key) => labels.get_str(key).is_none(),
        }
    }
}
