//! The pipeline of the specification, sentence by sentence, with paused time.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod api;
mod control;
mod model;
mod observe;
mod run;
mod support;
