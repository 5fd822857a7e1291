//! Lives of Operators, with engines that only take notes, on an API server in memory.

mod deletion;
mod fake;
mod kinds;
mod outages;
mod server;
mod specs;
mod status;

use std::sync::Arc;
use std::time::Duration;

use cluster::lease::Leadership;
use document::{Value, json};
use engine::background::Background;
use engine::guard::FailPoints;
use engine::kinds::Kinds;
use engine::status::{ControllerStatus, Counts, OperatorStatus, Ready, ReportedError};
use fake::Fake;
use metrics::Metrics;
use server::Server;
use simulation::fields::merge_patch;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::*;
use crate::events::Events;

/// A deltic, and the cluster around it.
struct World {
    server: Server,
    fake: Fake,
    health: Health,
    stop: oneshot::Sender<()>,
    task: JoinHandle<bool>,
}

fn world(server: &Server, policy: Policy) -> World {
    let (fake, health) = (Fake::default(), Health::default());
    let operators = Operators::new(Services {
        client: server.client(),
        engines: Arc::new(fake.clone()),
        policy,
        selector: None,
        events: Events::start(server.client(), "test", Background::default()),
        metrics: Metrics::default(),
        health: health.clone(),
        leadership: Leadership::always(),
        clock: Arc::new(engine::clock::System),
        fail_points: FailPoints::default(),
    });
    let (stop, stopped) = oneshot::channel();
    let shutdown = async move { drop(stopped.await) };
    World {
        server: server.clone(),
        fake,
        health,
        stop,
        task: tokio::spawn(operators.run(shutdown, Duration::from_secs(20))),
    }
}

impl World {
    /// Shuts deltic down. Returns the calls that its engines have received.
    async fn end(self) -> Vec<String> {
        self.stop.send(()).unwrap();
        assert!(self.task.await.unwrap());
        self.fake.log()
    }

    /// The calls that the engines have received, after all tasks are idle.
    async fn told(&self) -> Vec<String> {
        rest().await;
        self.fake.log()
    }

    fn ready(&self, name: &str) -> Value {
        self.server
            .get(name)
            .get("status")
            .get("conditions")
            .at(0)
            .clone()
    }

    /// Status and reason.
    fn standing(&self, name: &str) -> String {
        let ready = self.ready(name);
        let part = |key: &str| ready.get(key).as_str().unwrap_or_default().to_owned();
        format!("{}/{}", part("status"), part("reason"))
    }

    fn message(&self, name: &str) -> String {
        self.ready(name)
            .get("message")
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

async fn rest() {
    tokio::time::sleep(Duration::from_secs(8)).await;
}

fn spec(kind: &str) -> Value {
    json!({"controllers": [{
        "name": "c",
        "sources": [{"apiGroup": "", "kind": "Pod"}],
        "target": {"apiGroup": "", "kind": kind},
    }]})
}

fn deleting(kind: &str) -> Value {
    merge_patch(&spec(kind), &json!({"deletionPolicy": "Delete"}))
}

fn none() -> Value {
    json!({})
}

fn engine_status(ready: Ready, errors: &[&str]) -> OperatorStatus {
    let reported = |message: &&str| ReportedError {
        code: "bad-thing".to_owned(),
        stage: "target".to_owned(),
        origin: json!([{"source": "Pod", "namespace": "n", "name": "a"}, {"key": "hidden"}]),
        message: (*message).to_owned(),
    };
    OperatorStatus {
        controllers: vec![ControllerStatus {
            name: "c".to_owned(),
            ready,
            errors: errors.iter().map(reported).collect(),
            counts: Counts {
                sources: 1,
                errors: errors.len(),
                ..Counts::default()
            },
        }],
        ..OperatorStatus::default()
    }
}
