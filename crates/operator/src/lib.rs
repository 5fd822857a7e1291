//! The Operator resource (`dcontroller.io/v1alpha1`): controllers with sources, a
//! pipeline and targets.
//!
//! [`read`](spec::read) turns a manifest into an [`Operator`](spec::Operator), or returns all
//! problems that it has.

// Enums are matched without `_`, so that the compiler lists all matches that a new variant affects.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod explain;
pub mod fields;
pub mod names;
mod origin;
mod places;
pub mod predicate;
pub mod problem;
mod report;
pub mod secrets;
mod shapes;
mod single;
pub mod spec;
pub mod typed;

pub use origin::describe_origin;
pub use places::Places;
pub use problem::{Problem, Severity};
pub use report::Report;
pub use shapes::{ViewShape, view_shapes};
pub use spec::{Controller, Operator, read};
pub use typed::WHOLE_OBJECT;

/// The `CustomResourceDefinition` of Operators, as YAML: all fields, with their descriptions.
pub const DEFINITION: &str = include_str!("definition.yaml");
