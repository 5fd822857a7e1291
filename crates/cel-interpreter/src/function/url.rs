//! URLs, read and written as Go's `net/url` does: an absolute URL or an absolute path.

use super::url_escape::{Component, EscapeError, escape, unescape};
use super::{Arguments, Result};
use crate::key::MapKey;
use crate::types::Extension;
use crate::value::{Map, Val};

/// The parts of a URL.
#[derive(PartialEq, Eq)]
pub(crate) struct Url {
    scheme: String,
    /// What follows the scheme, if that is not a slash: `mailto:a@b`.
    opaque: String,
    user: Option<String>,
    /// The unescaped host with its port. It may not be UTF-8.
    host: Vec<u8>,
    /// The path in an escaped form.
    path: String,
    query: Option<String>,
    fragment: String,
}

/// Why a text is not a URL.
#[derive(Debug)]
pub(super) enum UrlError {
    Plain(&'static str),
    Port(String),
    Host(String),
    Escape(EscapeError),
}

impl From<EscapeError> for UrlError {
    fn from(error: EscapeError) -> Self {
        Self::Escape(error)
    }
}

impl UrlError {
    /// The message of Go.
    fn message(&self) -> String {
        match self {
            Self::Plain(message) => (*message).to_owned(),
            Self::Port(port) => format!("invalid port {} after host", quoted(port)),
            Self::Host(host) => format!(
                "invalid host: ParseAddr({}): unable to parse IP",
                quoted(host)
            ),
            Self::Escape(error) => error.message(),
        }
    }
}

fn quoted(text: &str) -> String {
    super::format::quoted(text)
}

impl Url {
    /// Reads a URL. A fragment is part of the path or the query in a request, but not here.
    fn parse(text: &str) -> std::result::Result<Self, UrlError> {
        Self::parse_part(text, true)?;
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = Self::parse_part(text, false)?;
        let raw = unescape(fragment, Component::Fragment)?;
        url.fragment = preferred(fragment, &raw, Component::Fragment);
        Ok(url)
    }

    fn parse_part(text: &str, request: bool) -> std::result::Result<Self, UrlError> {
        if text.bytes().any(|c| c < b' ' || c == 0x7f) {
            return Err(UrlError::Plain("net/url: invalid control character in URL"));
        }
        if text.is_empty() && request {
            return Err(UrlError::Plain("empty url"));
        }
        let mut url = Self {
            scheme: String::new(),
            opaque: String::new(),
            user: None,
            host: Vec::new(),
            path: String::new(),
            query: None,
            fragment: String::new(),
        };
        if text == "*" {
            text.clone_into(&mut url.path);
            return Ok(url);
        }
        let (scheme, rest) = split_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query.to_owned())),
            None => (rest, None),
        };
        url.query = query;
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                rest.clone_into(&mut url.opaque);
                return Ok(url);
            }
            if request {
                return Err(UrlError::Plain("invalid URI for request"));
            }
        }
        let authority = !url.scheme.is_empty() || !request && !rest.starts_with("///");
        let path = match rest.strip_prefix("//") {
            Some(rest) if authority => {
                let end = rest.find('/').unwrap_or(rest.len());
                url.set_authority(&rest[..end])?;
                &rest[end..]
            }
            _ => rest,
        };
        let raw = unescape(path, Component::Path)?;
        url.path = preferred(path, &raw, Component::Path);
        Ok(url)
    }

    fn set_authority(&mut self, authority: &str) -> std::result::Result<(), UrlError> {
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        self.host = host_of(&self.scheme, host)?;
        if let Some(user) = user {
            if !user.bytes().all(in_userinfo) {
                return Err(UrlError::Plain("net/url: invalid userinfo"));
            }
            unescape(user, Component::User)?;
            self.user = Some(user.to_owned());
        }
        Ok(())
    }

    /// The host and the port.
    fn host_port(&self) -> (&[u8], &[u8]) {
        let colon = self.host.iter().rposition(|c| *c == b':');
        let (host, port) = match colon {
            Some(colon) if is_port(&self.host[colon + 1..]) => {
                (&self.host[..colon], &self.host[colon + 1..])
            }
            _ => (&self.host[..], &[][..]),
        };
        let bracketed = host.strip_prefix(b"[").and_then(|h| h.strip_suffix(b"]"));
        (bracketed.unwrap_or(host), port)
    }
}

fn split_scheme(text: &str) -> std::result::Result<(&str, &str), UrlError> {
    let valid = |at: usize, c: u8| {
        c.is_ascii_alphabetic() || at > 0 && (c.is_ascii_digit() || matches!(c, b'+' | b'-' | b'.'))
    };
    let end = text.bytes().enumerate().find(|(at, c)| !valid(*at, *c));
    match end {
        Some((0, b':')) => Err(UrlError::Plain("missing protocol scheme")),
        Some((at, b':')) => Ok((&text[..at], &text[at + 1..])),
        _ => Ok(("", text)),
    }
}

fn host_of(scheme: &str, host: &str) -> std::result::Result<Vec<u8>, UrlError> {
    match host.rfind('[') {
        Some(0) => return literal(host),
        Some(_) => return Err(UrlError::Plain("invalid IP-literal")),
        None => {}
    }
    // Several hosts with ports are allowed, but not for HTTP.
    let colon = if matches!(scheme, "http" | "https") {
        host.find(':')
    } else {
        host.rfind(':')
    };
    if let Some(colon) = colon
        && !is_port(&host.as_bytes()[colon + 1..])
    {
        return Err(UrlError::Port(host[colon..].to_owned()));
    }
    Ok(unescape(host, Component::Host)?)
}

/// An address in brackets, with an optional port.
fn literal(host: &str) -> std::result::Result<Vec<u8>, UrlError> {
    let Some(end) = host.rfind(']') else {
        return Err(UrlError::Plain("missing ']' in host"));
    };
    let port = &host[end + 1..];
    let valid = port
        .strip_prefix(':')
        .is_some_and(|port| is_port(port.as_bytes()));
    if !port.is_empty() && !valid {
        return Err(UrlError::Port(port.to_owned()));
    }
    let name = &host[1..end];
    // `%25` begins the name of a zone.
    let zone = name.find("%25").unwrap_or(name.len());
    let mut inside = unescape(&name[..zone], Component::Host)?;
    let plain = inside.len();
    inside.extend(unescape(&name[zone..], Component::Zone)?);
    let text = str::from_utf8(&inside[..plain]).unwrap_or_default();
    match text.parse() {
        Ok(std::net::IpAddr::V6(_)) if inside.len() != plain + 1 => {}
        Ok(std::net::IpAddr::V4(_)) => return Err(UrlError::Plain("invalid IP-literal")),
        _ => {
            return Err(UrlError::Host(
                String::from_utf8_lossy(&inside).into_owned(),
            ));
        }
    }
    Ok([b"[", &inside[..], b"]", port.as_bytes()].concat())
}

fn is_port(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_digit)
}

fn in_userinfo(c: u8) -> bool {
    c.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&c)
}

/// The escaped form of a part: as it was written, if that is valid, or else the usual one.
fn preferred(written: &str, raw: &[u8], component: Component) -> String {
    let valid = |c: u8| b"!$&'()*+,;=:@[]%".contains(&c) || component.keeps(c);
    if written.bytes().all(valid) {
        return written.to_owned();
    }
    escape(raw, component)
}

pub(super) fn url(call: &mut Arguments<'_>) -> Result<Val> {
    let text = call.text(0)?;
    // Each part is read several times.
    call.meter.bytes(text.len().saturating_mul(4))?;
    let url = Url::parse(text);
    url.map(|url| Val::extension(Extension::Url(url)))
        .map_err(|_| call.invalid("the string is not a URL"))
}

pub(super) fn is_url(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Bool(problem(call.text(0)?).is_none()))
}

/// What is wrong with the URI of a request, in the words of Go.
pub(super) fn problem(text: &str) -> Option<String> {
    let error = Url::parse_part(text, true).err()?;
    Some(format!("parse {}: {}", quoted(text), error.message()))
}

pub(super) fn get_scheme(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::from(receiver(call)?.scheme.as_str()))
}

pub(super) fn get_host(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(text(&receiver(call)?.host))
}

pub(super) fn get_hostname(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(text(receiver(call)?.host_port().0))
}

pub(super) fn get_port(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(text(receiver(call)?.host_port().1))
}

pub(super) fn get_escaped_path(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::from(receiver(call)?.path.as_str()))
}

/// The values of each name. Malformed parts are left out.
pub(super) fn get_query(call: &mut Arguments<'_>) -> Result<Val> {
    let query = receiver(call)?.query.as_deref().unwrap_or_default();
    let mut found: Vec<(String, Vec<Val>)> = Vec::new();
    for part in query.split('&').filter(|part| !part.is_empty()) {
        call.meter.charge(2)?;
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let unescaped = |part| unescape(part, Component::Query);
        let (Ok(name), Ok(value)) = (unescaped(name), unescaped(value)) else {
            continue;
        };
        if part.contains(';') {
            continue;
        }
        let name = String::from_utf8_lossy(&name).into_owned();
        found.push((name, vec![text(&value)]));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            earlier.1.append(&mut later.1);
        }
        same
    });
    let entries = found.into_iter();
    let entries = entries.map(|(name, values)| (MapKey::from(name.as_str()), Val::from(values)));
    Map::new(entries.collect())
        .map(Val::Map)
        .ok_or_else(|| call.invalid("a name occurs twice"))
}

/// Bytes that are not UTF-8 are replaced, because a string is UTF-8.
fn text(bytes: &[u8]) -> Val {
    Val::from(String::from_utf8_lossy(bytes).into_owned())
}

fn receiver<'a>(call: &Arguments<'a>) -> Result<&'a Url> {
    match call.extension(0) {
        Some(Extension::Url(url)) => Ok(url),
        _ => Err(call.mismatch()),
    }
}
