//! Requests to a port without logins must come from this machine, and not from a web page.
//!
//! A page of somebody else can send requests to `127.0.0.1` from the browser of a user: under a
//! host name whose address changes (DNS rebinding), which the header `Host` shows, or as a request
//! to another site, which the header `Origin` shows.

use std::net::IpAddr;

use apiserver::StatusError;
use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Uri};

/// Refuses requests whose host, or whose page, is not this machine.
pub(crate) fn check(uri: &Uri, headers: &HeaderMap) -> Result<(), StatusError> {
    let header = |name| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap_or_default())
    };
    // In HTTP/2 the host is part of the URI.
    let host = uri.authority().map(Authority::as_str).or(header(HOST));
    let origin = header(ORIGIN).map(|origin| {
        let host = origin.split_once("://").map(|(_, host)| host);
        host.unwrap_or_default()
    });
    if host.is_some_and(is_local) && origin.is_none_or(is_local) {
        return Ok(());
    }
    Err(StatusError::new(
        403,
        "Forbidden",
        "this port has no login, so it answers only requests to localhost or to a loopback address, \
         and none of web pages",
    ))
}

/// Whether an authority, with or without a port, is this machine.
fn is_local(authority: &str) -> bool {
    let Ok(authority) = authority.parse::<Authority>() else {
        return false;
    };
    let host = authority.host();
    let address = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let address = address.unwrap_or(host).parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(uri: &str, headers: &[(&'static str, &'static str)]) -> bool {
        let mut map = HeaderMap::new();
        for (key, value) in headers {
            map.insert(*key, http::HeaderValue::from_static(value));
        }
        check(&uri.parse().unwrap(), &map).is_err()
    }

    #[test]
    fn other_hosts_and_pages_are_refused() {
        for host in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:8001",
            "127.1.2.3",
            "[::1]:1",
        ] {
            assert!(!is_refused("/apis", &[("host", host)]), "{host}");
            assert!(!is_refused(&format!("http://{host}/apis"), &[]), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:80",
            "10.0.0.1",
            "",
            "[::2]",
            "a b",
        ] {
            assert!(is_refused("/apis", &[("host", host)]), "{host}");
        }
        assert!(is_refused("/apis", &[]));
        assert!(is_refused(
            "http://evil.example/apis",
            &[("host", "localhost")]
        ));
        let host = ("host", "localhost");
        assert!(!is_refused(
            "/apis",
            &[host, ("origin", "http://localhost:8001")]
        ));
        for origin in ["http://evil.example", "null", ""] {
            assert!(is_refused("/apis", &[host, ("origin", origin)]), "{origin}");
        }
    }
}
