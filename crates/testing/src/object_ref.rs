//! Names of objects as `deltic` prints them: `health/shop/web`.

use std::collections::BTreeSet;
use std::fmt;

use document::Value;
use object::{GroupKind, kind_names};

/// The name of an object in a test: `kind/name` or `kind/namespace/name`. The kind is compared
/// without regard to case. The group is not part of the name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// In lower case.
    kind: String,
    /// Empty for an object without a namespace.
    namespace: String,
    name: String,
}

impl ObjectRef {
    /// Reads `kind/name` or `kind/namespace/name`.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        let (kind, namespace, name) = match parts.as_slice() {
            [kind, name] => (kind, "", name),
            [kind, namespace, name] => (kind, *namespace, name),
            _ => return None,
        };
        let complete =
            !kind.is_empty() && !name.is_empty() && (parts.len() == 2 || !namespace.is_empty());
        complete.then(|| Self::new(kind, namespace, name))
    }

    pub(crate) fn new(kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            kind: kind.to_lowercase(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// The name of an object; `None` if it has no kind or no name.
    pub fn of(object: &Value) -> Option<Self> {
        let metadata = object.get("metadata");
        let kind = object.get("kind").as_str()?;
        let name = metadata
            .get("name")
            .as_str()
            .filter(|name| !name.is_empty())?;
        Some(Self::new(
            kind,
            metadata.get("namespace").as_str().unwrap_or_default(),
            name,
        ))
    }

    /// The kind, in lower case.
    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    /// The same object, if the kind is named as for kubectl: in plural, by a short name, or with its
    /// group. `kinds` are those of the Operator.
    pub(crate) fn with_kind_of(self, kinds: &BTreeSet<GroupKind>) -> Self {
        let lower = |kind: &GroupKind| kind.kind.as_str().to_lowercase();
        if kinds.iter().any(|kind| lower(kind) == self.kind) {
            return self;
        }
        let named = |kind: &&GroupKind| {
            kind_names::is_name_of(&self.kind, kind.group.as_str(), kind.kind.as_str())
        };
        let kind = (kinds.iter().find(named).map(lower))
            .or_else(|| kind_names::well_known(&self.kind).map(str::to_lowercase));
        Self {
            kind: kind.unwrap_or(self.kind),
            ..self
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn has_namespace(&self) -> bool {
        !self.namespace.is_empty()
    }

    /// The name of an object for messages.
    pub(crate) fn describe(object: &Value) -> String {
        Self::of(object).map_or_else(
            || "an object without a name".to_owned(),
            |name| name.to_string(),
        )
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_two_or_three_parts() {
        for (text, expect) in [
            ("Pod/shop/web", Some("pod/shop/web")),
            ("node/a", Some("node/a")),
            ("web", None),
            ("pod//web", None),
            ("pod/", None),
            ("/a/b", None),
            ("a/b/c/d", None),
        ] {
            let found = ObjectRef::parse(text).map(|name| name.to_string());
            assert_eq!(found.as_deref(), expect, "{text}");
        }
    }
}
