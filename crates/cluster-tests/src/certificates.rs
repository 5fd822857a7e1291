//! The certificates and keys of a control plane.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

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
}

impl Certificates {
    pub(crate) fn new() -> Self {
        let key = || KeyPair::generate().expect("a key is made");
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
        }
    }
}
