//! Limits on connections. Those on requests are in [`apiserver::Limits`].

use std::time::Duration;

/// Limits on connections.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// How many connections are open at the same time. One more is closed at once.
    pub connections: usize,
    /// How long a TLS handshake may take.
    pub handshake: Duration,
    /// How long the headers of a request may take.
    pub headers: Duration,
    /// How large they may be, in bytes.
    pub header_bytes: u32,
    /// How long a client may take until its first request with a valid login.
    pub login: Duration,
    /// How long a connection stays open without a request.
    pub idle: Duration,
    /// How long a client may take nothing of what is sent to it, on its connection or, over
    /// HTTP/2, on one of its streams.
    pub stalled: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections: 4096,
            handshake: Duration::from_secs(10),
            headers: Duration::from_secs(10),
            header_bytes: 128 * 1024,
            login: Duration::from_secs(30),
            idle: Duration::from_mins(5),
            stalled: Duration::from_mins(1),
        }
    }
}
