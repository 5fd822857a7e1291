//! Connections: accepts them, and serves their requests over HTTP/1.1 and HTTP/2.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use apiserver::{Body, RequestInfo, Server, StatusError, User};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use metrics::Metrics;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsAcceptor;

use crate::activity::{Activity, Guarded};
use crate::authenticate::Authenticator;
use crate::certificates::Certificates;
use crate::front_proxy::ClientAuthorities;
use crate::limits::ConnectionLimits;
use crate::streams::Streams;
use crate::write_timeout::WriteTimeout;
use crate::{local, observe};

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
    shared: Arc<Shared>,
}

/// What all connections share.
#[derive(Debug)]
struct Shared {
    server: Server,
    security: Security,
    metrics: Metrics,
    limits: ConnectionLimits,
}

impl Listener {
    /// Listens at an address.
    pub async fn bind(
        address: SocketAddr,
        server: Server,
        security: Security,
        metrics: Metrics,
        limits: ConnectionLimits,
    ) -> io::Result<Self> {
        Ok(Self {
            socket: TcpListener::bind(address).await?,
            shared: Arc::new(Shared {
                server,
                security,
                metrics,
                limits,
            }),
        })
    }

    /// The address that it listens at.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Answers requests until the future is dropped.
    pub async fn run(&self) {
        let permits = Arc::new(Semaphore::new(self.shared.limits.connections));
        let mut connections = JoinSet::new();
        loop {
            match self.socket.accept().await {
                Ok((stream, _)) => {
                    while connections.try_join_next().is_some() {}
                    // Too many: closed at once, so that the client knows.
                    let Ok(permit) = permits.clone().try_acquire_owned() else {
                        continue;
                    };
                    let shared = self.shared.clone();
                    connections.spawn(async move {
                        connection(stream, shared).await;
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

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    // Events of watches are small, and must not wait for more.
    let _ = stream.set_nodelay(true);
    let stream = WriteTimeout::new(stream, shared.limits.stalled);
    match &shared.security {
        Security::Insecure(_) => serve(stream, shared, Vec::new()).await,
        Security::Tls {
            certificates,
            authenticator,
        } => {
            let authorities = authenticator.authorities().borrow().clone();
            let Some(config) = tls_config(certificates, &authorities) else {
                return;
            };
            let accepted = TlsAcceptor::from(config).accept(stream);
            let Ok(Ok(stream)) = timeout(shared.limits.handshake, accepted).await else {
                return;
            };
            let (_, session) = stream.get_ref();
            let shown = session.peer_certificates().unwrap_or_default();
            let shown = shown.iter().map(|one| one.clone().into_owned()).collect();
            serve(stream, shared, shown).await;
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
    shared: Arc<Shared>,
    certificates: Vec<CertificateDer<'static>>,
) {
    let limits = shared.limits;
    let activity = Activity::new();
    let client = Arc::new(Client {
        shared,
        certificates,
        activity: activity.clone(),
    });
    let service = service_fn(move |request: Request<Incoming>| {
        let client = client.clone();
        async move { Ok::<Response<Body>, Infallible>(client.answer(request).await) }
    });
    let stalled = limits.stalled;
    let mut builder = Builder::new(Streams { stalled });
    let header_bytes = usize::try_from(limits.header_bytes).unwrap_or(usize::MAX);
    builder
        .http1()
        .timer(TokioTimer::new())
        .max_buf_size(header_bytes)
        .header_read_timeout(limits.headers);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(30))
        .max_header_list_size(limits.header_bytes)
        .max_concurrent_streams(1000);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        biased;
        // A connection that breaks is not an error of this process.
        _ = connection.as_mut() => return,
        () = activity.unused(&limits) => connection.as_mut().graceful_shutdown(),
    }
    // A request may have begun at the same moment. It gets as long as headers do.
    let _ = timeout(limits.headers, connection).await;
}

/// The other end of a connection.
struct Client {
    shared: Arc<Shared>,
    certificates: Vec<CertificateDer<'static>>,
    activity: Activity,
}

impl Client {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let open = self.activity.begin();
        let start = Instant::now();
        let method = request.method().clone();
        let user = self.user(&request).await;
        let response = match &user {
            Ok(user) => {
                self.activity.known();
                self.shared.server.handle(user, request).await
            }
            Err(error) => error.respond(),
        };
        let code = response.status().as_u16();
        let info = response.extensions().get::<RequestInfo>();
        let served = observe::served(&method, info);
        let metrics = &self.shared.metrics;
        observe::count(metrics, &served, code, start.elapsed());
        if let (Ok(user), Some(info)) = (&user, info) {
            observe::audit(user, info, code);
        }
        let watching = (served.verb == "WATCH" && code == 200).then(|| metrics.watching(&served));
        response.map(|body| Guarded::new(body, (open, watching)).boxed_unsync())
    }

    async fn user(&self, request: &Request<Incoming>) -> Result<User, StatusError> {
        match &self.shared.security {
            Security::Insecure(user) => {
                local::check(request.uri(), request.headers())?;
                Ok(user.clone())
            }
            Security::Tls { authenticator, .. } => {
                let headers = request.headers();
                authenticator.user(&self.certificates, headers).await
            }
        }
    }
}
