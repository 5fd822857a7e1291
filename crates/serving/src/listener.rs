//! Connections: accepts them, and serves their requests over HTTP/1.1 and HTTP/2.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use apiserver::{Body, Server, StatusError, User};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::authenticate::Authenticator;
use crate::certificates::Certificates;
use crate::front_proxy::ClientAuthorities;
use crate::write_timeout::WriteTimeout;

/// How many connections are open at the same time.
const MAX_CONNECTIONS: usize = 4096;
/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long the headers of a request may take.
const HEADERS: Duration = Duration::from_secs(10);
/// How long a client may take nothing of what is sent to it.
const STALLED: Duration = Duration::from_mins(1);

/// How connections are secured.
pub enum Security {
    /// TLS. Users are authenticated.
    Tls {
        /// The certificate of the server.
        certificates: Certificates,
        /// Finds out who makes a request.
        authenticator: Arc<Authenticator>,
    },
    /// Plain HTTP: everybody who reaches the port is this user.
    Insecure(User),
}

impl std::fmt::Debug for Security {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tls { .. } => f.write_str("Tls"),
            Self::Insecure(user) => f.debug_tuple("Insecure").field(user).finish(),
        }
    }
}

/// A port that already listens, so that a bad address is an error at the start.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    server: Server,
    security: Arc<Security>,
}

impl Listener {
    /// Listens at an address.
    pub async fn bind(address: SocketAddr, server: Server, security: Security) -> io::Result<Self> {
        Ok(Self {
            socket: TcpListener::bind(address).await?,
            server,
            security: Arc::new(security),
        })
    }

    /// The address that it listens at.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Answers requests until the future is dropped.
    pub async fn run(self) {
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            // Without a permit the connection waits in the queue of the system.
            let Ok(permit) = permits.clone().acquire_owned().await else {
                return;
            };
            match self.socket.accept().await {
                Ok((stream, _)) => {
                    while connections.try_join_next().is_some() {}
                    let (server, security) = (self.server.clone(), self.security.clone());
                    connections.spawn(async move {
                        connection(stream, server, security).await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    // The process may be out of file descriptors: do not try in a tight loop.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

async fn connection(stream: TcpStream, server: Server, security: Arc<Security>) {
    // Events of watches are small, and must not wait for more.
    let _ = stream.set_nodelay(true);
    let stream = WriteTimeout::new(stream, STALLED);
    match &*security {
        Security::Insecure(_) => serve(stream, server, security, Vec::new()).await,
        Security::Tls {
            certificates,
            authenticator,
        } => {
            let authorities = authenticator.authorities().borrow().clone();
            let Some(config) = tls_config(certificates, &authorities) else {
                return;
            };
            let accepted = TlsAcceptor::from(config).accept(stream);
            let Ok(Ok(stream)) = timeout(HANDSHAKE, accepted).await else {
                return;
            };
            let (_, session) = stream.get_ref();
            let shown = session.peer_certificates().unwrap_or_default();
            let shown = shown.iter().map(|one| one.clone().into_owned()).collect();
            serve(stream, server, security, shown).await;
        }
    }
}

fn tls_config(
    certificates: &Certificates,
    authorities: &ClientAuthorities,
) -> Option<Arc<ServerConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .ok()?;
    let builder = match authorities.handshake_verifier() {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_cert_resolver(Arc::new(certificates.clone()));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Some(Arc::new(config))
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    server: Server,
    security: Arc<Security>,
    certificates: Vec<CertificateDer<'static>>,
) {
    let certificates = Arc::new(certificates);
    let service = service_fn(move |request: Request<Incoming>| {
        let (server, security) = (server.clone(), security.clone());
        let certificates = certificates.clone();
        async move {
            let user = user(&security, &certificates, &request).await;
            Ok::<Response<Body>, Infallible>(match user {
                Ok(user) => server.handle(&user, request).await,
                Err(error) => error.respond(),
            })
        }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(30))
        .max_concurrent_streams(1000);
    // A connection that breaks is not an error of this process.
    let _ = builder
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn user(
    security: &Security,
    certificates: &[CertificateDer<'static>],
    request: &Request<Incoming>,
) -> Result<User, StatusError> {
    match security {
        Security::Insecure(user) => Ok(user.clone()),
        Security::Tls { authenticator, .. } => {
            authenticator.user(certificates, request.headers()).await
        }
    }
}
