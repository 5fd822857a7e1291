//! A failed request as the server describes it: `metav1.Status`.

use std::time::Duration;

use document::Value;
use object::abridged;

use super::MAX_MESSAGE;

/// A failure, as the server describes it: the relevant parts of a `metav1.Status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The HTTP status.
    pub code: u16,
    /// The machine-readable reason.
    pub reason: String,
    /// The message for people. It may quote values.
    pub message: String,
    /// What the failure is about, if the server says so.
    pub details: Option<StatusDetails>,
}

/// The object of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusDetails {
    /// The name of the object.
    pub name: String,
    /// Its kind or its resource.
    pub kind: String,
    /// When to send the request again.
    pub retry_after: Option<Duration>,
    /// The individual causes.
    pub causes: Vec<StatusCause>,
}

/// One cause of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusCause {
    /// The machine-readable reason.
    pub reason: String,
    /// The message for people. It may quote values.
    pub message: String,
    /// The field.
    pub field: String,
}

impl Status {
    /// A failure with only a message.
    pub fn failure(code: u16, reason: &str, message: &str) -> Self {
        Self {
            code,
            reason: reason.to_owned(),
            message: message.to_owned(),
            details: None,
        }
    }

    /// Parses the body of an answer. If it is not a `Status`, it is used as the message.
    pub fn read(code: u16, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        match text.parse::<Value>() {
            Ok(status) if status.as_map().is_some() => Self {
                code,
                reason: text_of(&status, "reason"),
                message: text_of(&status, "message"),
                details: details(status.get("details")),
            },
            _ => Self::failure(code, "", &abridged(text.trim(), MAX_MESSAGE)),
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

/// Whether a body is the `Status` that confirms a finished deletion.
pub fn is_status(body: &Value) -> bool {
    body.get("kind").as_str() == Some("Status")
}
