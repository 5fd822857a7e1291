//! The engines of one or two Operators that write to the same objects, on the API server in memory.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod appends;
mod shared;

use std::sync::Arc;
use std::time::Duration;

use cluster::client::{Clients, Rate};
use cluster::lease::Leadership;
use document::{Value, json};
use engine::native::ViewStore;
use engine::status::ReportedError;
use engine::{Context, Engine, EngineEvents, Running};
use metrics::Metrics;
use object::{GroupKind, ObjectName};
use operator::Operator;
use simulation::api::{Caller, Server};
use simulation::clock::Virtual;

/// Longer than any pause of an engine.
const REST: Duration = Duration::from_secs(320);

struct IgnoreEvents;

impl EngineEvents for IgnoreEvents {
    fn adopted(&self, _kind: &GroupKind, _name: Option<&ObjectName>, _controller: &str) {}
    fn reported(&self, _controller: &str, _error: &ReportedError) {}
}

fn operator(name: &str, controllers: &[Value]) -> Operator {
    let spec = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": (name)},
        "spec": {"controllers": (controllers.to_vec())},
    });
    let (operator, problems) = operator::read(&spec, &expr::Functions::builtin());
    operator.unwrap_or_else(|| panic!("{problems:?}"))
}

/// Operators on a server without delays.
struct Engines {
    server: Server,
    operators: Vec<Operator>,
    running: Vec<Running>,
}

impl Engines {
    /// They do not run before [`Engines::restart`].
    fn new(operators: Vec<Operator>) -> Self {
        let server = Server::new(Virtual::start(), 1);
        server.with(|state| state.faults.no_delays());
        server.create_namespace("ns");
        Self {
            server,
            operators,
            running: Vec::new(),
        }
    }

    async fn stop(&mut self) {
        for running in std::mem::take(&mut self.running) {
            running.stop().await;
        }
    }

    /// Starts the engines again, and waits until they have done all that they can.
    async fn restart(&mut self) {
        self.stop().await;
        let operators = self.operators.iter();
        let running = operators.map(|operator| self.start(operator, &ViewStore::default()));
        self.running = running.collect();
        tokio::time::sleep(REST).await;
    }

    /// Starts an engine.
    fn start(&self, operator: &Operator, views: &ViewStore) -> Running {
        let client = self.server.client(&Caller::new("deltic"));
        let clients = Clients::new(client, Rate::default(), Leadership::always());
        let context = Context::new(clients, views, Metrics::default());
        Engine::start(context, operator.clone(), Arc::new(IgnoreEvents))
    }

    /// The codes of the errors of each controller, in the order of the Operators.
    fn codes(&self) -> Vec<Vec<String>> {
        let mut all = Vec::new();
        for running in &self.running {
            let status = running.status();
            for controller in &status.borrow().controllers {
                let codes = controller.errors.iter().map(|error| error.code.clone());
                all.push(codes.collect());
            }
        }
        all
    }

    /// An error if something is written now, or if anything changes after a restart.
    async fn rest_quietly(&mut self) -> Result<(), String> {
        self.server.with(|state| state.trace.take_sent());
        tokio::time::sleep(REST).await;
        let sent = self.server.with(|state| state.trace.take_sent());
        if let Some(write) = sent.iter().find(|sent| sent.method != "GET") {
            return Err(format!("{} {}", write.method, write.path));
        }
        let version = |server: &Server| server.with(|state| state.store.version());
        let before = version(&self.server);
        self.restart().await;
        if version(&self.server) != before {
            return Err("a restart changes something".to_owned());
        }
        Ok(())
    }
}
