//! The errors of stages at run time. An error belongs to one origin at one stage.

use document::{Kind, Location, OutOfBounds};

use object::Misplaced;

use crate::origin::Origin;

/// An error of one origin at one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct RunError {
    /// The branch, by position.
    pub branch: usize,
    /// The stage of the branch, by position; the number of stages for the check of the
    /// output and for conflicts.
    pub stage: usize,
    /// The document on which the stage failed.
    pub origin: Origin,
    /// The reason.
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
        /// The location of the stage.
        at: Location,
    },
    /// A condition that is neither true nor false.
    #[error("expected a boolean, found {found}")]
    Condition {
        /// The type of the result.
        found: Kind,
        /// The location of the condition.
        at: Location,
    },
    /// The result of `@project` or `@patch` is not a map.
    #[error("expected an object, found {found}")]
    NoObject {
        /// The type of the result.
        found: Kind,
        /// The location of the stage.
        at: Location,
    },
    /// `@unwind` found a value that is not a list.
    #[error("expected a list at {path}, found {found}")]
    NoList {
        /// The path.
        path: String,
        /// The type of the value.
        found: Kind,
        /// The location of the stage.
        at: Location,
    },
    /// `@unwind` of a document without a name.
    #[error("a document needs a metadata.name to be unwound")]
    NoNameToUnwind {
        /// The location of the stage.
        at: Location,
    },
    /// The metadata of the output is not that of an object.
    #[error("{problem}")]
    Output {
        /// The reason.
        problem: OutputProblem,
        /// The location of the branch.
        at: Location,
    },
    /// The result of a stage is too large or too deep.
    #[error("{problem}")]
    Bounds {
        /// The exceeded bound.
        problem: OutOfBounds,
        /// The location of the stage.
        at: Location,
    },
    /// The document of a group is too large or too deep.
    #[error("{problem}")]
    GroupBounds {
        /// The exceeded bound.
        problem: OutOfBounds,
        /// The location of the stage.
        at: Location,
    },
    /// Two origins yield the same target key.
    #[error("{key} is also yielded by another origin, which comes first and is written")]
    Conflict {
        /// The name of the target object.
        key: String,
        /// The origin of the document that is written.
        winner: Origin,
        /// The location of the branch.
        at: Location,
    },
}

/// The reasons why an output is not an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputProblem {
    /// It is not a map.
    #[error("the output must be an object, found {0}")]
    NoObject(Kind),
    /// `metadata` is not a map.
    #[error("the output needs metadata, found {0}")]
    NoMetadata(Kind),
    /// `metadata.name` is not a string.
    #[error("the output's metadata.name must be a string, found {0}")]
    NoName(Kind),
    /// `metadata.name` is empty.
    #[error("the output's metadata.name is empty")]
    EmptyName,
    /// `metadata.namespace` is not a string.
    #[error("the output's metadata.namespace must be a string, found {0}")]
    Namespace(Kind),
    /// The object cannot be where it is derived.
    #[error(transparent)]
    Misplaced(#[from] Misplaced),
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
                OutputProblem::Misplaced(why) => why.code(),
            },
            Self::Bounds { problem, .. } | Self::GroupBounds { problem, .. } => problem.code(),
            Self::Conflict { .. } => "conflict",
        }
    }

    /// Whether an output cannot be where it is derived. That is an error of the last stage, which
    /// hides nothing that is derived from other origins.
    pub fn is_misplaced(&self) -> bool {
        let Self::Output { problem, .. } = self else {
            return false;
        };
        matches!(problem, OutputProblem::Misplaced(_))
    }

    /// The location in the spec.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::output_key;

    #[test]
    fn the_page_of_errors_has_the_message_of_an_output_that_is_no_object() {
        let failure = output_key(None, &Location::root(), &document::Value::from("text"));
        let failure = failure.expect_err("a text is no object");
        cases::documented(failure.code(), &failure.to_string());
    }

    #[test]
    fn the_page_of_errors_has_the_message_of_a_step_that_takes_too_long() {
        let time = crate::BudgetError::Time;
        cases::documented(time.code(), &time.to_string());
    }
}
