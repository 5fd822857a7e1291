//! A problem of a manifest, before its source and span are known.

use std::ops::Range;

use crate::diagnostic::{Diagnostic, Severity};
use crate::source::Text;

/// A problem. Messages contain keys, tags and types, never values, which may be secret.
#[derive(Debug)]
pub(crate) struct LoadProblem {
    code: &'static str,
    message: String,
    help: Option<String>,
}

impl LoadProblem {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            help: None,
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The diagnostic about these bytes.
    pub(crate) fn at(self, text: &Text, bytes: Range<usize>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            code: self.code.to_owned(),
            message: self.message,
            source: Some(text.source.clone()),
            span: Some(text.span(bytes)),
            help: self.help,
        }
    }
}
