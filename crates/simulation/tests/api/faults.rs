//! Faults, and how a client sees them.

use super::*;
use simulation::faults::Fault;

/// What a client sees of a `POST`, and whether it was carried out.
async fn posted(fault: Fault) -> (Option<u16>, bool) {
    let cluster = Cluster::new();
    cluster.server.with(|state| state.faults.script([fault]));
    let body = named("a", json!({}));
    let sent = cluster.send("POST", ITEMS, "application/json", &body);
    let answer = tokio::time::timeout(Duration::from_hours(1), sent).await;
    let code = answer.ok().and_then(Result::ok);
    let code = code.map(|response| response.status().as_u16());
    (code, cluster.server.get(&item("a")).is_some())
}

#[tokio::test(start_paused = true)]
async fn a_fault_decides_on_execution_and_answer() {
    for (fault, code, done) in [
        (Fault::None, Some(201), true),
        (Fault::Busy(3), Some(429), false),
        (Fault::Answer(503), Some(503), false),
        (Fault::Forbidden, Some(403), false),
        (Fault::NotServed, Some(404), false),
        (Fault::Slow(Duration::from_secs(40)), Some(201), true),
        (Fault::SlowAnswer(Duration::from_secs(40)), Some(201), true),
        (Fault::Lost, None, false),
        (Fault::LostAnswer, None, true),
        (Fault::Silence, None, false),
        (Fault::SilentAnswer, None, true),
        (Fault::Crash(true), None, true),
        (Fault::Crash(false), None, false),
    ] {
        assert_eq!(posted(fault).await, (code, done), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_sends_retry_after() {
    let cluster = Cluster::new();
    cluster
        .server
        .with(|state| state.faults.script([Fault::Busy(3)]));
    let response = cluster.send("GET", ITEMS, "", &Value::NULL).await.unwrap();
    assert_eq!(response.headers()["retry-after"], "3");
}

#[tokio::test(start_paused = true)]
async fn a_dead_caller_changes_nothing_and_gets_no_answer() {
    let cluster = Cluster::new();
    let caller = Caller::new("dead");
    let client = cluster.server.client(&caller);
    let dead = Cluster {
        client,
        ..Cluster::new()
    };
    caller.die();
    let body = named("a", json!({}));
    let sent = dead.send("POST", ITEMS, "application/json", &body);
    assert!(
        tokio::time::timeout(Duration::from_hours(1), sent)
            .await
            .is_err()
    );
    assert!(cluster.server.get(&item("a")).is_none());
}

#[tokio::test(start_paused = true)]
async fn connections_of_watches_break() {
    let cluster = Cluster::new();
    let uri = format!("{ITEMS}?watch=true&resourceVersion=1003");
    let server = cluster.server.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(5)).await;
        server.with(simulation::api::State::cut_watches);
    });
    assert_eq!(cluster.watch(&uri).await, ["broken"]);
}
