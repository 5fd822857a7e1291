//! The expression language: JSON in, compiled [`Expr`] out, evaluated against documents.
//!
//! There are three phases with a type each. The user writes a [`document::Value`].
//! [`compile`] turns it into an [`Expr`] and reports all errors. [`Expr::eval`] evaluates it
//! in a [`Scope`], which holds the document. The crate is pure: the time and the key for
//! random numbers come from the [`Env`].
//!
//! Users call `@concat` an operator. In this crate it is a [`Function`], because an Operator
//! is the Kubernetes resource.
//!
//! ```
//! use document::{Location, json};
//! use expr::{Env, Scope, Functions};
//!
//! let spec = json!({"@concat": ["$.metadata.name", "-", {"@add": ["$.spec.replicas", 1]}]});
//! let expr = expr::compile(&spec, &Location::root(), &Functions::builtin(), expr::Items::None)?;
//!
//! let object = json!({"metadata": {"name": "web"}, "spec": {"replicas": 2}});
//! let env = Env::default();
//! let value = expr.eval(&Scope::new(&env, &object)).map_err(|error| error.to_string());
//! assert_eq!(value, Ok(json!("web-3")));
//! # Ok::<(), Vec<expr::CompileError>>(())
//! ```

// Enums are matched without `_`: after a new variant the compiler lists all places to change.
#![warn(clippy::wildcard_enum_match_arm)]

mod analysis;
mod compile;
mod error;
mod eval;
mod expr;
mod function;
pub mod functions;
mod path_help;
mod paths;
mod reference;
mod scope;
mod suggest;
mod time;
mod types;

pub use analysis::{Read, Volatile};
pub use compile::{Compiler, DocumentKind, Items, Patterns, compile};
pub use error::{CompileError, CompileErrorKind, Error, ErrorKind};
pub use eval::{NOW, without_versions};
pub use expr::{Args, Call, CelExpr, Expr, MapExpr, NowSide, PathExpr, SetFieldPath, Setter};
pub use function::{
    Arity, Body, Cost, Each, Example, Form, Function, Functions, OwnFunction, Relation, Yields,
};
pub use paths::{PATHS, PathDoc, paths_page};
pub use reference::reference_page;
pub use scope::{Env, Interrupt, Limits, Scope};
pub use suggest::nearest;
pub use time::{Time, duration_of, is_duration, meant_duration};
pub use types::{Gives, Takes, Types};
