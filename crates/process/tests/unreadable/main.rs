//! Objects that cannot be read: the error is reported for that object alone, and nothing is lost.

#![allow(clippy::unwrap_used)] // A test fails by panicking.
#![allow(unreachable_pub)]

mod restarts;
mod server;
mod sources;
mod targets;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cluster::client::{Clients, Rate};
use cluster::lease::Leadership;
use document::{Value, json};
use engine::native::ViewStore;
use engine::status::{ControllerStatus, Ready, ReportedError};
use engine::{Context, Engine, EngineEvents, Running};
use metrics::Metrics;
use object::{GroupKind, ObjectName};
use operator::Operator;
use server::Server;

/// The codes of all errors that were reported, in order.
#[derive(Default)]
struct Reported(Mutex<Vec<String>>);

impl EngineEvents for Reported {
    fn adopted(&self, _kind: &GroupKind, _name: Option<&ObjectName>, _controller: &str) {}

    fn reported(&self, _controller: &str, reported: &ReportedError) {
        self.0.lock().unwrap().push(reported.code.clone());
    }
}

/// A deltic that runs some Operators.
struct World {
    context: Context,
    reported: Arc<Reported>,
    running: Vec<Running>,
}

impl World {
    fn start(server: &Server, operators: Vec<Operator>) -> Self {
        let clients = Clients::new(server.client(), Rate::default(), Leadership::always());
        let context = Context::new(clients, &ViewStore::default(), Metrics::default());
        let reported = Arc::new(Reported::default());
        let start = |operator| Engine::start(context.clone(), operator, reported.clone());
        let running = operators.into_iter().map(start).collect();
        Self {
            context,
            reported,
            running,
        }
    }

    /// The status of the first controller of an Operator after everything has settled.
    async fn of(&self, operator: usize) -> ControllerStatus {
        rest().await;
        let status = self.running[operator].status().borrow().clone();
        status.controllers[0].clone()
    }

    /// Waits until everything has settled, and checks that the first Operator is ready.
    async fn is_well(&self) {
        let status = self.of(0).await;
        assert_eq!(status.ready, Ready::True, "{status:?}");
        assert_eq!(status.errors, []);
    }

    /// Waits until everything has settled, and checks that this object alone cannot be read.
    async fn cannot_read(&self, name: &str) -> ReportedError {
        let status = self.of(0).await;
        assert_eq!(status.ready, Ready::Failing, "{status:?}");
        let [error] = &status.errors[..] else {
            panic!("{:?}", status.errors);
        };
        assert_eq!(error.code, "unreadable");
        assert_eq!(error.origin.at(0), &thing(name), "{error:?}");
        error.clone()
    }

    async fn stop(self) {
        for running in self.running {
            running.stop().await;
        }
    }
}

async fn rest() {
    tokio::time::sleep(Duration::from_mins(2)).await;
}

/// The origin of a source object.
fn thing(name: &str) -> Value {
    json!({"source": "Thing", "namespace": "n", "name": name})
}

fn operator(name: &str, pipeline: Value) -> Operator {
    let spec = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": name},
        "spec": {"controllers": [{
            "name": "c",
            "sources": [{"apiGroup": "example.com", "version": "v1", "kind": "Thing"}],
            "pipeline": (pipeline),
            "target": {"apiGroup": "example.com", "version": "v1", "kind": "Copy"},
        }]},
    });
    read(&spec)
}

fn read(spec: &Value) -> Operator {
    let (operator, problems) = operator::read(spec, &expr::Functions::builtin());
    operator.unwrap_or_else(|| panic!("{problems:?}"))
}

/// An Operator that derives a copy of each thing, with this expression as the spec.
fn copies(name: &str, spec: &str) -> Operator {
    let metadata = json!({"name": "$.metadata.name", "namespace": "$.metadata.namespace"});
    operator(
        name,
        json!([{"@project": {"metadata": (metadata), "spec": spec}}]),
    )
}

fn spec(value: impl Into<Value>) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Thing", "spec": {"value": (value.into())}})
}

/// The spec of the copy of a thing.
fn copied(server: &Server, name: &str) -> Value {
    server.get("copies", name).get("spec").get("value").clone()
}

/// Servers that stream lists, and servers that do not.
fn servers() -> [Server; 2] {
    let servers = [Server::default(), Server::default()];
    servers[1].no_streaming();
    servers
}
