//! The target of a rule: which objects it applies to.

use document::{Location, Value};

use crate::error::CompileErrorKind;
use crate::field_reader::FieldReader;

/// `{group, version, kind, name, namespace}`. A field that is not set matches everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The API group; `""` is the core group.
    pub group: Option<String>,
    /// The version in that group.
    pub version: Option<String>,
    /// The Kind.
    pub kind: String,
    /// `metadata.name`
    pub name: Option<String>,
    /// `metadata.namespace`; `""` matches objects without one.
    pub namespace: Option<String>,
}

/// The fields of a target; `where` is read with the operations.
const FIELDS: [&str; 6] = ["group", "version", "kind", "name", "namespace", "where"];

impl Target {
    /// Whether an object matches, apart from `where`.
    pub fn matches(&self, object: &Value) -> bool {
        let version = object.get("apiVersion").as_str().unwrap_or_default();
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let metadata = object.get("metadata");
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        object.get("kind").as_str() == Some(&self.kind)
            && is(&self.group, group)
            && is(&self.version, version)
            && is(
                &self.name,
                metadata.get("name").as_str().unwrap_or_default(),
            )
            && is(
                &self.namespace,
                metadata.get("namespace").as_str().unwrap_or_default(),
            )
    }
}

impl FieldReader {
    /// Reads the target of the rule at `at`.
    pub(crate) fn target(&mut self, rule: &Value, at: &Location) -> Option<Target> {
        let Some(spec) = rule.as_map().and_then(|map| map.get_str("target")) else {
            self.error(at, CompileErrorKind::Missing("target"));
            return None;
        };
        let at = at.key("target");
        if !self.known(spec, &FIELDS, &at) {
            return None;
        }
        let mut text = |field: &str| self.text(spec.get(field), &at.key(field));
        let (group, version, kind) = (text("group"), text("version"), text("kind"));
        let (name, namespace) = (text("name"), text("namespace"));
        if spec.get("kind").is_null() {
            self.error(&at, CompileErrorKind::Missing("kind"));
        }
        Some(Target {
            group,
            version,
            kind: kind?,
            name,
            namespace,
        })
    }
}
