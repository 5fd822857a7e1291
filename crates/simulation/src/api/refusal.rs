//! Error answers.

use document::{Value, json};
use object::ObjectKey;

/// An error, as the `Status` of Kubernetes describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The HTTP status.
    pub code: u16,
    /// The machine-readable reason.
    pub reason: &'static str,
    /// The message for people.
    pub message: String,
    /// The `details` of the `Status`.
    pub details: Value,
}

impl Refusal {
    /// An error without details.
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

    /// The path does not exist.
    pub fn no_resource() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(404, "NotFound", message)
    }

    /// The object does not exist.
    pub fn not_found(plural: &str, name: &str) -> Self {
        let details = json!({"name": name, "kind": plural});
        Self::new(404, "NotFound", &format!("{plural} {name:?} not found")).with(details)
    }

    /// The object exists already.
    pub fn exists(key: &ObjectKey) -> Self {
        let details = json!({"name": (key.object_name())});
        Self::new(409, "AlreadyExists", &format!("{key} already exists")).with(details)
    }

    /// The object has another version or uid than the request expects.
    pub fn conflict() -> Self {
        let message = "the object has been modified; please apply your changes to the latest version and try again";
        Self::new(409, "Conflict", message)
    }

    /// An apply conflicts with other managers: each field with its manager.
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

    /// The namespace is being deleted.
    pub fn terminating(namespace: &str) -> Self {
        let message = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let cause = json!({"reason": "NamespaceTerminating", "field": "metadata.namespace"});
        Self::new(403, "Forbidden", &message).with(json!({"causes": [cause]}))
    }

    /// A field has an invalid value.
    pub fn invalid(field: &str, why: &str) -> Self {
        let cause = json!({"field": field, "message": why, "reason": "FieldValueInvalid"});
        let message = format!("{field}: Invalid value: {why}");
        Self::new(422, "Invalid", &message).with(json!({"causes": [cause]}))
    }

    /// The version is no longer in the history.
    pub fn expired() -> Self {
        Self::new(410, "Expired", "too old resource version")
    }

    /// The `Status` document.
    pub fn status(&self) -> Value {
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "code": (i64::from(self.code)), "reason": (self.reason),
            "message": (self.message.as_str()), "details": (self.details.clone()),
        })
    }
}
