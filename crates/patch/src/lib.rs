//! Patches with CEL: [`document::patch`] with expressions in paths and values, conditions,
//! loops, and targets.
//!
//! Three layers, each usable alone:
//!
//! - a [`Template`] is a value with `${…}` in its strings;
//! - an [`Edit`] changes one document: `where`, `forEach`, operations;
//! - [`Rules`] are a patch document: edits, each with a target that selects objects.
//!
//! A patch is compiled once, with errors that carry their [`document::Location`], and can be
//! applied many times. All its operations are applied, or none. The crate is pure, and
//! [`Limits`] bound every application.

mod edit;
mod error;
mod field_reader;
mod meter;
mod operations;
mod path;
mod rules;
mod target;
mod template;

pub use edit::{Edit, Form, ITEM, RESOURCE, Variables};
pub use error::{CompileError, CompileErrorKind, Error, ErrorKind};
pub use meter::{Limits, Meter};
pub use operations::{LiteralWrite, Operations, UnknownFields, Written, WrittenPath, WrittenStep};
pub use rules::{Effect, Rule, Rules};
pub use target::Target;
pub use template::{Expression, Lookup, Template, ValueShape};
