//! Errors of reading a patch, and of applying it.
//!
//! Codes are stable. Messages of run-time errors contain types, codes, and expressions and paths
//! as written, but never values of documents.

use cel_interpreter::EvalError;
use document::patch::{Cause, PatchPath, Pointer, ReadCause};
use document::path::Segment;
use document::{Kind, Location, OutOfBounds};

/// An error in a patch, with its location.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct CompileError {
    /// The location in the patch.
    pub at: Location,
    /// What is wrong.
    pub kind: CompileErrorKind,
}

/// The reasons why a patch is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompileErrorKind {
    /// An expression that is not CEL.
    #[error("CEL `{}`: {error}", shown(expression))]
    Cel {
        /// As written.
        expression: String,
        /// Where it starts in the string at the location, in bytes.
        start: usize,
        /// What is wrong with it.
        error: cel_interpreter::CompileError,
    },
    /// Text around the expression of `where` or `forEach`.
    #[error("expected one expression, alone or as one whole `${{…}}`, found text around it")]
    TextAround,
    /// An expression at a position of a path that allows none.
    #[error(
        "in brackets an expression can be a whole position, `[${{…}}]`, or be inside the quotes of a filter"
    )]
    ExpressionInBrackets,
    /// An invalid operation.
    #[error(transparent)]
    Operation(#[from] ReadCause),
    /// A field of the wrong type.
    #[error("expected {expected}, found {found}")]
    Field {
        /// The expected type.
        expected: &'static str,
        /// The type that was found.
        found: Kind,
    },
    /// A required field is missing.
    #[error("the field {0} is missing")]
    Missing(&'static str),
    /// An unknown field.
    #[error("unknown field {name}")]
    UnknownField {
        /// As written.
        name: String,
        /// The nearest name that exists.
        nearest: Option<&'static str>,
        /// All names that exist here.
        known: Vec<&'static str>,
    },
    /// A name that cannot be the loop variable: it is not a CEL identifier, or is reserved.
    #[error("{0:?} cannot be a variable: expected an identifier other than `resource` and `now`")]
    Variable(String),
    /// `var` without `forEach`.
    #[error("var names the items of forEach, which is missing")]
    VariableAlone,
    /// An expression where only plain text is allowed.
    #[error("found an expression, expected plain text")]
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

    /// The offset of the mistake, in bytes, inside the string at the location.
    pub fn inside(&self) -> Option<usize> {
        match &self.kind {
            CompileErrorKind::Cel { start, error, .. } => Some(start + error.offset()?),
            _ => None,
        }
    }

    /// Whether the error is about the key at the location, not about its value.
    pub fn at_key(&self) -> bool {
        matches!(self.kind, CompileErrorKind::UnknownField { .. })
    }

    /// A suggestion, if there is one.
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
            CompileErrorKind::Operation(ReadCause::Path { text, .. }) => {
                Some(format!("did you mean {}?", meant_path(text)?))
            }
            CompileErrorKind::Cel { .. } => {
                Some("`${…}` is CEL; to write `${` as it is, use `$${`".to_owned())
            }
            _ => None,
        }
    }
}

/// A patch that failed on a document, with the location in the patch.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}{}", of_item(*.item))]
pub struct Error {
    /// The location of the expression or operation that failed.
    pub at: Location,
    /// What happened.
    pub kind: ErrorKind,
    /// The item of `forEach`, from 0.
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
    /// A value inside a text has no string form.
    #[error(
        "CEL `{}` is inside a text: expected a value with a string form, found {found}",
        shown(expression)
    )]
    Text {
        /// As written.
        expression: String,
        /// The type of its value.
        found: Kind,
    },
    /// A value that cannot be a part of a path.
    #[error(
        "CEL `{}` is in a path: expected {expected}, found {found}",
        shown(expression)
    )]
    PathValue {
        /// As written.
        expression: String,
        /// What is allowed there.
        expected: &'static str,
        /// The type of its value.
        found: Kind,
    },
    /// A computed path is invalid. The path itself is not shown, because it contains values.
    #[error("the computed path is wrong at character {character}")]
    Path {
        /// The position in the path, from 1.
        character: usize,
    },
    /// An empty value changed the number of segments of a computed path.
    #[error("an empty value leaves a part of the path out")]
    PathShape,
    /// A condition that is neither true nor false.
    #[error("CEL `{}`: expected a boolean, found {found}", shown(expression))]
    Condition {
        /// As written.
        expression: String,
        /// The type of its value.
        found: Kind,
    },
    /// The value of `forEach` has no items.
    #[error(
        "CEL `{}`: expected a list, a map or null, found {found}",
        shown(expression)
    )]
    ForEach {
        /// As written.
        expression: String,
        /// The type of its value.
        found: Kind,
    },
    /// An operation failed.
    #[error(
        "{op} at `{path}`: {cause}{}{}",
        of_pointer(pointer.as_ref(), path),
        where_it_exists(op, *cause, path)
    )]
    Operation {
        /// Its name.
        op: &'static str,
        /// The path as written, with its expressions.
        path: String,
        /// The place in the document; not shown for a computed path, which contains values.
        pointer: Option<Pointer>,
        /// Why.
        cause: Cause,
    },
    /// The document, or the value of an expression, is out of bounds.
    #[error(transparent)]
    Bounds(OutOfBounds),
    /// The application was aborted.
    #[error("the patch was interrupted")]
    Interrupted,
    /// A limit was exceeded.
    #[error("{what} exceeds the limit of {limit}")]
    Limit {
        /// What exceeded it.
        what: &'static str,
        /// The limit.
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

/// The concrete place, if it says more than the path.
fn of_pointer(pointer: Option<&Pointer>, path: &str) -> String {
    match pointer.map(ToString::to_string) {
        Some(pointer) if pointer != path => format!(" (at `{pointer}`)"),
        _ => String::new(),
    }
}

/// How to remove a value only where there is one.
fn where_it_exists(op: &str, cause: Cause, path: &str) -> String {
    let condition = (op == "remove" && cause == Cause::NotFound).then(|| existence(path));
    condition.flatten().map_or_else(String::new, |condition| {
        format!("; `where: {condition}` skips objects without it")
    })
}

/// The condition that there is a value at a path of keys.
fn existence(path: &str) -> Option<String> {
    let keys = path.strip_prefix('/')?.split('/');
    let keys = keys.map(|key| key.replace("~1", "/").replace("~0", "~"));
    let keys: Vec<String> = keys.collect();
    let is_key = |key: &String| !key.is_empty() && !key.contains(['[', ']', '$', '\'', '\\', '~']);
    if !keys.iter().all(is_key) {
        return None;
    }
    match keys.as_slice() {
        [one] if is_identifier(one) => Some(format!("has(resource.{one})")),
        [one, two] if is_identifier(one) && is_identifier(two) => {
            Some(format!("has(resource.{one}.{two})"))
        }
        keys => {
            let steps = keys.iter().map(|key| {
                if is_identifier(key) {
                    format!(".?{key}")
                } else {
                    format!("[?'{key}']")
                }
            });
            let steps: String = steps.collect();
            Some(format!("resource{steps}.hasValue()"))
        }
    }
}

fn is_identifier(key: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    key.chars().all(word) && !key.starts_with(|c: char| c.is_ascii_digit())
}

/// The path that is probably meant by a text without a slash at its start: `$.spec.replicas`,
/// `spec.replicas` or `spec/replicas`.
fn meant_path(text: &str) -> Option<String> {
    let meant = if text.starts_with('$') {
        as_patch_path(text)?
    } else if text.contains('/') {
        format!("/{text}")
    } else {
        as_patch_path(&format!("$.{text}"))?
    };
    let valid = !text.starts_with('/') && PatchPath::parse(&meant).is_ok();
    valid.then_some(meant)
}

/// A path of names and positions in the notation of a patch.
fn as_patch_path(text: &str) -> Option<String> {
    let path = document::Path::parse(text).ok()?;
    let mut found = String::new();
    for segment in path.segments() {
        match segment {
            Segment::Name(name) => {
                let name = name.as_str().replace('~', "~0").replace('/', "~1");
                found = format!("{found}/{}", name.replace('[', "~2").replace(']', "~3"));
            }
            Segment::Index(index) => found = format!("{found}[{index}]"),
            Segment::Several(_) | Segment::Descendants(_) => return None,
        }
    }
    Some(found)
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
