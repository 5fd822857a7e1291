//! What can go wrong at run time, and whose error it is.

use document::{Kind, Location, OutOfBounds};

use crate::origin::Origin;

/// An error of one origin at one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct RunError {
    /// The branch, by position.
    pub branch: usize,
    /// The stage of the branch, by position; the number of stages for the check of the
    /// output and for conflicts.
    pub stage: usize,
    /// Which objects (and list positions) it is about.
    pub origin: Origin,
    /// What happened.
    pub failure: Failure,
}

/// The reasons why a stage fails on a document.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Failure {
    /// An expression failed.
    #[error(transparent)]
    Expression(#[from] Box<expr::Error>),
    /// A patch failed.
    #[error(transparent)]
    Patch(#[from] Box<patch::Error>),
    /// There is nothing to patch.
    #[error("there is nothing at {path} to patch")]
    NoPlace {
        /// The path.
        path: String,
        /// Where the stage stands.
        at: Location,
    },
    /// A condition that is neither true nor false.
    #[error("expected a boolean, found {found}")]
    Condition {
        /// What it gave.
        found: Kind,
        /// Where the condition stands.
        at: Location,
    },
    /// `@project` or `@patch` gave something that is no object.
    #[error("expected an object, found {found}")]
    NoObject {
        /// What it gave.
        found: Kind,
        /// Where the stage stands.
        at: Location,
    },
    /// `@unwind` found something that is no list.
    #[error("expected a list at {path}, found {found}")]
    NoList {
        /// The path.
        path: String,
        /// What is there.
        found: Kind,
        /// Where the stage stands.
        at: Location,
    },
    /// `@unwind` of a document without a name.
    #[error("a document needs a metadata.name to be unwound")]
    NoNameToUnwind {
        /// Where the stage stands.
        at: Location,
    },
    /// The output's metadata is not what an object needs.
    #[error("{problem}")]
    Output {
        /// What is wrong.
        problem: OutputProblem,
        /// Where the branch stands.
        at: Location,
    },
    /// What a stage makes is larger than it may be.
    #[error("{problem}")]
    Bounds {
        /// In which way.
        problem: OutOfBounds,
        /// Where the stage stands.
        at: Location,
    },
    /// The document of a group is larger than it may be.
    #[error("{problem}")]
    GroupBounds {
        /// In which way.
        problem: OutOfBounds,
        /// Where the stage stands.
        at: Location,
    },
    /// Two origins yield the same target key.
    #[error("{key} is also yielded by another origin, which comes first and is written")]
    Conflict {
        /// The key of the target.
        key: String,
        /// The origin that is written.
        winner: Origin,
        /// Where the branch stands.
        at: Location,
    },
}

/// What can be wrong with the metadata of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputProblem {
    /// No map.
    #[error("the output must be an object, found {0}")]
    NoObject(Kind),
    /// No metadata.
    #[error("the output needs metadata, found {0}")]
    NoMetadata(Kind),
    /// No name.
    #[error("the output's metadata.name must be a string, found {0}")]
    NoName(Kind),
    /// An empty name.
    #[error("the output's metadata.name is empty")]
    EmptyName,
    /// A namespace that is no string.
    #[error("the output's metadata.namespace must be a string, found {0}")]
    Namespace(Kind),
}

impl Failure {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Expression(error) => error.code(),
            Self::Patch(error) => error.code(),
            Self::NoPlace { .. } => "patch-no-place",
            Self::Condition { .. } => "type",
            Self::NoObject { .. } => "no-object",
            Self::NoList { .. } => "no-list",
            Self::NoNameToUnwind { .. } => "unwind-without-name",
            Self::Output { problem, .. } => match problem {
                OutputProblem::NoObject(_) => "output-no-object",
                OutputProblem::NoMetadata(_) => "output-no-metadata",
                OutputProblem::NoName(_) | OutputProblem::EmptyName => "output-no-name",
                OutputProblem::Namespace(_) => "output-bad-namespace",
            },
            Self::Bounds { problem, .. } | Self::GroupBounds { problem, .. } => problem.code(),
            Self::Conflict { .. } => "conflict",
        }
    }

    /// Where in the spec it happened.
    pub fn at(&self) -> &Location {
        match self {
            Self::Expression(error) => &error.at,
            Self::Patch(error) => &error.at,
            Self::NoPlace { at, .. }
            | Self::Condition { at, .. }
            | Self::NoObject { at, .. }
            | Self::NoList { at, .. }
            | Self::NoNameToUnwind { at }
            | Self::Output { at, .. }
            | Self::Bounds { at, .. }
            | Self::GroupBounds { at, .. }
            | Self::Conflict { at, .. } => at,
        }
    }
}
