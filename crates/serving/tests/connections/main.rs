//! What a port bears: slow, large, malformed and too many requests and connections. Sockets are
//! real, so the limits are short real times.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;
mod slow_readers;

use std::net::SocketAddr;
use std::time::Duration;

use apiserver::Limits;
use common::{PATIENCE, SHORT, VIEWS, start};
use serving::ConnectionLimits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

async fn connect(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// All that arrives until the server closes the connection.
async fn read(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let end = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
    // A connection that is reset is closed, too.
    let _ = end.expect("the server closes the connection");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The answer to a request on a connection of its own.
async fn ask(address: SocketAddr, request: &str) -> String {
    let request = request.replace('\n', "\r\n");
    let mut stream = connect(address, &request).await;
    read(&mut stream).await
}

fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\nHost: localhost\nConnection: close\n{headers}\n")
}

fn code(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or(answer)
}

#[tokio::test]
async fn headers_that_arrive_slowly_are_given_up() {
    let limits = ConnectionLimits {
        headers: SHORT,
        ..ConnectionLimits::default()
    };
    let (address, _) = start(Limits::default(), limits).await;
    let mut stream = connect(address, "GET /apis HTTP/1.1\r\nHost: loc").await;
    let answer = read(&mut stream).await;
    assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_client_that_sends_nothing_is_given_up() {
    let limits = ConnectionLimits {
        login: SHORT,
        headers: SHORT,
        ..ConnectionLimits::default()
    };
    let (address, _) = start(Limits::default(), limits).await;
    let mut silent = connect(address, "").await;
    assert_eq!(read(&mut silent).await, "");
    // The preface of HTTP/2, and then nothing.
    let mut silent = connect(address, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    read(&mut silent).await;
}

#[tokio::test]
async fn a_connection_without_requests_is_closed() {
    let limits = ConnectionLimits {
        idle: SHORT,
        ..ConnectionLimits::default()
    };
    let (address, _) = start(Limits::default(), limits).await;
    let mut stream = connect(address, "GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    let answer = read(&mut stream).await;
    assert_eq!(code(&answer), "200", "{answer}");
}

#[tokio::test]
async fn a_watch_is_no_idle_connection() {
    let limits = ConnectionLimits {
        idle: SHORT,
        headers: SHORT,
        login: SHORT,
        ..ConnectionLimits::default()
    };
    let (address, metrics) = start(Limits::default(), limits).await;
    let path = format!("{VIEWS}?watch=1&timeoutSeconds=2&allowWatchBookmarks=true");
    let start = std::time::Instant::now();
    let answer = ask(address, &get(&path, "")).await;
    assert_eq!(code(&answer), "200", "{answer}");
    assert!(start.elapsed() >= Duration::from_secs(1), "{answer}");
    let text = metrics.encode();
    let open = text
        .lines()
        .find(|line| line.starts_with("apiserver_longrunning_requests{"));
    assert!(open.is_some_and(|line| line.ends_with(" 0")), "{text}");
}

#[tokio::test]
async fn large_headers_and_bodies_are_refused() {
    let limits = Limits {
        body_bytes: 1000,
        body_time: SHORT,
        ..Limits::default()
    };
    let connections = ConnectionLimits {
        header_bytes: 16 * 1024,
        ..ConnectionLimits::default()
    };
    let (address, _) = start(limits, connections).await;
    let header = format!("X-Large: {}\n", "x".repeat(64 * 1024));
    let answer = ask(address, &get("/apis", &header)).await;
    assert!(answer.is_empty() || code(&answer) == "431", "{answer}");
    let many: Vec<String> = (0..1000).map(|i| format!("X-{i}: y\n")).collect();
    let many = many.concat();
    let answer = ask(address, &get("/apis", &many)).await;
    assert!(answer.is_empty() || code(&answer) == "431", "{answer}");
    let post = |length: usize, body: &str| {
        let head = "Host: localhost\nConnection: close\nContent-Type: application/json";
        format!("POST {VIEWS} HTTP/1.1\n{head}\nContent-Length: {length}\n\n{body}")
    };
    let answer = ask(address, &post(2000, &"x".repeat(2000))).await;
    assert_eq!(code(&answer), "413", "{answer}");
    // The body never arrives.
    let answer = ask(address, &post(500, "{")).await;
    assert_eq!(code(&answer), "400", "{answer}");
    assert!(answer.contains("did not arrive in time"), "{answer}");
}

#[tokio::test]
async fn malformed_requests_are_refused() {
    let limits = ConnectionLimits {
        headers: SHORT,
        login: SHORT,
        ..ConnectionLimits::default()
    };
    let (address, _) = start(Limits::default(), limits).await;
    for request in [
        "nonsense\n\n",
        "GET /apis HTTP/9.9\nHost: localhost\n\n",
        "GET /apis HTTP/1.1\nHost localhost\n\n",
        "POST /apis HTTP/1.1\nHost: localhost\nContent-Length: x\n\n",
    ] {
        let answer = ask(address, request).await;
        assert!(
            answer.is_empty() || code(&answer) == "400",
            "{request}: {answer}"
        );
    }
    for (path, expect) in [
        ("/apis//v1", "404"),
        ("/apis/%ff/v1/x", "404"),
        ("/../etc/passwd", "404"),
        (&format!("{VIEWS}?limit=-x"), "400"),
        (&format!("{VIEWS}?resourceVersion=x"), "400"),
    ] {
        let answer = ask(address, &get(path, "")).await;
        assert_eq!(code(&answer), expect, "{path}: {answer}");
    }
}

#[tokio::test]
async fn one_connection_more_is_closed_at_once() {
    let limits = ConnectionLimits {
        connections: 2,
        ..ConnectionLimits::default()
    };
    let (address, _) = start(Limits::default(), limits).await;
    let path = format!("GET {VIEWS}?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut stream = connect(address, &path).await;
        let mut first = [0; 12];
        stream.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        open.push(stream);
    }
    let mut third = TcpStream::connect(address).await.unwrap();
    assert_eq!(read(&mut third).await, "");
    drop(open);
    // Their places are free again.
    let again = timeout(PATIENCE, async {
        loop {
            if code(&ask(address, &get("/version", "")).await) == "200" {
                return;
            }
        }
    });
    again.await.expect("a new connection is served");
}

#[tokio::test]
async fn one_watch_more_is_refused() {
    let limits = Limits {
        watches: 2,
        watches_per_user: 1,
        ..Limits::default()
    };
    let (address, metrics) = start(limits, ConnectionLimits::default()).await;
    let path = format!("{VIEWS}?watch=1");
    let request = get(&path, "").replace('\n', "\r\n");
    let mut open = connect(address, &request).await;
    let mut first = [0; 12];
    open.read_exact(&mut first).await.unwrap();
    let answer = ask(address, &get(&path, "")).await;
    assert_eq!(code(&answer), "429", "{answer}");
    assert!(answer.to_lowercase().contains("retry-after: "), "{answer}");
    // Everything else is still answered.
    assert_eq!(code(&ask(address, &get(VIEWS, "")).await), "200");
    let text = metrics.encode();
    for (verb, scope, code) in [
        ("WATCH", "namespace", "200"),
        ("WATCH", "namespace", "429"),
        ("LIST", "namespace", "200"),
    ] {
        let line = format!(
            "apiserver_request_total{{verb=\"{verb}\",\
             group=\"shop.view.dcontroller.io\",version=\"v1alpha1\",resource=\"health\",\
             subresource=\"\",scope=\"{scope}\",component=\"deltic\",dry_run=\"\",\
             code=\"{code}\"}} 1"
        );
        assert!(text.contains(&line), "{line}\n{text}");
    }
    drop(open);
}

#[tokio::test]
async fn made_up_resources_are_no_labels() {
    let (address, metrics) = start(Limits::default(), ConnectionLimits::default()).await;
    for number in 0..20 {
        let path = format!("/apis/g{number}.example/v1/r{number}/n{number}");
        assert_eq!(code(&ask(address, &get(&path, "")).await), "404");
        let answer = ask(address, &get(&format!("/made-up-{number}"), "")).await;
        assert_eq!(code(&answer), "404");
    }
    let text = metrics.encode();
    let lines = text
        .lines()
        .filter(|line| line.starts_with("apiserver_request_total{"));
    assert_eq!(lines.count(), 2, "{text}");
}

#[tokio::test]
async fn a_port_without_logins_answers_no_web_pages() {
    let (address, _) = start(Limits::default(), ConnectionLimits::default()).await;
    let with = |host: &str, more: &str| {
        format!("GET /apis HTTP/1.1\nHost: {host}\nConnection: close\n{more}\n")
    };
    assert_eq!(code(&ask(address, &with("localhost", "")).await), "200");
    for request in [
        with("evil.example", ""),
        with("evil.example:8443", ""),
        with("localhost", "Origin: http://evil.example\n"),
        "GET /apis HTTP/1.0\n\n".to_owned(),
    ] {
        let answer = ask(address, &request).await;
        assert_eq!(code(&answer), "403", "{request}: {answer}");
    }
}
