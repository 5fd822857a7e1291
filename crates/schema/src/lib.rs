//! Types of documents, and the schemas that they come from.
//!
//! A [`Type`] is a set of values. It has at most one part for each kind of value, so a union of two
//! types is a type again, and no larger than both:
//!
//! ```text
//! $.spec.replicas of a Deployment      integer or null
//! $.spec.ports[0].targetPort           integer, string or null
//! {"name": "$.metadata.name", "n": 1}  map with the fields name (string or null) and n (integer)
//! ```
//!
//! A field that may be missing has the type null as well, because a pipeline reads both alike.
//!
//! A [`Catalog`] has the types of kinds: those of Kubernetes come from a [table](mod@table) that is
//! part of the program, those of custom resources from their `CustomResourceDefinition`s.

// Enums are matched without `_`, so that the compiler lists all matches that a new variant affects.
#![warn(clippy::wildcard_enum_match_arm)]

mod budget;
mod catalog;
mod crd;
mod openapi;
mod shape;
pub mod table;
mod types;
mod union;

pub use budget::Budget;
pub use catalog::{Catalog, Found, KindSchema};
pub use openapi::to_openapi;
pub use shape::{Fields, Shape};
pub use types::{Numbers, Origin, Strings, Type};
