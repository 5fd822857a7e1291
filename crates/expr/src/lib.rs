//! The expression language: JSON in, compiled [`Expr`] out, evaluated against documents.
//!
//! Three phases, three types: a [`document::Value`] is what the user wrote, an [`Expr`]
//! is what it means, and a [`Scope`] is what it is evaluated in. The crate is pure: the
//! time and the random key are handed in with [`Env`].
//!
//! ```
//! use document::{Location, json};
//! use expr::{Env, Scope, Table};
//!
//! let spec = json!({"@concat": ["$.metadata.name", "-", {"@add": ["$.spec.replicas", 1]}]});
//! let expr = expr::compile(&spec, &Location::root(), &Table::builtin(), expr::Items::None)?;
//!
//! let object = json!({"metadata": {"name": "web"}, "spec": {"replicas": 2}});
//! let env = Env::default();
//! let value = expr.eval(&Scope::new(&env, &object)).map_err(|error| error.to_string());
//! assert_eq!(value, Ok(json!("web-3")));
//! # Ok::<(), Vec<expr::CompileError>>(())
//! ```

// A closed set is matched whole: whoever adds a variant is led to all places that ask.
#![warn(clippy::wildcard_enum_match_arm)]

mod analysis;
mod compile;
mod error;
mod eval;
mod expr;
pub mod ops;
mod reference;
mod scope;
mod suggest;
mod table;

pub use analysis::{Read, Volatile};
pub use compile::{Compiler, Items, Patterns, Raw, compile};
pub use error::{CompileError, CompileErrorKind, Error, ErrorKind};
pub use eval::without_versions;
pub use expr::{Args, Call, CelExpr, Expr, FieldPath, MapExpr, PathExpr, Setter};
pub use reference::reference_page;
pub use scope::{Env, Interrupt, Limits, Scope};
pub use suggest::nearest;
pub use table::{Arity, Body, Cost, Each, Example, Form, Operator, OwnFunction, Table, Yields};
