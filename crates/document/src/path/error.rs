//! Errors of paths: when they are parsed, searched and set.

use super::{MAX_MATCHES, MAX_PADDING, MAX_STEPS};
use crate::value::Kind;

/// A text that is not a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}, at offset {offset} of the path")]
pub struct PathError {
    /// The offset in the text, in bytes.
    pub offset: usize,
    /// What was found there, and what was expected.
    pub message: String,
}

/// A search that was aborted: there are more than [`MAX_MATCHES`] matches, or more than
/// [`MAX_STEPS`] values were visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the path has more than {} matches, or takes more than {} steps to search",
    MAX_MATCHES,
    MAX_STEPS
)]
pub struct TooManyMatches;

impl TooManyMatches {
    /// A name for this error that never changes.
    pub fn code(self) -> &'static str {
        "path-too-many-matches"
    }
}

/// A value that could not be set. `path` is the whole path, `at` the part of it that leads to
/// the obstacle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// A member cannot be set in a value that is not a map.
    #[error("cannot set `{path}`: `{at}` is {found}, expected a map")]
    NotMap {
        /// The whole path.
        path: String,
        /// The part that leads to the value.
        at: String,
        /// What it is.
        found: Kind,
    },
    /// An element cannot be set in a value that is not a list.
    #[error("cannot set `{path}`: `{at}` is {found}, expected a list")]
    NotList {
        /// The whole path.
        path: String,
        /// The part that leads to the value.
        at: String,
        /// What it is.
        found: Kind,
    },
    /// A scalar has no children to set.
    #[error("cannot set `{path}`: `{at}` is {found}, expected a list or a map")]
    Scalar {
        /// The whole path.
        path: String,
        /// The part that leads to the scalar.
        at: String,
        /// What it is.
        found: Kind,
    },
    /// A filter, wildcard, slice or union without a match.
    #[error("cannot set `{path}`: it matches nothing")]
    NoMatch {
        /// The whole path.
        path: String,
    },
    /// A negative index before the start of the list.
    #[error("cannot set `{path}`: `{at}` has {length} elements, none at index {index}")]
    NoElement {
        /// The whole path.
        path: String,
        /// The list.
        at: String,
        /// How long it is.
        length: usize,
        /// The index that it does not have.
        index: i64,
    },
    /// An index that is more than [`MAX_PADDING`] beyond the end of the list.
    #[error(
        "cannot set `{path}`: `{at}` has {length} elements, and index {index} is more than {} \
         beyond its end",
        MAX_PADDING
    )]
    TooFar {
        /// The whole path.
        path: String,
        /// The list.
        at: String,
        /// How long it is.
        length: usize,
        /// The index to be set.
        index: i64,
    },
    /// A path with `..`, whose matches may be inside each other.
    #[error("cannot set `{path}`: a path with `..` can be read, not set")]
    Descendants {
        /// The whole path.
        path: String,
    },
    /// The search for the places to set was aborted.
    #[error("cannot set `{path}`: {source}")]
    TooManyMatches {
        /// The whole path.
        path: String,
        /// Why.
        source: TooManyMatches,
    },
}

impl SetError {
    /// A name for this kind of error that never changes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotMap { .. } => "set-not-map",
            Self::NotList { .. } => "set-not-list",
            Self::Scalar { .. } => "set-scalar",
            Self::NoMatch { .. } => "set-no-match",
            Self::NoElement { .. } => "set-no-element",
            Self::TooFar { .. } => "set-too-far",
            Self::Descendants { .. } => "set-descendants",
            Self::TooManyMatches { .. } => "set-too-many-matches",
        }
    }
}
