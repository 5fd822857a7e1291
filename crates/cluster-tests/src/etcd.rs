//! The few requests to etcd that a test needs, through its HTTP gateway.

use serde_json::{Value, json};

use crate::http::request;

/// Whether etcd on this port is healthy.
pub(crate) fn healthy(port: u16) -> bool {
    request(port, "GET", "/health", "").is_ok_and(|body| body.contains("\"true\""))
}

/// Compacts the whole history, so that older revisions cannot be read or watched. Returns the
/// current revision.
pub(crate) fn compact(port: u16) -> i64 {
    // A range over a missing key: only the header of the answer is needed.
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
