//! CEL expressions over documents, with the Kubernetes functions and a cost limit.
//!
//! In goes the text of an expression, out comes a [`Program`]; in go the variables it
//! asks for, out comes a [`Value`](document::Value). Nothing else is read: no clock, no
//! files.
//!
//! The Kubernetes types and their functions are those of `kube-cel`. Parser and
//! interpreter are our own. Those of the `cel` crate, on which it is built, copy whole
//! documents at every step, so that no limit on steps would bound their time; they give
//! wrong results for `!!x`, `1 == 1.0`, `null.member` and quotes in strings, and panic on
//! some inputs.
//!
//! # Values
//!
//! - A variable is a document. Its ints are ints, its other numbers doubles, opaque bytes
//!   are bytes. A document cannot say `2.0`, so an int meets a double as a double where
//!   plain CEL has an error: `2 * 1.5` is 3.
//! - A result becomes a document: a uint an int (a float above the range), a timestamp a
//!   string in UTC (`2024-01-31T00:00:00Z`), a duration a string as Go prints it
//!   (`1h30m0s`), bytes base64, an optional its value or null, a key of a map its text.
//!   NaN, infinity and Kubernetes types are errors: `string(ip)` and
//!   `quantity.asInteger()` give something that a document can hold.
//! - Keys of maps that are whole numbers are one key, whatever their type. A map goes in
//!   the order of its keys.
//!
//! # Language
//!
//! Standard CEL with the macros `has`, `all`, `exists`, `exists_one`, `map` and `filter`,
//! optionals (`a.?b.orValue(1)`, `[?x]`, `optMap`, `optFlatMap`) and the Kubernetes
//! functions. There are no messages, no `type()`, no time zones other than UTC, and no
//! comprehensions with two variables. A member whose name is no identifier is `a['x-y']`
//! or ``a.`x-y` ``.
//!
//! # Cost
//!
//! Every step of the interpreter costs 1, and whatever grows is paid for by its length
//! before it is made: an element of a list 1, 16 bytes of a string 1. A call into the
//! library costs 10 more, compiling a regular expression that is no literal 2,000. With
//! the default limit of a million an evaluation ends within about a second in a debug
//! build (a tenth of that in a release build) and takes some 50 MB at most. An evaluation
//! over the limit fails; no `||` and no macro looks past that error.

mod convert;
mod error;
mod eval;
mod function;
mod infix;
mod lexer;
mod meter;
mod parser;
mod program;
mod reads;
mod tree;
mod value;

pub use error::{CompileError, EvalError};
pub use parser::{MAX_DEPTH, MAX_LENGTH, MAX_NESTING};
pub use program::{Limits, Program};
