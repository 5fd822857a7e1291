//! Operators that read each other's views, on an API server in memory: a view that is not
//! available is not an empty view.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod batches;
mod changes;
mod errors;
mod restarts;
mod server;
mod users;

use std::time::Duration;

use document::{Value, json};
use engine::native::ViewStore;
use process::config::Config;
use server::Server;
use simulation::fields::merge_patch;
use simulation::scene::Running;

/// A cluster and the process that runs its Operators.
struct World {
    server: Server,
    /// The settings of each process; every process gets a new store of views.
    config: Config,
    views: ViewStore,
    process: Option<Running>,
}

impl World {
    /// An empty cluster.
    fn new() -> Self {
        Self {
            server: Server::default(),
            config: Config::default(),
            views: ViewStore::default(),
            process: None,
        }
    }

    /// A cluster with the pods `a`, `b` and `c` and the Operators `producer` and `reader`, after
    /// everything has settled.
    async fn settled() -> Self {
        let mut world = Self::new();
        for name in ["a", "b", "c"] {
            world.pod(name, "1");
        }
        world.operator("producer", &producer());
        world.operator("reader", &reader("producer"));
        world.start();
        rest().await;
        world.expect(&["a", "b", "c"], "True/Ready");
        world
    }

    /// Starts the process.
    fn start(&mut self) {
        self.views = ViewStore::default();
        let config = Config {
            views: self.views.clone(),
            ..self.config.clone()
        };
        self.process = Some(Running::start(self.server.client(), config));
    }

    /// Ends the process.
    async fn stop(&mut self) {
        let before = self.ready("reader");
        self.process.take().unwrap().stop().await;
        // Readers notice nothing when their producer ends with the process.
        assert_eq!(self.ready("reader"), before, "{}", self.message("reader"));
    }

    /// Ends the process, does something, and starts it again.
    async fn restart(&mut self, meanwhile: impl FnOnce(&mut Self)) {
        self.stop().await;
        meanwhile(self);
        self.start();
        rest().await;
    }

    fn pod(&self, name: &str, n: &str) {
        self.server.apply("pods", name, &json!({"spec": {"n": n}}));
    }

    fn operator(&self, name: &str, spec: &Value) {
        let fields = json!({"spec": (spec.clone())});
        self.server.apply("operators", name, &fields);
    }

    /// Checks the objects that `reader` derives and its status, and that nothing was deleted that
    /// the test has not taken note of.
    fn expect(&self, derived: &[&str], ready: &str) {
        self.expect_of("reader", derived, ready);
    }

    fn expect_of(&self, reader: &str, derived: &[&str], ready: &str) {
        let deleted = self.server.deleted();
        assert_eq!(deleted, [""; 0], "{}", self.message(reader));
        assert_eq!(self.server.names("configmaps"), derived);
        assert_eq!(self.ready(reader), ready, "{}", self.message(reader));
    }

    /// Checks that the message of an Operator names the view it waits for, and the reason.
    fn expect_waiting(&self, reader: &str, view: &str, why: &str) {
        let message = self.message(reader);
        assert!(message.contains(view), "{message}");
        assert!(message.contains(why), "{message}");
    }

    fn condition(&self, operator: &str) -> Value {
        let operator = self.server.get("operators", operator);
        operator.get("status").get("conditions").at(0).clone()
    }

    /// `status/reason` of the condition of an Operator.
    fn ready(&self, operator: &str) -> String {
        let ready = self.condition(operator);
        let part = |key: &str| ready.get(key).as_str().unwrap_or_default().to_owned();
        format!("{}/{}", part("status"), part("reason"))
    }

    fn message(&self, operator: &str) -> String {
        let ready = self.condition(operator);
        ready.get("message").as_str().unwrap_or_default().to_owned()
    }
}

/// Waits long enough for everything to settle.
async fn rest() {
    tokio::time::sleep(Duration::from_secs(40)).await;
}

const HEALTH: &str = "view Health of Operator producer";

fn name() -> Value {
    json!({"name": "$.metadata.name", "namespace": "$.metadata.namespace"})
}

fn operator(name: &str, sources: Value, project: Value, target: Value) -> Value {
    json!({"controllers": [{
        "name": name, "sources": (sources), "target": (target),
        "pipeline": [{"@project": (project)}],
    }]})
}

/// Derives objects of the view `Health` from pods; a pod whose `n` is not a number is an error.
fn producer() -> Value {
    operator(
        "pods",
        json!([{"apiGroup": "", "version": "v1", "kind": "Pod"}]),
        json!({"metadata": (name()), "n": {"@int": "$.spec.n"}}),
        json!({"kind": "Health"}),
    )
}

/// Derives objects of its own view `Health` from those of another Operator's view `Health`.
fn middle(of: &str) -> Value {
    operator(
        "copy",
        json!([{"apiGroup": (format!("{of}.view.dcontroller.io")), "kind": "Health"}]),
        json!({"metadata": (name()), "n": "$.n"}),
        json!({"kind": "Health"}),
    )
}

/// Derives config maps from the objects of an Operator's view `Health`.
fn reader(of: &str) -> Value {
    operator(
        "maps",
        json!([{"apiGroup": (format!("{of}.view.dcontroller.io")), "kind": "Health"}]),
        json!({"metadata": (name()), "data": {"n": {"@string": "$.n"}}}),
        json!({"apiGroup": "", "version": "v1", "kind": "ConfigMap"}),
    )
}
