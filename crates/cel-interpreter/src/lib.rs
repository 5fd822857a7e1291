//! CEL expressions over documents, with the Kubernetes functions and a cost limit.
//!
//! A [`Program`] is compiled from the text of an expression. It evaluates to a
//! [`Value`](document::Value), given the values of its variables. It reads nothing else: no
//! clock, no files.
//!
//! It is the CEL of Kubernetes 1.36: an expression of a validation rule or an admission policy has the
//! same value here. The tests compare it with Kubernetes itself.
//!
//! ```text
//! text ──lexer──▶ tokens ──parser──▶ tree ──eval──▶ Val ──convert──▶ document::Value
//!                                            │
//!                                            ├ infix      + - * / % == < in []
//!                                            └ function   all others, by family
//! ```
//!
//! # Values
//!
//! - The value of a variable is a document. Its ints are ints, its other numbers are doubles, and
//!   opaque bytes are bytes. A document cannot contain `2.0`, so an int is converted to a double
//!   where plain CEL has an error: `2 * 1.5` is 3.
//! - The variable `now` is a timestamp. Its value is given as a string.
//! - A result is converted to a document. A uint becomes an int, or a float if it is out of range;
//!   a timestamp a string in UTC (`2024-01-31T00:00:00Z`); a duration a string in seconds
//!   (`5400s`); bytes become base64; an optional its value or null; a type its name; a key of a map
//!   its text. NaN, infinity and Kubernetes types are errors. `string(ip)`,
//!   `string(quantity)` and `quantity.asInteger()` convert the latter to values that a document can
//!   contain.
//! - Equal whole numbers are the same key of a map, whatever their type. Macros visit a map in
//!   key order.
//!
//! # Language
//!
//! Standard CEL with its macros, also those with two variables (`transformMap(k, v, …)`), optionals
//! (`a.?b.orValue(1)`, `[?x]`, `optMap`, `optFlatMap`) and the Kubernetes functions. It differs from
//! Kubernetes in this:
//!
//! - There are no type errors at compile time, because documents may have no schema: `[1, 'a']` is a
//!   list, and a wrong type is an error of the evaluation. [`Program::check`] finds expressions that
//!   fail on all documents of given types.
//! - An int is accepted where a double is expected, and numbers of both types can be sorted and
//!   added, because a document cannot contain `2.0`.
//! - There are no messages (`Type{…}`). A map with a key that occurs twice is an error.
//! - `math`, `base64`, `jsonpatch.escapeKey`, `isIPv4` and the like, `reverse` of strings, and
//!   `string` and `sum` of quantities are added.
//! - A member whose name is not an identifier is written `a['x-y']` or ``a.`x-y` ``.
//! - Regular expressions and quantities are limited in size, and `\B` in a regular expression knows
//!   the letters of all scripts.
//!
//! # Cost
//!
//! Every step of the interpreter costs 1. A value that can grow is charged for by its length
//! before it is built: each element of a list costs 1, and each 16 bytes of a string. Compiling a
//! regular expression that is not a literal costs 2,000. Writing out a result costs 1 for each 64
//! bytes that it shares with other values. With the default limit of a million, an evaluation ends within about a second in a
//! debug build (a tenth of that in a release build) and uses at most about 50 MB. An evaluation
//! that exceeds the limit fails, and neither `||` nor a macro can ignore that error.

mod convert;
mod error;
mod eval;
mod function;
mod infix;
mod key;
mod lexer;
mod meter;
mod parser;
mod program;
mod reads;
mod reference;
mod timestamp;
mod tree;
mod types;
mod typing;
mod value;

pub use error::{CompileError, EvalError};
pub use function::quantity::is_quantity_text;
pub use parser::{MAX_DEPTH, MAX_LENGTH, MAX_NESTING};
pub use program::{Limits, Program};
pub use reference::{Documented, Example, reference, reference_page};
pub use types::is_type_name;
pub use typing::{DocumentTypes, Kinds, TypeFinding, TypeMistake, Typed};
