//! Manifests: YAML and JSON files of Kubernetes-like objects.
//!
//! [`parse`] turns a text into [`Manifest`]s: each is a [`document::Value`] together with the
//! span of every part of it, so that a [`document::Location`] inside the value can be turned
//! into a file, a line and a column. The crate also writes YAML ([`to_yaml`]) and renders
//! [`Diagnostic`]s. Only [`read`] accesses files.
//!
//! ```
//! use std::sync::Arc;
//! use document::Location;
//! use manifest::{Source, parse};
//!
//! let source = Source { name: "pod.yaml".into(), text: "kind: Pod\nspec:\n  nodeName: a\n".into() };
//! let manifests = parse(Arc::new(source)).unwrap();
//! let place = Location::root().key("spec").key("nodeName");
//! assert_eq!(manifests[0].value.get("spec").get("nodeName").as_str(), Some("a"));
//! assert_eq!((manifests[0].span(&place).line, manifests[0].span(&place).column), (3, 13));
//! ```
//!
//! # What is read
//!
//! YAML 1.2 with the core schema: `yes`, `no`, `on` and `off` are strings, and so are `1_000` and
//! `0b11`. There is one exception, because manifests rely on what `kubectl` does: a plain
//! `0644` is octal. A key is always its text: `0x10: a` has the key `0x10`. JSON is read as YAML
//! flow style, which here allows tabs. Objects that follow each other without `---` (`{…} {…}`,
//! as `jq` prints them) are separate documents; a line can have up to sixteen.
//!
//! [`parse`] reads a text as a whole. [`Documents`] reads one document after the other, and the
//! items of a large `List` one by one, so that files may be larger than the memory.
//!
//! All input is bounded: [`MAX_SIZE`], [`MAX_NODES`], [`document::MAX_DEPTH`]. For [`Documents`]
//! the limits are those of one object.
//!
//! # Codes of diagnostics
//!
//! | code | meaning |
//! |---|---|
//! | `syntax` | the text is not YAML |
//! | `duplicate-key` | a key occurs twice in a map; see [`Manifest::duplicates`] |
//! | `complex-key` | a list or a map is used as a key |
//! | `missing-key` | a value without a key |
//! | `merge-key` | the value of `<<` is neither a map nor a list of maps |
//! | `unknown-anchor` | an alias names no anchor before it |
//! | `recursive-alias` | an alias is inside the value that it refers to |
//! | `unsupported-tag` | a tag that JSON has no type for |
//! | `tag-mismatch` | a tag does not match its value |
//! | `no-json-number` | infinity, NaN, or a number out of range |
//! | `too-deep` | nested deeper than [`document::MAX_DEPTH`] |
//! | `too-many-nodes` | more than [`MAX_NODES`], with aliases expanded |
//! | `too-large` | more text than [`MAX_SIZE`], or than one document may have |
//! | `bad-list` | a large document has `items`, but is not a List |
//! | `invalid-utf8` | the file is not UTF-8 |
//! | `read` | the file cannot be read |

// A diagnostic is created at most once per source, so its size does not matter.
#![allow(clippy::result_large_err)]

mod decode;
mod diagnostic;
mod documents;
mod emit;
mod inside;
mod load;
mod manifest;
mod open_collection;
mod plain;
mod problem;
mod read;
mod scalar;
mod source;
mod span_tree;
mod syntax;

pub use diagnostic::{Diagnostic, Severity};
pub use documents::Documents;
pub use emit::to_yaml;
pub use load::{MAX_NODES, parse, parse_bytes};
pub use manifest::{Manifest, expand_lists};
pub use read::{Found, InputFile, ReadError, STDIN, files, test_files};
pub use source::{MAX_SIZE, Source, Span};
