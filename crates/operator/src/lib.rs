//! The Operator resource (`dcontroller.io/v1alpha1`): controllers with sources, a
//! pipeline and targets.
//!
//! [`read`](spec::read) turns a manifest into an [`Operator`](spec::Operator) or says
//! all that is wrong with it; [`Offline`](offline::Offline) runs its controllers on a
//! set of objects without a cluster.

// A closed set is matched whole: whoever adds a variant is led to all places that ask.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod explain;
pub mod layer;
pub mod object;
pub mod offline;
pub mod patch;
pub mod place;
pub mod predicate;
pub mod problem;
pub mod spec;

pub use offline::Offline;
pub use problem::{Problem, Severity};
pub use spec::{Controller, Operator, read};
