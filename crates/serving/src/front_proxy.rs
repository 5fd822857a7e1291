//! Certificates of clients: those of users, and that of the cluster's API server, which forwards
//! requests of users that it has authenticated.
//!
//! The cluster publishes both authorities in the config map `extension-apiserver-authentication`
//! of the namespace `kube-system`, together with the names of the headers in which it forwards
//! the user. These headers are believed only on a connection with the certificate of the API
//! server; on any other connection they are ignored.

use std::collections::BTreeMap;
use std::sync::Arc;

use apiserver::User;
use http::{HeaderMap, HeaderValue};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::Api;
use percent_encoding::percent_decode_str;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// The namespace and name of the config map in which the cluster publishes its authorities.
pub const AUTHORITIES: (&str, &str) = ("kube-system", "extension-apiserver-authentication");

/// The authorities whose certificates clients may show.
#[derive(Clone, Debug, Default)]
pub struct ClientAuthorities {
    /// The authority of users.
    users: Option<Arc<dyn ClientCertVerifier>>,
    /// The API server that forwards requests.
    proxy: Option<FrontProxy>,
    /// Both, for the handshake.
    handshake: Option<Arc<dyn ClientCertVerifier>>,
}

/// The API server that forwards requests.
#[derive(Clone, Debug)]
pub struct FrontProxy {
    verifier: Arc<dyn ClientCertVerifier>,
    /// The names that its certificate may have; empty for any.
    names: Vec<String>,
    user_headers: Vec<String>,
    group_headers: Vec<String>,
    extra_prefixes: Vec<String>,
    uid_headers: Vec<String>,
}

impl ClientAuthorities {
    /// Reads the authorities that the cluster publishes.
    pub async fn of_cluster(client: kube::Client) -> Result<Self, kube::Error> {
        let (namespace, name) = AUTHORITIES;
        let maps: Api<ConfigMap> = Api::namespaced(client, namespace);
        let map = maps.get(name).await?;
        Ok(Self::from_data(&map.data.unwrap_or_default()))
    }

    /// The authorities in the data of the config map. What cannot be read is left out, so that
    /// no certificate of it is accepted.
    pub fn from_data(data: &BTreeMap<String, String>) -> Self {
        let text = |key: &str| data.get(key).map(String::as_str).unwrap_or_default();
        let users = certificates(text("client-ca-file"));
        let proxies = certificates(text("requestheader-client-ca-file"));
        // If the names cannot be read, no certificate is accepted: an empty list would allow any.
        let allowed = allowed_names(text("requestheader-allowed-names"));
        let proxy = verifier(&proxies).zip(allowed);
        let proxy = proxy.map(|(verifier, allowed)| FrontProxy {
            verifier,
            names: allowed,
            user_headers: names(text("requestheader-username-headers")),
            group_headers: names(text("requestheader-group-headers")),
            extra_prefixes: names(text("requestheader-extra-headers-prefix")),
            uid_headers: names(text("requestheader-uid-headers")),
        });
        Self {
            users: verifier(&users),
            proxy,
            handshake: verifier(&[users, proxies].concat()),
        }
    }

    /// Whether the cluster forwards requests.
    pub fn has_front_proxy(&self) -> bool {
        self.proxy.is_some()
    }

    /// Checks certificates in a handshake; a client may have none.
    pub(crate) fn handshake_verifier(&self) -> Option<Arc<dyn ClientCertVerifier>> {
        self.handshake.clone()
    }

    /// The user of a connection with these certificates; `None` if they say nothing.
    pub(crate) fn user(
        &self,
        certificates: &[CertificateDer<'_>],
        headers: &HeaderMap,
    ) -> Option<User> {
        let (own, others) = certificates.split_first()?;
        let accepts = |verifier: &Arc<dyn ClientCertVerifier>| {
            verifier
                .verify_client_cert(own, others, UnixTime::now())
                .is_ok()
        };
        let subject = Subject::of(own)?;
        if let Some(proxy) = &self.proxy
            && accepts(&proxy.verifier)
            && (proxy.names.is_empty() || proxy.names.contains(&subject.common_name))
        {
            return proxy.user(headers);
        }
        self.users.as_ref().filter(|users| accepts(users))?;
        let mut groups = subject.organizations;
        groups.push("system:authenticated".to_owned());
        Some(User {
            name: subject.common_name,
            groups,
            ..User::default()
        })
    }
}

impl FrontProxy {
    /// The user that the API server forwards.
    fn user(&self, headers: &HeaderMap) -> Option<User> {
        let values = |names: &[String]| -> Vec<String> {
            let values = names.iter().flat_map(|name| headers.get_all(name));
            values.filter_map(text).collect()
        };
        let first = |names: &[String]| {
            let mut values = names.iter().filter_map(|name| headers.get(name));
            values.find(|value| !value.is_empty()).and_then(text)
        };
        let name = first(&self.user_headers)?;
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (header, value) in headers {
            let key = self.extra_prefixes.iter().find_map(|prefix| {
                let prefix = prefix.to_ascii_lowercase();
                header.as_str().strip_prefix(prefix.as_str())
            });
            if let (Some(key), Some(value)) = (key, text(value)) {
                extra.entry(unescaped(key)).or_default().push(value);
            }
        }
        Some(User {
            uid: first(&self.uid_headers).unwrap_or_default(),
            groups: with_authenticated(&name, values(&self.group_headers)),
            name,
            extra: extra.into_iter().collect(),
        })
    }
}

/// The groups of a user, as API servers complete them: the API server of the cluster forwards its
/// own requests, such as those for schemas, as users without groups.
fn with_authenticated(name: &str, mut groups: Vec<String>) -> Vec<String> {
    let known = ["system:authenticated", "system:unauthenticated"];
    let complete = groups.iter().any(|group| known.contains(&group.as_str()));
    if !complete && name != "system:anonymous" {
        groups.push("system:authenticated".to_owned());
    }
    groups
}

/// The text of a header. Names of users and groups may have any letters, which the API server
/// forwards as UTF-8. Anything else cannot be compared, and is left out.
fn text(value: &HeaderValue) -> Option<String> {
    let text = std::str::from_utf8(value.as_bytes()).ok()?;
    Some(text.to_owned())
}

/// A key of `extra`, which is percent-encoded in a header.
fn unescaped(key: &str) -> String {
    let decoded = percent_decode_str(key).decode_utf8();
    decoded.map_or_else(|_| key.to_owned(), Into::into)
}

/// The names in a certificate.
struct Subject {
    common_name: String,
    organizations: Vec<String>,
}

impl Subject {
    fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
        let subject = certificate.subject();
        let common_name = subject.iter_common_name().next()?.as_str().ok()?.to_owned();
        let organizations = subject.iter_organization();
        let organizations = organizations.filter_map(|name| name.as_str().ok());
        Some(Self {
            common_name,
            organizations: organizations.map(str::to_owned).collect(),
        })
    }
}

fn certificates(pem: &str) -> Vec<CertificateDer<'static>> {
    let all = CertificateDer::pem_slice_iter(pem.as_bytes());
    all.filter_map(Result::ok).collect()
}

/// A verifier for certificates of these authorities; `None` if there are none.
fn verifier(authorities: &[CertificateDer<'static>]) -> Option<Arc<dyn ClientCertVerifier>> {
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(authorities.iter().cloned());
    if added == 0 {
        return None;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    builder.allow_unauthenticated().build().ok()
}

/// The names that the certificate of the front proxy may have; `None` if they cannot be read.
fn allowed_names(json: &str) -> Option<Vec<String>> {
    let is_names = json.parse::<document::Value>().is_ok_and(|value| {
        let mut items = value.as_list().into_iter().flatten();
        value.as_list().is_some() && items.all(|item| item.as_str().is_some())
    });
    (json.is_empty() || is_names).then(|| names(json))
}

/// A JSON list of names, as the config map has them.
fn names(json: &str) -> Vec<String> {
    let value: Option<document::Value> = json.parse().ok();
    let list = value.as_ref().and_then(document::Value::as_list);
    let names = list
        .into_iter()
        .flatten()
        .filter_map(document::Value::as_str);
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

    use super::*;

    /// The config map of a cluster whose front proxy has this name, and the proxy's certificate.
    fn cluster(allowed: &str) -> (BTreeMap<String, String>, CertificateDer<'static>) {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap());
        let authority = authority.unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "proxy");
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap();
        let data = [
            ("requestheader-client-ca-file", authority.pem()),
            ("requestheader-allowed-names", allowed.to_owned()),
            ("requestheader-username-headers", r#"["X-User"]"#.to_owned()),
            ("requestheader-group-headers", r#"["X-Group"]"#.to_owned()),
            (
                "requestheader-extra-headers-prefix",
                r#"["X-Extra-"]"#.to_owned(),
            ),
        ];
        let data = data.map(|(key, text)| (key.to_owned(), text));
        (data.into(), certificate.der().clone())
    }

    fn forwarded(allowed: &str, headers: &[(&'static str, &'static str)]) -> Option<User> {
        let (data, certificate) = cluster(allowed);
        let mut map = HeaderMap::new();
        for (key, value) in headers {
            map.append(*key, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        ClientAuthorities::from_data(&data).user(&[certificate], &map)
    }

    #[test]
    fn the_front_proxy_needs_an_allowed_name() {
        let is_believed = |allowed| forwarded(allowed, &[("x-user", "jane")]).is_some();
        for allowed in [r#"["proxy"]"#, r#"["other", "proxy"]"#, "[]", ""] {
            assert!(is_believed(allowed), "{allowed}");
        }
        for allowed in [r#"["other"]"#, r#"["proxy""#, "proxy", "null", "[1]"] {
            assert!(!is_believed(allowed), "{allowed}");
        }
    }

    #[test]
    fn groups_and_extra_are_forwarded() {
        let headers = [
            ("x-user", "jane"),
            ("x-group", "team"),
            ("x-group", "system:authenticated"),
            ("x-extra-example.com%2fkey", "value"),
        ];
        let user = forwarded("", &headers).unwrap();
        assert_eq!(user.groups, ["team", "system:authenticated"]);
        let extra = ("example.com/key".to_owned(), vec!["value".to_owned()]);
        assert_eq!(user.extra, [extra]);
        // The API server's own requests have no groups, and anonymous users are nobody.
        let own = forwarded("", &[("x-user", "system:aggregator")]).unwrap();
        assert_eq!(own.groups, ["system:authenticated"]);
        let nobody = [
            ("x-user", "system:anonymous"),
            ("x-group", "system:unauthenticated"),
        ];
        assert_eq!(
            forwarded("", &nobody).unwrap().groups,
            ["system:unauthenticated"]
        );
        let bare = forwarded("", &[("x-user", "system:anonymous")]).unwrap();
        assert!(bare.groups.is_empty());
        assert_eq!(forwarded("", &[("x-group", "system:masters")]), None);
    }

    #[test]
    fn names_of_any_letters_are_forwarded() {
        let headers = [
            ("x-user", "jürgen"),
            ("x-group", "Müller & Söhne"),
            ("x-extra-abteilung%C3%A4", "Größe"),
            ("x-extra-odd%+1%zz", "value"),
        ];
        let user = forwarded("", &headers).unwrap();
        assert_eq!(user.name, "jürgen");
        assert_eq!(user.groups, ["Müller & Söhne", "system:authenticated"]);
        let extra = |key: &str, value: &str| (key.to_owned(), vec![value.to_owned()]);
        let expect = [
            extra("abteilungä", "Größe"),
            // What is not an escape stays.
            extra("odd%+1%zz", "value"),
        ];
        assert_eq!(user.extra, expect);
    }

    #[test]
    fn a_name_that_is_not_utf8_is_nobody() {
        let (data, certificate) = cluster("");
        let mut headers = HeaderMap::new();
        headers.append("x-user", HeaderValue::from_bytes(b"admin\xff").unwrap());
        let authorities = ClientAuthorities::from_data(&data);
        assert_eq!(
            authorities.user(std::slice::from_ref(&certificate), &headers),
            None
        );
        // The first name counts, and a second one is not tried.
        headers.append("x-user", HeaderValue::from_static("admin"));
        assert_eq!(authorities.user(&[certificate], &headers), None);
    }
}
