//! The path and the query of a request.

use std::collections::BTreeMap;

use object::ObjectKey;

use super::kind::Kind;

/// The resource that a path names.
#[derive(Clone, Debug)]
pub(super) enum Route {
    /// `/api`: the versions of the core group.
    CoreVersions,
    /// `/apis`: all other groups.
    Groups,
    /// `/api/v1`, `/apis/<group>/<version>`: the kinds of a group.
    Resources {
        /// The group.
        group: String,
        /// The version.
        version: String,
    },
    /// `/openapi/v3`: the paths of the schemas.
    Schemas,
    /// `/openapi/v3/…`: the schemas of a group.
    Schema,
    /// `/apis/authorization.k8s.io/v1/subjectaccessreviews`
    AccessReviews,
    /// A collection, or an object.
    Objects(RequestPath),
}

/// A collection, or an object in it.
#[derive(Clone, Debug)]
pub(super) struct RequestPath {
    /// The kind.
    pub(super) kind: &'static Kind,
    /// A namespace; `None` for all namespaces, and for cluster-scoped kinds.
    pub(super) namespace: Option<String>,
    /// The name of an object; `None` for the collection.
    pub(super) name: Option<String>,
    /// Whether it is the subresource `/status`.
    pub(super) status: bool,
}

impl RequestPath {
    /// The key of the object with this name.
    pub(super) fn key(&self, name: &str) -> ObjectKey {
        let namespace = self.namespace.as_deref().unwrap_or_default();
        ObjectKey::new(self.kind.group, self.kind.name, namespace, name)
    }
}

impl Route {
    /// The route of a path on a server with these kinds; `None` if there is none.
    pub(super) fn of(path: &str, kinds: &[&'static Kind]) -> Option<Self> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api"] => return Some(Self::CoreVersions),
            ["apis"] => return Some(Self::Groups),
            ["apis", "authorization.k8s.io", "v1", "subjectaccessreviews"] => {
                return Some(Self::AccessReviews);
            }
            ["openapi", "v3"] => return Some(Self::Schemas),
            ["openapi", "v3", ..] => return Some(Self::Schema),
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let served = |kind: &&&'static Kind| kind.group == group && kind.version == version;
        kinds.iter().find(served)?;
        if rest.is_empty() {
            return Some(Self::Resources {
                group: group.to_owned(),
                version: version.to_owned(),
            });
        }
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() && *rest != ["status"] => {
                (Some((*namespace).to_owned()), rest)
            }
            rest => (None, rest),
        };
        let plural = rest.first()?;
        let mut kinds = kinds.iter().copied().filter(|kind| served(&kind));
        let kind = kinds.find(|kind| kind.plural == *plural)?;
        let status = match rest.get(2) {
            None => false,
            Some(&"status") if kind.status => true,
            Some(_) => return None,
        };
        Some(Self::Objects(RequestPath {
            kind,
            namespace,
            name: rest.get(1).map(|name| (*name).to_owned()),
            status,
        }))
    }
}

/// The parameters of a request.
#[derive(Clone, Debug, Default)]
pub struct Query(BTreeMap<String, String>);

impl Query {
    /// Parses the query of a URI.
    pub fn of(text: &str) -> Self {
        let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
        Self(pairs.map(|(k, v)| (decode(k), decode(v))).collect())
    }

    /// A parameter; empty if it is missing.
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Whether a parameter is `true`.
    pub fn is(&self, name: &str) -> bool {
        self.get(name) == "true"
    }

    /// A numeric parameter.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name).parse().ok()
    }
}

/// Decodes percent-encoding; `+` is a space.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || rest.next().and_then(|b| char::from(b).to_digit(16));
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (high, low) = (digit().unwrap_or(0), digit().unwrap_or(0));
                (high * 16 + low) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
