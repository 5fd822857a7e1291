//! Errors as clients expect them: `metav1.Status` with the codes, reasons and messages of
//! kube-apiserver, on which kubectl and client libraries rely.

use document::{Map, Value, json};
use object::GroupKind;

/// An error that is returned to a client.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusError {
    /// The HTTP status code.
    pub code: u16,
    /// The machine-readable reason.
    pub reason: &'static str,
    /// The message for people.
    pub message: String,
    /// `details` of the Status, or null.
    pub details: Value,
    /// After how many seconds the client may try again.
    pub retry_after: Option<u32>,
    /// A token with which the client can continue a list.
    pub list_token: Option<String>,
}

/// A field of an object that is refused, for [`StatusError::invalid`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The reason, such as `FieldValueInvalid`.
    pub reason: &'static str,
    /// The path of the field.
    pub field: String,
    /// What is wrong, without the path.
    pub message: String,
}

impl Cause {
    /// A field with a value that is not allowed.
    pub fn invalid(field: impl Into<String>, value: &Value, why: &str) -> Self {
        Self {
            reason: "FieldValueInvalid",
            field: field.into(),
            message: format!("Invalid value: {value}: {why}"),
        }
    }

    /// A field that is missing.
    pub fn required(field: impl Into<String>, why: &str) -> Self {
        Self {
            reason: "FieldValueRequired",
            field: field.into(),
            message: format!("Required value: {why}"),
        }
    }

    /// A field with a value that is none of those that are supported.
    pub fn not_supported(field: impl Into<String>, value: &Value, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(|text| format!("{text:?}")).collect();
        Self {
            reason: "FieldValueNotSupported",
            field: field.into(),
            message: format!(
                "Unsupported value: {value}: supported values: {}",
                supported.join(", ")
            ),
        }
    }

    fn to_value(&self) -> Value {
        json!({
            "reason": (self.reason),
            "message": (self.message.as_str()),
            "field": (self.field.as_str())
        })
    }

    /// A field that may not be written.
    pub fn forbidden(field: impl Into<String>, why: &str) -> Self {
        Self {
            reason: "FieldValueForbidden",
            field: field.into(),
            message: format!("Forbidden: {why}"),
        }
    }
}

/// The resource that an error is about, as in `health.shop.view.dcontroller.io`.
#[derive(Clone, Copy, Debug)]
pub struct ResourceName<'a> {
    /// The API group.
    pub group: &'a str,
    /// The plural name of the resource.
    pub plural: &'a str,
}

impl std::fmt::Display for ResourceName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.group.is_empty() {
            return f.write_str(self.plural);
        }
        write!(f, "{}.{}", self.plural, self.group)
    }
}

impl ResourceName<'_> {
    fn details(&self, name: &str) -> Vec<(&'static str, Value)> {
        vec![
            ("name", name.into()),
            ("group", self.group.into()),
            ("kind", self.plural.into()),
        ]
    }
}

impl StatusError {
    /// An error without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: Value::NULL,
            retry_after: None,
            list_token: None,
        }
    }

    /// 400: the request is malformed.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 401: the client is not known.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 404: no such path.
    pub fn no_such_path() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(404, "NotFound", message).with_details(vec![])
    }

    /// 404: no such object.
    pub fn not_found(resource: ResourceName<'_>, name: &str) -> Self {
        let message = format!("{resource} \"{name}\" not found");
        Self::new(404, "NotFound", message).with_details(resource.details(name))
    }

    /// 405: the resource does not support this verb.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).with_details(vec![])
    }

    /// 405: objects of the resource do not support this verb.
    pub fn not_supported(resource: ResourceName<'_>, verb: &str) -> Self {
        let message = format!("{verb} is not supported on resources of kind \"{resource}\"");
        Self::new(405, "MethodNotAllowed", message).with_details(resource.details(""))
    }

    /// 500: an error without a reason of its own.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// 406: none of the accepted media types is served.
    pub fn not_acceptable(served: &[&str]) -> Self {
        let message = format!(
            "only the following media types are accepted: {}",
            served.join(", ")
        );
        Self::new(406, "NotAcceptable", message)
    }

    /// 409: an object of this name exists.
    pub fn already_exists(resource: ResourceName<'_>, name: &str) -> Self {
        let message = format!("{resource} \"{name}\" already exists");
        Self::new(409, "AlreadyExists", message).with_details(resource.details(name))
    }

    /// 409: the object is not as the request expects.
    pub fn conflict(resource: ResourceName<'_>, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}");
        Self::new(409, "Conflict", message).with_details(resource.details(name))
    }

    /// 403: the caller may not do this.
    pub fn forbidden(resource: ResourceName<'_>, name: &str, why: &str) -> Self {
        let quoted = if name.is_empty() {
            String::new()
        } else {
            format!(" \"{name}\"")
        };
        let message = format!("{resource}{quoted} is forbidden: {why}");
        Self::new(403, "Forbidden", message).with_details(resource.details(name))
    }

    /// 410: the version is too old.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 413: the body is too large.
    pub fn too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(413, "RequestEntityTooLarge", message).with_details(vec![])
    }

    /// 415: the body has a media type that is not read.
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 422: fields of an object are refused.
    pub fn invalid(kind: &GroupKind, name: &str, causes: &[Cause]) -> Self {
        let text = |cause: &Cause| format!("{}: {}", cause.field, cause.message);
        let all = match causes {
            [one] => text(one),
            several => {
                let texts: Vec<String> = several.iter().map(text).collect();
                format!("[{}]", texts.join(", "))
            }
        };
        let message = format!("{kind} \"{name}\" is invalid: {all}");
        Self::new(422, "Invalid", message).with_details(vec![
            ("name", name.into()),
            ("group", kind.group.as_str().into()),
            ("kind", kind.kind.as_str().into()),
            ("causes", causes.iter().map(Cause::to_value).collect()),
        ])
    }

    /// The error with the fields that caused it.
    pub(crate) fn with_causes(self, causes: &[Cause]) -> Self {
        let causes = causes.iter().map(Cause::to_value).collect();
        self.with_details(vec![("causes", causes)])
    }

    /// 429: too many requests.
    pub fn too_many_requests(message: impl Into<String>) -> Self {
        Self::new(429, "TooManyRequests", message).retry_after(1)
    }

    /// 503: not available at the moment.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(503, "ServiceUnavailable", message).retry_after(1)
    }

    /// 504: the requested version is in the future.
    pub fn too_large_version(wanted: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {wanted}, current: {current}");
        let mut error = Self::new(504, "Timeout", message).retry_after(1);
        error.details = json!({
            "causes": [{
                "reason": "ResourceVersionTooLarge",
                "message": "Too large resource version"
            }],
            "retryAfterSeconds": 1
        });
        error
    }

    /// Allows the client to try again after some seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self.details = json!({"retryAfterSeconds": (i64::from(seconds))});
        self
    }

    fn with_details(mut self, details: Vec<(&'static str, Value)>) -> Self {
        let given = details
            .into_iter()
            .filter(|(_, value)| value.as_str() != Some(""));
        let entries = given.map(|(key, value)| (document::Key::new(key), value));
        self.details = Map::from_entries(entries.collect()).into();
        self
    }

    /// The Status object.
    pub fn to_value(&self) -> Value {
        let metadata = match &self.list_token {
            Some(token) => json!({"continue": (token.as_str())}),
            None => Value::empty_map(),
        };
        let mut status = json!({
            "apiVersion": "v1",
            "kind": "Status",
            "metadata": metadata,
            "status": "Failure",
            "message": (self.message.as_str()),
            "code": (i64::from(self.code))
        });
        let reason = Value::from(self.reason);
        for (key, value) in [("details", &self.details), ("reason", &reason)] {
            let given = !value.is_null() && value.as_str() != Some("");
            if let Some(map) = status.as_map().filter(|_| given) {
                status = map.with(document::Key::new(key), value.clone()).into();
            }
        }
        status
    }
}

/// The Status of a deletion that removed the object.
pub(crate) fn deleted(resource: ResourceName<'_>, name: &str, uid: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Success",
        "details": {
            "name": name, "group": (resource.group), "kind": (resource.plural), "uid": uid
        }
    })
}
