//! Percent-encoding in URLs, as Go's `net/url` does it.

use std::fmt::Write;

/// A part of a URL. Each has its own set of characters that need no escape.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Component {
    Path,
    Host,
    /// The zone of an IPv6 address.
    Zone,
    User,
    Query,
    Fragment,
}

impl Component {
    /// Whether a byte is written as it is.
    pub(super) fn keeps(self, c: u8) -> bool {
        if c.is_ascii_alphanumeric() || b"-._~".contains(&c) {
            return true;
        }
        match self {
            Self::Path => b"$&+,/:;=@".contains(&c),
            Self::Host | Self::Zone => b"!\"$&'()*+,:;<=>[]".contains(&c),
            Self::User => b"$&+,;=".contains(&c),
            Self::Query => false,
            Self::Fragment => b"!$&()*+,/:;=?@".contains(&c),
        }
    }
}

/// Why a text cannot be unescaped.
#[derive(Debug)]
pub(super) enum EscapeError {
    /// A malformed escape, or one that is not allowed.
    Escape(String),
    /// A character that is not allowed in a host.
    Host(char),
}

impl EscapeError {
    /// The message of Go.
    pub(super) fn message(&self) -> String {
        match self {
            Self::Escape(text) => format!("invalid URL escape {}", super::format::quoted(text)),
            Self::Host(c) => {
                let c = super::format::quoted(&c.to_string());
                format!("invalid character {c} in host name")
            }
        }
    }
}

pub(super) fn unescape(text: &str, component: Component) -> Result<Vec<u8>, EscapeError> {
    let bytes = text.as_bytes();
    let in_host = matches!(component, Component::Host | Component::Zone);
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&c) = bytes.get(at) {
        match c {
            b'%' => {
                let code = code(bytes.get(at + 1..at + 3));
                let Some(code) = code.filter(|code| allowed(*code, component)) else {
                    let end = (at + 3).min(bytes.len());
                    let wrong = String::from_utf8_lossy(&bytes[at..end]);
                    return Err(EscapeError::Escape(wrong.into_owned()));
                };
                out.push(code);
                at += 3;
                continue;
            }
            b'+' if component == Component::Query => out.push(b' '),
            c if in_host && c.is_ascii() && !component.keeps(c) => {
                return Err(EscapeError::Host(c.into()));
            }
            c => out.push(c),
        }
        at += 1;
    }
    Ok(out)
}

fn code(digits: Option<&[u8]>) -> Option<u8> {
    let digits = str::from_utf8(digits?).ok()?;
    let plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    plain.then(|| u8::from_str_radix(digits, 16).ok())?
}

/// Whether a byte may be written as an escape. In a host only those outside ASCII may, except for
/// the `%` before a zone.
fn allowed(code: u8, component: Component) -> bool {
    match component {
        Component::Host => code >= 0x80 || code == b'%',
        Component::Zone => matches!(code, b'%' | b' ') || Component::Host.keeps(code),
        Component::Path | Component::User | Component::Query | Component::Fragment => true,
    }
}

pub(super) fn escape(bytes: &[u8], component: Component) -> String {
    let mut out = String::with_capacity(bytes.len());
    for c in bytes {
        if component.keeps(*c) {
            out.push(char::from(*c));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{c:02X}");
        }
    }
    out
}
