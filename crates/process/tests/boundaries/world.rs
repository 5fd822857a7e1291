//! A cluster, and any number of processes on it.

use std::ops::Deref;
use std::time::Duration;

use document::{Value, json};
use object::ObjectKey;
use process::config::Config;
use simulation::api::{Caller, ProcessedWrite};
pub(crate) use simulation::scene::{Running, config_map};
use simulation::scene::{Scene, operator};

/// The cluster.
#[derive(Default)]
pub(crate) struct World {
    scene: Scene,
}

impl Deref for World {
    type Target = Scene;

    fn deref(&self) -> &Scene {
        &self.scene
    }
}

/// Waits long enough for everything to settle, the status included.
pub(crate) async fn rest() {
    tokio::time::sleep(Duration::from_secs(20)).await;
}

pub(crate) fn pod(name: &str) -> ObjectKey {
    ObjectKey::new("", "Pod", "ns", name)
}

/// An Operator that derives config maps from pods; their names begin with `prefix`.
pub(crate) fn copies(prefix: &str) -> Value {
    json!({"controllers": [{
        "name": "copies",
        "sources": [{"apiGroup": "", "kind": "Pod"}],
        "pipeline": [{"@project": {
            "metadata": {
                "name": {"@concat": [prefix, "$.metadata.name"]},
                "namespace": "$.metadata.namespace",
            },
            "data": {"n": "$.spec.n"},
        }}],
        "target": {"apiGroup": "", "kind": "ConfigMap"},
    }]})
}

impl World {
    pub(crate) fn new() -> Self {
        let world = Self::default();
        world.server.with(|state| state.faults.no_delays());
        world
    }

    /// Starts a process with `--namespace`, which is also the name of the caller.
    pub(crate) fn start_in(&self, namespace: &str) -> Running {
        let config = Config {
            namespace: Some(namespace.to_owned()),
            ..Config::default()
        };
        Running::start(self.server.client(&Caller::new(namespace)), config)
    }

    pub(crate) fn put(&self, key: &ObjectKey, fields: &Value) {
        self.server.put(key, "user", fields);
    }

    pub(crate) fn put_pod(&self, name: &str, n: &str) {
        self.put(&pod(name), &json!({"spec": {"n": n}}));
    }

    /// Forbids writes. They are recorded as violations, which [`World::violations`] returns.
    pub(crate) fn forbid(&self, wrong: impl Fn(&ProcessedWrite<'_>) -> bool + Send + 'static) {
        self.server.with(|state| {
            state.guard(Box::new(move |write| {
                let line = || {
                    format!(
                        "{}: {} {}",
                        write.caller.name, write.request.method, write.key
                    )
                };
                if wrong(write) { Err(line()) } else { Ok(()) }
            }));
        });
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        self.server.with(|state| state.violations().to_vec())
    }

    /// Requests the deletion of an Operator.
    pub(crate) fn retire(&self, name: &str) {
        self.delete_operator(name);
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.server.get(&operator(name)).is_some()
    }

    /// Sets a label of an Operator.
    pub(crate) fn label(&self, name: &str, label: &str, value: &str) {
        let path = ["metadata", "labels", label];
        self.server
            .set(&operator(name), "user", &path, value.into());
    }

    /// Creates an Operator, or changes its spec.
    pub(crate) fn apply(&self, name: &str, spec: &Value) {
        self.put_operator(name, spec);
    }

    /// The names of all config maps.
    pub(crate) fn config_maps(&self) -> Vec<String> {
        self.names("", "ConfigMap")
    }

    /// `status/reason: message` of the condition `Ready`.
    pub(crate) fn ready(&self, operator: &str) -> String {
        format!("{}: {}", self.scene.ready(operator), self.message(operator))
    }

    pub(crate) fn is_ready(&self, operator: &str) -> bool {
        self.ready(operator).starts_with("True/")
    }

    /// How many watches of a verb (`STREAM`, `WATCH`) were opened on a path.
    pub(crate) fn watches(&self, verb: &str, path: &str) -> u64 {
        let key = format!("{verb} {path}");
        self.server
            .with(|state| state.trace.counts().get(&key).copied().unwrap_or_default())
    }
}
