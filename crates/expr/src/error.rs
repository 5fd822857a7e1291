//! What can go wrong: when an expression is compiled, and when it is evaluated.
//!
//! Codes are stable: scripts match on them, so a code is never given another meaning.
//! Messages of run-time errors name types and places, never values, which may be secret.

use document::{Kind, Location, OutOfBounds};

use crate::compile::Patterns;

/// An evaluation that failed, with its place in the spec.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct Error {
    /// The operator or path that failed.
    pub at: Location,
    /// What happened.
    pub kind: ErrorKind,
}

impl Error {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }
}

/// The reasons why an evaluation fails.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ErrorKind {
    /// An operand of the wrong type.
    #[error("expected {expected}, found {found}")]
    Type {
        /// What the operator takes.
        expected: &'static str,
        /// What it got.
        found: Kind,
    },
    /// A string that does not spell what it should.
    #[error("expected {expected}, found a string that is none")]
    Text {
        /// What the string should spell.
        expected: &'static str,
    },
    /// A number compared with a string that is none.
    #[error("cannot compare {0} with {1}")]
    Incomparable(Kind, Kind),
    /// The arguments came from a path, and there are too few or too many.
    #[error("expected {expected} arguments, found {found}")]
    Arity {
        /// How many the operator takes.
        expected: String,
        /// How many there are.
        found: usize,
    },
    /// A result that no 64-bit integer holds.
    #[error("integer overflow")]
    Overflow,
    /// A division by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A result that is infinite or no number.
    #[error("the result is not a finite number")]
    NotFinite,
    /// A range with no number in it.
    #[error("the upper bound must be above the lower one")]
    EmptyRange,
    /// More than a bound allows.
    #[error("{what} exceeds the limit of {limit}")]
    Limit {
        /// What was too much.
        what: &'static str,
        /// How much is allowed.
        limit: u64,
    },
    /// A value that is larger than what is derived may be.
    #[error(transparent)]
    Bounds(#[from] OutOfBounds),
    /// The batch is given up, see [`Interrupt`](crate::Interrupt).
    #[error("the evaluation was interrupted")]
    Interrupted,
    /// A label selector that is none.
    #[error("bad selector: {0}")]
    Selector(&'static str),
    /// A computed pattern that is no regular expression.
    #[error("bad regular expression")]
    Pattern,
    /// A computed path that is none.
    #[error("bad path: {0}")]
    Path(String),
    /// A setter that could not set.
    #[error(transparent)]
    Set(#[from] document::path::SetError),
    /// The CEL expression failed.
    #[error(transparent)]
    Cel(#[from] CelFailure),
    /// An operator of the embedding program failed.
    #[error("{0}")]
    Own(String),
}

/// The failure of a CEL expression.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("CEL: {message}")]
pub struct CelFailure {
    /// The stable code, which starts with `cel-`.
    pub code: &'static str,
    /// What CEL says, without values.
    pub message: String,
}

impl From<cel_interpreter::EvalError> for ErrorKind {
    fn from(error: cel_interpreter::EvalError) -> Self {
        Self::Cel(CelFailure {
            code: error.code(),
            message: error.to_string(),
        })
    }
}

impl ErrorKind {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Type { .. } => "type",
            Self::Text { .. } => "text",
            Self::Incomparable(..) => "incomparable",
            Self::Arity { .. } => "arity",
            Self::Overflow => "overflow",
            Self::DivisionByZero => "division-by-zero",
            Self::NotFinite => "not-finite",
            Self::EmptyRange => "empty-range",
            Self::Limit { .. } => "limit",
            Self::Bounds(error) => error.code(),
            Self::Interrupted => "interrupted",
            Self::Selector(_) => "selector",
            Self::Pattern => "pattern",
            Self::Path(_) => "path",
            Self::Set(error) => error.code(),
            Self::Cel(failure) => failure.code,
            Self::Own(_) => "own",
        }
    }

    /// This error at a place.
    pub(crate) fn at(self, at: &Location) -> Box<Error> {
        Box::new(Error {
            at: at.clone(),
            kind: self,
        })
    }
}

/// An expression that cannot be compiled, with its place in the spec.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct CompileError {
    /// Where it stands.
    pub at: Location,
    /// What is wrong.
    pub kind: CompileErrorKind,
}

/// The reasons why an expression is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompileErrorKind {
    /// No such operator.
    #[error("unknown operator {name}")]
    UnknownOperator {
        /// As written.
        name: String,
        /// The nearest name that exists.
        nearest: Option<String>,
    },
    /// A string that starts with `$` and is no path.
    #[error("bad path {path:?}: {message}")]
    Path {
        /// As written.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// Too few or too many arguments.
    #[error("{operator} takes {expected}, found {found}")]
    Arity {
        /// The operator.
        operator: String,
        /// How many it takes.
        expected: String,
        /// How many are written.
        found: usize,
    },
    /// `$$` where there is no item.
    #[error("`$$` is only known inside @map, @filter, @any, @all, @none and @sortBy")]
    ItemOutOfScope,
    /// `"$"` as the key of a map.
    #[error("\"$\" cannot be set; to copy all keys of a map use \"$.\"")]
    RootSetter,
    /// A setter that no document could satisfy.
    #[error("cannot set {path:?}: {message}")]
    Setter {
        /// As written.
        path: String,
        /// Why not.
        message: String,
    },
    /// An argument of a form that the operator does not take.
    #[error("{operator} takes {expected}")]
    Form {
        /// The operator.
        operator: String,
        /// What it takes.
        expected: &'static str,
    },
    /// A bad regular expression.
    #[error("bad regular expression: {0}")]
    Pattern(String),
    /// More regular expressions than a spec may have.
    #[error("more than {} regular expressions", Patterns::MOST)]
    TooManyPatterns,
    /// A CEL expression that cannot be compiled.
    #[error("CEL: {0}")]
    Cel(String),
}

impl CompileError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self.kind {
            CompileErrorKind::UnknownOperator { .. } => "unknown-operator",
            CompileErrorKind::Path { .. } => "bad-path",
            CompileErrorKind::Arity { .. } => "bad-arity",
            CompileErrorKind::ItemOutOfScope => "item-out-of-scope",
            CompileErrorKind::RootSetter => "root-setter",
            CompileErrorKind::Setter { .. } => "bad-setter",
            CompileErrorKind::Form { .. } => "bad-argument",
            CompileErrorKind::Pattern(_) => "bad-pattern",
            CompileErrorKind::TooManyPatterns => "too-many-patterns",
            CompileErrorKind::Cel(_) => "bad-cel",
        }
    }

    /// What to do about it, where there is something to suggest.
    pub fn help(&self) -> Option<String> {
        match &self.kind {
            CompileErrorKind::UnknownOperator {
                nearest: Some(nearest),
                ..
            } => Some(format!("did you mean {nearest}?")),
            CompileErrorKind::UnknownOperator { .. } => Some(
                "a map with one key that starts with `@` is an operator; use @literal or @dict for data"
                    .to_owned(),
            ),
            CompileErrorKind::Path { .. }
            | CompileErrorKind::Arity { .. }
            | CompileErrorKind::ItemOutOfScope
            | CompileErrorKind::RootSetter
            | CompileErrorKind::Setter { .. }
            | CompileErrorKind::Form { .. }
            | CompileErrorKind::Pattern(_)
            | CompileErrorKind::TooManyPatterns
            | CompileErrorKind::Cel(_) => None,
        }
    }
}
