//! The certificates and keys of a control plane.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair,
};

/// The name in the certificate with which the API server forwards requests.
pub(crate) const FRONT_PROXY: &str = "front-proxy-client";

/// The certificates and keys, as PEM.
#[derive(Debug)]
pub(crate) struct Certificates {
    /// The CA certificate.
    pub(crate) authority: String,
    /// The CA certificate as DER.
    pub(crate) authority_der: Vec<u8>,
    /// The certificate of the API server.
    pub(crate) server: String,
    /// Its key.
    pub(crate) server_key: String,
    /// The key that signs the tokens of `ServiceAccount`s.
    pub(crate) account_key: String,
    /// The key that verifies these tokens.
    pub(crate) account_public_key: String,
    /// Issues the certificates of users.
    pub(crate) users: ClientAuthority,
    /// Issues the certificate with which the API server forwards requests.
    pub(crate) proxies: ClientAuthority,
}

/// An authority of client certificates.
#[derive(Debug)]
pub(crate) struct ClientAuthority(CertifiedIssuer<'static, KeyPair>);

impl ClientAuthority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names are no problem");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name = named(name, None);
        Self(CertifiedIssuer::self_signed(params, key()).expect("it signs itself"))
    }

    /// Its certificate, as PEM.
    pub(crate) fn certificate(&self) -> String {
        self.0.pem()
    }

    /// A certificate and its key, as PEM. The group is the organization in it.
    pub(crate) fn issue(&self, name: &str, group: Option<&str>) -> (String, String) {
        let mut params = CertificateParams::new(Vec::new()).expect("no names are no problem");
        params.distinguished_name = named(name, group);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = key();
        let certificate = params.signed_by(&key, &self.0);
        let certificate = certificate.expect("the authority signs");
        (certificate.pem(), key.serialize_pem())
    }
}

fn named(name: &str, group: Option<&str>) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    if let Some(group) = group {
        names.push(DnType::OrganizationName, group);
    }
    names
}

fn key() -> KeyPair {
    KeyPair::generate().expect("a key is made")
}

impl Certificates {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names are no problem");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, key()).expect("it signs itself");

        let names = ["localhost", "127.0.0.1", "kubernetes.default.svc"].map(str::to_owned);
        let params = CertificateParams::new(names).expect("the names are valid");
        let server_key = key();
        let server = params
            .signed_by(&server_key, &authority)
            .expect("the authority signs");
        let account_key = key();
        Self {
            authority: authority.pem(),
            authority_der: authority.der().to_vec(),
            server: server.pem(),
            server_key: server_key.serialize_pem(),
            account_key: account_key.serialize_pem(),
            account_public_key: account_key.public_key_pem(),
            users: ClientAuthority::new("users"),
            proxies: ClientAuthority::new("front proxies"),
        }
    }
}
