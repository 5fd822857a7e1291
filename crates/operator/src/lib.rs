//! The Operator resource (`dcontroller.io/v1alpha1`): controllers with sources, a
//! pipeline and targets.
//!
//! [`read`](spec::read) turns a manifest into an [`Operator`](spec::Operator) or says
//! all that is wrong with it.

// A closed set is matched whole: whoever adds a variant is led to all places that ask.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod explain;
pub mod predicate;
pub mod problem;
mod report;
pub mod spec;

pub use problem::{Problem, Severity};
pub use report::Report;
pub use spec::{Controller, Operator, read};
