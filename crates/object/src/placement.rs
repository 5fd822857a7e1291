//! Where objects of a kind may be: what their names may be, with or without a namespace, and within
//! which boundary.

use std::sync::Arc;

use crate::ObjectName;

/// Where the objects of a target may be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// Whether the objects of the kind are in namespaces; `None` if that is not known.
    pub namespaced: Option<bool>,
    /// The only namespace in which objects may be (`--namespace`); `None` for everywhere.
    pub boundary: Option<Arc<str>>,
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
    /// It is outside of the boundary.
    #[error("not written: with --namespace {0}, deltic writes only objects of that namespace")]
    Outside(Arc<str>),
}

impl Misplaced {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Namespaced | Self::NotNamespaced => "wrong-scope",
            Self::BadName => "bad-name",
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
            boundary: None,
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
    fn within_a_boundary() {
        let within = |namespaced| Placement {
            namespaced,
            boundary: Some("ns".into()),
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
