//! The meaning of the server's answers for the object that was written.

mod status;

use std::time::Duration;

use document::Value;
use object::marks::is_manager_of;
use object::{ObjectKey, abridged};
pub use status::{Status, StatusCause, StatusDetails, is_status};

use super::problem::Cause;

/// The maximum length of a server's message that is kept, in bytes.
pub const MAX_MESSAGE: usize = 1024;

/// How long a server may ask us to wait. Whatever it says, the object is tried again then.
const MAX_RETRY_AFTER: Duration = Duration::from_mins(5);
/// The messages of refusals that have the status 500: an apply that does not match the schema,
/// and an object that is larger than etcd accepts.
const REFUSALS: [&str; 2] = ["typed patch object", "request is too large"];
/// In the message of a refusal because a `ResourceQuota` is used up, before the name of the quota.
const QUOTA_EXCEEDED: &str = "is forbidden: exceeded quota: ";
/// The maximum length of the name of a webhook, a policy or a quota, in bytes.
const MAX_NAME: usize = 253;

/// The message for a kind whose definition is being deleted: the server still serves it, but
/// creates no objects. The status is 403, or 405 in some versions.
const KIND_TERMINATING: &str = "not allowed while custom resource definition is terminating";

/// Whether an object that an apply of a field manager has found was created by an apply of the same
/// manager: by another process of the Operator, or by a request whose answer was lost. Nobody else
/// owns a field of it, and the manager has not changed it since its creation.
pub fn was_created_by(object: &Value, manager: &str, operator: &str) -> bool {
    let metadata = object.get("metadata");
    let Some(entries) = metadata.get("managedFields").as_list() else {
        return false;
    };
    let ours = |entry: &Value| {
        let name = entry.get("manager").as_str();
        name.is_some_and(|name| is_manager_of(name, operator))
    };
    let created = metadata.get("creationTimestamp");
    entries.iter().all(ours)
        && entries.iter().any(|entry| {
            entry.get("manager").as_str() == Some(manager)
                && entry.get("operation").as_str() == Some("Apply")
                && entry.get("subresource").is_null()
                && entry.get("time") == created
        })
}

/// A request that did not succeed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// The server answered with an error.
    #[error("status {}", .status.code)]
    Answer {
        /// The error.
        status: Box<Status>,
        /// The `Retry-After` header.
        retry_after: Option<Duration>,
    },
    /// There is no answer, or it cannot be decoded. The server may have carried out the
    /// request.
    #[error("{0}")]
    Lost(String),
}

/// What a failed request means for the object.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The object has changed in the meantime: read it, and decide again.
    Conflict,
    /// An apply conflicts with other managers: the fields and their managers.
    Managers(Vec<(String, String)>),
    /// The object does not exist.
    Gone,
    /// Try again after this time, or after a growing pause.
    Later {
        /// The time that the server asks for.
        after: Option<Duration>,
        /// Whether the write may have been carried out, so that the object has to be read
        /// first.
        unknown: bool,
        /// Why, for people.
        message: String,
    },
    /// The namespace does not exist or is being deleted: wait for it.
    NoNamespace,
    /// The definition of the kind is being deleted: wait for another one.
    NoKind,
    /// A permission is missing, or a quota is used up: others have to change that. Try again after a
    /// growing pause.
    Denied(Cause),
    /// The server does not accept the object.
    Refused(Refusal),
}

/// Why the server does not accept an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The HTTP status.
    pub code: u16,
    /// The server's message, at most [`MAX_MESSAGE`] bytes.
    pub message: String,
    /// The fields that it names.
    pub fields: Vec<String>,
    /// Those of them that are required.
    pub required: Vec<String>,
}

/// Interprets a failed request for an object. `hide`: messages of the server may quote a
/// Secret.
pub fn judge(failure: &Failure, key: &ObjectKey, hide: bool) -> Outcome {
    let subject = Subject {
        key,
        hide: hide || key.is_secret(),
    };
    subject.judge(failure)
}

/// The object of a request.
struct Subject<'a> {
    key: &'a ObjectKey,
    /// Whether to suppress messages of the server.
    hide: bool,
}

impl Subject<'_> {
    fn judge(&self, failure: &Failure) -> Outcome {
        let (status, retry_after) = match failure {
            Failure::Lost(message) => {
                return Outcome::Later {
                    after: None,
                    unknown: true,
                    message: message.clone(),
                };
            }
            Failure::Answer {
                status,
                retry_after,
            } => (status.as_ref(), *retry_after),
        };
        let asked = status.details.as_ref().and_then(|d| d.retry_after);
        let asked = retry_after.or(asked);
        let after = asked.map(|after| after.min(MAX_RETRY_AFTER));
        let later = |unknown: bool| Outcome::Later {
            after,
            unknown,
            message: self.shown_message(status),
        };
        if status.message.contains(KIND_TERMINATING) {
            return Outcome::NoKind;
        }
        match status.code {
            409 => match managers(status) {
                fields if fields.is_empty() => Outcome::Conflict,
                fields => Outcome::Managers(fields),
            },
            404 => missing(status, self.key).unwrap_or_else(|| no_such_kind(after)),
            403 => self.forbidden(status),
            401 | 429 => later(false),
            500 if REFUSALS.iter().any(|text| status.message.contains(text)) => {
                Outcome::Refused(self.refusal(status))
            }
            500..=599 => later(true),
            _ => Outcome::Refused(self.refusal(status)),
        }
    }

    fn forbidden(&self, status: &Status) -> Outcome {
        let terminating = causes(status).any(|cause| cause.reason == "NamespaceTerminating");
        if terminating || status.message.contains("because it is being terminated") {
            return Outcome::NoNamespace;
        }
        if status.message.contains(QUOTA_EXCEEDED) {
            return Outcome::Denied(Cause::Refused {
                code: status.code,
                message: self.shown_message(status),
            });
        }
        match permission(&status.message) {
            Some(cause) => Outcome::Denied(cause),
            None => Outcome::Refused(self.refusal(status)),
        }
    }

    fn refusal(&self, status: &Status) -> Refusal {
        let fields = causes(status).map(|cause| cause.field.clone());
        let mut fields: Vec<String> = fields.filter(|field| !field.is_empty()).collect();
        fields.dedup();
        let required = causes(status).filter(|cause| cause.reason == "FieldValueRequired");
        Refusal {
            code: status.code,
            message: self.shown_message(status),
            fields,
            required: required.map(|cause| cause.field.clone()).collect(),
        }
    }

    /// The message to show. The server's message quotes values. If these must not be shown, it
    /// is the reason with the fields, and the webhook or policy that refused the object.
    fn shown_message(&self, status: &Status) -> String {
        if !self.hide {
            let text = match status.message.trim() {
                "" => &status.reason,
                text => text,
            };
            return abridged(text, MAX_MESSAGE);
        }
        let mut text = status.reason.clone();
        if let Some(by) = refused_by(&status.message) {
            text = format!("{text} by {by}");
        }
        let named = causes(status).filter(|cause| !cause.field.is_empty());
        let fields: Vec<String> = named.map(described).collect();
        if !fields.is_empty() {
            text = format!("{text}: {}", fields.join(", "));
        }
        abridged(&text, MAX_MESSAGE)
    }
}

/// A cause without values: `spec.image (FieldValueRequired)`.
fn described(cause: &StatusCause) -> String {
    if cause.reason.is_empty() {
        return cause.field.clone();
    }
    format!("{} ({})", cause.field, cause.reason)
}

/// The webhook, policy or quota that refused the object, whose name the server puts first.
fn refused_by(message: &str) -> Option<String> {
    let named = |kind: &str, before: &str, after: char| {
        let (_, rest) = message.split_once(before)?;
        let (name, _) = rest.split_once(after)?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:_/".contains(&byte);
        (name.len() <= MAX_NAME && name.bytes().all(plain)).then(|| format!("{kind} {name}"))
    };
    let (webhook, policy) = ("admission webhook", "ValidatingAdmissionPolicy");
    named(webhook, &format!("{webhook} \""), '"')
        .or_else(|| named(policy, &format!("{policy} '"), '\''))
        .or_else(|| named("ResourceQuota", QUOTA_EXCEEDED, ','))
}

fn causes(status: &Status) -> impl Iterator<Item = &StatusCause> {
    status
        .details
        .iter()
        .flat_map(|details| details.causes.iter())
}

/// The fields of an apply that others own, from causes such as `conflict with "manager" using
/// v1`.
fn managers(status: &Status) -> Vec<(String, String)> {
    let conflicts = causes(status).filter(|cause| cause.reason == "FieldManagerConflict");
    let named = conflicts.map(|cause| {
        let manager = cause.message.split('"').nth(1).unwrap_or("another manager");
        (cause.field.clone(), manager.to_owned())
    });
    named.collect()
}

/// What does not exist; `None` if it is the kind.
fn missing(status: &Status, key: &ObjectKey) -> Option<Outcome> {
    // "the server could not find the requested resource" has no details.
    let details = status.details.as_ref()?;
    if details.kind == "namespaces" && key.kind.kind.as_str() != "Namespace" {
        return Some(Outcome::NoNamespace);
    }
    (details.name == key.object_name()).then_some(Outcome::Gone)
}

/// The server that answered does not serve the kind. If no server does, that is seen by its watch.
/// Until then it may be one that has just started, behind a load balancer with others that do serve
/// it: no event will tell when it does.
fn no_such_kind(after: Option<Duration>) -> Outcome {
    Outcome::Later {
        after,
        unknown: false,
        message: "the API server does not serve the kind (404)".to_owned(),
    }
}

/// The permission in a message of RBAC: `User "u" cannot create resource "pods" in API group ""
/// in the namespace "n"`.
fn permission(message: &str) -> Option<Cause> {
    let (_, rest) = message.split_once(" cannot ")?;
    let (verb, rest) = rest.split_once(" resource \"")?;
    if verb.contains(' ') {
        return None;
    }
    let (resource, rest) = rest.split_once('"')?;
    let quoted = |before: &str| {
        let (_, rest) = rest.split_once(before)?;
        rest.split_once('"').map(|(text, _)| text.to_owned())
    };
    Some(Cause::Forbidden {
        verb: verb.to_owned(),
        resource: resource.to_owned(),
        group: quoted("in API group \"").unwrap_or_default(),
        namespace: quoted("in the namespace \"").unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests;
