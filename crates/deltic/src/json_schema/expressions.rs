//! The schema of expressions.
//!
//! A map with one key that starts with `@` is an operator; every other map is a plain map of
//! expressions. Editors suggest the names in `properties`; what the arguments must be like is in
//! `then`, which applies to operators only.

use document::{Value, json};
use expr::{Arity, Body, Form, Function, Functions};

use super::{expression as any, named};

pub(super) fn expression() -> Value {
    json!({
        "description": "An expression: a literal, a path such as $.metadata.name, an operator such as {\"@concat\": […]}, or a list or map of expressions.",
        "if": {"type": "object"},
        "then": {"$ref": "#/definitions/map"},
        "else": {"if": {"type": "array"}, "then": {"items": (any())}},
    })
}

pub(super) fn map() -> Value {
    let functions = Functions::builtin();
    let functions: Vec<(&'static str, &Function)> = functions
        .functions()
        .flat_map(|function| {
            let aliases = function.aliases.iter().copied();
            std::iter::once(function.name)
                .chain(aliases)
                .map(move |name| (name, function))
        })
        .collect();
    let documented = functions
        .iter()
        .map(|(name, function)| (*name, documented(function)));
    let arguments = functions
        .iter()
        .map(|(name, function)| (*name, argument(function)));
    let names = Value::list(functions.iter().map(|(name, _)| Value::from(*name)));
    json!({
        "type": "object",
        "properties": (named(documented)),
        "if": {"minProperties": 1, "maxProperties": 1},
        "then": {
            "properties": (named(arguments)),
            "additionalProperties": (any()),
            "propertyNames": {"if": {"pattern": "^@"}, "then": {"enum": (names)}},
        },
        "else": {"additionalProperties": (any())},
    })
}

fn documented(function: &Function) -> Value {
    let text = format!("{}\n\n{}", function.summary, function.signature);
    json!({"description": (text.as_str()), "markdownDescription": (format!("{}\n\n```yaml\n{}\n```", function.summary, function.signature).as_str())})
}

/// What the argument of an operator must be like.
fn argument(function: &Function) -> Value {
    if let Body::Form(form) = &function.body {
        return form_argument(*form);
    }
    let Arity::Nary(least, most) = function.arity else {
        return any();
    };
    let least = if function.joins_one_list {
        least.min(1)
    } else {
        least
    };
    let mut list = json!({"items": (any()), "minItems": (count(least))});
    if let Some(most) = most {
        list = super::with(&list, &["maxItems"], count(most));
    }
    let lazy = matches!(function.body, Body::Lazy(_) | Body::Each(..));
    let other = if function.arity.allows(1) {
        any()
    } else if lazy {
        json!({"type": "array"})
    } else {
        // A path or an operator that yields the list of arguments.
        json!({"type": ["string", "object"], "allOf": [(any())]})
    };
    json!({"if": {"type": "array"}, "then": (list), "else": (other)})
}

fn form_argument(form: Form) -> Value {
    match form {
        Form::Nothing | Form::Literal => json!({}),
        Form::Dict => json!({"type": "object", "additionalProperties": (any())}),
        Form::Switch => json!({
            "type": "array",
            "items": {"type": "array", "items": (any()), "minItems": 2, "maxItems": 2},
        }),
        Form::Query => json!({"type": "string", "pattern": "^\\$"}),
        Form::GetField => any(),
        Form::SetField => json!({"type": "array", "items": (any()), "minItems": 2, "maxItems": 2}),
        Form::Random => json!({
            "if": {"type": "array"},
            "then": {"items": (any()), "minItems": 2, "maxItems": 2},
            "else": {"type": ["string", "object"], "allOf": [(any())]},
        }),
        Form::Cel => json!({"type": "string"}),
    }
}

fn count(number: usize) -> Value {
    i64::try_from(number).unwrap_or(i64::MAX).into()
}
