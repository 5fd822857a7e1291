//! Errors of applying a patch.

use super::MAX_GROWTH;
use super::path::MAX_MATCHES;
use super::pointer::Pointer;
use crate::json::MAX_DEPTH;
use crate::value::Kind;

/// A patch that could not be applied: which operation, where, and why. It never contains
/// values of the document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("operation {operation}, `{op}` at `{path}`: {cause}{}", self.place())]
pub struct Error {
    /// The position of the operation in the patch, from 0.
    pub operation: usize,
    /// The name of the operation.
    pub op: &'static str,
    /// The path as written: `path` or `from`, whichever caused the error.
    pub path: String,
    /// The place in the document, if one was found.
    pub pointer: Option<Pointer>,
    /// Why.
    pub cause: Cause,
}

impl Error {
    /// A name for the kind of error that never changes.
    pub fn code(&self) -> &'static str {
        self.cause.code()
    }

    /// The concrete place, if it says more than the path.
    fn place(&self) -> String {
        match &self.pointer {
            Some(pointer) if pointer.to_string() != self.path => format!(", at `{pointer}`"),
            _ => String::new(),
        }
    }
}

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// A strict patch has an operation whose filters match nothing.
    #[error("the path matches nothing, expected a match")]
    NoMatch,
    /// There is nothing at the place.
    #[error("there is nothing at this place, expected a value")]
    NotFound,
    /// A position that the list does not have.
    #[error("the list has {length} elements, expected a position inside it")]
    OutOfBounds {
        /// How many elements the list has.
        length: usize,
    },
    /// A position in a missing list. Only `-` creates a list.
    #[error("there is no list, expected one that has this position (`-` creates a list)")]
    NoList,
    /// A key where a list needs a position.
    #[error("found a key, expected a position in a list or `-`")]
    NotPosition,
    /// The path leads through a value of another type.
    #[error("found {found}, expected {expected}")]
    WrongType {
        /// What is there.
        found: Kind,
        /// What the path needs.
        expected: &'static str,
    },
    /// The value of a `test` differs.
    #[error("the value is not the expected one")]
    TestFailed,
    /// A `from` with filters must match exactly one place.
    #[error("`from` matches {found} places, expected exactly one")]
    FromMatches {
        /// How many places match.
        found: usize,
    },
    /// A value cannot be moved into a part of itself.
    #[error("the value would be moved into itself, expected a place outside of it")]
    IntoItself,
    /// The document itself cannot be removed.
    #[error("found the document itself, expected a place inside it")]
    Root,
    /// The value of a `merge` must be a map.
    #[error("the value to merge is {found}, expected a map")]
    MergeValue {
        /// What it is.
        found: Kind,
    },
    /// `merge` needs an element that exists.
    #[error("found the position after the last element, expected an element to merge with")]
    MergeEnd,
    /// The path matches more than [`MAX_MATCHES`] places.
    #[error("the path matches more than {MAX_MATCHES} places, expected fewer")]
    TooManyMatches,
    /// The document would be nested deeper than [`MAX_DEPTH`].
    #[error("the document would be nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The copies that the patch makes add up to more than [`MAX_GROWTH`].
    #[error("the patch adds copies of more than {MAX_GROWTH} bytes, expected fewer")]
    TooLarge,
}

impl Cause {
    /// A name for the kind of error that never changes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoMatch => "patch-no-match",
            Self::NotFound => "patch-not-found",
            Self::OutOfBounds { .. } => "patch-out-of-bounds",
            Self::NoList => "patch-no-list",
            Self::NotPosition => "patch-not-a-position",
            Self::WrongType { .. } => "patch-wrong-type",
            Self::TestFailed => "patch-test-failed",
            Self::FromMatches { .. } => "patch-from-matches",
            Self::IntoItself => "patch-into-itself",
            Self::Root => "patch-root",
            Self::MergeValue { .. } => "patch-merge-value",
            Self::MergeEnd => "patch-merge-end",
            Self::TooManyMatches => "patch-too-many-matches",
            Self::TooDeep => "patch-too-deep",
            Self::TooLarge => "patch-too-large",
        }
    }
}

/// A place in the document, and why the operation failed there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cause}, at `{pointer}`")]
pub struct Failure {
    /// Where.
    pub pointer: Pointer,
    /// Why.
    pub cause: Cause,
}

impl Failure {
    pub(super) fn new(pointer: &Pointer, cause: Cause) -> Self {
        Self {
            pointer: pointer.clone(),
            cause,
        }
    }
}
