//! Decoding of bytes: UTF-8, with or without a byte order mark.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Severity};
use crate::source::{BOM, Source, Text};

/// The text of these bytes, without a byte order mark.
pub(crate) fn decode(name: &str, bytes: Vec<u8>) -> Result<Source, Diagnostic> {
    let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    match String::from_utf8(bytes) {
        Ok(mut text) => {
            if text.starts_with(BOM) {
                text.drain(..BOM.len_utf8());
            }
            Ok(Source {
                name: name.to_owned(),
                text,
            })
        }
        Err(error) => Err(invalid(name, &error, utf16)),
    }
}

/// The lossy text equals the file up to the invalid byte, so the span is correct.
fn invalid(name: &str, error: &std::string::FromUtf8Error, utf16: bool) -> Diagnostic {
    let offset = error.utf8_error().valid_up_to();
    let text = Text::new(Arc::new(Source {
        name: name.to_owned(),
        text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }));
    Diagnostic {
        severity: Severity::Error,
        code: "invalid-utf8".to_owned(),
        message: format!("byte {offset} is not UTF-8"),
        span: Some(text.character(offset)),
        source: Some(text.source),
        help: Some(if utf16 {
            "the file looks like UTF-16; save it as UTF-8".to_owned()
        } else {
            "save the file as UTF-8; bytes that are not text go into `data` as base64".to_owned()
        }),
    }
}
