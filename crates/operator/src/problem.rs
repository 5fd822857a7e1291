//! Problems of an Operator's manifest: errors and warnings.

use std::ops::Range;

use document::Location;

/// An error or a warning at a location in the manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Whether it is an error or a warning.
    pub severity: Severity,
    /// The stable code.
    pub code: &'static str,
    /// What was found, and what was expected.
    pub message: String,
    /// The location.
    pub at: Location,
    /// Whether it is about the key at this location, not the value.
    pub at_key: bool,
    /// The part of the string at the location that it is about, as a range of bytes. An empty range
    /// is the character at this offset.
    pub inside: Option<Range<usize>>,
    /// What to do about it.
    pub help: Option<String>,
}

/// The severity of a [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The Operator cannot run.
    Error,
    /// The Operator can run but probably does not do what was intended.
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
            inside: None,
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

    /// Whether it is a warning with one of these codes.
    pub(crate) fn is_allowed(&self, codes: &[&str]) -> bool {
        self.severity == Severity::Warning && codes.contains(&self.code)
    }

    /// Adds a hint on how to fix it.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Makes it about a part of the string at its location.
    #[must_use]
    pub(crate) fn with_part(mut self, part: Option<Range<usize>>) -> Self {
        self.inside = part;
        self
    }

    /// Makes it about the key at its location, not the value.
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
            inside: error.inside().map(|offset| offset..offset),
            ..Self::error(error.code(), &error.at, error.to_string())
        }
    }
}
