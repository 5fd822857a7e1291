//! Manifests: YAML and JSON files of Kubernetes-like objects.
//!
//! In goes text; out come [`document::Value`]s that remember where each of their children
//! stood, so that a [`document::Location`] inside a value can be turned into a file, a
//! line and a column. The crate also writes YAML ([`to_yaml`]) and renders
//! [`Diagnostic`]s. Only [`read`] touches files.
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
//! YAML 1.2 with the core schema (`yes`, `no`, `on` and `off` are strings, and so are
//! `1_000` and `0b11`). In the one place where manifests rely on it, what `kubectl` does:
//! a plain `0644` is octal. A key is its text, whatever it looks like: `0x10: a` has the
//! key `0x10`. JSON is YAML flow style, tabs included. Objects that follow each other
//! without `---` (`{…} {…}`, as `jq` prints them) are documents of their own; on one line
//! there may be sixteen.
//!
//! Everything is bounded: [`MAX_SIZE`], [`MAX_NODES`], [`document::MAX_DEPTH`].
//!
//! # Codes of diagnostics
//!
//! | code | meaning |
//! |---|---|
//! | `syntax` | the text is no YAML |
//! | `duplicate-key` | a map has a key twice; see [`Manifest::duplicates`] |
//! | `complex-key` | a list or a map is used as a key |
//! | `missing-key` | a value without a key |
//! | `merge-key` | `<<` is given something else than maps |
//! | `unknown-anchor` | an alias names no anchor before it |
//! | `recursive-alias` | an alias stands inside what it names |
//! | `unsupported-tag` | a tag that JSON has no type for |
//! | `tag-mismatch` | a tag that does not fit its value |
//! | `no-json-number` | infinity, NaN, or a number out of range |
//! | `too-deep` | nested deeper than [`document::MAX_DEPTH`] |
//! | `too-many-nodes` | more than [`MAX_NODES`], with aliases expanded |
//! | `too-large` | more text than [`MAX_SIZE`] |
//! | `invalid-utf8` | the file is not UTF-8 |
//! | `read` | the file cannot be read |

// A diagnostic is made at most once per source: its size costs nothing.
#![allow(clippy::result_large_err)]

mod decode;
mod diagnostic;
mod emit;
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
pub use emit::to_yaml;
pub use load::{MAX_NODES, parse, parse_bytes};
pub use manifest::{Manifest, expand_lists};
pub use read::{MAX_TOTAL_SIZE, ReadError, read};
pub use source::{MAX_SIZE, Source, Span};
