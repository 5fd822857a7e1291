//! Immutable JSON documents.
//!
//! A [`Value`] is a JSON value that is cheap to clone, 16 bytes wide, and totally
//! ordered. deltic computes with nothing else. This crate knows nothing of pipelines,
//! clusters, clocks or files.
//!
//! ```
//! use document::{Value, json};
//!
//! let pod = json!({"metadata": {"name": "web-0"}, "spec": {"replicas": 3.0}});
//! assert_eq!(pod.get("metadata").get("name").as_str(), Some("web-0"));
//! assert_eq!(pod.get("spec").get("replicas"), &Value::from(3));
//! assert_eq!(pod.to_string(), r#"{"metadata":{"name":"web-0"},"spec":{"replicas":3}}"#);
//! ```

mod excess;
mod hash;
mod json;
mod key;
mod list;
mod location;
mod map;
mod measure;
mod merge;
mod number;
mod one_line;
mod order;
mod pack;
pub mod patch;
pub mod path;
pub mod read;
mod slice;
mod suggest;
mod sync;
mod value;

pub use excess::Excess;
pub use hash::{mix, stable_hash};
pub use json::{FromJsonError, MAX_DEPTH};
pub use key::Key;
pub use list::{Chunk, Chunks, Iter, ListRef};
pub use location::{Location, LocationStep};
pub use map::Map;
pub use measure::{Bounds, Measure, OutOfBounds, Tally};
pub use merge::{merge, merge_patch};
pub use number::Number;
pub use one_line::{is_harmful, one_line};
pub use path::{Path, PathError, Root, SetError, TooManyMatches};
pub use read::{DocumentPart, Member, PartSeed, Whole, part_of};
pub use suggest::nearest;
pub use value::{Kind, Value, View};
