//! Clients that do not read what they have asked for.

use std::net::SocketAddr;
use std::time::Duration;

use apiserver::Limits;
use bytes::Bytes;
use h2::client::{self, SendRequest};
use http::Request;
use serving::ConnectionLimits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::common::{PATIENCE, SHORT, VIEWS, View, serve, start};

fn impatient() -> ConnectionLimits {
    ConnectionLimits {
        stalled: SHORT,
        ..ConnectionLimits::default()
    }
}

/// A client of HTTP/2 whose streams have this much room at first.
async fn http2(address: SocketAddr, room: u32) -> SendRequest<Bytes> {
    let stream = TcpStream::connect(address).await.unwrap();
    let handshake = client::Builder::new()
        .initial_window_size(room)
        .initial_connection_window_size(1 << 24)
        .handshake(stream);
    let (sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    sender.ready().await.unwrap()
}

fn request(address: SocketAddr, path: &str) -> Request<()> {
    let uri = format!("http://{address}{path}");
    Request::get(uri).body(()).unwrap()
}

/// The code of an answer, and its body, which is not read.
async fn open(sender: &mut SendRequest<Bytes>, request: Request<()>) -> (u16, h2::RecvStream) {
    let (response, _) = sender.send_request(request, true).unwrap();
    let response = response.await.unwrap();
    (response.status().as_u16(), response.into_body())
}

/// Waits until the server resets a stream.
async fn is_reset(body: &mut h2::RecvStream) {
    let end = timeout(PATIENCE, async {
        loop {
            // What has arrived is not released: there is no room for more.
            match body.data().await {
                Some(Ok(_)) => {}
                Some(Err(error)) => return error.is_reset(),
                None => return false,
            }
        }
    });
    assert!(end.await.expect("the stream ends"), "it is reset");
}

#[tokio::test]
async fn a_stream_that_is_not_read_is_reset_and_others_go_on() {
    let view = View::new();
    (0..10).for_each(|number| view.put(number, 0));
    let (address, metrics) = serve(&view, Limits::default(), impatient()).await;
    let mut sender = http2(address, 0).await;
    let watch = format!("{VIEWS}?watch=1");
    let mut quiet = http2(address, 1 << 20).await;
    let (code, mut other) = open(&mut quiet, request(address, "/version")).await;
    assert_eq!(code, 200);
    // A list and a watch, neither of which has any room.
    for path in [VIEWS, &watch] {
        let (code, mut body) = open(&mut sender, request(address, path)).await;
        assert_eq!(code, 200);
        is_reset(&mut body).await;
    }
    // The connection is still there.
    let (code, _) = open(&mut sender, request(address, "/version")).await;
    assert_eq!(code, 200);
    assert!(other.data().await.is_some());
    let open =
        timeout(PATIENCE, async {
            while !metrics.encode().lines().any(|line| {
                line.starts_with("apiserver_longrunning_requests{") && line.ends_with(" 0")
            }) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
    open.await.expect("the watch does not count any more");
}

#[tokio::test]
async fn a_quiet_watch_is_not_reset() {
    let view = View::new();
    let (address, _) = serve(&view, Limits::default(), impatient()).await;
    let mut sender = http2(address, 1 << 20).await;
    let path = format!("{VIEWS}?watch=1");
    let (_, mut body) = open(&mut sender, request(address, &path)).await;
    assert!(timeout(SHORT * 5, body.data()).await.is_err());
    view.put(0, 1);
    let event = timeout(PATIENCE, body.data()).await.unwrap().unwrap();
    assert!(event.unwrap().starts_with(b"{\"type\":\"ADDED\""));
}

#[tokio::test]
async fn a_connection_that_is_not_read_is_closed() {
    let view = View::new();
    (0..200).for_each(|number| view.put(number, 0));
    let (address, metrics) = serve(&view, Limits::default(), impatient()).await;
    // More than the buffers of the system hold, of which nothing is read.
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {VIEWS}?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let closed = timeout(PATIENCE, async {
        let mut begun = false;
        loop {
            let text = metrics.encode();
            let line = text
                .lines()
                .find(|line| line.starts_with("apiserver_longrunning_requests{"));
            begun |= line.is_some_and(|line| line.ends_with(" 1"));
            if begun && line.is_some_and(|line| line.ends_with(" 0")) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    closed.await.expect("the watch ends");
    let mut rest = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut rest)).await;
    let _ = read.expect("the connection is closed");
    assert!(rest.len() < 20_000_000, "{} bytes", rest.len());
}

#[tokio::test]
async fn streams_that_are_reset_at_once_leave_nothing() {
    let limits = Limits {
        requests_per_user: 2,
        watches_per_user: 2,
        ..Limits::default()
    };
    let (address, _) = start(limits, ConnectionLimits::default()).await;
    for _ in 0..5 {
        let mut sender = http2(address, 1 << 20).await;
        for path in [VIEWS.to_owned(), format!("{VIEWS}?watch=1")] {
            let (_, mut stream) = sender.send_request(request(address, &path), true).unwrap();
            stream.send_reset(h2::Reason::CANCEL);
        }
    }
    // Their permits are free again.
    let mut sender = http2(address, 1 << 20).await;
    let served = timeout(PATIENCE, async {
        for path in [VIEWS.to_owned(), format!("{VIEWS}?watch=1")] {
            while open(&mut sender, request(address, &path)).await.0 != 200 {}
        }
    });
    served.await.expect("requests are answered");
}
