//! Serves `/healthz`, `/readyz` and `/metrics` over HTTP.
//!
//! The answers are plain text, from [`Health`] and [`Metrics`](metrics::Metrics). The number of
//! connections and the time of each are limited.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use engine::background::{Background, Chore};
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use metrics::{self, Metrics};
use operators::Health;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// How many connections are open at the same time. One more closes the oldest.
pub const MAX_CONNECTIONS: usize = 64;
/// How long a connection, which serves one request, may take.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// A server that already listens, so that a bad address is an error at the start.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    health: Health,
    metrics: Metrics,
}

impl Server {
    /// Listens at an address.
    pub async fn bind(address: SocketAddr, health: Health, metrics: Metrics) -> io::Result<Self> {
        Ok(Self {
            listener: TcpListener::bind(address).await?,
            health,
            metrics,
        })
    }

    /// The address that it listens at.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Starts to answer requests. A panic does not end this.
    pub fn start(self, background: &Background) {
        background.spawn(Chore::Probes, self, |server| Box::pin(server.run()));
    }

    /// Answers requests until the future is dropped.
    async fn run(&self) {
        let mut connections = tokio::task::JoinSet::new();
        let mut open: VecDeque<AbortHandle> = VecDeque::new();
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    while connections.try_join_next().is_some() {}
                    make_room(&mut open);
                    let (health, metrics) = (self.health.clone(), self.metrics.clone());
                    open.push_back(connections.spawn(async move {
                        let one = connection(stream, health, metrics);
                        // A scrape that was interrupted is not an error of this process.
                        let _ = tokio::time::timeout(TIMEOUT, one).await;
                    }));
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

/// Closes the oldest connections if there are too many. A new one is always served: clients
/// that connect and send nothing must not keep the kubelet from its probes.
fn make_room(open: &mut VecDeque<AbortHandle>) {
    open.retain(|connection| !connection.is_finished());
    while open.len() >= MAX_CONNECTIONS {
        if let Some(oldest) = open.pop_front() {
            oldest.abort();
        }
    }
}

async fn connection(stream: TcpStream, health: Health, metrics: Metrics) -> hyper::Result<()> {
    let service = service_fn(move |request| {
        let answer = answer(&request, &health, &metrics);
        async move { Ok::<_, Infallible>(answer) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await
}

/// The answer to a request; its body is ignored.
fn answer<B>(request: &Request<B>, health: &Health, metrics: &Metrics) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return text(StatusCode::METHOD_NOT_ALLOWED, "only GET is served");
    }
    match request.uri().path() {
        "/healthz" | "/livez" => probe(health.liveness()),
        "/readyz" => probe(health.readiness()),
        "/metrics" => {
            let mut response = text(StatusCode::OK, metrics.encode());
            let content = header::HeaderValue::from_static(metrics::CONTENT_TYPE);
            response.headers_mut().insert(header::CONTENT_TYPE, content);
            response
        }
        _ => text(
            StatusCode::NOT_FOUND,
            "not found: this server has /healthz, /readyz and /metrics",
        ),
    }
}

fn probe(state: Result<(), String>) -> Response<Full<Bytes>> {
    match state {
        Ok(()) => text(StatusCode::OK, "ok"),
        Err(why) => text(StatusCode::SERVICE_UNAVAILABLE, why),
    }
}

fn text(status: StatusCode, text: impl Into<String>) -> Response<Full<Bytes>> {
    let mut text = text.into();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let content = header::HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, content);
    response
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// Sends a request to a server. Returns the first line of the answer and its body.
    async fn ask(address: SocketAddr, request: &str) -> (String, String) {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("{request} HTTP/1.1\r\nHost: x\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let first = head.lines().next().unwrap_or_default();
        (first.to_owned(), body.trim_end().to_owned())
    }

    async fn start() -> (SocketAddr, Health, Metrics) {
        let (health, metrics) = (Health::default(), Metrics::default());
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server::bind(address, health.clone(), metrics.clone()).await;
        let server = server.unwrap();
        let address = server.address().unwrap();
        server.start(&Background::default());
        (address, health, metrics)
    }

    fn is(answer: &(String, String), status: &str, body: &str) {
        let expect = (format!("HTTP/1.1 {status}"), body.to_owned());
        assert_eq!(*answer, expect);
    }

    #[tokio::test]
    async fn probes_report_the_health() {
        let (address, health, _) = start().await;
        is(&ask(address, "GET /healthz").await, "200 OK", "ok");
        let unavailable = "503 Service Unavailable";
        is(&ask(address, "GET /readyz").await, unavailable, "starting");
        health.ready();
        is(&ask(address, "GET /readyz?verbose").await, "200 OK", "ok");
        health.not_ready("standing by");
        is(
            &ask(address, "GET /readyz").await,
            unavailable,
            "standing by",
        );
        health.broken("the lease is lost");
        for path in ["healthz", "readyz"] {
            let answer = ask(address, &format!("GET /{path}")).await;
            is(&answer, unavailable, "the lease is lost");
        }
    }

    #[tokio::test]
    async fn metrics_are_served() {
        let (address, _, metrics) = start().await;
        metrics.operators(3);
        let (status, body) = ask(address, "GET /metrics").await;
        assert_eq!(status, "HTTP/1.1 200 OK");
        assert!(body.contains("\ndeltic_operators 3\n"), "{body}");
        assert!(body.ends_with("# EOF"), "{body}");
    }

    #[tokio::test]
    async fn other_requests_are_refused() {
        let (address, ..) = start().await;
        let refused = "405 Method Not Allowed";
        is(
            &ask(address, "POST /metrics").await,
            refused,
            "only GET is served",
        );
        let (status, _) = ask(address, "GET /").await;
        assert_eq!(status, "HTTP/1.1 404 Not Found");
    }

    #[tokio::test]
    async fn silent_connections_do_not_block_others() {
        let (address, ..) = start().await;
        let mut silent = Vec::new();
        for _ in 0..3 * MAX_CONNECTIONS {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        is(&ask(address, "GET /healthz").await, "200 OK", "ok");
        // The oldest one was closed, and the youngest is still open.
        let mut buffer = [0];
        let oldest = silent[0].read(&mut buffer).await;
        assert!(matches!(oldest, Ok(0) | Err(_)), "{oldest:?}");
        let youngest = silent.last().unwrap().try_read(&mut buffer);
        assert_eq!(youngest.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}
