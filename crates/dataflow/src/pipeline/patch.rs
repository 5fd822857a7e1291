//! Parses `@patch`.

use document::{Location, Path, Value};
use expr::{DocumentKind, Items};
use patch::{Edit, Form};

use super::{PipelineErrorKind, PipelineReader};

/// `@patch: {at, where, forEach, var, strict, operations}`
#[derive(Clone, Debug)]
pub struct Patch {
    /// The path of the resource, the part of the document that is patched. It may be the root.
    pub resource_path: Path,
    /// The operations with their condition.
    pub edit: Edit,
    /// Whether the versions of source objects must be hidden from expressions: in `resource`, and
    /// in the other variables.
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
    pub(super) fn patch(
        &mut self,
        spec: &Value,
        at: &Location,
        documents: DocumentKind,
    ) -> Option<Patch> {
        if spec.as_map().is_none() {
            self.error(at, FORM);
            return None;
        }
        let path = self.resource_path(spec.get("at"), &at.key("at"), documents);
        let edit = Edit::compile(spec, at, FIELDS);
        let edit = edit
            .map_err(|errors| self.errors.extend(errors.into_iter().map(Into::into)))
            .ok();
        let (resource_path, hides) = path?;
        Some(Patch {
            resource_path,
            edit: edit?,
            hides_versions: (
                hides,
                self.versions.any() && documents != DocumentKind::Derived,
            ),
        })
    }

    /// The path of the resource, and whether its versions must be hidden.
    fn resource_path(
        &mut self,
        spec: &Value,
        at: &Location,
        documents: DocumentKind,
    ) -> Option<(Path, bool)> {
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
        let path = self.compile(documents, |compiler| compiler.path(text, at, Items::None))?;
        if !path.path.is_singular() {
            self.error(at, PipelineErrorKind::PluralPath { stage: "@patch" });
            return None;
        }
        Some((path.path, path.hides_versions))
    }
}
