//! `@patch`: changes a part of the document.

use document::{Location, Path, Value};
use expr::{Items, Raw};
use patch::{Edit, Form};

use super::{PipelineErrorKind, PipelineReader};

/// `@patch: {at, where, forEach, var, strict, operations}`
#[derive(Clone, Debug)]
pub struct Patch {
    /// What is patched: one place, perhaps the whole document.
    pub place: Path,
    /// What is done there.
    pub edit: Edit,
    /// Whether the versions of source objects must be taken out of what expressions see:
    /// of `resource`, and of the other variables.
    pub hides_versions: (bool, bool),
}

const FIELDS: Form = Form {
    beside: &["at"],
    ..Form::HAND
};

const FORM: PipelineErrorKind = PipelineErrorKind::Form {
    stage: "@patch",
    expected: "a map with operations, and perhaps at, where, forEach, var and strict",
};

impl PipelineReader<'_> {
    pub(super) fn patch(&mut self, spec: &Value, at: &Location, raw: Raw) -> Option<Patch> {
        if spec.as_map().is_none() {
            self.error(at, FORM);
            return None;
        }
        let place = self.place(spec.get("at"), &at.key("at"), raw);
        let edit = Edit::compile(spec, at, FIELDS);
        let edit = edit
            .map_err(|errors| self.errors.extend(errors.into_iter().map(Into::into)))
            .ok();
        let (place, resource) = place?;
        Some(Patch {
            place,
            edit: edit?,
            hides_versions: (resource, self.mentions_versions && raw != Raw::No),
        })
    }

    /// The place that is patched, and whether it holds versions that must be hidden.
    fn place(&mut self, spec: &Value, at: &Location, raw: Raw) -> Option<(Path, bool)> {
        let text = match spec.as_str() {
            Some(text) if text.starts_with('$') => text,
            None if spec.is_null() => "$",
            _ => {
                let kind = PipelineErrorKind::Form {
                    stage: "at",
                    expected: "the path of what is patched, such as \"$.Deployment\"",
                };
                self.error(at, kind);
                return None;
            }
        };
        let path = self.compile(raw, |compiler| compiler.path(text, at, Items::None))?;
        if !path.path.is_singular() {
            self.error(at, PipelineErrorKind::PluralPath { stage: "@patch" });
            return None;
        }
        Some((path.path, path.hides_versions))
    }
}
