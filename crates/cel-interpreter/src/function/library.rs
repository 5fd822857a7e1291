//! Calls of library functions.
//!
//! The library has no direct way to call a function: it evaluates an expression, in a context that
//! contains the function. So each call is compiled to a library expression whose arguments are
//! the variables `0`, `1`, …, and each evaluation passes their values:
//!
//! ```text
//! ours       ip(object.status.podIP)
//! library    ip(`0`), with `0` = the value of object.status.podIP
//! ```

use std::sync::LazyLock;

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{CallExpr, Expr};
use kube_cel::cel::context::VariableResolver;
use kube_cel::cel::{self, Context, ExecutionError, IdedExpr};

use super::Result;
use crate::convert::{from_library, to_library};
use crate::error::EvalError;
use crate::meter::{LIBRARY_CALL, Meter};
use crate::value::Val;

/// Our own functions that leave some types to the library.
pub(super) const SHARED: &[&str] = &["compareTo", "isGreaterThan", "isLessThan", "string"];

/// All functions, registered once.
static FUNCTIONS: LazyLock<Context<'static>> = LazyLock::new(|| Context::default().with_all());

/// The library expression of a call, with arguments by number.
pub(super) fn expression(name: &str, method: bool, count: usize) -> IdedExpr {
    let argument = |n: usize| IdedExpr {
        id: 0,
        expr: Expr::Ident(n.to_string()),
    };
    let target = method.then(|| Box::new(argument(0)));
    IdedExpr {
        id: 0,
        expr: Expr::Call(CallExpr {
            func_name: name.to_owned(),
            target,
            args: (usize::from(method)..count).map(argument).collect(),
        }),
    }
}

/// The values of the arguments, by number.
struct Numbered(Vec<cel::Value>);

impl VariableResolver for Numbered {
    fn resolve(&self, variable: &str) -> Option<cel::Value> {
        self.0.get(variable.parse::<usize>().ok()?).cloned()
    }
}

pub(super) fn call(
    name: &'static str,
    expression: &IdedExpr,
    args: &[Val],
    doubles: bool,
    meter: &mut Meter,
) -> Result<Val> {
    meter.charge(LIBRARY_CALL)?;
    let values = args.iter().map(|arg| match arg {
        Val::Int(i) if doubles => Ok(cel::Value::Float(*i as f64)),
        arg => to_library(name, arg, meter),
    });
    let values = Numbered(values.collect::<Result<_>>()?);
    let mut context = FUNCTIONS.new_inner_scope();
    context.set_variable_resolver(&values);
    match cel::Value::resolve(expression, &context) {
        Ok(value) => from_library(&value, meter),
        Err(error) => Err(failure(name, &error, args)),
    }
}

/// Converts an error. Messages of the library are dropped, because they contain values.
fn failure(name: &'static str, error: &ExecutionError, args: &[Val]) -> EvalError {
    let types = || EvalError::types(name, args.iter().map(Val::type_name));
    match error {
        ExecutionError::FunctionError { message, .. } if message.starts_with("expected ") => {
            types()
        }
        ExecutionError::FunctionError { message, .. } if message.contains("not supported on") => {
            types()
        }
        ExecutionError::FunctionError { .. } => EvalError::Argument {
            function: name,
            reason: "the argument does not have the expected form",
        },
        ExecutionError::UnexpectedType { .. }
        | ExecutionError::NoSuchOverload
        | ExecutionError::UnsupportedTargetType { .. }
        | ExecutionError::NotSupportedAsMethod { .. }
        | ExecutionError::MissingArgumentOrTarget
        | ExecutionError::InvalidArgumentCount { .. } => types(),
        _ => EvalError::Other(format!("`{name}` failed in the library")),
    }
}
