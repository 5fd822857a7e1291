//! What a server says of a request that failed: `metav1.Status`.

use std::time::Duration;

use document::Value;

use super::shorten;

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

/// Whether a body is the `Status` that says that an object is gone for good.
pub fn is_status(body: &Value) -> bool {
    body.get("kind").as_str() == Some("Status")
}
