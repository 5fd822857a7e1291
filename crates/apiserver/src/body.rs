//! The bodies of requests: documents that clients send.

use std::fmt::Write as _;
use std::str::FromStr;

use document::Value;
use object::GroupKind;
use object::metadata::{self, KEYS};

use crate::duplicates::duplicates;
use crate::metadata::prune;
use crate::negotiate::{self, BodyFormat};
use crate::query::FieldValidation;
use crate::server::ObjectRequest;
use crate::status::{Cause, StatusError};

/// The largest object in YAML, in bytes, with its aliases written out.
const MAX_YAML: usize = 3 * 1024 * 1024;
/// How much of a body is shown in errors, in bytes.
const SHOWN: usize = 30;

impl ObjectRequest {
    /// The object in the body, with warnings about it.
    pub(crate) fn object(&self) -> Result<(Value, Vec<String>), StatusError> {
        let format = negotiate::body_format(&self.headers)?;
        let object = parse(format, &self.content).map_err(|error| match error.code {
            400 => self.unrecognized(&error.message),
            _ => error,
        })?;
        self.check_kind(&object)?;
        let validation = self.query.field_validation();
        let duplicates = if format == BodyFormat::Json && validation != FieldValidation::Ignore {
            duplicates(&self.content)
        } else {
            Vec::new()
        };
        let pruned = prune(&object, &duplicates, validation);
        pruned.map_err(|wrong| {
            let kind = &self.resource.kind.kind;
            StatusError::bad_request(format!(
                "{kind} in version {:?} cannot be handled as a {kind}: {wrong}",
                self.resource.version
            ))
        })
    }

    /// 400 for a body that is not an object of the resource.
    fn unrecognized(&self, why: &str) -> StatusError {
        let kind = &self.resource.kind.kind;
        StatusError::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({})",
            summary(&self.content)
        ))
    }

    /// An object must have the kind of the path.
    pub(crate) fn check_kind(&self, object: &Value) -> Result<(), StatusError> {
        if object.as_map().is_none() {
            return Err(self.unrecognized(
                "couldn't get version/kind; json parse error: the body is not an object",
            ));
        }
        for (key, field) in [("Kind", &KEYS.kind), ("apiVersion", &KEYS.api_version)] {
            let text = object.get_key(field).as_str();
            if text.is_none_or(str::is_empty) {
                let body = String::from_utf8_lossy(&self.content);
                return Err(self.unrecognized(&format!("Object '{key}' is missing in '{body}'")));
            }
        }
        let expected = self.resource.api_version();
        let found = object.get_key(&KEYS.api_version).as_str();
        if found != Some(&expected) {
            return Err(StatusError::bad_request(format!(
                "the API version in the data ({}) does not match the expected API version \
                 ({expected})",
                found.unwrap_or_default()
            )));
        }
        self.check_patched_kind(object)?;
        let metadata = object.get_key(&KEYS.metadata);
        if metadata.as_map().is_none() && !metadata.is_null() {
            return Err(StatusError::bad_request("metadata must be an object"));
        }
        Ok(())
    }

    /// A patched object must still have the kind of the path.
    pub(crate) fn check_patched_kind(&self, object: &Value) -> Result<(), StatusError> {
        let name = metadata::name(object);
        let found = object.get_key(&KEYS.kind);
        let expected = &self.resource.kind.kind;
        let text = found.as_str().unwrap_or_default();
        if text != expected.as_str() {
            let cause = Cause::invalid("kind", found, &format!("must be {expected}"));
            let kind = GroupKind::new(self.resource.kind.group.as_str(), text);
            return Err(StatusError::invalid(&kind, name, &[cause]));
        }
        let (found, expected) = (
            object.get_key(&KEYS.api_version),
            self.resource.api_version(),
        );
        if found.as_str() != Some(&expected) {
            let cause = Cause::invalid("apiVersion", found, &format!("must be {expected}"));
            return Err(StatusError::invalid(&self.resource.kind, name, &[cause]));
        }
        Ok(())
    }
}

/// The beginning of a body, for errors.
fn summary(content: &[u8]) -> String {
    let (start, more) = match content.get(..SHOWN) {
        Some(start) if content.len() > SHOWN => (start, " ..."),
        _ => (content, ""),
    };
    match start.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(start)),
        Some(_) => {
            let mut text = String::new();
            for byte in start {
                // Writing to a string cannot fail.
                let _ = write!(text, "{byte:02x}");
            }
            text + more
        }
    }
}

/// Why a text is not JSON.
pub(crate) fn syntax(error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    error.to_string()
}

/// A document that a client has sent.
pub(crate) fn parse(format: BodyFormat, content: &[u8]) -> Result<Value, StatusError> {
    let text = std::str::from_utf8(content)
        .map_err(|_| StatusError::bad_request("the body is not valid UTF-8"))?;
    match format {
        BodyFormat::Json => text.parse().map_err(|error: <Value as FromStr>::Err| {
            let other = serde_json::from_str::<serde::de::IgnoredAny>(text).err();
            let why = other.map_or_else(|| error.to_string(), |error| syntax(&error));
            let prefix = "couldn't get version/kind; json parse error";
            StatusError::bad_request(format!("{prefix}: {why}"))
        }),
        BodyFormat::Yaml => {
            let manifests = manifest::parse_bytes("body", content.to_vec());
            let manifests = manifests.map_err(|diagnostic| {
                StatusError::bad_request(format!(
                    "the body is not valid YAML: {}",
                    diagnostic.short()
                ))
            })?;
            match manifests.as_slice() {
                // Aliases repeat values without taking space in the text.
                [one] if one.value.measure().bytes as usize > MAX_YAML => {
                    Err(StatusError::too_large(MAX_YAML))
                }
                [one] => Ok(one.value.clone()),
                _ => Err(StatusError::bad_request(
                    "the body must be one YAML document",
                )),
            }
        }
    }
}
