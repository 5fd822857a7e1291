//! HTTP requests to a collector, with the HTTP client and TLS library that kube uses as well.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry_http::{Bytes, HttpClient, HttpError};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use tokio::runtime::Handle;

use super::Variable;

const TIMEOUT: Variable = Variable {
    traces: "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
    all: "OTEL_EXPORTER_OTLP_TIMEOUT",
};
const AUTHORITIES: Variable = Variable {
    traces: "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE",
    all: "OTEL_EXPORTER_OTLP_CERTIFICATE",
};
const CLIENT_CERTIFICATE: Variable = Variable {
    traces: "OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE",
    all: "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
};
const CLIENT_KEY: Variable = Variable {
    traces: "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY",
    all: "OTEL_EXPORTER_OTLP_CLIENT_KEY",
};

/// How long a request may take; the default of the specification.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest answer that is read, in bytes.
const MAX_ANSWER: usize = 1 << 20;

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsProblem {
    /// A file cannot be read, or does not hold a certificate or key.
    #[error("{variable}: {reason}")]
    File {
        /// The variable that names it.
        variable: &'static str,
        /// The error.
        reason: String,
    },
    /// The client has a certificate without a key, or a key without a certificate.
    #[error("{}: needs {} as well", .0, .1)]
    Half(&'static str, &'static str),
    /// This machine has no CA certificates.
    #[error("no CA certificates found on this machine: set {} to a file with them", AUTHORITIES.all)]
    NoAuthorities,
    /// The certificate and key cannot be used.
    #[error(transparent)]
    Config(#[from] rustls::Error),
}

/// Sends requests on a tokio runtime. The SDK calls it from a thread outside of that runtime.
pub(super) struct Transport {
    runtime: Handle,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    timeout: Duration,
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl Transport {
    /// Must be called in a tokio runtime. Certificates are read only if the connection is
    /// `encrypted`.
    pub(super) fn new(encrypted: bool) -> Result<Self, TlsProblem> {
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls(encrypted)?)
            .https_or_http()
            .enable_http1()
            .build();
        let timeout = TIMEOUT.read();
        let timeout = timeout.and_then(|(_, millis)| millis.parse().ok());
        Ok(Self {
            runtime: Handle::current(),
            client: Client::builder(TokioExecutor::new()).build(connector),
            timeout: timeout.map_or(DEFAULT_TIMEOUT, Duration::from_millis),
        })
    }
}

#[async_trait]
impl HttpClient for Transport {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request = request.map(Full::new);
        let answer = self.client.request(request);
        let exchange = async move {
            let (head, body) = answer.await?.into_parts();
            let body = Limited::new(body, MAX_ANSWER).collect().await?;
            Ok(Response::from_parts(head, body.to_bytes()))
        };
        let timeout = self.timeout;
        let exchange = async move { tokio::time::timeout(timeout, exchange).await? };
        self.runtime.spawn(exchange).await?
    }
}

/// The CA certificates and the client certificate that the environment names.
fn tls(encrypted: bool) -> Result<ClientConfig, TlsProblem> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    if !encrypted {
        let config = config.with_root_certificates(RootCertStore::empty());
        return Ok(config.with_no_client_auth());
    }
    let config = match AUTHORITIES.read() {
        Some((variable, path)) => config.with_root_certificates(authorities(variable, &path)?),
        None => {
            let native = config.with_native_roots();
            native.map_err(|_| TlsProblem::NoAuthorities)?
        }
    };
    match (CLIENT_CERTIFICATE.read(), CLIENT_KEY.read()) {
        (None, None) => Ok(config.with_no_client_auth()),
        (Some((variable, path)), Some((key_variable, key_path))) => {
            let certificates = certificates(variable, &path)?;
            let key = PrivateKeyDer::from_pem_file(key_path);
            let key = key.map_err(|error| file(key_variable, &error))?;
            Ok(config.with_client_auth_cert(certificates, key)?)
        }
        (Some((variable, _)), None) => Err(TlsProblem::Half(variable, CLIENT_KEY.all)),
        (None, Some((variable, _))) => Err(TlsProblem::Half(variable, CLIENT_CERTIFICATE.all)),
    }
}

fn authorities(variable: &'static str, path: &str) -> Result<RootCertStore, TlsProblem> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(variable, path)? {
        let added = store.add(certificate);
        added.map_err(|error| file(variable, &error))?;
    }
    Ok(store)
}

fn certificates(
    variable: &'static str,
    path: &str,
) -> Result<Vec<CertificateDer<'static>>, TlsProblem> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let certificates: Vec<_> = read.map_err(|error| file(variable, &error))?;
    if certificates.is_empty() {
        return Err(file(variable, &"there is no certificate in this file"));
    }
    Ok(certificates)
}

fn file(variable: &'static str, reason: &dyn fmt::Display) -> TlsProblem {
    TlsProblem::File {
        variable,
        reason: reason.to_string(),
    }
}
