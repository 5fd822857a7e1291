//! The key of an object on a cluster.

use std::fmt;

use document::{Key, Value};

use crate::kind::GroupKind;
use crate::name::ObjectName;

/// The kind and name of an object. Keys are ordered by kind first, so that the objects of a kind
/// are adjacent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// The kind.
    pub kind: GroupKind,
    /// The namespace and name.
    pub name: ObjectName,
}

impl ObjectKey {
    /// Makes a key from its texts.
    pub fn new(group: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            kind: GroupKind::new(group, kind),
            name: ObjectName::new(namespace, name),
        }
    }

    /// The key of an object; `None` without `apiVersion`, `kind` or a name.
    pub fn of(object: &Value) -> Option<Self> {
        Some(Self {
            kind: GroupKind::of(object)?,
            name: ObjectName::of(object)?,
        })
    }

    /// The key of an object of this kind, which the object itself need not name, as in a list;
    /// `None` without a name.
    pub fn of_kind(group: &str, kind: &str, object: &Value) -> Option<Self> {
        Some(Self {
            kind: GroupKind::new(group, kind),
            name: ObjectName::of(object)?,
        })
    }

    /// The API group; `""` for the core group.
    pub fn group(&self) -> &Key {
        &self.kind.group
    }

    /// The namespace, or `""`.
    pub fn namespace(&self) -> &str {
        self.name.namespace()
    }

    /// The name within kind and namespace.
    pub fn object_name(&self) -> &str {
        self.name.name()
    }

    /// Whether this is a Secret, whose values must not be shown.
    pub fn is_secret(&self) -> bool {
        self.kind.is_secret()
    }
}

/// `<group>/<Kind>/<namespace>/<name>`, the form in which claims name their object.
impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GroupKind { group, kind } = &self.kind;
        let (namespace, name) = (self.namespace(), self.object_name());
        write!(f, "{group}/{kind}/{namespace}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    #[test]
    fn keys_print_as_claims_name_them() {
        let web = ObjectKey::new("apps", "Deployment", "shop", "web");
        assert_eq!(web.to_string(), "apps/Deployment/shop/web");
        let node = ObjectKey::new("", "Node", "", "n1");
        assert_eq!(node.to_string(), "/Node//n1");
        assert!(ObjectKey::new("", "Secret", "shop", "s").is_secret());
        assert!(!ObjectKey::new("example.com", "Secret", "shop", "s").is_secret());
    }

    #[test]
    fn a_key_is_read_from_an_object_or_from_its_name_alone() {
        let web = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "shop", "name": "web"}});
        let key = ObjectKey::new("apps", "Deployment", "shop", "web");
        assert_eq!(ObjectKey::of(&web), Some(key.clone()));
        let listed = json!({"metadata": {"namespace": "shop", "name": "web"}});
        assert_eq!(ObjectKey::of(&listed), None);
        assert_eq!(ObjectKey::of_kind("apps", "Deployment", &listed), Some(key));
        assert_eq!(ObjectKey::of_kind("apps", "Deployment", &json!({})), None);
    }
}
