//! A cluster, and any number of processes on it.

use std::time::Duration;

use document::{Value, json};
use object::ObjectKey;
use process::config::Config;
use process::run::{RunError, run};
use simulation::api::kind::Kind;
use simulation::api::{Caller, ProcessedWrite, Server};
use simulation::clock::Virtual;
use simulation::fields::set;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The cluster.
pub(crate) struct World {
    pub(crate) server: Server,
}

/// A running deltic.
pub(crate) struct Process {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), RunError>>,
}

impl Process {
    pub(crate) fn start(client: &kube::Client, config: Config) -> Self {
        let (stop, stopped) = oneshot::channel();
        let shutdown = async move { drop(stopped.await) };
        let task = tokio::spawn(run(client.clone(), config, shutdown));
        Self { stop, task }
    }

    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap().unwrap();
    }
}

/// Waits long enough for everything to settle, the status included.
pub(crate) async fn rest() {
    tokio::time::sleep(Duration::from_secs(20)).await;
}

pub(crate) fn pod(name: &str) -> ObjectKey {
    ObjectKey::new("", "Pod", "ns", name)
}

pub(crate) fn config_map(name: &str) -> ObjectKey {
    ObjectKey::new("", "ConfigMap", "ns", name)
}

fn operator_key(name: &str) -> ObjectKey {
    ObjectKey::new("dcontroller.io", "Operator", "", name)
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
        let server = Server::new(Virtual::start(), 1);
        server.with(|state| state.faults.no_delays());
        Self { server }
    }

    pub(crate) fn start(&self, config: Config) -> Process {
        Process::start(&self.server.client(&Caller::new("deltic")), config)
    }

    /// Starts a process with `--namespace`, which is also the name of the caller.
    pub(crate) fn start_in(&self, namespace: &str) -> Process {
        let config = Config {
            namespace: Some(namespace.to_owned()),
            ..Config::default()
        };
        Process::start(&self.server.client(&Caller::new(namespace)), config)
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
        self.server.delete(&operator_key(name));
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.server.get(&operator_key(name)).is_some()
    }

    /// Sets a label of an Operator.
    pub(crate) fn label(&self, name: &str, label: &str, value: &str) {
        let path = ["metadata", "labels", label];
        self.server
            .set(&operator_key(name), "user", &path, value.into());
    }

    /// Creates an Operator, or changes its spec.
    pub(crate) fn apply(&self, name: &str, spec: &Value) {
        let key = operator_key(name);
        let old = self.server.get(&key).unwrap_or_else(|| json!({}));
        self.put(&key, &set(&old, &["spec"], spec.clone()));
    }

    /// The names of all config maps.
    pub(crate) fn config_maps(&self) -> Vec<String> {
        self.names("", "ConfigMap")
    }

    /// The names of all objects of a kind.
    pub(crate) fn names(&self, group: &str, kind: &str) -> Vec<String> {
        let all = self.server.all(Kind::named(group, kind).unwrap());
        let names = all.iter().map(|(key, _)| key.object_name().to_owned());
        names.collect()
    }

    pub(crate) fn status(&self, operator: &str) -> Value {
        let object = self.server.get(&operator_key(operator));
        object.unwrap_or_default().get("status").clone()
    }

    /// `status/reason: message` of the condition `Ready`.
    pub(crate) fn ready(&self, operator: &str) -> String {
        let status = self.status(operator);
        let ready = status.get("conditions").at(0);
        let part = |key: &str| ready.get(key).as_str().unwrap_or_default();
        format!("{}/{}: {}", part("status"), part("reason"), part("message"))
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
