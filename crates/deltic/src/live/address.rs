//! The address at which a running deltic serves its metrics.

use std::fmt;
use std::str::FromStr;

/// The address of metrics, as a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address(String);

impl Address {
    /// Where `deltic run --health-addr :8080` serves them, and `kubectl port-forward … 8080`.
    pub(crate) const DEFAULT: &str = "127.0.0.1:8080";

    pub(crate) fn url(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Address {
    type Err = String;

    /// Reads `HOST:PORT`, `:PORT`, or a URL.
    fn from_str(text: &str) -> Result<Self, String> {
        let expected =
            || "expected HOST:PORT, :PORT, or a URL such as http://127.0.0.1:8080/metrics";
        let rest = match text.split_once("://") {
            Some(("http", rest)) => rest,
            Some(("https", _)) => {
                return Err("deltic serves its metrics over http, without TLS".to_owned());
            }
            Some(_) => return Err(expected().to_owned()),
            None => text,
        };
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = match host.strip_prefix(':') {
            Some(port) => format!("127.0.0.1:{port}"),
            None => host.to_owned(),
        };
        let path = if matches!(path, "" | "/") {
            "/metrics"
        } else {
            path
        };
        let (name, port) = host.rsplit_once(':').ok_or_else(expected)?;
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || "@?#\\".contains(c);
        let is_bad = name.is_empty() || rest.contains(is_odd) || !path.is_ascii();
        if is_bad || port.parse::<u16>().is_err() {
            return Err(expected().to_owned());
        }
        Ok(Self(format!("http://{host}{path}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_completed() {
        for (text, expect) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080/metrics"),
            (":9090", "http://127.0.0.1:9090/metrics"),
            ("deltic.test:80/", "http://deltic.test:80/metrics"),
            ("[::1]:8080", "http://[::1]:8080/metrics"),
            ("http://host:1/proxy/metrics", "http://host:1/proxy/metrics"),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.url(), expect);
        }
        assert!(Address::DEFAULT.parse::<Address>().is_ok());
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "host",
            "host:",
            "host:x",
            ":",
            "a b:1",
            "u@h:1",
            "ftp://h:1",
            "h:1/\n",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text:?}");
        }
        let error = "https://host:8080".parse::<Address>().unwrap_err();
        assert!(error.contains("without TLS"), "{error}");
    }
}
