//! The few words of etcd that a test needs, over its HTTP gateway.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

/// Whether etcd on this port says that it is healthy.
pub(crate) fn healthy(port: u16) -> bool {
    request(port, "GET", "/health", "").is_ok_and(|body| body.contains("\"true\""))
}

/// Forgets all history, so that nobody can read or watch from before; the revision that
/// is left.
pub(crate) fn compact(port: u16) -> i64 {
    // A range over one key that is not there: only the header is of interest.
    let answer = call(port, "/v3/kv/range", &json!({"key": "AA=="}));
    let revision = &answer["header"]["revision"];
    let revision = revision.as_str().expect("an answer has a revision");
    let compaction = json!({"revision": revision, "physical": true});
    call(port, "/v3/kv/compaction", &compaction);
    revision.parse().expect("a revision is a number")
}

fn call(port: u16, path: &str, body: &Value) -> Value {
    let answer = request(port, "POST", path, &body.to_string()).expect("etcd answers");
    serde_json::from_str(&answer).expect("etcd answers with JSON")
}

/// One request on a connection of its own. HTTP/1.0, so that the answer comes in one
/// piece and ends with the connection.
fn request(port: u16, method: &str, path: &str, body: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    write!(
        stream,
        "{method} {path} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1);
    if status == Some("200") {
        return Ok(body.to_owned());
    }
    let found = status.unwrap_or("no status");
    Err(std::io::Error::other(format!("{path}: {found}: {body}")))
}
