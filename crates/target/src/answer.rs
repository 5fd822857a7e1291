//! What the server's answers mean for the object that was written.

use std::time::Duration;

use document::Value;
use object::ObjectKey;

use super::problem::Cause;

/// How much of a server's message is kept, in bytes.
pub const MAX_MESSAGE: usize = 1024;

/// The longest name of a webhook or a policy, in bytes.
const MAX_NAME: usize = 253;

/// The server serves a kind whose definition is being deleted, but creates no objects: a
/// 403, in other versions a 405.
const KIND_IS_GOING: &str = "not allowed while custom resource definition is terminating";

/// What a server says of a request that failed: the parts of a `metav1.Status` that count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The HTTP status.
    pub code: u16,
    /// Why, in one word.
    pub reason: String,
    /// Why, for people. It may quote values.
    pub message: String,
    /// What it is about, if the server says so.
    pub details: Option<StatusDetails>,
}

/// What a failure is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusDetails {
    /// The name of the object.
    pub name: String,
    /// Its kind or its resource.
    pub kind: String,
    /// When to ask again.
    pub retry_after: Option<Duration>,
    /// One by one.
    pub causes: Vec<StatusCause>,
}

/// One cause of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusCause {
    /// Why, in one word.
    pub reason: String,
    /// Why, for people. It may quote values.
    pub message: String,
    /// The field.
    pub field: String,
}

impl Status {
    /// A failure with nothing but a message.
    pub fn failure(code: u16, reason: &str, message: &str) -> Self {
        Self {
            code,
            reason: reason.to_owned(),
            message: message.to_owned(),
            details: None,
        }
    }

    /// The status in the body of an answer. A body that is none is its message.
    pub fn read(code: u16, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        match text.parse::<Value>() {
            Ok(status) if status.as_map().is_some() => Self {
                code,
                reason: text_of(&status, "reason"),
                message: text_of(&status, "message"),
                details: details(status.get("details")),
            },
            _ => Self::failure(code, "", shorten(text.trim())),
        }
    }
}

fn text_of(value: &Value, field: &str) -> String {
    value.get(field).as_str().unwrap_or_default().to_owned()
}

fn details(value: &Value) -> Option<StatusDetails> {
    value.as_map()?;
    let seconds = value.get("retryAfterSeconds").as_int();
    let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
    let causes = value.get("causes").as_list().into_iter().flatten();
    let causes = causes.map(|cause| StatusCause {
        reason: text_of(cause, "reason"),
        message: text_of(cause, "message"),
        field: text_of(cause, "field"),
    });
    Some(StatusDetails {
        name: text_of(value, "name"),
        kind: text_of(value, "kind"),
        retry_after: seconds.filter(|s| *s > 0).map(Duration::from_secs),
        causes: causes.collect(),
    })
}

/// A request that did not succeed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// The server said no.
    #[error("status {}", .status.code)]
    Answer {
        /// What it said.
        status: Box<Status>,
        /// The `Retry-After` header.
        retry_after: Option<Duration>,
    },
    /// There is no answer, or none that could be read: the request may have been done.
    #[error("{0}")]
    Lost(String),
}

/// What to do about it.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Someone was faster: read it, and decide anew.
    Conflict,
    /// An apply would take fields from other managers: the fields and their managers.
    Managers(Vec<(String, String)>),
    /// The object is not there.
    Gone,
    /// Later, after this time or after a growing pause.
    Later {
        /// What the server asks for.
        after: Option<Duration>,
        /// Whether the write may have happened: the object is read first.
        unknown: bool,
        /// Why, for people.
        message: String,
    },
    /// The namespace does not exist or is going: wait for it.
    NoNamespace,
    /// The kind is not served: wait for it.
    NoKind,
    /// A permission is missing, a [`Cause::Forbidden`].
    Forbidden(Cause),
    /// The object cannot be written as it is.
    Refused(Refusal),
}

/// Why an object cannot be written as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The HTTP status.
    pub code: u16,
    /// What the server said, see [`MAX_MESSAGE`].
    pub message: String,
    /// The fields that it names.
    pub fields: Vec<String>,
    /// Those of them that must be there.
    pub required: Vec<String>,
}

/// What a failed request for an object means. `hide`: what the server says may quote a Secret.
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
    /// Whether the text of the server is not shown.
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
        let later = |unknown: bool| Outcome::Later {
            after: retry_after.or(asked),
            unknown,
            message: self.said(status),
        };
        if status.message.contains(KIND_IS_GOING) {
            return Outcome::NoKind;
        }
        match status.code {
            409 => match managers(status) {
                fields if fields.is_empty() => Outcome::Conflict,
                fields => Outcome::Managers(fields),
            },
            404 => missing(status, self.key),
            403 => self.forbidden(status),
            401 | 429 => later(false),
            // An apply that does not fit the schema.
            500 if status.message.contains("typed patch object") => {
                Outcome::Refused(self.refusal(status))
            }
            500..=599 => later(true),
            _ => Outcome::Refused(self.refusal(status)),
        }
    }

    fn forbidden(&self, status: &Status) -> Outcome {
        let going = causes(status).any(|cause| cause.reason == "NamespaceTerminating");
        if going || status.message.contains("because it is being terminated") {
            return Outcome::NoNamespace;
        }
        match permission(&status.message) {
            Some(cause) => Outcome::Forbidden(cause),
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
            message: self.said(status),
            fields,
            required: required.map(|cause| cause.field.clone()).collect(),
        }
    }

    /// What the server said. It quotes values: where they are not shown, the reason is, with the
    /// fields, and with the webhook or policy that refused it.
    fn said(&self, status: &Status) -> String {
        if !self.hide {
            let text = match status.message.trim() {
                "" => &status.reason,
                text => text,
            };
            return shorten(text).to_owned();
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
        shorten(&text).to_owned()
    }
}

/// A cause without values: `spec.image (FieldValueRequired)`.
fn described(cause: &StatusCause) -> String {
    if cause.reason.is_empty() {
        return cause.field.clone();
    }
    format!("{} ({})", cause.field, cause.reason)
}

/// The webhook or policy whose name the server puts before what they say.
fn refused_by(message: &str) -> Option<String> {
    let named = |kind: &str, quote: char| {
        let (_, rest) = message.split_once(&format!("{kind} {quote}"))?;
        let (name, _) = rest.split_once(quote)?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:_/".contains(&byte);
        (name.len() <= MAX_NAME && name.bytes().all(plain)).then(|| format!("{kind} {name}"))
    };
    named("admission webhook", '"').or_else(|| named("ValidatingAdmissionPolicy", '\''))
}

fn causes(status: &Status) -> impl Iterator<Item = &StatusCause> {
    status
        .details
        .iter()
        .flat_map(|details| details.causes.iter())
}

/// The fields of an apply that others own: `conflict with "manager" using v1`.
fn managers(status: &Status) -> Vec<(String, String)> {
    let conflicts = causes(status).filter(|cause| cause.reason == "FieldManagerConflict");
    let named = conflicts.map(|cause| {
        let manager = cause.message.split('"').nth(1).unwrap_or("another manager");
        (cause.field.clone(), manager.to_owned())
    });
    named.collect()
}

fn missing(status: &Status, key: &ObjectKey) -> Outcome {
    let Some(details) = &status.details else {
        return Outcome::NoKind;
    };
    if details.kind == "namespaces" && key.kind.kind.as_str() != "Namespace" {
        return Outcome::NoNamespace;
    }
    if details.name == key.object_name() {
        return Outcome::Gone;
    }
    // "the server could not find the requested resource" names nothing.
    Outcome::NoKind
}

/// The permission that RBAC's message names: `User "u" cannot create resource "pods" in
/// API group "" in the namespace "n"`.
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

fn shorten(text: &str) -> &str {
    let mut end = text.len().min(MAX_MESSAGE);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Whether a body is the `Status` that says that an object is gone for good.
pub fn is_status(body: &Value) -> bool {
    body.get("kind").as_str() == Some("Status")
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    fn key() -> ObjectKey {
        ObjectKey::new("apps", "Deployment", "ns", "web")
    }

    fn failure(code: u16, body: &Value) -> Failure {
        Failure::Answer {
            status: Box::new(Status::read(code, body.to_string().as_bytes())),
            retry_after: None,
        }
    }

    fn check(code: u16, body: &Value, expect: &Outcome) {
        assert_eq!(
            judge(&failure(code, body), &key(), false),
            *expect,
            "{code}"
        );
    }

    #[test]
    fn conflicts_are_decided_anew() {
        check(
            409,
            &json!({"reason": "Conflict", "message": "the object has been modified"}),
            &Outcome::Conflict,
        );
        check(
            409,
            &json!({"reason": "AlreadyExists", "details": {"name": "web"}}),
            &Outcome::Conflict,
        );
        check(
            409,
            &json!({"reason": "Conflict", "details": {"causes": [{
                "reason": "FieldManagerConflict", "field": ".spec.replicas",
                "message": "conflict with \"kubectl\" using apps/v1",
            }]}}),
            &Outcome::Managers(vec![(".spec.replicas".to_owned(), "kubectl".to_owned())]),
        );
    }

    #[test]
    fn a_busy_server_is_asked_later() {
        let later = |after, unknown, message: &str| Outcome::Later {
            after,
            unknown,
            message: message.to_owned(),
        };
        let asked = json!({"message": "slow down", "details": {"retryAfterSeconds": 7}});
        let seven = Some(Duration::from_secs(7));
        check(429, &asked, &later(seven, false, "slow down"));
        check(503, &asked, &later(seven, true, "slow down"));
        check(
            504,
            &json!({"message": "timeout"}),
            &later(None, true, "timeout"),
        );
        let header = Failure::Answer {
            status: Box::new(Status::read(
                429,
                b"Too many requests, please try again later.",
            )),
            retry_after: Some(Duration::from_secs(1)),
        };
        let one = Some(Duration::from_secs(1));
        assert_eq!(
            judge(&header, &key(), false),
            later(one, false, "Too many requests, please try again later.")
        );
        let lost = Failure::Lost("timed out".to_owned());
        assert_eq!(judge(&lost, &key(), false), later(None, true, "timed out"));
    }

    #[test]
    fn missing_things_are_told_apart() {
        check(
            404,
            &json!({"reason": "NotFound", "details": {"name": "web", "group": "apps", "kind": "deployments"}}),
            &Outcome::Gone,
        );
        check(
            404,
            &json!({"reason": "NotFound", "details": {"name": "ns", "kind": "namespaces"}}),
            &Outcome::NoNamespace,
        );
        check(
            404,
            &json!({"reason": "NotFound", "message": "the server could not find the requested resource", "details": {}}),
            &Outcome::NoKind,
        );
        assert_eq!(
            judge(
                &Failure::Answer {
                    status: Box::new(Status::read(404, b"404 page not found\n")),
                    retry_after: None
                },
                &key(),
                false,
            ),
            Outcome::NoKind
        );
        for code in [403, 405] {
            check(
                code,
                &json!({"message": "gadgets.example.com \"web\" is forbidden: create not allowed while custom resource definition is terminating"}),
                &Outcome::NoKind,
            );
        }
        check(
            403,
            &json!({"reason": "Forbidden", "message": "unable to create new content in namespace ns because it is being terminated", "details": {
                "causes": [{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]}}),
            &Outcome::NoNamespace,
        );
    }

    #[test]
    fn a_missing_permission_is_named() {
        let forbidden = |verb: &str, group: &str, resource: &str, namespace: &str| {
            Outcome::Forbidden(Cause::Forbidden {
                verb: verb.to_owned(),
                group: group.to_owned(),
                resource: resource.to_owned(),
                namespace: namespace.to_owned(),
            })
        };
        check(
            403,
            &json!({"reason": "Forbidden", "message": r#"deployments.apps is forbidden: User "u" cannot create resource "deployments" in API group "apps" in the namespace "ns""#}),
            &forbidden("create", "apps", "deployments", "ns"),
        );
        check(
            403,
            &json!({"reason": "Forbidden", "message": r#"nodes "n" is forbidden: User "u" cannot patch resource "nodes/status" in API group "" at the cluster scope"#}),
            &forbidden("patch", "", "nodes/status", ""),
        );
    }

    #[test]
    fn refusals_carry_what_the_server_said() {
        let refused = |code, message: &str, fields: &[&str]| {
            Outcome::Refused(Refusal {
                code,
                message: message.to_owned(),
                fields: fields.iter().map(|field| (*field).to_owned()).collect(),
                required: Vec::new(),
            })
        };
        let text = "spec.selector: Invalid value: field is immutable";
        check(
            422,
            &json!({"message": text, "details": {"causes": [{"field": "spec.selector"}]}}),
            &refused(422, text, &["spec.selector"]),
        );
        let text = r#"admission webhook "w" denied the request: no"#;
        check(
            403,
            &json!({"reason": "Forbidden", "message": text}),
            &refused(403, text, &[]),
        );
        for code in [400, 413, 405, 415] {
            check(code, &json!({"message": "no"}), &refused(code, "no", &[]));
        }
        let required = json!({"details": {"causes": [
            {"field": "spec.image", "reason": "FieldValueRequired"},
            {"field": "spec.name", "reason": "FieldValueInvalid"},
        ]}});
        let Outcome::Refused(refusal) = judge(&failure(422, &required), &key(), false) else {
            panic!("refused");
        };
        assert_eq!(refusal.required, ["spec.image"]);
        let long = json!({"message": ("é".repeat(2000))});
        let Outcome::Refused(refusal) = judge(&failure(422, &long), &key(), false) else {
            panic!("refused");
        };
        assert_eq!(refusal.message.len(), MAX_MESSAGE);
    }

    #[test]
    fn values_of_secrets_do_not_show() {
        let body = json!({"reason": "Invalid", "message": "data[x]: Invalid value: \"hunter2\"", "details": {
            "causes": [{"field": "data[x]", "message": "Invalid value: \"hunter2\""}]}});
        let secret = ObjectKey::new("", "Secret", "ns", "s");
        let outcome = format!("{:?}", judge(&failure(422, &body), &secret, false));
        assert!(!outcome.contains("hunter2"), "{outcome}");
        assert!(outcome.contains("Invalid: data[x]"), "{outcome}");
    }

    #[test]
    fn where_a_secret_may_be_quoted_only_names_show() {
        let check = |code: u16, body: &Value, expect: &str| {
            let Outcome::Refused(refusal) = judge(&failure(code, body), &key(), true) else {
                panic!("refused");
            };
            assert_eq!(refusal.message, expect);
        };
        let causes = json!([{"field": "metadata.labels", "reason": "FieldValueInvalid", "message": "Invalid value: \"hunter2\""}]);
        check(
            422,
            &json!({"reason": "Invalid", "message": "labels: Invalid value: \"hunter2\"", "details": {"causes": causes}}),
            "Invalid: metadata.labels (FieldValueInvalid)",
        );
        let denied = r#"admission webhook "w.example.com" denied the request: hunter2"#;
        check(
            400,
            &json!({"reason": "BadRequest", "message": denied}),
            "BadRequest by admission webhook w.example.com",
        );
        let denied = "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'no-root' with binding 'b' denied request: hunter2";
        check(
            403,
            &json!({"reason": "Forbidden", "message": denied}),
            "Forbidden by ValidatingAdmissionPolicy no-root",
        );
    }
}
