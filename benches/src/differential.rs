//! The same work as differential-dataflow programs, on the same documents.
//!
//! One worker, one epoch per batch. An update needs the old document to retract it, so the
//! last version of every object is kept beside the dataflow; it shares its memory with the
//! arrangements. Two forms: [`Differential`] keeps whole documents, [`Pruned`] keeps only
//! the fields that the program reads. The report compares with the better one.

mod fields;
mod flow;
mod program;

pub use flow::{Change, Differential, Pruned};
