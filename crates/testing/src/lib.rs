//! Tests of Operators: the model of `*.test.yaml`, and a runner on [`offline`].
//!
//! A test gives objects to an Operator, changes them in steps, and says after each step what is
//! derived:
//!
//! ```text
//! Manifest ──read──▶ TestFile{tests} ──run──▶ TestResult{failures} ──▶ the command prints a diff
//!                                                    └──update──▶ the text with new expectations
//! ```
//!
//! Nothing here reads a file or a clock: [`Inputs`] supplies the files that a test names, and the
//! time starts at [`START`]. So a test gives the same result wherever it runs.
//!
//! [`coverage`] finds out which stages and which outcomes of conditions the tests reach.

// A diagnostic is created at most once per mistake in a file, so its size does not matter.
#![allow(clippy::result_large_err)]

pub mod coverage;
mod expect;
mod file;
mod mismatch;
mod object_ref;
mod read;
mod run;
mod update;

pub use expect::{CompleteObject, Expect, ExpectedError, ExpectedObjects};
pub use file::{Placed, START, Test, TestFile, TestStep, TestedOperator};
pub use mismatch::{Difference, Mismatch};
pub use object_ref::ObjectRef;
pub use read::{Inputs, read};
pub use run::{TestFailure, TestResult, random_key, run};
pub use update::{Replacement, updated};
