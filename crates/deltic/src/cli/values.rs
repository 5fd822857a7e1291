//! Reads the values of arguments.

use std::net::SocketAddr;
use std::time::Duration;

use object::LabelSelector;
use operator::names::is_dns_label;
use operator::spec::ServiceAccount;

/// Reads an address with a port; `:8080` means all interfaces.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let whole = match text.strip_prefix(':') {
        Some(port) => format!("0.0.0.0:{port}"),
        None => text.to_owned(),
    };
    whole
        .parse()
        .map_err(|_| "expected an address with a port, such as :8080 or 127.0.0.1:8080".to_owned())
}

/// Reads the URL of a server.
pub(super) fn url(text: &str) -> Result<String, String> {
    let host = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    match host {
        Some(host) if !host.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Ok(text.to_owned())
        }
        _ => Err("expected a URL such as https://127.0.0.1:8443".to_owned()),
    }
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let expected = || "expected a number of seconds".to_owned();
    let seconds: f64 = text.parse().map_err(|_| expected())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| expected())
}

pub(super) fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate >= 0.0 => Ok(rate),
        _ => Err("expected a number of requests per second, or 0 for no limit".to_owned()),
    }
}

pub(super) fn selector(text: &str) -> Result<LabelSelector, object::SelectorError> {
    LabelSelector::from_query(text)
}

/// Reads the name of an account, `NAMESPACE/NAME`.
pub(super) fn account(text: &str) -> Result<ServiceAccount, String> {
    let (of, account) = text.split_once('/').ok_or("expected NAMESPACE/NAME")?;
    Ok(ServiceAccount {
        namespace: namespace(of).map_err(|error| format!("the namespace: {error}"))?,
        name: name(account).map_err(|error| format!("the name: {error}"))?,
    })
}

/// Reads the name of a namespace.
pub(super) fn namespace(text: &str) -> Result<String, String> {
    label(text, MAX_NAMESPACE)
}

/// The longest name of a namespace.
const MAX_NAMESPACE: usize = 63;

/// Reads the name of an instance, which becomes part of the name of a Lease.
pub(super) fn instance_name(text: &str) -> Result<String, String> {
    label(text, MAX_INSTANCE)
}

/// The longest name of an instance.
const MAX_INSTANCE: usize = 40;

/// Reads a DNS label: lower-case letters, digits and `-`, which is neither the first nor the last
/// character.
fn label(text: &str, longest: usize) -> Result<String, String> {
    if !is_dns_label(text) || text.len() > longest {
        return Err(format!(
            "expected lower-case letters, digits and -, at most {longest} characters"
        ));
    }
    Ok(text.to_owned())
}

/// Reads the name of an object of most kinds: parts like labels, of any length, with dots between
/// them.
pub(super) fn name(text: &str) -> Result<String, String> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_part = |part: &str| {
        let edges = part.starts_with('-') || part.ends_with('-');
        !part.is_empty() && !edges && part.bytes().all(plain)
    };
    if !text.split('.').all(is_part) || text.len() > MAX_NAME {
        return Err(format!(
            "expected lower-case letters, digits, - and ., at most {MAX_NAME} characters"
        ));
    }
    Ok(text.to_owned())
}

/// The longest name of an object.
const MAX_NAME: usize = 253;

/// Reads the name of an image, such as `registry.example:5000/team/deltic:1.2`.
pub(super) fn image(text: &str) -> Result<String, String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:/@".contains(&byte);
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let edges = edge(text.bytes().next()) && edge(text.bytes().last());
    if !edges || !text.bytes().all(plain) {
        return Err("expected an image such as registry.example/deltic:1.2".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that all of `good` can be read, and none of `bad`.
    fn check<T>(read: fn(&str) -> Result<T, String>, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(read(text).is_ok(), "{text:?}");
        }
        for text in bad {
            assert!(read(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn images_have_the_form_that_container_runtimes_accept() {
        let digest = "localhost:5000/a/b_c@sha256:0123abcd";
        check(
            image,
            &[
                "deltic",
                "deltic:0.1.0",
                "registry.example/x/deltic:v1-rc.2",
                digest,
            ],
            &[
                "",
                " ",
                "a b",
                "a\n",
                "a\nb: c",
                "\u{202e}a",
                "\x1b[31ma",
                "a:",
                "/a",
                "a#b",
            ],
        );
    }

    #[test]
    fn names_are_those_that_kubernetes_accepts() {
        check(
            name,
            &["a", "a.b-c.0"],
            &["", "a..b", "A", "a\n", "-a", "a_b"],
        );
        check(namespace, &["a", "a-0"], &["", "a.b", "a b", "a-", "a\n"]);
        check(
            account,
            &["a/b", "a/b.c"],
            &["a", "a/", "/b", "a/b/c", "a/b\n", "a b/c"],
        );
        check(instance_name, &["a"], &["", &"a".repeat(41)]);
    }

    #[test]
    fn urls_have_a_scheme_and_no_spaces() {
        check(
            url,
            &["https://127.0.0.1:8443", "http://localhost"],
            &[
                "",
                "127.0.0.1:8443",
                "https://",
                "https://a b",
                "https://a\n",
            ],
        );
    }
}
