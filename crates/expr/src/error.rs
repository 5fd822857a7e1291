//! The errors of compiling and of evaluating an expression.
//!
//! Codes are stable, because scripts match on them: a code never changes its meaning.
//! Messages of evaluation errors contain types and locations, never values, which may be
//! secret.

use document::{Kind, Location, OutOfBounds};

use crate::compile::Patterns;
use crate::path_help::path_help;

/// An error of an evaluation, with its location in the spec.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct Error {
    /// The function or path that failed.
    pub at: Location,
    /// The reason.
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
        /// The type that the function takes.
        expected: &'static str,
        /// The type of the operand.
        found: Kind,
    },
    /// An operand that is null, because its path has no value.
    #[error(
        "expected {expected}, found null, which is {path}: test it with @exists, or give a default with @definedOr"
    )]
    NoValue {
        /// The type that the function takes.
        expected: &'static str,
        /// The path, as written.
        path: Box<str>,
    },
    /// A string with the wrong content, such as a number that does not parse.
    #[error("the string is not {expected}")]
    Text {
        /// What the string should contain.
        expected: &'static str,
    },
    /// A number compared with a string that is not numeric.
    #[error("cannot compare {}", incomparable(*.0, *.1))]
    Incomparable(Kind, Kind),
    /// A path yields the arguments, and there are too few or too many.
    #[error("expected {expected}, found {found}")]
    Arity {
        /// How many the function takes.
        expected: String,
        /// How many there are.
        found: usize,
    },
    /// A result that does not fit into a 64-bit integer.
    #[error("integer overflow")]
    Overflow,
    /// A division by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A result that is infinite or not a number.
    #[error("the result is not a finite number")]
    NotFinite,
    /// A time that cannot be written with a four-digit year.
    #[error("the time is outside of the years 0000 to 9999")]
    TimeRange,
    /// A range without numbers.
    #[error("the upper bound must be above the lower one")]
    EmptyRange,
    /// A limit is exceeded.
    #[error("{what} exceeds the limit of {limit}")]
    Limit {
        /// The limited quantity.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// A derived value is too large or too deep.
    #[error(transparent)]
    Bounds(#[from] OutOfBounds),
    /// The batch is aborted, see [`Interrupt`](crate::Interrupt).
    #[error("the evaluation was interrupted")]
    Interrupted,
    /// A value that is not a label selector.
    #[error("bad selector: {0}")]
    Selector(&'static str),
    /// A computed pattern that is not a regular expression.
    #[error("bad regular expression")]
    Pattern,
    /// A computed path that does not parse.
    #[error("bad path: {0}")]
    Path(String),
    /// A field that cannot be set in this document.
    #[error(transparent)]
    Set(#[from] document::path::SetError),
    /// The CEL expression failed.
    #[error(transparent)]
    Cel(#[from] CelFailure),
    /// A function of the embedding program failed.
    #[error("{0}")]
    Own(String),
}

/// The failure of a CEL expression.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("CEL: {message}")]
pub struct CelFailure {
    /// The stable code, which starts with `cel-`.
    pub code: &'static str,
    /// The message of CEL, without values.
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
            Self::Type { .. } | Self::NoValue { .. } => "type",
            Self::Text { .. } => "text",
            Self::Incomparable(..) => "incomparable",
            Self::Arity { .. } => "arity",
            Self::Overflow => "overflow",
            Self::DivisionByZero => "division-by-zero",
            Self::NotFinite => "not-finite",
            Self::TimeRange => "time-range",
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

    /// Adds the location.
    pub(crate) fn at(self, at: &Location) -> Box<Error> {
        Box::new(Error {
            at: at.clone(),
            kind: self,
        })
    }
}

/// An error in the spec of an expression, with its location.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct CompileError {
    /// The location in the spec.
    pub at: Location,
    /// The reason.
    pub kind: CompileErrorKind,
}

/// The reasons why an expression does not compile.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompileErrorKind {
    /// No function has this name.
    #[error("unknown operator {name}")]
    UnknownFunction {
        /// As written.
        name: String,
        /// The most similar name that exists.
        nearest: Option<String>,
    },
    /// A string that starts with `$` and does not parse as a path.
    #[error("bad path {path:?}: {error}")]
    Path {
        /// As written.
        path: String,
        /// The parse error.
        error: document::path::PathError,
    },
    /// Too few or too many arguments.
    #[error("{function} takes {expected}, found {found}")]
    Arity {
        /// The function.
        function: String,
        /// How many it takes.
        expected: String,
        /// How many are written.
        found: usize,
        /// How the function is written; empty for one of the embedding program.
        signature: &'static str,
    },
    /// `$$` where there is no item.
    #[error("`$$` is only defined inside @map, @filter, @any, @all, @none and @sortBy")]
    ItemOutOfScope,
    /// `"$"` as the key of a map.
    #[error("\"$\" cannot be set; to copy all keys of a map use \"$.\"")]
    RootSetter,
    /// A setter that fails on every document.
    #[error("cannot set {path:?}: {message}")]
    Setter {
        /// As written.
        path: String,
        /// The reason.
        message: String,
    },
    /// An argument that the function does not take.
    #[error("{function} takes {expected}")]
    Form {
        /// The function.
        function: String,
        /// What it takes.
        expected: &'static str,
    },
    /// A bad regular expression.
    #[error("bad regular expression: {0}")]
    Pattern(String),
    /// More regular expressions than a spec may contain.
    #[error("more than {} regular expressions", Patterns::MOST)]
    TooManyPatterns,
    /// A CEL expression that cannot be compiled.
    #[error("CEL: {0}")]
    Cel(cel_interpreter::CompileError),
}

impl CompileError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self.kind {
            CompileErrorKind::UnknownFunction { .. } => "unknown-operator",
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

    /// The offset of the mistake, in bytes, inside the string at the location.
    pub fn inside(&self) -> Option<usize> {
        match &self.kind {
            CompileErrorKind::Cel(error) => error.offset(),
            // The whole path is short enough to be marked.
            CompileErrorKind::Path { .. }
            | CompileErrorKind::UnknownFunction { .. }
            | CompileErrorKind::Arity { .. }
            | CompileErrorKind::ItemOutOfScope
            | CompileErrorKind::RootSetter
            | CompileErrorKind::Setter { .. }
            | CompileErrorKind::Form { .. }
            | CompileErrorKind::Pattern(_)
            | CompileErrorKind::TooManyPatterns => None,
        }
    }

    /// A suggestion how to fix it, if there is one.
    pub fn help(&self) -> Option<String> {
        match &self.kind {
            CompileErrorKind::UnknownFunction { name, .. } if name == "@now" => {
                Some("`\"@now\"` is a string, without an argument".to_owned())
            }
            CompileErrorKind::UnknownFunction { name, .. } if name == "@quantity" => Some(
                r#"quantities are in CEL: {"@cel": "quantity(string(spec.cpu)).asApproximateFloat()"}"#
                    .to_owned(),
            ),
            CompileErrorKind::UnknownFunction {
                nearest: Some(nearest),
                ..
            } => Some(format!("did you mean {nearest}?")),
            CompileErrorKind::UnknownFunction { .. } => Some(
                "a map with one key that starts with `@` is an operator; use @literal or @dict for data"
                    .to_owned(),
            ),
            CompileErrorKind::Path { path, .. } => path_help(path),
            CompileErrorKind::Arity { signature, .. } => {
                (!signature.is_empty()).then(|| format!("it is written {signature}"))
            }
            CompileErrorKind::ItemOutOfScope => Some(
                r#"the expression comes first, then the list: {"@map": ["$$.name", "$.list"]}"#
                    .to_owned(),
            ),
            CompileErrorKind::RootSetter
            | CompileErrorKind::Setter { .. }
            | CompileErrorKind::Form { .. }
            | CompileErrorKind::Pattern(_)
            | CompileErrorKind::TooManyPatterns
            | CompileErrorKind::Cel(_) => None,
        }
    }
}

/// The operands of a comparison of which exactly one is a number or a numeric string.
fn incomparable(a: Kind, b: Kind) -> String {
    let text = "a string that is not a number";
    match (a, b) {
        (Kind::Str, Kind::Str) => format!("a string that is a number with {text}"),
        (other, Kind::Str) => format!("{other} with {text}"),
        (Kind::Str, other) => format!("{text} with {other}"),
        (a, b) => format!("{a} with {b}"),
    }
}
