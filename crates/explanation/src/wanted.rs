//! The object that a question is about.

use document::Value;
use object::{GroupKind, ObjectName, group_of, kind_names};

/// The object that a question is about: `KIND/NAME`, `KIND/NAMESPACE/NAME` or `KIND/NAME.NAMESPACE`.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// In lower case, perhaps with the group: `deployment.apps`.
    kind: String,
    name: Name,
}

#[derive(Clone, Debug)]
enum Name {
    /// As the user typed it.
    Typed(String),
    /// In any namespace.
    Anywhere(String),
    Exactly(ObjectName),
}

/// A text does not name an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an object such as pod/web, pod/shop/web or pod/web.shop, found {0:?}")]
pub struct NoObject(String);

impl Wanted {
    /// Reads what a user typed.
    pub fn parse(text: &str) -> Result<Self, NoObject> {
        match text.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && !name.is_empty() => Ok(Self {
                kind: kind.to_lowercase(),
                name: Name::Typed(name.to_owned()),
            }),
            _ => Err(NoObject(text.to_owned())),
        }
    }

    /// The object of a kind, as a user types it, with this name. Without a namespace, those of all
    /// namespaces.
    pub fn at(kind: &str, namespace: Option<&str>, name: &str) -> Self {
        let name = match namespace {
            Some(namespace) => Name::Exactly(ObjectName::new(namespace, name)),
            None => Name::Anywhere(name.to_owned()),
        };
        Self {
            kind: kind.to_lowercase(),
            name,
        }
    }

    pub(crate) fn exactly(kind: &GroupKind, name: &ObjectName) -> Self {
        Self {
            kind: full_name(kind),
            name: Name::Exactly(name.clone()),
        }
    }

    /// The kind in lower case, perhaps with its group. A plural or short name of a well-known kind
    /// is replaced by the kind.
    pub fn kind(&self) -> String {
        match kind_names::well_known(&self.kind) {
            Some(kind) => {
                let group = self.kind.find('.').map_or("", |at| &self.kind[at..]);
                format!("{}{group}", kind.to_lowercase())
            }
            None => self.kind.clone(),
        }
    }

    /// The namespaces and names that may be meant, the most likely first: `web.shop` is `web` in the
    /// namespace `shop`, or `web.shop` in any.
    pub fn places(&self) -> Vec<(Option<&str>, &str)> {
        match &self.name {
            Name::Anywhere(name) => vec![(None, name)],
            Name::Exactly(name) => vec![(Some(name.namespace()), name.name())],
            Name::Typed(text) => match text.split_once('/') {
                Some((namespace, name)) => vec![(Some(namespace), name)],
                None => {
                    let parts = text.rsplit_once('.');
                    let dotted = parts.map(|(name, namespace)| (Some(namespace), name));
                    dotted.into_iter().chain([(None, text.as_str())]).collect()
                }
            },
        }
    }

    /// Whether its kind is this one: its name in singular or plural or, of well-known kinds, the
    /// short name of kubectl, with or without the group.
    pub fn is_of(&self, kind: &GroupKind) -> bool {
        kind_names::is_name_of(&self.kind, kind.group.as_str(), kind.kind.as_str())
    }

    /// Whether it is this object.
    pub fn names(&self, object: &Value) -> bool {
        let group = group_of(object.get("apiVersion").as_str().unwrap_or_default());
        let kind = object.get("kind").as_str().unwrap_or_default();
        let name = ObjectName::of(object);
        name.is_some_and(|name| self.is(&GroupKind::new(group, kind), &name))
    }

    /// Whether it is the object of this kind and name.
    pub fn is(&self, kind: &GroupKind, name: &ObjectName) -> bool {
        self.is_of(kind)
            && match &self.name {
                Name::Exactly(wanted) => wanted == name,
                Name::Anywhere(wanted) => wanted == name.name(),
                Name::Typed(text) => {
                    let (namespace, name) = (name.namespace(), name.name());
                    text == name
                        || *text == format!("{namespace}/{name}")
                        || *text == format!("{name}.{namespace}")
                }
            }
    }
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.name {
            Name::Typed(name) | Name::Anywhere(name) => write!(f, "{}/{name}", self.kind),
            Name::Exactly(name) => match name.namespace() {
                "" => write!(f, "{}/{}", self.kind, name.name()),
                namespace => write!(f, "{}/{namespace}/{}", self.kind, name.name()),
            },
        }
    }
}

/// `deployment.apps`, or `pod` of the core group.
fn full_name(kind: &GroupKind) -> String {
    kind.to_string().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_dot_may_have_its_namespace_behind_it() {
        let places = |text: &str| {
            let wanted = Wanted::parse(text).unwrap_or_else(|error| panic!("{error}"));
            let places = wanted.places().into_iter();
            let places =
                places.map(|(namespace, name)| format!("{}/{name}", namespace.unwrap_or("*")));
            places.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(places("pod/web"), "*/web");
        assert_eq!(places("pod/shop/web"), "shop/web");
        assert_eq!(places("pod/web.v1.shop"), "shop/web.v1 */web.v1.shop");
        assert!(Wanted::parse("pod").is_err() && Wanted::parse("pod/").is_err());
    }

    #[test]
    fn a_kind_may_have_its_group() {
        let kind = GroupKind::new("apps", "Deployment");
        let is = |text: &str| Wanted::at(text, Some("shop"), "web").is_of(&kind);
        assert!(is("Deployment") && is("deployment.apps"));
        assert!(!is("deployment.extensions") && !is("deploymentss"));
    }

    #[test]
    fn kinds_may_be_named_as_for_kubectl() {
        let kind = |group: &str, kind: &str| GroupKind::new(group, kind);
        let view = kind("ops.view.dcontroller.io", "Health");
        for (typed, kind, sent) in [
            ("cm", kind("", "ConfigMap"), "configmap"),
            ("ConfigMaps", kind("", "ConfigMap"), "configmap"),
            ("deploy", kind("apps", "Deployment"), "deployment"),
            (
                "deployments.apps",
                kind("apps", "Deployment"),
                "deployment.apps",
            ),
            ("ep", kind("", "Endpoints"), "endpoints"),
            ("endpoints", kind("", "Endpoints"), "endpoints"),
            (
                "netpol",
                kind("networking.k8s.io", "NetworkPolicy"),
                "networkpolicy",
            ),
            (
                "networkpolicies",
                kind("networking.k8s.io", "NetworkPolicy"),
                "networkpolicy",
            ),
            ("ingresses", kind("networking.k8s.io", "Ingress"), "ingress"),
            ("gateways", kind("example.com", "Gateway"), "gateways"),
            ("health", view.clone(), "health"),
            ("healths", view, "healths"),
        ] {
            let wanted = Wanted::at(typed, None, "a");
            assert!(wanted.is_of(&kind), "{typed}");
            assert_eq!(wanted.kind(), sent, "{typed}");
        }
        // A short name is that of one group.
        assert!(!Wanted::at("deploy", None, "a").is_of(&kind("example.com", "Deployment")));
        assert!(!Wanted::at("cm", None, "a").is_of(&kind("", "Secret")));
        assert!(!Wanted::at("", None, "a").is_of(&kind("", "Pod")));
    }
}
