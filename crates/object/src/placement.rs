//! Where objects of a kind may be: what their names may be, with or without a namespace, and within
//! which boundary.

use std::sync::Arc;

use crate::{GroupKind, ObjectName};

/// Where the objects of a target may be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// Whether the objects of the kind are in namespaces; `None` if that is not known.
    pub namespaced: Option<bool>,
    /// The only namespace in which objects may be (`--namespace`); `None` for everywhere.
    pub boundary: Option<Arc<str>>,
    /// The names that they may have.
    pub names: NameRule,
}

/// The names that objects of a kind may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameRule {
    /// Any that can be a part of a request path.
    #[default]
    Any,
    /// DNS subdomains.
    Subdomain,
}

/// The groups of Kubernetes in which the names of all objects are DNS subdomains.
const SUBDOMAINS: [&str; 10] = [
    "",
    "apps",
    "autoscaling",
    "batch",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "networking.k8s.io",
    "policy",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

impl NameRule {
    /// The rule for a kind. Servers of other groups have rules of their own.
    pub fn of(kind: &GroupKind) -> Self {
        // The name of an `IPAddress` is an address.
        let is_address = kind.kind.as_str() == "IPAddress";
        if SUBDOMAINS.contains(&kind.group.as_str()) && !is_address {
            Self::Subdomain
        } else {
            Self::Any
        }
    }

    /// Whether an object may have this name.
    fn allows(self, name: &str) -> bool {
        match self {
            Self::Any => is_segment(name),
            // Whether there is a name is checked elsewhere.
            Self::Subdomain => name.is_empty() || is_subdomain(name),
        }
    }
}

/// Whether a text is a DNS subdomain.
pub fn is_subdomain(text: &str) -> bool {
    let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let inner = |c: char| ends(c) || c == '-';
    let is_label =
        |label: &str| label.starts_with(ends) && label.ends_with(ends) && label.chars().all(inner);
    text.len() <= 253 && text.split('.').all(is_label)
}

/// Why an object cannot be where it is derived.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misplaced {
    /// It has a namespace, but the kind is cluster-scoped.
    #[error("expected no metadata.namespace: the kind is cluster-scoped")]
    Namespaced,
    /// It has no namespace, but the kind is namespaced.
    #[error("expected a metadata.namespace: the kind is namespaced")]
    NotNamespaced,
    /// No object can have this name or namespace.
    #[error(
        "expected a metadata.name and a metadata.namespace of printable ASCII characters, without \
         spaces and / % ? # \\, and not . or .."
    )]
    BadName,
    /// No object of the kind can have this name.
    #[error(
        "expected a metadata.name of lower-case letters, digits, - and ., at most 253, that starts \
         and ends with a letter or digit"
    )]
    NotSubdomain,
    /// It is outside of the boundary.
    #[error("not written: with --namespace {0}, deltic writes only objects of that namespace")]
    Outside(Arc<str>),
}

impl Misplaced {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Namespaced | Self::NotNamespaced => "wrong-scope",
            Self::BadName | Self::NotSubdomain => "bad-name",
            Self::Outside(_) => "outside-namespace",
        }
    }
}

impl Placement {
    /// Checks where an object is.
    pub fn check(&self, name: &ObjectName) -> Result<(), Misplaced> {
        let text = |value: &document::Value| is_segment(value.as_str().unwrap_or_default());
        if let Some(boundary) = self.outside(name) {
            return Err(Misplaced::Outside(boundary.clone()));
        }
        if !text(&name.name) || !text(&name.namespace) {
            return Err(Misplaced::BadName);
        }
        if !self.names.allows(name.name()) {
            return Err(Misplaced::NotSubdomain);
        }
        match (self.namespaced, has_namespace(name)) {
            (Some(true), false) => Err(Misplaced::NotNamespaced),
            (Some(false), true) => Err(Misplaced::Namespaced),
            _ => Ok(()),
        }
    }

    /// The boundary that an object is outside of. One without the namespace that its kind needs is
    /// another error, and neither inside nor outside.
    pub fn outside(&self, name: &ObjectName) -> Option<&Arc<str>> {
        let boundary = self.boundary.as_ref()?;
        let is_inside = name.namespace.as_str() == Some(boundary);
        let lacks_one = self.namespaced == Some(true) && !has_namespace(name);
        (!is_inside && !lacks_one).then_some(boundary)
    }
}

fn has_namespace(name: &ObjectName) -> bool {
    name.namespace.as_str().is_some_and(|text| !text.is_empty())
}

/// Whether a text can be a segment of a request path, as each name is one.
fn is_segment(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"/%?#\\".contains(&byte);
    !matches!(text, "." | "..") && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(placement: &Placement, namespace: &str, name: &str) -> Option<&'static str> {
        let checked = placement.check(&ObjectName::new(namespace, name));
        checked.err().map(|misplaced| misplaced.code())
    }

    #[test]
    fn some_names_no_object_can_have() {
        let of_scope = |namespaced| Placement {
            namespaced,
            ..Placement::default()
        };
        assert_eq!(code(&of_scope(Some(true)), "ns", "a"), None);
        assert_eq!(code(&of_scope(Some(false)), "ns", "a"), Some("wrong-scope"));
        assert_eq!(code(&of_scope(Some(true)), "", "a"), Some("wrong-scope"));
        assert_eq!(code(&of_scope(None), "", "a"), None);
        for name in ["a/status", "..", "a b", "a\u{202e}"] {
            assert_eq!(
                code(&of_scope(None), "ns", name),
                Some("bad-name"),
                "{name}"
            );
        }
    }

    #[test]
    fn some_kinds_have_names_of_dns() {
        let check = |group: &str, kind: &str, name: &str| {
            let placement = Placement {
                names: NameRule::of(&GroupKind::new(group, kind)),
                ..Placement::default()
            };
            code(&placement, "ns", name)
        };
        for name in ["BAD_Name!", "-a", "a-", "a..b", ".a", &"a".repeat(254)] {
            assert_eq!(check("", "ConfigMap", name), Some("bad-name"), "{name}");
            let role = check("rbac.authorization.k8s.io", "Role", name);
            assert_eq!(role, None, "{name}");
        }
        for name in ["a", "a.b-c.1", &"a".repeat(253)] {
            assert_eq!(check("", "ConfigMap", name), None, "{name}");
        }
        assert_eq!(check("networking.k8s.io", "IPAddress", "fd00::1"), None);
        assert_eq!(check("user.example.com", "Identity", "ldap:me"), None);
    }

    #[test]
    fn within_a_boundary() {
        let within = |namespaced| Placement {
            namespaced,
            boundary: Some("ns".into()),
            ..Placement::default()
        };
        for namespaced in [None, Some(true)] {
            assert_eq!(code(&within(namespaced), "ns", "a"), None);
            let far = code(&within(namespaced), "far", "a");
            assert_eq!(far, Some("outside-namespace"));
        }
        assert_eq!(code(&within(Some(true)), "", "a"), Some("wrong-scope"));
        assert_eq!(code(&within(Some(false)), "ns", "a"), Some("wrong-scope"));
        for namespaced in [None, Some(false)] {
            let cluster = code(&within(namespaced), "", "a");
            assert_eq!(cluster, Some("outside-namespace"));
        }
    }
}
