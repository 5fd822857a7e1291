//! What can go wrong: when a patch is read, and when it is applied.
//!
//! Codes are stable. Messages of run-time errors hold expressions and paths as they were
//! written, types and codes, never values of documents.

use cel_interpreter::EvalError;
use document::patch::{Cause, Pointer, ReadCause};
use document::{Kind, Location, OutOfBounds};

/// A patch that cannot be read, with its place.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct CompileError {
    /// Where it stands.
    pub at: Location,
    /// What is wrong.
    pub kind: CompileErrorKind,
}

/// The reasons why a patch is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompileErrorKind {
    /// An expression that is no CEL.
    #[error("CEL `{}`: {error}", shown(expression))]
    Cel {
        /// As written.
        expression: String,
        /// What is wrong with it.
        error: cel_interpreter::CompileError,
    },
    /// Text around the expression of a condition or a list.
    #[error("expected one expression, alone or as one whole `${{…}}`, found text around it")]
    TextAround,
    /// An expression in a place of a path where no value can stand.
    #[error(
        "in brackets an expression can be a whole position, `[${{…}}]`, or stand inside the quotes of a filter"
    )]
    ExpressionInBrackets,
    /// An operation that is none.
    #[error(transparent)]
    Operation(#[from] ReadCause),
    /// A field of the wrong type.
    #[error("expected {expected}, found {found}")]
    Field {
        /// What it takes.
        expected: &'static str,
        /// What stands there.
        found: Kind,
    },
    /// A field that must be there.
    #[error("the field {0} is missing")]
    Missing(&'static str),
    /// A field that does not exist.
    #[error("unknown field {name}")]
    UnknownField {
        /// As written.
        name: String,
        /// The nearest name that exists.
        nearest: Option<&'static str>,
        /// All names that exist here.
        known: Vec<&'static str>,
    },
    /// A name for the loop variable that CEL cannot read, or that is taken.
    #[error("{0:?} cannot be a variable: expected an identifier other than `resource`")]
    Variable(String),
    /// `var` without `forEach`.
    #[error("var names the items of forEach, which is missing")]
    VariableAlone,
    /// An expression where only plain text is taken.
    #[error("an expression cannot stand here, expected plain text")]
    NoExpression,
}

impl CompileError {
    pub(crate) fn new(at: &Location, kind: impl Into<CompileErrorKind>) -> Self {
        Self {
            at: at.clone(),
            kind: kind.into(),
        }
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match &self.kind {
            CompileErrorKind::Cel { .. } => "bad-cel",
            CompileErrorKind::TextAround | CompileErrorKind::NoExpression => "bad-template",
            CompileErrorKind::ExpressionInBrackets => "patch-path",
            CompileErrorKind::Operation(cause) => cause.code(),
            CompileErrorKind::UnknownField { .. } => "unknown-field",
            CompileErrorKind::Field { .. }
            | CompileErrorKind::Missing(_)
            | CompileErrorKind::Variable(_)
            | CompileErrorKind::VariableAlone => "bad-field",
        }
    }

    /// Whether the key at the place is meant, not its value.
    pub fn at_key(&self) -> bool {
        matches!(self.kind, CompileErrorKind::UnknownField { .. })
    }

    /// What to do about it, where there is something to suggest.
    pub fn help(&self) -> Option<String> {
        match &self.kind {
            CompileErrorKind::UnknownField {
                nearest: Some(nearest),
                ..
            } => Some(format!("did you mean {nearest}?")),
            CompileErrorKind::UnknownField { known, .. } => {
                Some(format!("the fields here are {}", known.join(", ")))
            }
            CompileErrorKind::NoExpression => {
                Some("`where` picks objects by an expression".to_owned())
            }
            CompileErrorKind::Cel { .. } => {
                Some("`${…}` is CEL; to write `${` as it is, use `$${`".to_owned())
            }
            _ => None,
        }
    }
}

/// A patch that failed on a document, with the place in the patch.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}{}", of_item(*.item))]
pub struct Error {
    /// The expression or operation that failed.
    pub at: Location,
    /// What happened.
    pub kind: ErrorKind,
    /// In which item of `forEach`, from 0.
    pub item: Option<usize>,
}

/// The reasons why a patch fails.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ErrorKind {
    /// An expression failed.
    #[error("CEL `{}`: {error}", shown(expression))]
    Cel {
        /// As written.
        expression: String,
        /// Why.
        error: EvalError,
    },
    /// A value that has no string form, inside a text.
    #[error(
        "CEL `{}` stands inside a text: expected a value with a string form, found {found}",
        shown(expression)
    )]
    Text {
        /// As written.
        expression: String,
        /// What it gave.
        found: Kind,
    },
    /// A value that cannot be a part of a path.
    #[error(
        "CEL `{}` stands in a path: expected {expected}, found {found}",
        shown(expression)
    )]
    PathValue {
        /// As written.
        expression: String,
        /// What can stand there.
        expected: &'static str,
        /// What it gave.
        found: Kind,
    },
    /// A computed path that is none: where it is wrong, not what it is.
    #[error("the computed path is wrong at character {character}")]
    Path {
        /// The place in the path, from 1.
        character: usize,
    },
    /// A computed path whose values make another path of it.
    #[error("an empty value leaves a part of the path out")]
    PathShape,
    /// A condition that is neither true nor false.
    #[error("CEL `{}`: expected a boolean, found {found}", shown(expression))]
    Condition {
        /// As written.
        expression: String,
        /// What it gave.
        found: Kind,
    },
    /// `forEach` over something that has no items.
    #[error(
        "CEL `{}`: expected a list, a map or null, found {found}",
        shown(expression)
    )]
    ForEach {
        /// As written.
        expression: String,
        /// What it gave.
        found: Kind,
    },
    /// An operation that cannot be done.
    #[error("{op} at `{path}`: {cause}{}", of_pointer(pointer.as_ref(), path))]
    Operation {
        /// Its name.
        op: &'static str,
        /// The path as it was written, expressions included.
        path: String,
        /// The place in the document; not known of a computed path, which holds values.
        pointer: Option<Pointer>,
        /// Why.
        cause: Cause,
    },
    /// The document, or what an expression gives, is larger than it may be.
    #[error(transparent)]
    Bounds(OutOfBounds),
    /// The batch is given up.
    #[error("the patch was interrupted")]
    Interrupted,
    /// More than a bound allows.
    #[error("{what} exceeds the limit of {limit}")]
    Limit {
        /// What was too much.
        what: &'static str,
        /// How much is allowed.
        limit: u64,
    },
}

impl Error {
    pub(crate) fn new(at: &Location, kind: ErrorKind) -> Box<Self> {
        Box::new(Self {
            at: at.clone(),
            kind,
            item: None,
        })
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match &self.kind {
            ErrorKind::Cel { error, .. } => error.code(),
            ErrorKind::Text { .. } | ErrorKind::Condition { .. } | ErrorKind::ForEach { .. } => {
                "type"
            }
            ErrorKind::PathValue { .. } | ErrorKind::Path { .. } | ErrorKind::PathShape => {
                "patch-path"
            }
            ErrorKind::Operation { cause, .. } => cause.code(),
            ErrorKind::Bounds(error) => error.code(),
            ErrorKind::Interrupted => "interrupted",
            ErrorKind::Limit { .. } => "limit",
        }
    }
}

fn of_item(item: Option<usize>) -> String {
    item.map_or_else(String::new, |item| format!(", for item {item} of forEach"))
}

/// The concrete place, where it says more than the path.
fn of_pointer(pointer: Option<&Pointer>, path: &str) -> String {
    match pointer.map(ToString::to_string) {
        Some(pointer) if pointer != path => format!(" (at `{pointer}`)"),
        _ => String::new(),
    }
}

/// How much of an expression a message shows.
const SHOWN: usize = 120;

/// The beginning of an expression on one line.
fn shown(expression: &str) -> String {
    let mut line: String = expression
        .chars()
        .take(SHOWN)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if line.len() < expression.len() {
        line.push('…');
    }
    line
}
