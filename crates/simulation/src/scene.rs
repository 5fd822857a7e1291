//! A cluster, its Operators and the processes that run them, for tests that tell a story.

use document::{Value, json};
use kube::Client;
use object::ObjectKey;
use process::config::Config;
use process::run::{RunError, run};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::api::kind::{KINDS, Kind};
use crate::api::{Caller, Server};
use crate::clock::Virtual;
use crate::fields::set;

/// A source object.
pub fn widget(name: &str) -> ObjectKey {
    ObjectKey::new("example.com", "Widget", "ns", name)
}

/// A target object.
pub fn config_map(name: &str) -> ObjectKey {
    ObjectKey::new("", "ConfigMap", "ns", name)
}

/// An Operator.
pub fn operator(name: &str) -> ObjectKey {
    ObjectKey::new("dcontroller.io", "Operator", "", name)
}

/// A cluster with Operators.
pub struct Scene {
    /// The API server.
    pub server: Server,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            server: Server::new(Virtual::start(), 1),
        }
    }
}

impl Scene {
    /// Starts a process.
    pub fn start(&self, config: Config) -> Running {
        Running::start(self.server.client(&Caller::new("deltic")), config)
    }

    /// Creates an Operator, or changes its spec.
    pub fn put_operator(&self, name: &str, spec: &Value) {
        let key = operator(name);
        let old = self.server.get(&key).unwrap_or_else(|| json!({}));
        let object = set(&old, &["spec"], spec.clone());
        self.server.put(&key, "user", &object);
    }

    /// Requests the deletion of an Operator.
    pub fn delete_operator(&self, name: &str) {
        self.server.delete(&operator(name));
    }

    /// The status of an Operator.
    pub fn status(&self, name: &str) -> Value {
        let object = self.server.get(&operator(name));
        object.unwrap_or_default().get("status").clone()
    }

    /// A field of the condition `Ready` of an Operator.
    fn condition(&self, name: &str, field: &str) -> String {
        let status = self.status(name);
        let condition = status.get("conditions").at(0);
        condition.get(field).as_str().unwrap_or_default().to_owned()
    }

    /// `status/reason` of the condition `Ready` of an Operator.
    pub fn ready(&self, name: &str) -> String {
        let part = |field: &str| self.condition(name, field);
        format!("{}/{}", part("status"), part("reason"))
    }

    /// The message of the condition `Ready` of an Operator.
    pub fn message(&self, name: &str) -> String {
        self.condition(name, "message")
    }

    /// All objects of a kind.
    ///
    /// # Panics
    ///
    /// If the server does not know the kind.
    pub fn objects(&self, group: &str, kind: &str) -> Vec<(ObjectKey, Value)> {
        let kind = Kind::named(group, kind).expect("the server knows the kind");
        self.server.all(kind)
    }

    /// The names of all objects of a kind.
    ///
    /// # Panics
    ///
    /// If the server does not know the kind.
    pub fn names(&self, group: &str, kind: &str) -> Vec<String> {
        let objects = self.objects(group, kind);
        let names = objects.iter().map(|(key, _)| key.object_name().to_owned());
        names.collect()
    }

    /// The server no longer serves a kind, whose objects are gone.
    ///
    /// # Panics
    ///
    /// If the server does not know the kind.
    pub fn drop_kind(&self, group: &str, kind: &str) {
        for (key, _) in self.objects(group, kind) {
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
    pub fn serve_all(&self) {
        self.server
            .with(|state| state.kinds = KINDS.iter().collect());
    }
}

/// A running process.
#[derive(Debug)]
pub struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), RunError>>,
}

impl Running {
    /// Starts a process with this client.
    pub fn start(client: Client, config: Config) -> Self {
        let (stop, stopped) = oneshot::channel();
        let shutdown = async move { drop(stopped.await) };
        let task = tokio::spawn(run(client, config, shutdown));
        Self { stop, task }
    }

    /// Shuts the process down, and waits for its end.
    ///
    /// # Panics
    ///
    /// If it does not end well.
    pub async fn stop(self) {
        // It fails if the process has ended already.
        let _ = self.stop.send(());
        let ended = self.task.await.expect("the process does not panic");
        ended.expect("the process ends well");
    }
}
