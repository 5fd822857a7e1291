//! Answers: bodies, headers and compression.

use std::convert::Infallible;
use std::io::Write as _;

use bytes::Bytes;
use document::Value;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER, VARY, WARNING};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};

use crate::status::StatusError;

/// The body of an answer.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Answers from this size on are compressed if the client accepts that, as kube-apiserver does.
const COMPRESS_FROM: usize = 128 * 1024;

/// A document to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) value: Value,
    pub(crate) content_type: &'static str,
    /// Texts for the `Warning` header.
    pub(crate) warnings: Vec<String>,
}

/// The media type of JSON.
pub(crate) const JSON: &str = "application/json";

impl Answer {
    pub(crate) fn new(code: u16, value: Value) -> Self {
        Self {
            code,
            value,
            content_type: JSON,
            warnings: Vec::new(),
        }
    }

    pub(crate) fn ok(value: Value) -> Self {
        Self::new(200, value)
    }

    pub(crate) fn with_warnings(mut self, warnings: Vec<String>) -> Self {
        self.warnings = warnings;
        self
    }

    /// The response, compressed if it is large and the client accepts that.
    pub(crate) fn respond(self, gzip: bool, pretty: bool) -> Response<Body> {
        let text = print(&self.value, pretty);
        let mut response = if gzip && text.len() >= COMPRESS_FROM {
            let mut response = bytes(self.code, self.content_type, compressed(&text));
            let headers = response.headers_mut();
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
            response
        } else {
            bytes(self.code, self.content_type, text.into_bytes())
        };
        for warning in &self.warnings {
            // 299: a warning that lasts. Quotes must be escaped.
            let text = format!("299 - {}", Value::from(warning.as_str()));
            if let Ok(value) = HeaderValue::from_str(&text) {
                response.headers_mut().append(WARNING, value);
            }
        }
        response
    }
}

/// A value as JSON, with a line end.
pub(crate) fn print(value: &Value, pretty: bool) -> String {
    let compact = value.to_string();
    let mut text = if pretty {
        let parsed: Option<serde_json::Value> = serde_json::from_str(&compact).ok();
        let pretty = parsed.and_then(|value| serde_json::to_string_pretty(&value).ok());
        pretty.unwrap_or(compact)
    } else {
        compact
    };
    text.push('\n');
    text
}

fn compressed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory does not fail.
    let _ = encoder.write_all(text.as_bytes());
    encoder.finish().unwrap_or_default()
}

/// A response with these bytes.
pub(crate) fn bytes(code: u16, content_type: &'static str, content: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(content)).boxed_unsync());
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

impl StatusError {
    /// The response for this error.
    pub fn respond(&self) -> Response<Body> {
        let text = print(&self.to_value(), false);
        let mut response = bytes(self.code, JSON, text.into_bytes());
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}
