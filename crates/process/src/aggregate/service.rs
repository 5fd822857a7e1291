//! The Service through which the API server of the cluster reaches deltic.

use std::fmt;
use std::str::FromStr;

/// The name of the Service if none is given.
pub const SERVICE: &str = "deltic-views";
/// The port of the Service if none is given.
pub const PORT: u16 = 443;

/// The Service through which the API server of the cluster reaches deltic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceRef {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its port.
    pub port: u16,
}

impl ServiceRef {
    /// The default Service, in this namespace.
    pub fn default_in(namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: SERVICE.to_owned(),
            port: PORT,
        }
    }

    /// The host name that the API server expects in our certificate.
    pub fn host(&self) -> String {
        format!("{}.{}.svc", self.name, self.namespace)
    }

    /// The instance of deltic that it belongs to, in [`object::marks::SERVED_BY`].
    pub(super) fn instance(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

impl FromStr for ServiceRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected NAMESPACE/NAME or NAMESPACE/NAME:PORT".to_owned();
        let (namespace, rest) = text.split_once('/').ok_or_else(expected)?;
        let (name, port) = match rest.split_once(':') {
            None => (rest, PORT),
            Some((name, port)) => (name, port.parse().map_err(|_| expected())?),
        };
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_name = |name: &str| {
            let edges = name.starts_with('-') || name.ends_with('-');
            !edges && (1..=63).contains(&name.len()) && name.bytes().all(plain)
        };
        if port == 0 || !is_name(namespace) || !is_name(name) {
            return Err(expected());
        }
        Ok(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            port,
        })
    }
}

impl fmt::Display for ServiceRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}:{}", self.namespace, self.name, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_named_with_namespace_and_port() {
        let read = |text: &str| {
            text.parse::<ServiceRef>()
                .map(|service| service.to_string())
        };
        assert_eq!(read("a/b"), Ok("a/b:443".to_owned()));
        assert_eq!(read("a/b:8443"), Ok("a/b:8443".to_owned()));
        for text in [
            "", "b", "a/", "/b", "a/b:", "a/b:0", "a/b:x", "A/b", "a/b/c", "a/-b",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
    /// The manifest for users fits the defaults.
    #[test]
    fn the_manifest_is_the_default_service() {
        let text = include_bytes!("../../../../deploy/views-service.yaml");
        let manifests = manifest::parse_bytes("views-service.yaml", text.to_vec()).unwrap();
        let service = &manifests[0].value;
        assert_eq!(service.get("metadata").get("name").as_str(), Some(SERVICE));
        assert!(service.get("spec").get("selector").is_null());
        let port = service.get("spec").get("ports").as_list().unwrap().to_vec()[0].clone();
        assert_eq!(port.get("port").as_int(), Some(i64::from(PORT)));
        assert_eq!(port.get("name").as_str(), Some(crate::aggregate::PORT_NAME));
    }
}
