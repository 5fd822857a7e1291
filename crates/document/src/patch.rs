//! Patches: JSON Patch (RFC 6902) whose paths may match several elements of a list.
//!
//! A [`Patch`] is read once from a list of operations and applied to any number of documents.
//! It is applied as a whole or not at all. The result shares everything that the patch does not
//! touch with the original document.
//!
//! ```
//! use document::json;
//! use document::patch::Patch;
//!
//! let patch = Patch::read(&json!([
//!     {"op": "test", "path": "/kind", "value": "Pod"},
//!     {"op": "replace", "path": "/spec/containers[?(@.name=='app')]/image", "value": "app:2"},
//!     {"op": "add", "path": "/spec/containers[*]/env/-", "value": {"name": "ZONE"}},
//!     {"op": "merge", "path": "/metadata/labels", "value": {"tier": "web"}}
//! ]))?;
//! let pod = json!({
//!     "kind": "Pod",
//!     "spec": {"containers": [{"name": "app", "image": "app:1"}, {"name": "log", "env": []}]}
//! });
//! assert_eq!(patch.apply(&pod)?, json!({
//!     "kind": "Pod",
//!     "metadata": {"labels": {"tier": "web"}},
//!     "spec": {"containers": [
//!         {"name": "app", "image": "app:2", "env": [{"name": "ZONE"}]},
//!         {"name": "log", "env": [{"name": "ZONE"}]}
//!     ]}
//! }));
//!
//! let wrong = Patch::read(&json!([{"op": "remove", "path": "/spec/containers/7"}]))?;
//! let error = wrong.apply(&pod).unwrap_err();
//! assert_eq!(error.code(), "patch-out-of-bounds");
//! assert_eq!(
//!     error.to_string(),
//!     "operation 0, `remove` at `/spec/containers/7`: \
//!      the list has 2 elements, expected a position inside it"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Additions to RFC 6902:
//!
//! - [Paths](PatchPath) select elements of lists with a filter, `[?(@.a.b=='v')]`, or with
//!   `[*]`. All matches are found before anything changes, and are changed from the last to the
//!   first. An operation whose filters match nothing is skipped, unless the patch is
//!   [strict](Patch::strict).
//! - `add` creates missing maps along its path, and the list that `-` appends to. It never
//!   creates or pads a list for a position.
//! - `merge` merges a map deeply into the map at its path, and creates missing maps like `add`.
//!   Null is stored as null, lists are replaced.
//! - `test` compares numbers by value.
//!
//! This module resolves paths and creates parents. The `json-patch` crate performs the
//! operations of RFC 6902 on the list or map that a pointer leads to. All work is bounded: the
//! length and nesting of paths ([`MAX_LENGTH`], [`MAX_NESTING`](crate::path::MAX_NESTING)),
//! the number of matches ([`MAX_MATCHES`]), the nesting of the result
//! ([`MAX_DEPTH`](crate::MAX_DEPTH)) and the size of copies ([`MAX_GROWTH`]).

mod apply;
mod edit;
mod error;
mod growth;
mod operation;
mod path;
mod pointer;
mod resolve;
mod rfc6902;

pub use error::{Cause, Error, Failure};
pub use operation::{OPERATIONS, Operation, ReadCause, ReadError};
pub use path::{MAX_LENGTH, MAX_MATCHES, PatchPath, PatchStep};
pub use pointer::{Pointer, Token};

use crate::value::Value;
use apply::PatchRun;

/// How many bytes all copies of values that one patch makes may have, written out.
pub const MAX_GROWTH: usize = 64 << 20;

/// Operations that are applied one after the other, all or none.
#[derive(Clone, Debug, Default)]
pub struct Patch {
    operations: Vec<Operation>,
    strict: bool,
}

impl Patch {
    /// A patch of these operations.
    pub fn new(operations: Vec<Operation>) -> Self {
        Self {
            operations,
            strict: false,
        }
    }

    /// Sets whether a path whose filters match nothing is an error. By default its operation is
    /// skipped.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Reads a list of operations.
    pub fn read(value: &Value) -> Result<Self, ReadError> {
        let Some(list) = value.as_list() else {
            let found = value.kind();
            return Err(ReadCause::NotList { found }.into());
        };
        let operations = list.iter().enumerate().map(|(at, operation)| {
            Operation::read(operation).map_err(|error| ReadError {
                operation: Some(at),
                ..error
            })
        });
        Ok(Self::new(operations.collect::<Result<_, _>>()?))
    }

    /// The operations, in order.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The document with all operations applied. The result shares everything that the patch
    /// did not touch with the original.
    pub fn apply(&self, document: &Value) -> Result<Value, Error> {
        let mut run = PatchRun::new(self.strict);
        let mut document = document.clone();
        for (at, operation) in self.operations.iter().enumerate() {
            document = run.step(at, operation, &document)?;
        }
        Ok(document)
    }
}
