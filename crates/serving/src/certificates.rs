//! The certificate of the server: from files, which are read again when they change, or issued by
//! an authority of our own.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PublicKeyData as _,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use time::OffsetDateTime;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// How often files are checked for changes, and an issued certificate for its age.
const CHECK: Duration = Duration::from_secs(10);
/// How long an issued certificate is valid. A new one is issued after half of that.
const VALID: Duration = Duration::from_hours(90 * 24);
/// How long an authority is valid.
const AUTHORITY_VALID: Duration = Duration::from_hours(10 * 365 * 24);
/// The name of the authority in certificates.
const AUTHORITY_NAME: &str = "deltic";

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("cannot read {path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// A file has no certificate or key.
    #[error("{path} is not a PEM file with {expected}: {why}")]
    Pem {
        /// The file.
        path: PathBuf,
        /// What it should contain.
        expected: &'static str,
        /// What is wrong.
        why: String,
    },
    /// Certificate and key do not match, or are of an unknown type.
    #[error("the certificate cannot be used: {0}")]
    Unusable(String),
}

/// The certificate of a server. Clones share it.
#[derive(Clone, Debug)]
pub struct Certificates {
    current: Arc<RwLock<Current>>,
    origin: Arc<Origin>,
}

/// The certificate in use.
#[derive(Debug)]
struct Current {
    key: Arc<CertifiedKey>,
    /// When it was read or issued.
    since: SystemTime,
    /// When its files had been changed last.
    files: Vec<Option<SystemTime>>,
}

#[derive(Debug)]
enum Origin {
    Files {
        certificate: PathBuf,
        key: PathBuf,
    },
    Issued {
        authority: Authority,
        names: Vec<String>,
    },
}

impl Certificates {
    /// A certificate from PEM files.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Self, CertificateError> {
        Self::new(Origin::Files {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
        })
    }

    /// A certificate for these host names and addresses, issued by an authority of our own.
    pub fn issued(authority: Authority, names: Vec<String>) -> Result<Self, CertificateError> {
        Self::new(Origin::Issued { authority, names })
    }

    fn new(origin: Origin) -> Result<Self, CertificateError> {
        Ok(Self {
            current: Arc::new(RwLock::new(origin.make()?)),
            origin: Arc::new(origin),
        })
    }

    /// Renews the certificate when its files change, or before it expires. Runs until it is
    /// dropped.
    pub async fn renew(&self) {
        loop {
            tokio::time::sleep(CHECK).await;
            if !self.is_due() {
                continue;
            }
            match self.origin.make() {
                Ok(new) => {
                    let current = self.current.write();
                    *current.unwrap_or_else(PoisonError::into_inner) = new;
                    tracing::info!("the certificate of the view server was renewed");
                }
                // The old certificate stays in use: the files may be half written.
                Err(error) => tracing::warn!(%error, "the certificate was not renewed"),
            }
        }
    }

    fn is_due(&self) -> bool {
        let current = self.current.read();
        let current = current.unwrap_or_else(PoisonError::into_inner);
        match &*self.origin {
            Origin::Files { .. } => self.origin.state() != current.files,
            Origin::Issued { .. } => current.since.elapsed().is_ok_and(|age| age > VALID / 2),
        }
    }
}

impl Origin {
    /// When the files were changed last.
    fn state(&self) -> Vec<Option<SystemTime>> {
        let changed = |path: &Path| path.metadata().and_then(|file| file.modified()).ok();
        match self {
            Self::Files { certificate, key } => vec![changed(certificate), changed(key)],
            Self::Issued { .. } => Vec::new(),
        }
    }

    fn make(&self) -> Result<Current, CertificateError> {
        // The state comes first: files that change meanwhile are read again.
        let (files, since) = (self.state(), SystemTime::now());
        let key = match self {
            Self::Files { certificate, key } => load(certificate, key)?,
            Self::Issued { authority, names } => authority.issue(names)?,
        };
        Ok(Current {
            key: Arc::new(key),
            since,
            files,
        })
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let current = self.current.read();
        let current = current.unwrap_or_else(PoisonError::into_inner);
        Some(current.key.clone())
    }
}

fn load(certificate: &Path, key: &Path) -> Result<CertifiedKey, CertificateError> {
    let read = |path: &Path| {
        std::fs::read(path).map_err(|error| CertificateError::File {
            path: path.to_owned(),
            error,
        })
    };
    let pem = |path: &Path, expected, why: String| CertificateError::Pem {
        path: path.to_owned(),
        expected,
        why,
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&read(certificate)?)
        .collect::<Result<_, _>>()
        .map_err(|error| pem(certificate, "certificates", error.to_string()))?;
    if chain.is_empty() {
        return Err(pem(certificate, "certificates", "it has none".to_owned()));
    }
    let private = PrivateKeyDer::from_pem_slice(&read(key)?)
        .map_err(|error| pem(key, "a private key", error.to_string()))?;
    certified(chain, private)
}

fn certified(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<CertifiedKey, CertificateError> {
    let provider = rustls::crypto::ring::default_provider();
    CertifiedKey::from_der(chain, key, &provider)
        .map_err(|error| CertificateError::Unusable(error.to_string()))
}

/// An authority that issues the certificates of our servers.
#[derive(Clone, Debug)]
pub struct Authority {
    certificate: String,
    key: String,
}

impl Authority {
    /// A new authority.
    pub fn generate() -> Result<Self, CertificateError> {
        let key = KeyPair::generate().map_err(unusable)?;
        let certificate = authority_params().self_signed(&key).map_err(unusable)?;
        Ok(Self {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }

    /// An authority that was generated before.
    pub fn from_pem(certificate: String, key: String) -> Result<Self, CertificateError> {
        let pair = KeyPair::from_pem(&key).map_err(unusable)?;
        let unusable = |why: &str| CertificateError::Unusable(why.to_owned());
        let der = CertificateDer::from_pem_slice(certificate.as_bytes())
            .map_err(|error| CertificateError::Unusable(error.to_string()))?;
        let (_, parsed) = X509Certificate::from_der(&der)
            .map_err(|_| unusable("the authority is not a certificate"))?;
        if parsed.public_key().raw != pair.subject_public_key_info() {
            return Err(unusable("the authority and its key do not belong together"));
        }
        let mut names = parsed.subject().iter_common_name();
        let name = names.next().and_then(|name| name.as_str().ok());
        if name != Some(AUTHORITY_NAME) {
            return Err(unusable("deltic did not generate the authority"));
        }
        Ok(Self { certificate, key })
    }

    /// Its certificate, which clients trust.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Its key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// A certificate for these names.
    fn issue(&self, names: &[String]) -> Result<CertifiedKey, CertificateError> {
        let authority = KeyPair::from_pem(&self.key).map_err(unusable)?;
        // Issuer and key are those of `certificate`: only these two are compared.
        let issuer = Issuer::new(authority_params(), authority);
        let mut params = CertificateParams::new(names.to_vec()).map_err(unusable)?;
        params.distinguished_name = named("deltic views");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        (params.not_before, params.not_after) = validity(VALID);
        let key = KeyPair::generate().map_err(unusable)?;
        let certificate = params.signed_by(&key, &issuer).map_err(unusable)?;
        let private = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes())
            .map_err(|error| CertificateError::Unusable(error.to_string()))?;
        certified(vec![certificate.der().clone()], private)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn unusable(error: rcgen::Error) -> CertificateError {
    CertificateError::Unusable(error.to_string())
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = named(AUTHORITY_NAME);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (params.not_before, params.not_after) = validity(AUTHORITY_VALID);
    params
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

/// From an hour ago, because clocks differ.
fn validity(time: Duration) -> (OffsetDateTime, OffsetDateTime) {
    let now = OffsetDateTime::now_utc();
    (now - Duration::from_hours(1), now + time)
}

/// The names under which a server at this address is reached.
pub fn names_of(address: IpAddr) -> Vec<String> {
    let mut names = vec!["localhost".to_owned()];
    if address.is_unspecified() {
        names.extend(["127.0.0.1", "::1"].map(str::to_owned));
    } else {
        names.push(address.to_string());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_survives_being_stored() {
        let authority = Authority::generate().unwrap();
        let (certificate, key) = (
            authority.certificate().to_owned(),
            authority.key().to_owned(),
        );
        let stored = Authority::from_pem(certificate, key).unwrap();
        let names = names_of("127.0.0.1".parse().unwrap());
        Certificates::issued(stored, names).unwrap();
    }

    #[test]
    fn an_authority_that_was_damaged_is_refused() {
        let [one, other] = [(); 2].map(|()| Authority::generate().unwrap());
        let key = KeyPair::generate().unwrap();
        let foreign = CertificateParams::default().self_signed(&key).unwrap();
        for (certificate, key, expect) in [
            ("", "x", ""),
            ("", one.key(), ""),
            ("no certificate", one.key(), ""),
            (one.certificate(), other.key(), "do not belong together"),
            (&foreign.pem(), &key.serialize_pem(), "did not generate"),
        ] {
            let error = Authority::from_pem(certificate.to_owned(), key.to_owned());
            let error = error.unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        }
    }

    /// Writes a new certificate and its key to files that were last changed at this second.
    fn write(directory: &Path, second: u64) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::default().self_signed(&key).unwrap();
        let files = (directory.join("tls.crt"), directory.join("tls.key"));
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        for (file, text) in [
            (&files.0, certificate.pem()),
            (&files.1, key.serialize_pem()),
        ] {
            std::fs::write(file, text).unwrap();
            let file = std::fs::File::options().write(true).open(file).unwrap();
            file.set_modified(time).unwrap();
        }
        files
    }

    #[tokio::test(start_paused = true)]
    async fn files_are_read_again_when_they_change() {
        let directory = std::env::temp_dir().join(format!("deltic-tls-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let (certificate, key) = write(&directory, 1);
        let certificates = Certificates::from_files(&certificate, &key).unwrap();
        let renewed = certificates.clone();
        let renewing = tokio::spawn(async move { renewed.renew().await });
        let current = || certificates.current.read().unwrap().key.cert[0].clone();
        let later = || tokio::time::sleep(CHECK * 2);
        let first = current();
        later().await;
        assert_eq!(current(), first, "nothing has changed");
        // The new key has not been written yet: the old pair stays in use.
        let old = std::fs::read(&key).unwrap();
        write(&directory, 2);
        let new = std::fs::read(&key).unwrap();
        std::fs::write(&key, old).unwrap();
        later().await;
        assert_eq!(current(), first, "half of a pair is of no use");
        std::fs::write(&key, new).unwrap();
        later().await;
        let second = current();
        assert_ne!(second, first);
        // A file that is missing for a moment changes nothing.
        std::fs::remove_file(&certificate).unwrap();
        later().await;
        assert_eq!(current(), second);
        write(&directory, 3);
        later().await;
        assert_ne!(current(), second);
        renewing.abort();
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn missing_files_are_named() {
        let error = Certificates::from_files(Path::new("/no/cert"), Path::new("/no/key"));
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("cannot read /no/cert: "), "{error}");
    }
}
