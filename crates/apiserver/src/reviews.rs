//! Reviews: users ask who they are and what they may do.
//!
//! `kubectl auth can-i` and `kubectl auth whoami` ask the server that the kubeconfig names. On
//! deltic's own port that is this server, so it answers like the cluster would: permissions come
//! from the same [`Access`](crate::Access) that decides about requests.

use document::{Key, Map, Value, json};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method};
use jiff::Timestamp;

use crate::access::{Attributes, Scope, User};
use crate::answer::Answer;
use crate::body::parse;
use crate::negotiate::{self, media_type};
use crate::protobuf::Message;
use crate::route::ObjectsRoute;
use crate::server::Server;
use crate::status::{Cause, StatusError};

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
        let review = read(headers, content)?;
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
        let now = Timestamp::from_second(server.shared.env.now());
        let now = now.map(|now| now.to_string()).unwrap_or_default();
        Ok(Answer::new(
            201,
            match self {
                Self::Access => json!({
                    "apiVersion": "authorization.k8s.io/v1",
                    "kind": "SelfSubjectAccessReview",
                    "metadata": {},
                    "spec": (review.get("spec").clone()),
                    "status": status
                }),
                Self::Identity => json!({
                    "apiVersion": "authentication.k8s.io/v1",
                    "kind": "SelfSubjectReview",
                    "metadata": {"creationTimestamp": now},
                    "status": status
                }),
            },
        ))
    }
}

/// The review in a body. client-go sends it in protobuf.
fn read(headers: &HeaderMap, content: &[u8]) -> Result<Value, StatusError> {
    if media_type(headers, &CONTENT_TYPE) != "application/vnd.kubernetes.protobuf" {
        return parse(negotiate::body_format(headers)?, content);
    }
    let object = Message::object(content);
    let object = object.ok_or_else(|| StatusError::bad_request("the body is not an object"))?;
    // Both reviews have their spec in the second field; that of an identity is empty.
    let spec = object.message(2);
    let texts = |message: Message<'_>, names: &[&str]| -> Value {
        let names = (1..).zip(names);
        let entries = names.map(|(number, name)| (Key::new(name), message.text(number).into()));
        Map::from_entries(entries.collect()).into()
    };
    let resource = [
        "namespace",
        "verb",
        "group",
        "version",
        "resource",
        "subresource",
        "name",
    ];
    let mut entries = Vec::new();
    if spec.has(1) {
        let attributes = texts(spec.message(1), &resource);
        entries.push((Key::new("resourceAttributes"), attributes));
    }
    if spec.has(2) {
        let attributes = texts(spec.message(2), &["path", "verb"]);
        entries.push((Key::new("nonResourceAttributes"), attributes));
    }
    Ok(json!({"spec": (Value::from(Map::from_entries(entries)))}))
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
