//! The cluster of the tests: the API server in memory, with kinds addressed by their plural.

use std::time::Duration;

use document::{Value, json};
use kube::Client;
use object::ObjectKey;
use simulation::api::kind::{KINDS, Kind};
use simulation::api::{Caller, Server as Api};
use simulation::clock::Virtual;
use simulation::faults::Fault;
use simulation::fields::set;

/// The namespace of all namespaced objects.
const NAMESPACE: &str = "n";

pub(crate) struct Server(Api);

impl Default for Server {
    fn default() -> Self {
        let server = Api::new(Virtual::start(), 1);
        server.create_namespace(NAMESPACE);
        Self(server)
    }
}

impl Server {
    pub(crate) fn client(&self) -> Client {
        self.0.client(&Caller::new("deltic"))
    }

    /// Delays requests about a kind.
    pub(crate) fn slow(&self, plural: &str, pause: Duration) {
        self.always(plural, Fault::Slow(pause));
    }

    /// Refuses all requests about a kind, or answers them again.
    pub(crate) fn refuse(&self, plural: &str, refused: bool) {
        let fault = if refused {
            Fault::Forbidden
        } else {
            Fault::None
        };
        self.always(plural, fault);
    }

    fn always(&self, plural: &str, fault: Fault) {
        let part = format!("/{plural}");
        self.0.with(|state| state.faults.always(&part, fault));
    }

    /// An object; null if there is none.
    pub(crate) fn get(&self, plural: &str, name: &str) -> Value {
        self.0.get(&key(plural, name)).unwrap_or_default()
    }

    /// The names of all objects of a kind.
    pub(crate) fn names(&self, plural: &str) -> Vec<String> {
        let objects = self.0.all(kind(plural));
        let names = objects.iter().map(|(key, _)| key.object_name().to_owned());
        names.collect()
    }

    /// Creates or changes an object, as a user does.
    pub(crate) fn apply(&self, plural: &str, name: &str, fields: &Value) {
        let key = key(plural, name);
        let old = self.0.get(&key).unwrap_or_else(|| json!({}));
        let fields = fields.as_map().unwrap().iter();
        let object = fields.fold(old, |object, (key, value)| {
            set(&object, &[key.as_str()], value.clone())
        });
        self.0.put(&key, "user", &object);
    }

    /// Deletes an object, as a user does.
    pub(crate) fn delete(&self, plural: &str, name: &str) {
        self.0.delete(&key(plural, name));
    }

    /// How many requests since the last call have written an object.
    pub(crate) fn writes(&self, path: &str) -> usize {
        let sent = self.0.with(|state| state.trace.take_sent());
        let done = sent.iter().filter(|sent| sent.method != "GET");
        done.filter(|sent| sent.path.contains(path)).count()
    }

    /// The objects that clients have deleted since the last call.
    pub(crate) fn deleted(&self) -> Vec<String> {
        let sent = self.0.with(|state| state.trace.take_sent());
        let done = sent
            .iter()
            .filter(|sent| sent.method == "DELETE" && sent.code == 200);
        let names = done.filter_map(|sent| sent.path.rsplit('/').next());
        names.map(str::to_owned).collect()
    }
}

fn kind(plural: &str) -> &'static Kind {
    KINDS.iter().find(|kind| kind.plural == plural).unwrap()
}

fn key(plural: &str, name: &str) -> ObjectKey {
    let kind = kind(plural);
    let namespace = if kind.namespaced { NAMESPACE } else { "" };
    ObjectKey::new(kind.group, kind.name, namespace, name)
}
