//! Reviews: users ask who they are and what they may do.
//!
//! `kubectl auth can-i` and `kubectl auth whoami` ask the server that the kubeconfig names. On
//! deltic's own port that is this server, so it answers like the cluster would: permissions come
//! from the same [`Access`](crate::Access) that decides about requests.

use document::{Key, Map, Value, json};
use http::{HeaderMap, Method};

use crate::access::{Attributes, Scope, User};
use crate::answer::Answer;
use crate::negotiate;
use crate::route::ObjectsRoute;
use crate::server::Server;
use crate::status::{Cause, StatusError};
use crate::write::parse;

/// A question of a user about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Review {
    /// `SelfSubjectAccessReview`: may I do this?
    Access,
    /// `SelfSubjectReview`: who am I?
    Identity,
}

impl Review {
    /// The review that is created by a request, if it is one.
    pub(crate) fn of(method: &Method, route: &ObjectsRoute) -> Option<Self> {
        let created = method == Method::POST && route.name.is_none() && route.namespace.is_none();
        match (&*route.group, &*route.version, &*route.resource) {
            ("authorization.k8s.io", "v1", "selfsubjectaccessreviews") if created => {
                Some(Self::Access)
            }
            ("authentication.k8s.io", "v1", "selfsubjectreviews") if created => {
                Some(Self::Identity)
            }
            _ => None,
        }
    }

    /// Answers the question.
    pub(crate) async fn answer(
        self,
        server: &Server,
        user: &User,
        headers: &HeaderMap,
        content: &[u8],
    ) -> Result<Answer, StatusError> {
        let review = parse(negotiate::body_format(headers)?, content)?;
        let status = match self {
            Self::Identity => json!({"userInfo": (info(user))}),
            Self::Access => {
                let attributes = requested(review.get("spec"))?;
                match server.shared.access.check(user, &attributes).await? {
                    None => json!({"allowed": true}),
                    Some(why) if why.is_empty() => json!({"allowed": false}),
                    Some(why) => json!({"allowed": false, "reason": why}),
                }
            }
        };
        let review = review.as_map().cloned();
        let review = review.ok_or_else(|| StatusError::bad_request("the body is not an object"))?;
        let answer = review.with(Key::new("status"), status);
        Ok(Answer::new(201, answer.into()))
    }
}

/// The user as it is known here.
fn info(user: &User) -> Value {
    let list = |texts: &[String]| {
        texts
            .iter()
            .map(|text| Value::from(text.as_str()))
            .collect()
    };
    let mut entries = vec![(Key::new("username"), Value::from(user.name.as_str()))];
    if !user.uid.is_empty() {
        entries.push((Key::new("uid"), user.uid.as_str().into()));
    }
    if !user.groups.is_empty() {
        entries.push((Key::new("groups"), list(&user.groups)));
    }
    if !user.extra.is_empty() {
        let extra = user.extra.iter();
        let extra: Vec<(Key, Value)> = extra
            .map(|(key, values)| (Key::new(key), list(values)))
            .collect();
        entries.push((Key::new("extra"), Map::from_entries(extra).into()));
    }
    Map::from_entries(entries).into()
}

/// What the user wants to know about.
fn requested(spec: &Value) -> Result<Attributes, StatusError> {
    let (resource, other) = (
        spec.get("resourceAttributes"),
        spec.get("nonResourceAttributes"),
    );
    let text = |value: &Value, key: &str| value.get(key).as_str().unwrap_or_default().to_owned();
    match (resource.as_map(), other.as_map()) {
        (Some(_), None) => Ok(Attributes {
            verb: text(resource, "verb").into(),
            scope: Scope::Resource {
                group: text(resource, "group"),
                version: text(resource, "version"),
                resource: text(resource, "resource"),
                subresource: text(resource, "subresource"),
                namespace: text(resource, "namespace"),
                name: text(resource, "name"),
            },
        }),
        (None, Some(_)) => Ok(Attributes {
            verb: text(other, "verb").into(),
            scope: Scope::Path(text(other, "path")),
        }),
        (Some(_), Some(_)) | (None, None) => {
            let why =
                "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            let cause = Cause::invalid("spec.resourceAttributes", resource, why);
            let kind = object::GroupKind::new("authorization.k8s.io", "SelfSubjectAccessReview");
            Err(StatusError::invalid(&kind, "", &[cause]))
        }
    }
}
