//! The same work on differential-dataflow, on the same documents.
//!
//! One worker, one epoch per batch. An update needs the old document to retract it, so the
//! last version of every object is kept beside the dataflow; it shares its memory with the
//! arrangements. Two forms: [`Differential`] evaluates the pipeline, as the engine does, and
//! is what the bars compare with; [`Closures`] is a program for each workload.

mod closures;
mod collection;
mod fields;
mod flow;
mod language;

pub use flow::{Change, Closures, Differential};
