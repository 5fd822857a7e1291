//! Our outcome of an expression.

use cel_interpreter::{EvalError, Limits, Program};
use document::Value;

/// What an expression yields: a document and the name of its type, or an error.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Value {
        /// `None` if no document can contain it.
        document: Option<Value>,
        kind: String,
    },
    Error,
}

/// The outcome that a file of cases records.
pub(crate) fn recorded(case: &Value) -> Outcome {
    let members = case.as_map();
    match case.get("type").as_str() {
        None => Outcome::Error,
        Some(kind) => Outcome::Value {
            document: members.and_then(|case| case.get_str("value")).cloned(),
            kind: kind.to_owned(),
        },
    }
}

/// Evaluates an expression whose variables are the members of a document.
pub(crate) fn outcome(expr: &str, variables: &Value) -> Outcome {
    let document = match eval(expr, variables) {
        Ok(document) => Some(document),
        // The value has no JSON form, but it has a type.
        Err(code) if code == "cel-not-json" => None,
        Err(_) => return Outcome::Error,
    };
    match eval(&format!("type({expr}\n)"), variables) {
        Ok(kind) => Outcome::Value {
            document,
            kind: kind.as_str().unwrap_or_default().to_owned(),
        },
        Err(_) => Outcome::Error,
    }
}

/// The value, or the code of the error.
pub(crate) fn eval(expr: &str, variables: &Value) -> Result<Value, String> {
    let program = Program::compile(expr).map_err(|error| error.code().to_owned())?;
    let lookup = |name: &str| variables.as_map()?.get_str(name).cloned();
    let code = |error: EvalError| error.code().to_owned();
    program.eval(&lookup, &Limits::default()).map_err(code)
}
