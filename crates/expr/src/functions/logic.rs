//! Logic and conditions. A condition must be a boolean: there is no truthiness.

use document::{Location, Value};

use super::{boolean, function, shallow, types};
use crate::error::Error;
use crate::expr::Expr;
use crate::function::{Arity, Body, Example, Form, Function};
use crate::scope::Scope;
use crate::types::{Gives, Takes};

pub(super) fn functions() -> Vec<Function> {
    vec![
        function(
            "@and",
            Arity::Nary(0, None),
            Body::Lazy(and),
            types(&[Takes::Boolean], Gives::Boolean),
            r#"{"@and": [<boolean>, …]}"#,
            "Whether all conditions hold. Evaluation stops at the first that does not, so later conditions cannot fail. `[]` gives true.",
            &[
                Example(
                    r#"{"@and": [{"@gt": ["$.a", 1]}, {"@eq": ["$.b", "x"]}]}"#,
                    r#"{"a": 2, "b": "x"}"#,
                    "true",
                ),
                Example(r#"{"@and": [false, "$.missing"]}"#, "{}", "false"),
                Example(r#"{"@and": ["$.missing", false]}"#, "{}", "error: type"),
            ],
        ),
        function(
            "@or",
            Arity::Nary(0, None),
            Body::Lazy(or),
            types(&[Takes::Boolean], Gives::Boolean),
            r#"{"@or": [<boolean>, …]}"#,
            "Whether any condition holds. Evaluation stops at the first that does. `[]` gives false.",
            &[
                Example(
                    r#"{"@or": [{"@exists": "$.a"}, {"@exists": "$.b"}]}"#,
                    r#"{"b": 1}"#,
                    "true",
                ),
                Example(r#"{"@or": []}"#, "{}", "false"),
            ],
        ),
        shallow(function(
            "@not",
            Arity::Unary,
            Body::Whole(|value| Ok(Value::from(!boolean(value)?))),
            types(&[Takes::Boolean], Gives::Boolean),
            r#"{"@not": <boolean>}"#,
            "The negation of a condition.",
            &[
                Example(
                    r#"{"@not": {"@eq": ["$.phase", "Running"]}}"#,
                    r#"{"phase": "Failed"}"#,
                    "true",
                ),
                Example(r#"{"@not": [true]}"#, "{}", "error: type"),
            ],
        )),
        function(
            "@cond",
            Arity::Nary(2, Some(3)),
            Body::Lazy(cond),
            types(&[Takes::Boolean, Takes::Anything], Gives::Alternatives),
            r#"{"@cond": [<boolean>, <then>, <else>]}"#,
            "If, then, else. Only the chosen branch is evaluated. Without else the result is null.",
            &[
                Example(
                    r#"{"@cond": [{"@eq": ["$.env", "prod"]}, "INFO", "DEBUG"]}"#,
                    r#"{"env": "dev"}"#,
                    r#""DEBUG""#,
                ),
                Example(r#"{"@cond": [false, 1]}"#, "{}", "null"),
            ],
        ),
        function(
            "@switch",
            Arity::Nary(0, None),
            Body::Form(Form::Switch),
            types(&[Takes::Anything], Gives::Anything),
            r#"{"@switch": [[<boolean>, <action>], …]}"#,
            "The action of the first case that holds, or null. A last case `true` is the default.",
            &[
                Example(
                    r#"{"@switch": [[{"@eq": ["$.env", "prod"]}, "high"], [true, "low"]]}"#,
                    r#"{"env": "dev"}"#,
                    r#""low""#,
                ),
                Example(r#"{"@switch": [[false, 1]]}"#, "{}", "null"),
            ],
        ),
        function(
            "@definedOr",
            Arity::Nary(0, None),
            Body::Lazy(defined_or),
            types(&[Takes::Anything], Gives::FirstDefined),
            r#"{"@definedOr": [<value>, <default>, …]}"#,
            "The first argument that is not null. An error of an argument is not caught.",
            &[
                Example(r#"{"@definedOr": ["$.port", 8080]}"#, "{}", "8080"),
                Example(
                    r#"{"@definedOr": ["$.port", 8080]}"#,
                    r#"{"port": 80}"#,
                    "80",
                ),
            ],
        ),
        function(
            "@noop",
            Arity::Unary,
            Body::Form(Form::Nothing),
            types(&[Takes::Anything], Gives::Anything),
            r#"{"@noop": <ignored>}"#,
            "Null, whatever the argument.",
            &[Example(r#"{"@noop": null}"#, "{}", "null")],
        ),
    ]
}

/// Evaluates a condition. An error has the location of the condition's function.
pub(super) fn holds(condition: &Expr, scope: &Scope<'_>) -> Result<bool, Box<Error>> {
    let value = condition.eval(scope)?;
    boolean(&value).map_err(|kind| kind.at(&Location::root()))
}

fn and(args: &[Expr], scope: &Scope<'_>) -> Result<Value, Box<Error>> {
    for arg in args {
        if !holds(arg, scope)? {
            return Ok(false.into());
        }
    }
    Ok(true.into())
}

fn or(args: &[Expr], scope: &Scope<'_>) -> Result<Value, Box<Error>> {
    for arg in args {
        if holds(arg, scope)? {
            return Ok(true.into());
        }
    }
    Ok(false.into())
}

fn cond(args: &[Expr], scope: &Scope<'_>) -> Result<Value, Box<Error>> {
    let Some((condition, branches)) = args.split_first() else {
        return Ok(Value::NULL);
    };
    let branch = usize::from(!holds(condition, scope)?);
    branches
        .get(branch)
        .map_or(Ok(Value::NULL), |expr| expr.eval(scope))
}

fn defined_or(args: &[Expr], scope: &Scope<'_>) -> Result<Value, Box<Error>> {
    for arg in args {
        let value = arg.eval(scope)?;
        if !value.is_null() {
            return Ok(value);
        }
    }
    Ok(Value::NULL)
}

/// `@switch`. Its pairs are compiled into [`Expr::Switch`], which calls this directly.
pub(crate) fn switch(
    pairs: &[(Expr, Expr)],
    at: &Location,
    scope: &Scope<'_>,
) -> Result<Value, Box<Error>> {
    for (case, action) in pairs {
        scope.env.charge(1).map_err(|kind| kind.at(at))?;
        let value = case.eval(scope)?;
        if boolean(&value).map_err(|kind| kind.at(at))? {
            return action.eval(scope);
        }
    }
    Ok(Value::NULL)
}
