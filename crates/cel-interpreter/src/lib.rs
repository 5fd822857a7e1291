//! CEL expressions over documents, with the Kubernetes functions and a cost limit.
//!
//! A [`Program`] is compiled from the text of an expression. It evaluates to a
//! [`Value`](document::Value), given the values of its variables. It reads nothing else: no
//! clock, no files.
//!
//! The Kubernetes types and their functions come from the crate `kube-cel`. The parser and the
//! interpreter are our own. Those of the `cel` crate, on which `kube-cel` is built, copy whole
//! documents at every step, so a limit on steps does not bound their time. They return wrong
//! results for `!!x`, `1 == 1.0`, `null.member` and quotes in strings, and panic on some inputs.
//!
//! ```text
//! text ──lexer──▶ tokens ──parser──▶ tree ──eval──▶ Val ──convert──▶ document::Value
//!                                            │
//!                                            ├ infix      + - * / % == < in []
//!                                            └ function   ours, or those of kube-cel
//! ```
//!
//! # Values
//!
//! - The value of a variable is a document. Its ints are ints, its other numbers are doubles, and
//!   opaque bytes are bytes. A document cannot contain `2.0`, so an int is converted to a double
//!   where plain CEL has an error: `2 * 1.5` is 3.
//! - A result is converted to a document. A uint becomes an int, or a float if it is out of range;
//!   a timestamp a string in UTC (`2024-01-31T00:00:00Z`); a duration a string in the form of Go
//!   (`1h30m0s`); bytes become base64; an optional its value or null; a key of a map its text.
//!   NaN, infinity and Kubernetes types are errors. `string(ip)` and `quantity.asInteger()`
//!   convert the latter to values that a document can contain.
//! - Equal whole numbers are the same key of a map, whatever their type. Macros visit a map in
//!   key order.
//!
//! # Language
//!
//! Standard CEL with the macros `has`, `all`, `exists`, `exists_one`, `map` and `filter`,
//! optionals (`a.?b.orValue(1)`, `[?x]`, `optMap`, `optFlatMap`) and the Kubernetes
//! functions. There are no messages, no `type()`, no time zones other than UTC, and no
//! comprehensions with two variables. A member whose name is not an identifier is written
//! `a['x-y']` or ``a.`x-y` ``.
//!
//! # Cost
//!
//! Every step of the interpreter costs 1. A value that can grow is charged for by its length
//! before it is built: each element of a list costs 1, and each 16 bytes of a string. A call into
//! the library costs 10 more, and compiling a regular expression that is not a literal costs
//! 2,000. With the default limit of a million, an evaluation ends within about a second in a
//! debug build (a tenth of that in a release build) and uses at most about 50 MB. An evaluation
//! that exceeds the limit fails, and neither `||` nor a macro can ignore that error.

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
