//! A minimal HTTP client for servers on this machine.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// Sends one request on a new connection. It is HTTP/1.0, so that the answer is not chunked and
/// ends with the connection.
pub(crate) fn request(port: u16, method: &str, path: &str, body: &str) -> std::io::Result<String> {
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
