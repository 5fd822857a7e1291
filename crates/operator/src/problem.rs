//! What is wrong with an Operator, or looks as if it were.

use document::Location;

/// An error or a warning at a place of the spec.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// The stable code.
    pub code: &'static str,
    /// What was found, and what was expected.
    pub message: String,
    /// Where.
    pub at: Location,
    /// Whether the key at this place is meant, not its value.
    pub at_key: bool,
    /// What to do about it.
    pub help: Option<String>,
}

/// How bad a [`Problem`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The Operator cannot be created.
    Error,
    /// It can, but probably does not do what is meant.
    Warning,
}

impl Problem {
    /// An error at a value.
    pub fn error(code: &'static str, at: &Location, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.into(),
            at: at.clone(),
            at_key: false,
            help: None,
        }
    }

    /// A warning at a value.
    pub fn warning(code: &'static str, at: &Location, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, at, message)
        }
    }

    /// With something to do about it.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// About the key, not the value.
    #[must_use]
    pub fn at_key(mut self) -> Self {
        self.at_key = true;
        self
    }
}

impl From<dataflow::pipeline::PipelineError> for Problem {
    fn from(error: dataflow::pipeline::PipelineError) -> Self {
        Self {
            help: error.help(),
            at_key: error.at_key(),
            ..Self::error(error.code(), &error.at, error.to_string())
        }
    }
}
