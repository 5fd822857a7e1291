//! Answers that say no.

use document::{Value, json};
use object::ObjectKey;

/// Why a request is refused, as Kubernetes says it in a `Status`.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The HTTP status.
    pub code: u16,
    /// One word for programs.
    pub reason: &'static str,
    /// A sentence for people.
    pub message: String,
    /// `details` of the `Status`.
    pub details: Value,
}

impl Refusal {
    /// A refusal without details.
    pub fn new(code: u16, reason: &'static str, message: &str) -> Self {
        Self {
            code,
            reason,
            message: message.to_owned(),
            details: json!({}),
        }
    }

    fn with(mut self, details: Value) -> Self {
        self.details = details;
        self
    }

    /// The path leads nowhere.
    pub fn no_resource() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(404, "NotFound", message)
    }

    /// There is no such object.
    pub fn not_found(plural: &str, name: &str) -> Self {
        let details = json!({"name": name, "kind": plural});
        Self::new(404, "NotFound", &format!("{plural} {name:?} not found")).with(details)
    }

    /// There is such an object already.
    pub fn exists(key: &ObjectKey) -> Self {
        let details = json!({"name": (key.object_name())});
        Self::new(409, "AlreadyExists", &format!("{key} already exists")).with(details)
    }

    /// It is another version, or another object, than the request expects.
    pub fn conflict() -> Self {
        let message = "the object has been modified; please apply your changes to the latest version and try again";
        Self::new(409, "Conflict", message)
    }

    /// An apply meets fields of other managers: each field with its manager.
    pub fn managers(conflicts: &[(String, String)]) -> Self {
        let causes = conflicts.iter().map(|(field, manager)| {
            json!({
                "reason": "FieldManagerConflict", "field": (field.as_str()),
                "message": (format!("conflict with {manager:?} using v1")),
            })
        });
        let causes: Value = causes.collect();
        let message = format!("Apply failed with {} conflicts", conflicts.len());
        Self::new(409, "Conflict", &message).with(json!({"causes": causes}))
    }

    /// A permission is missing.
    pub fn forbidden() -> Self {
        let message =
            r#"User "deltic" cannot do resource "things" in API group "" at the cluster scope"#;
        Self::new(403, "Forbidden", message)
    }

    /// The namespace is going.
    pub fn terminating(namespace: &str) -> Self {
        let message = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let cause = json!({"reason": "NamespaceTerminating", "field": "metadata.namespace"});
        Self::new(403, "Forbidden", &message).with(json!({"causes": [cause]}))
    }

    /// A field has a value that is not allowed.
    pub fn invalid(field: &str, why: &str) -> Self {
        let cause = json!({"field": field, "message": why, "reason": "FieldValueInvalid"});
        let message = format!("{field}: Invalid value: {why}");
        Self::new(422, "Invalid", &message).with(json!({"causes": [cause]}))
    }

    /// The versions since then are forgotten.
    pub fn expired() -> Self {
        Self::new(410, "Expired", "too old resource version")
    }

    /// As a document.
    pub fn status(&self) -> Value {
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "code": (i64::from(self.code)), "reason": (self.reason),
            "message": (self.message.as_str()), "details": (self.details.clone()),
        })
    }
}
