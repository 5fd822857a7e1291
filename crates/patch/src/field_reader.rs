//! Reading of the fields of a patch. The reader collects all errors, so that a user sees them at
//! once.

use document::{Location, Value};

use crate::error::{CompileError, CompileErrorKind};

/// The field of the operations.
pub(crate) const OPERATIONS: &str = "operations";

/// Whether a value is a list of operations.
fn are_operations(value: &Value) -> bool {
    let first = value.as_list().and_then(|list| list.iter().next());
    first.is_some_and(|operation| !operation.get("op").is_null())
}

/// Reads fields and collects errors.
#[derive(Debug, Default)]
pub(crate) struct FieldReader {
    pub(crate) errors: Vec<CompileError>,
}

impl FieldReader {
    /// The result, if there were no errors.
    pub(crate) fn finish<T>(self, read: Option<T>) -> Result<T, Vec<CompileError>> {
        match read {
            Some(read) if self.errors.is_empty() => Ok(read),
            _ => Err(self.errors),
        }
    }

    pub(crate) fn error(&mut self, at: &Location, kind: impl Into<CompileErrorKind>) {
        self.errors.push(CompileError::new(at, kind));
    }

    /// The value of a result. An error is collected.
    pub(crate) fn take<T>(&mut self, part: Result<T, CompileError>) -> Option<T> {
        part.map_err(|error| self.errors.push(error)).ok()
    }

    /// The value of a result. Its errors are collected.
    pub(crate) fn take_all<T>(&mut self, part: Result<T, Vec<CompileError>>) -> Option<T> {
        part.map_err(|errors| self.errors.extend(errors)).ok()
    }

    /// Reports unknown fields. Returns whether the value is a map.
    pub(crate) fn known(&mut self, value: &Value, known: &[&'static str], at: &Location) -> bool {
        let Some(map) = value.as_map() else {
            self.field(value, "a map", at);
            return false;
        };
        for (key, value) in map {
            let name = key.as_str();
            if known.contains(&name) {
                continue;
            }
            let near = document::nearest(name, known.iter().copied());
            let near = near.or_else(|| are_operations(value).then_some(OPERATIONS));
            let kind = CompileErrorKind::UnknownField {
                name: name.to_owned(),
                nearest: known.iter().copied().find(|known| Some(*known) == near),
                known: known.to_vec(),
            };
            self.error(&at.key(name), kind);
        }
        true
    }

    /// Reports a missing field, unless an unknown one is probably meant as this.
    pub(crate) fn missing(&mut self, field: &'static str, at: &Location) {
        let is_meant = |error: &CompileError| {
            let inside = error.at.parent().is_some_and(|(parent, _)| parent == at);
            let nearest = match &error.kind {
                CompileErrorKind::UnknownField { nearest, .. } => *nearest,
                _ => None,
            };
            inside && nearest == Some(field)
        };
        if !self.errors.iter().any(is_meant) {
            self.error(at, CompileErrorKind::Missing(field));
        }
    }

    /// Reports a field of the wrong type.
    pub(crate) fn field(&mut self, value: &Value, expected: &'static str, at: &Location) {
        let found = value.kind();
        self.error(at, CompileErrorKind::Field { expected, found });
    }

    /// A text without expressions, if the field is set.
    pub(crate) fn text(&mut self, value: &Value, at: &Location) -> Option<String> {
        match value.as_str() {
            Some(text) if text.contains("${") => {
                self.error(at, CompileErrorKind::NoExpression);
                None
            }
            Some(text) => Some(text.to_owned()),
            None if value.is_null() => None,
            None => {
                self.field(value, "a string", at);
                None
            }
        }
    }

    /// A boolean; `false` if the field is missing.
    pub(crate) fn flag(&mut self, value: &Value, at: &Location) -> bool {
        if !value.is_null() && value.as_bool().is_none() {
            self.field(value, "true or false", at);
        }
        value.as_bool().unwrap_or(false)
    }
}
