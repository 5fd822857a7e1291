//! What a request was about, for metrics and audit logs.

use document::Value;

use crate::access::{Attributes, Scope};

/// What a request was about. [`Server::handle`](crate::Server::handle) adds it to the extensions
/// of the response, also to that of a refusal, unless the path or the query cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestInfo {
    /// The verb, and what it was done to; of an object that was created, with its name.
    pub attributes: Attributes,
    /// Whether the resource is served. A client can make up any number of others.
    pub known: bool,
    /// Whether a patch was a server-side apply.
    pub apply: bool,
    /// Whether nothing was to be stored.
    pub dry_run: bool,
}

impl RequestInfo {
    /// A request that is not about objects.
    pub(crate) fn path(attributes: &Attributes) -> Self {
        Self {
            attributes: attributes.clone(),
            known: false,
            apply: false,
            dry_run: false,
        }
    }

    /// Sets the name of an object that was created: it is not in the path.
    pub(crate) fn named(&mut self, object: &Value) {
        if let Scope::Resource { name, .. } = &mut self.attributes.scope
            && self.attributes.verb == "create"
            && let Some(created) = object.get("metadata").get("name").as_str()
        {
            created.clone_into(name);
        }
    }
}
