//! Errors of compiling an expression, and of evaluating it.

use crate::parser::{MAX_DEPTH, MAX_LENGTH, MAX_NESTING};

/// An expression that cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The text is not CEL.
    #[error("syntax error at line {line}, column {column}: {message}")]
    Syntax {
        /// What was expected and found.
        message: String,
        /// The offset in the text, in bytes.
        offset: usize,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
    },
    /// The text is longer than [`MAX_LENGTH`].
    #[error("the expression has {found} bytes, at most {MAX_LENGTH} are allowed")]
    TooLong {
        /// Its length in bytes.
        found: usize,
    },
    /// More than [`MAX_NESTING`] brackets inside each other, or more than [`MAX_DEPTH`]
    /// operators in a row.
    #[error(
        "the expression is nested too deep: at most {MAX_NESTING} brackets inside each other and {MAX_DEPTH} operators in a row are allowed"
    )]
    TooDeep,
    /// A function that does not exist.
    #[error("unknown function `{name}`{}", suggestion(*.nearest))]
    UnknownFunction {
        /// The name as written.
        name: String,
        /// A function with a similar name.
        nearest: Option<&'static str>,
        /// The offset of the name in the text, in bytes.
        offset: usize,
    },
    /// A function with too few or too many arguments, or a method called as a function.
    #[error("`{name}` takes {expected}, found {found}")]
    Arguments {
        /// The function.
        name: &'static str,
        /// What it takes.
        expected: String,
        /// How it is called.
        found: String,
        /// The offset of the name in the text, in bytes.
        offset: usize,
    },
    /// A literal regular expression that is invalid or too large.
    #[error("`{function}`: {reason}")]
    Pattern {
        /// The function that takes it.
        function: &'static str,
        /// What is wrong with it.
        reason: String,
        /// The offset of the function's name in the text, in bytes.
        offset: usize,
    },
    /// A feature of CEL that makes no sense for documents.
    #[error("{0} are not supported")]
    Unsupported(&'static str),
}

impl CompileError {
    /// A stable code, in kebab case.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "cel-syntax",
            Self::TooLong { .. } => "cel-too-long",
            Self::TooDeep => "cel-too-deep",
            Self::UnknownFunction { .. } => "cel-unknown-function",
            Self::Arguments { .. } => "cel-arguments",
            Self::Pattern { .. } => "cel-pattern",
            Self::Unsupported(_) => "cel-unsupported",
        }
    }

    /// The offset in the text, in bytes, if the error is about one place.
    pub fn offset(&self) -> Option<usize> {
        match self {
            Self::Syntax { offset, .. }
            | Self::UnknownFunction { offset, .. }
            | Self::Arguments { offset, .. }
            | Self::Pattern { offset, .. } => Some(*offset),
            Self::TooLong { .. } | Self::TooDeep | Self::Unsupported(_) => None,
        }
    }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(", did you mean `{name}`?"))
}

/// How to convert operands that a function cannot take, if there is a way.
fn conversion(operation: &str, found: &str) -> &'static str {
    match operation {
        "quantity" if matches!(found, "int" | "double" | "uint") => ": convert it with string(…)",
        "+" | "-" if found.contains(QUANTITY) => {
            ": q.add(r) and q.sub(r) are exact, and .asApproximateFloat() makes a number"
        }
        "sum" | "*" | "/" if found.contains(QUANTITY) => {
            ": .asApproximateFloat() makes a number of it"
        }
        _ => "",
    }
}

fn json_form(found: &str) -> &'static str {
    if found.contains(QUANTITY) {
        ": string(…) gives its text, and .asApproximateFloat() a number"
    } else {
        ""
    }
}

/// The name of the type of quantities.
const QUANTITY: &str = "kubernetes.Quantity";

/// An evaluation that failed. Messages contain types, and members that the expression names,
/// but never values of documents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// A variable that the caller does not define.
    #[error("undeclared variable `{0}`")]
    UndeclaredVariable(String),
    /// A missing member: its name, or `(computed)` if the key is a value.
    #[error("no such key `{0}`")]
    NoSuchKey(String),
    /// A position outside a list or string.
    #[error("`{0}`: the index is out of range")]
    OutOfRange(&'static str),
    /// An operator or function that does not accept these types.
    #[error("`{operation}` cannot take ({found}){}", conversion(operation, found))]
    Type {
        /// The operator or function.
        operation: String,
        /// The types of its operands.
        found: String,
    },
    /// A number, time or duration beyond its range.
    #[error("`{0}`: the result is out of range")]
    Overflow(&'static str),
    /// Division or remainder by zero.
    #[error("`{0}`: division by zero")]
    DivideByZero(&'static str),
    /// A comparison of a number with NaN.
    #[error("`{0}`: NaN has no place in an order")]
    Nan(String),
    /// An argument of the right type with an invalid value.
    #[error("`{function}`: {reason}")]
    Argument {
        /// The function.
        function: &'static str,
        /// What is wrong with the argument.
        reason: &'static str,
    },
    /// The evaluation exceeds the cost limit.
    #[error("the evaluation exceeds the cost limit of {limit}")]
    CostExceeded {
        /// The limit.
        limit: u64,
    },
    /// A value with more levels of lists and maps than a document may have.
    #[error("a value is nested deeper than {} levels", document::MAX_DEPTH)]
    TooDeep,
    /// The result contains a value that no document can contain.
    #[error("the result contains {}, which has no JSON form{}", .0, json_form(.0))]
    NotJson(String),
}

impl EvalError {
    /// A stable code, in kebab case.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UndeclaredVariable(_) => "cel-undeclared",
            Self::NoSuchKey(_) => "cel-no-such-key",
            Self::OutOfRange(_) => "cel-out-of-range",
            Self::Type { .. } => "cel-type",
            Self::Overflow(_) => "cel-overflow",
            Self::DivideByZero(_) => "cel-divide-by-zero",
            Self::Nan(_) | Self::Argument { .. } => "cel-argument",
            Self::CostExceeded { .. } => "cel-cost",
            Self::TooDeep => "cel-value-too-deep",
            Self::NotJson(_) => "cel-not-json",
        }
    }

    /// Whether `&&`, `||`, `all` and `exists` must not ignore this error.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Self::CostExceeded { .. })
    }

    pub(crate) fn types<'a>(operation: &str, found: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Type {
            operation: operation.to_owned(),
            found: found.into_iter().collect::<Vec<_>>().join(", "),
        }
    }
}
