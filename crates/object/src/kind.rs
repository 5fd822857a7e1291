//! Kinds of objects.

use std::fmt;

use document::{Key, Value};

/// The API group of Operators.
pub const GROUP: &str = "dcontroller.io";
/// The API version of views.
pub const VIEW_VERSION: &str = "v1alpha1";
/// The suffix of the API groups of views.
pub const VIEW_SUFFIX: &str = ".view.dcontroller.io";

/// The group of an `apiVersion`: `""` for the core group.
///
/// ```
/// assert_eq!(object::group_of("apps/v1"), "apps");
/// assert_eq!(object::group_of("v1"), "");
/// ```
pub fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// An API group and a Kind. All versions of a kind are one kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKind {
    /// The API group; `""` for the core group.
    pub group: Key,
    /// The Kind.
    pub kind: Key,
}

impl GroupKind {
    /// The kind of this name in this group.
    pub fn new(group: &str, kind: &str) -> Self {
        Self {
            group: Key::new(group),
            kind: Key::new(kind),
        }
    }

    /// The kind in `apiVersion` and `kind` of an object; `None` if it has none.
    pub fn of(object: &Value) -> Option<Self> {
        let group = group_of(object.get("apiVersion").as_str()?);
        Some(Self::new(group, object.get("kind").as_str()?))
    }

    /// Whether this is a view, of any Operator.
    pub fn is_view(&self) -> bool {
        self.group.as_str().ends_with(VIEW_SUFFIX)
    }

    /// Whether this is the Secret of the core group, whose values must not be shown.
    pub fn is_secret(&self) -> bool {
        self.group.as_str().is_empty() && self.kind.as_str() == "Secret"
    }
}

/// `Kind.group`, or the Kind alone for the core group.
impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.as_str().is_empty() {
            return f.write_str(self.kind.as_str());
        }
        write!(f, "{}.{}", self.kind, self.group)
    }
}

/// A kind as an Operator refers to it: with a version, or in the version that the server prefers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindRef {
    /// The API group; `""` for the core group.
    pub group: String,
    /// The version; `None` if it is to be discovered.
    pub version: Option<String>,
    /// The Kind.
    pub kind: String,
}

impl KindRef {
    /// Its group and kind.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(&self.group, &self.kind)
    }

    /// Whether this is a view, of any Operator.
    pub fn is_view(&self) -> bool {
        self.group.ends_with(VIEW_SUFFIX)
    }

    /// Whether this is the Secret of the core group, whose values must not be shown.
    pub fn is_secret(&self) -> bool {
        self.group.is_empty() && self.kind == "Secret"
    }

    /// Whether it refers to this kind, in any version.
    pub fn is(&self, kind: &GroupKind) -> bool {
        self.group == kind.group.as_str() && self.kind == kind.kind.as_str()
    }

    /// The resource of a view: the Kind in lower case, for one object as for many.
    pub fn view_resource(&self) -> String {
        self.kind.to_lowercase()
    }

    /// The `apiVersion` of its objects; without a version `v1` is assumed.
    pub fn api_version(&self) -> String {
        let version = self.version.as_deref().unwrap_or("v1");
        if self.group.is_empty() {
            version.to_owned()
        } else {
            format!("{}/{version}", self.group)
        }
    }
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    #[test]
    fn versions_of_a_kind_are_one_kind() {
        let old = json!({"apiVersion": "apps/v1beta1", "kind": "Deployment"});
        let new = json!({"apiVersion": "apps/v1", "kind": "Deployment"});
        assert_eq!(GroupKind::of(&old), GroupKind::of(&new));
        assert_eq!(GroupKind::of(&json!({"kind": "Pod"})), None);
    }

    #[test]
    fn kinds_print_in_the_syntax_of_kubectl() {
        assert_eq!(GroupKind::new("", "Pod").to_string(), "Pod");
        assert_eq!(
            GroupKind::new("apps", "Deployment").to_string(),
            "Deployment.apps"
        );
    }

    #[test]
    fn a_reference_without_a_version_assumes_v1() {
        let deployment = KindRef {
            group: "apps".to_owned(),
            version: None,
            kind: "Deployment".to_owned(),
        };
        assert_eq!(deployment.api_version(), "apps/v1");
        assert!(deployment.is(&GroupKind::new("apps", "Deployment")));
        let pod = KindRef {
            group: String::new(),
            version: Some("v1".to_owned()),
            kind: "Pod".to_owned(),
        };
        assert_eq!(pod.api_version(), "v1");
        assert!(!pod.is_view());
    }
}
