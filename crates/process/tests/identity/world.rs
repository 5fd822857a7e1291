//! A whole deltic on the API server in memory.

use std::collections::BTreeMap;
use std::time::Duration;

use document::{Value, json};
use object::ObjectKey;
use process::config::Config;
use process::run::{RunError, run};
use simulation::api::kind::{KINDS, Kind};
use simulation::api::{Caller, Server};
use simulation::clock::Virtual;
use simulation::fields::{set, unset};
use target::claim::Claim;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A cluster and the deltic that runs on it.
pub(crate) struct World {
    pub(crate) server: Server,
    process: Option<Process>,
}

/// A running deltic.
struct Process {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), RunError>>,
}

/// A source object.
pub(crate) fn widget(name: &str) -> ObjectKey {
    ObjectKey::new("example.com", "Widget", "ns", name)
}

/// A target object.
pub(crate) fn config_map(name: &str) -> ObjectKey {
    ObjectKey::new("", "ConfigMap", "ns", name)
}

pub(crate) fn operator(name: &str) -> ObjectKey {
    ObjectKey::new("dcontroller.io", "Operator", "", name)
}

/// A spec that derives an object of this kind from every widget.
pub(crate) fn copies_to(group: &str, kind: &str) -> Value {
    json!({"controllers": [{
        "name": "c",
        "sources": [{"apiGroup": "example.com", "kind": "Widget"}],
        "pipeline": [{"@project": {
            "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
            "data": {"k": "v"}
        }}],
        "target": {"apiGroup": group, "kind": kind}
    }]})
}

/// A spec whose derived objects are deleted with the Operator.
pub(crate) fn deleting(spec: &Value) -> Value {
    set(spec, &["deletionPolicy"], json!("Delete"))
}

/// Waits long enough for everything to settle, the status included, but not for the next check
/// of an object that belongs to another Operator.
pub(crate) async fn rest() {
    tokio::time::sleep(Duration::from_secs(20)).await;
}

impl World {
    /// A cluster with these widgets, on which no deltic runs.
    pub(crate) fn new(widgets: &[&str]) -> Self {
        let server = Server::new(Virtual::start(), 1);
        for name in widgets {
            server.put(&widget(name), "someone", &json!({}));
        }
        Self {
            server,
            process: None,
        }
    }

    /// A cluster with three widgets and an Operator `a` that has derived everything from them.
    pub(crate) async fn running(spec: &Value) -> Self {
        let mut world = Self::new(&["o0", "o1", "o2"]);
        world.apply("a", spec);
        world.start();
        rest().await;
        world.is_ready("a");
        world
    }

    /// Starts deltic for the Operators of the cluster.
    pub(crate) fn start(&mut self) {
        self.start_with(Config::default());
    }

    pub(crate) fn start_with(&mut self, config: Config) {
        let (stop, stopped) = oneshot::channel();
        let shutdown = async move { drop(stopped.await) };
        let client = self.server.client(&Caller::new("deltic"));
        let task = tokio::spawn(run(client, config, shutdown));
        self.process = Some(Process { stop, task });
    }

    pub(crate) async fn stop(&mut self) {
        let Process { stop, task } = self.process.take().unwrap();
        stop.send(()).unwrap();
        task.await.unwrap().unwrap();
    }

    /// Creates an Operator, or changes its spec.
    pub(crate) fn apply(&self, name: &str, spec: &Value) {
        let key = operator(name);
        let old = self.server.get(&key).unwrap_or_else(|| json!({}));
        let object = set(&old, &["spec"], spec.clone());
        self.server.put(&key, "someone", &object);
    }

    pub(crate) fn exists(&self, key: &ObjectKey) -> bool {
        self.server.get(key).is_some()
    }

    pub(crate) fn uid(&self, name: &str) -> String {
        let object = self.server.get(&operator(name)).unwrap();
        let uid = object.get("metadata").get("uid").clone();
        uid.as_str().unwrap().to_owned()
    }

    pub(crate) fn status(&self, name: &str) -> Value {
        let object = self.server.get(&operator(name));
        object.unwrap_or_default().get("status").clone()
    }

    /// The status and the reason of `Ready`.
    pub(crate) fn ready(&self, name: &str) -> String {
        let status = self.status(name);
        let ready = status.get("conditions").at(0).clone();
        let text = |field: &str| ready.get(field).as_str().unwrap_or_default().to_owned();
        format!("{}/{}", text("status"), text("reason"))
    }

    pub(crate) fn is_ready(&self, name: &str) {
        assert_eq!(self.ready(name), "True/Ready", "{}", self.status(name));
    }

    /// The kinds in the status, as `group/Kind`.
    pub(crate) fn kinds(&self, name: &str) -> Vec<String> {
        let status = self.status(name);
        let kinds = status.get("kinds").as_list().unwrap();
        let text = |kind: &Value, field: &str| kind.get(field).as_str().unwrap().to_owned();
        let kinds = kinds.iter();
        kinds
            .map(|kind| format!("{}/{}", text(kind, "group"), text(kind, "kind")))
            .collect()
    }

    /// The names of all objects of a kind, with the claims on them.
    pub(crate) fn claims(&self, group: &str, kind: &str) -> BTreeMap<String, Option<Claim>> {
        let objects = self.server.all(Kind::named(group, kind).unwrap());
        let claims = objects.iter().map(|(key, object)| {
            let name = key.object_name().to_owned();
            (name, Claim::read(object, key))
        });
        claims.collect()
    }

    pub(crate) fn names(&self, group: &str, kind: &str) -> Vec<String> {
        self.claims(group, kind).into_keys().collect()
    }

    /// The versions of all config maps.
    pub(crate) fn versions(&self) -> Vec<Value> {
        let objects = self.server.all(Kind::named("", "ConfigMap").unwrap());
        let versions = objects
            .iter()
            .map(|(_, object)| object.get("metadata").get("resourceVersion").clone());
        versions.collect()
    }

    /// Removes the uid from the claim on an object, as an earlier deltic wrote it.
    pub(crate) fn without_uid(&self, key: &ObjectKey) {
        let claim = Claim::read(&self.server.get(key).unwrap(), key).unwrap();
        let old = Claim { uid: None, ..claim };
        let at = ["metadata", "annotations", "dcontroller.io/owner"];
        self.server.change(key, "deltic/a/c", |object| {
            set(object, &at, old.print(key).into())
        });
    }

    /// Removes an annotation from an object.
    pub(crate) fn unannotate(&self, key: &ObjectKey, name: &str) {
        let at = ["metadata", "annotations", name];
        self.server.change(key, "someone", |old| unset(old, &at));
    }

    /// The server no longer serves a kind, whose objects are gone.
    pub(crate) fn drop_kind(&self, group: &str, kind: &str) {
        for (key, _) in self.server.all(Kind::named(group, kind).unwrap()) {
            self.server.delete(&key);
        }
        self.server.with(|state| {
            state
                .kinds
                .retain(|served| (served.group, served.name) != (group, kind));
            state.cut_watches();
        });
    }

    /// The server serves all kinds.
    pub(crate) fn serve_all(&self) {
        self.server
            .with(|state| state.kinds = KINDS.iter().collect());
    }
}
