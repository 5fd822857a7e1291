//! Who may do what.
//!
//! The server does not decide this itself: an [`Access`] does, for example by asking the API
//! server of a cluster.

use std::borrow::Cow;

use futures::future::BoxFuture;
use http::Method;

use crate::route::ObjectsRoute;
use crate::status::{ResourceName, StatusError};

/// An authenticated user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct User {
    /// The name.
    pub name: String,
    /// The uid, or empty.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
    /// Further attributes.
    pub extra: Vec<(String, Vec<String>)>,
}

impl User {
    /// About how much memory it takes, in bytes.
    pub fn size(&self) -> usize {
        let texts = |texts: &[String]| texts.iter().map(|text| text.len() + 24).sum::<usize>();
        let extra = self.extra.iter();
        let extra = extra.map(|(key, values)| key.len() + 48 + texts(values));
        self.name.len() + self.uid.len() + texts(&self.groups) + extra.sum::<usize>() + 96
    }
}

/// What a request wants to do, as the API server of a cluster checks it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attributes {
    /// The verb, such as `get` or `deletecollection`.
    pub verb: Cow<'static, str>,
    /// What it is done to.
    pub scope: Scope,
}

impl Attributes {
    /// The same for one object of the resource.
    pub(crate) fn of(mut self, only: String) -> Self {
        if let Scope::Resource { name, .. } = &mut self.scope {
            *name = only;
        }
        self
    }

    /// About how much memory they take, in bytes.
    pub fn size(&self) -> usize {
        let scope = match &self.scope {
            Scope::Resource {
                group,
                version,
                resource,
                subresource,
                namespace,
                name,
            } => [group, version, resource, subresource, namespace, name]
                .iter()
                .map(|text| text.len())
                .sum(),
            Scope::Path(path) => path.len(),
        };
        scope + self.verb.len() + 168
    }
}

/// What a request is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Objects of a resource.
    Resource {
        /// The API group.
        group: String,
        /// The version.
        version: String,
        /// The plural name.
        resource: String,
        /// `status`, or empty.
        subresource: String,
        /// The namespace; empty for all, and for objects without one.
        namespace: String,
        /// The object; empty for all.
        name: String,
    },
    /// Another path.
    Path(String),
}

/// Decides whether users may do what they request.
pub trait Access: Send + Sync {
    /// Whether the user may do it. `Ok(Some(why))` is a refusal; an error means that nobody
    /// knows at the moment.
    fn check<'a>(
        &'a self,
        user: &'a User,
        attributes: &'a Attributes,
    ) -> BoxFuture<'a, Result<Option<String>, StatusError>>;
}

/// Allows everything. For tests, and for a port that only its owner can reach.
#[derive(Clone, Copy, Debug)]
pub struct AllowAll;

impl Access for AllowAll {
    fn check<'a>(
        &'a self,
        _: &'a User,
        _: &'a Attributes,
    ) -> BoxFuture<'a, Result<Option<String>, StatusError>> {
        Box::pin(async { Ok(None) })
    }
}

/// The refusal of a request, in the words of kube-apiserver.
pub fn refused(user: &User, attributes: &Attributes, why: &str) -> StatusError {
    let name = &user.name;
    let verb = &attributes.verb;
    let mut reason = match &attributes.scope {
        Scope::Path(path) => format!("User {name:?} cannot {verb} path {path:?}"),
        Scope::Resource {
            group,
            resource,
            subresource,
            namespace,
            ..
        } => {
            let slash = if subresource.is_empty() { "" } else { "/" };
            let place = if namespace.is_empty() {
                "at the cluster scope".to_owned()
            } else {
                format!("in the namespace {namespace:?}")
            };
            format!(
                "User {name:?} cannot {verb} resource \"{resource}{slash}{subresource}\" in API \
                 group {group:?} {place}"
            )
        }
    };
    if !why.is_empty() {
        reason.push_str(": ");
        reason.push_str(why);
    }
    match &attributes.scope {
        Scope::Path(_) => StatusError::new(403, "Forbidden", format!("forbidden: {reason}")),
        Scope::Resource {
            group,
            resource,
            name,
            ..
        } => {
            let resource = ResourceName {
                group,
                plural: resource,
            };
            StatusError::forbidden(resource, name, &reason)
        }
    }
}

/// What a request for objects wants to do.
pub(crate) fn attributes(verb: &'static str, route: &ObjectsRoute) -> Attributes {
    Attributes {
        verb: verb.into(),
        scope: Scope::Resource {
            group: route.group.clone(),
            version: route.version.clone(),
            resource: route.resource.clone(),
            subresource: route.subresource.clone().unwrap_or_default(),
            namespace: route.namespace.clone().unwrap_or_default(),
            name: route.name.clone().unwrap_or_default(),
        },
    }
}

/// Other paths are checked with the method as the verb.
pub(crate) fn path_attributes(method: &Method, path: &str) -> Attributes {
    let verb = match method.as_str() {
        "GET" => "get",
        "HEAD" => "head",
        "POST" => "post",
        "PUT" => "put",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "options",
    };
    Attributes {
        verb: verb.into(),
        scope: Scope::Path(path.to_owned()),
    }
}
