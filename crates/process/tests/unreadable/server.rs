//! The cluster of the tests: the API server in memory, with objects that deltic cannot read.
//!
//! Objects are stored as documents; the texts [`DEEP`], [`LARGE`] and [`BROKEN`] in them are
//! replaced when an object is sent, so that the answer contains values that no document can hold.

use document::Value;
use kube::Client;
use object::ObjectKey;
use simulation::api::kind::{KINDS, Kind};
use simulation::api::{Caller, Server as Api, StreamingLists};
use simulation::clock::Virtual;

/// A string that is sent as lists and maps nested 100,000 levels deep.
pub const DEEP: &str = "<deep>";
/// A string that is sent as a string of 9 MiB.
pub const LARGE: &str = "<large>";
/// A string that is sent as invalid JSON: half of a surrogate pair.
pub const BROKEN: &str = "<broken>";

/// The namespace of all objects.
const NAMESPACE: &str = "n";

#[derive(Clone)]
pub struct Server(Api);

impl Default for Server {
    fn default() -> Self {
        let api = Api::new(Virtual::start(), 1);
        api.create_namespace(NAMESPACE);
        api.with(|state| {
            state.faults.no_delays();
            state.sent_as = vec![
                (DEEP, nested(100_000)),
                (LARGE, format!("\"{}\"", "x".repeat(9 << 20))),
                (BROKEN, r#""\ud800""#.to_owned()),
            ];
        });
        Self(api)
    }
}

impl Server {
    pub fn client(&self) -> Client {
        self.0.client(&Caller::new("deltic"))
    }

    /// Refuses to stream lists from now on.
    pub fn no_streaming(&self) {
        self.0
            .with(|state| state.streaming_lists = StreamingLists::Refused);
    }

    /// Adds these fields to every object that is created from now on.
    pub fn webhook(&self, added: Value) {
        self.0.with(|state| state.webhook = added);
    }

    /// Creates or replaces an object; `object` has all its fields but the name.
    pub fn put(&self, plural: &str, name: &str, object: &Value) {
        self.0.put(&key(plural, name), "user", object);
    }

    pub fn delete(&self, plural: &str, name: &str) {
        self.0.delete(&key(plural, name));
    }

    /// An object; null if there is none.
    pub fn get(&self, plural: &str, name: &str) -> Value {
        self.0.get(&key(plural, name)).unwrap_or_default()
    }

    /// The names of all objects of a kind.
    pub fn names(&self, plural: &str) -> Vec<String> {
        let objects = self.0.all(kind(plural));
        let names = objects.iter().map(|(key, _)| key.object_name().to_owned());
        names.collect()
    }

    /// The writes since the last call: `METHOD plural` and, unless the object is new, its name.
    pub fn take_writes(&self) -> Vec<String> {
        let sent = self.0.with(|state| state.trace.take_sent());
        let writes = sent.iter().filter(|sent| sent.method != "GET");
        let writes = writes.map(|sent| {
            let (_, object) = sent.path.rsplit_once("/n/").unwrap_or_default();
            format!("{} {object}", sent.method)
        });
        writes.collect()
    }
}

fn kind(plural: &str) -> &'static Kind {
    KINDS.iter().find(|kind| kind.plural == plural).unwrap()
}

fn key(plural: &str, name: &str) -> ObjectKey {
    kind(plural).key(NAMESPACE, name)
}

/// Maps in lists, nested this many levels deep.
fn nested(levels: usize) -> String {
    let pairs = levels / 2;
    format!("{}0{}", r#"[{"a":"#.repeat(pairs), "}]".repeat(pairs))
}
