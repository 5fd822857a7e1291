//! Answers: bodies, headers and compression.

use std::convert::Infallible;

use bytes::Bytes;
use document::Value;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER, VARY, WARNING};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;

use crate::list_text::ListText;
use crate::sending::{Pieces, TextLength};
use crate::status::StatusError;

/// The body of an answer.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Answers from this size on are compressed if the client accepts that, as kube-apiserver does.
const COMPRESS_FROM: usize = 128 * 1024;

/// The total length of the warnings of an answer, in bytes, above which they are cut.
const MOST_WARNINGS: usize = 4096;
/// The length that a warning is then cut to.
const MOST_WARNING: usize = 256;

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

    /// The response. A large one is compressed if the client accepts that, and is written while
    /// the client reads it.
    pub(crate) fn respond(self, gzip: bool, pretty: bool) -> Response<Body> {
        let mut text = if pretty {
            ListText::whole(print(&self.value, true))
        } else {
            ListText::new(&self.value)
        };
        let mut first = String::new();
        while first.len() < COMPRESS_FROM
            && let Some(piece) = text.next()
        {
            first.push_str(&piece);
        }
        let gzip = gzip && first.len() >= COMPRESS_FROM;
        let mut response = if gzip || !text.is_done() {
            let length = TextLength(text.estimate(first.len()));
            let mut response = headed(self.code, self.content_type, text.body(first, gzip));
            response.extensions_mut().insert(length);
            response
        } else {
            bytes(self.code, self.content_type, first.into_bytes())
        };
        if gzip {
            let headers = response.headers_mut();
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
        }
        for warning in warning_headers(&self.warnings) {
            if let Ok(value) = HeaderValue::from_str(&warning) {
                response.headers_mut().append(WARNING, value);
            }
        }
        response
    }
}

/// Warnings as headers. If they are long, each is cut, and the last ones are left out, as
/// kube-apiserver does.
fn warning_headers(warnings: &[String]) -> Vec<String> {
    // 299: a warning that lasts. Quotes must be escaped.
    let header = |text: &str| format!("299 - {}", Value::from(text));
    if warnings.iter().map(String::len).sum::<usize>() <= MOST_WARNINGS {
        return warnings.iter().map(|text| header(text)).collect();
    }
    let mut left = MOST_WARNINGS;
    let cut = warnings.iter().map_while(|text| {
        let text = &text[..text.floor_char_boundary(MOST_WARNING)];
        left = left.checked_sub(text.len())?;
        Some(header(text))
    });
    cut.collect()
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

/// A response with these bytes.
pub(crate) fn bytes(code: u16, content_type: &'static str, content: Vec<u8>) -> Response<Body> {
    let body = Pieces(Bytes::from(content)).boxed_unsync();
    headed(code, content_type, body)
}

fn headed(code: u16, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
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
