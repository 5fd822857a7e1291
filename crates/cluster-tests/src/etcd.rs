//! The few words of etcd that a test needs, over its HTTP gateway.

use serde_json::{Value, json};

use crate::http::request;

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
