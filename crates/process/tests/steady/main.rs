//! Nothing gets stuck, nobody is held up, and `Ready` can be relied on: Operators that crash,
//! loop, fight or exceed their budget, on an API server in memory.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod appends;
mod bombs;
mod budgets;
mod chores;
mod crashes;
mod cycles;
mod fights;
mod isolation;
mod patches;
mod ready;
mod restored;
mod retyped;
mod rivals;
mod time;

use std::ops::Deref;
use std::time::Duration;

use document::{Value, json};
use engine::native::ViewStore;
use kube::Client;
use object::ObjectKey;
use process::config::Config;
use simulation::api::Caller;
use simulation::faults::Fault;
use simulation::fields::set;
use simulation::scene::{Running, Scene, config_map, operator, widget};

/// A cluster and the process that runs its Operators.
#[derive(Default)]
struct World {
    scene: Scene,
    /// The settings of the process.
    config: Config,
    process: Option<Running>,
}

impl Deref for World {
    type Target = Scene;

    fn deref(&self) -> &Scene {
        &self.scene
    }
}

impl World {
    /// An empty cluster, on which no process runs.
    fn new() -> Self {
        Self::default()
    }

    /// Starts the process.
    fn start(&mut self) {
        self.start_with_views();
    }

    /// Starts the process, and returns its views.
    fn start_with_views(&mut self) -> ViewStore {
        let client = self.server.client(&Caller::new("deltic"));
        self.start_on(client)
    }

    /// Starts the process with this client.
    fn start_on(&mut self, client: Client) -> ViewStore {
        let views = ViewStore::default();
        let config = Config {
            views: views.clone(),
            ..self.config.clone()
        };
        self.process = Some(Running::start(client, config));
        views
    }

    /// Ends the process.
    async fn stop(&mut self) {
        self.process.take().unwrap().stop().await;
    }

    /// Creates an object, or sets one of its fields.
    fn put(&self, key: &ObjectKey, field: &str, value: Value) {
        let old = self.server.get(key).unwrap_or_else(|| json!({}));
        let object = set(&old, &[field], value);
        self.server.put(key, "user", &object);
    }

    fn widget(&self, name: &str, n: i64) {
        self.put(&widget(name), "spec", json!({"n": n}));
    }

    #[allow(clippy::needless_pass_by_value)] // The specs are built where they are passed.
    fn operator(&self, name: &str, spec: Value) {
        self.put_operator(name, &spec);
    }

    fn always(&self, part: &str, fault: Fault) {
        self.server.with(|state| state.faults.always(part, fault));
    }

    /// The names of all config maps.
    fn config_maps(&self) -> Vec<String> {
        self.names("", "ConfigMap")
    }

    /// The number of requests since the last call whose `METHOD path` contains this text.
    fn requests(&self, part: &str) -> usize {
        let sent = self.server.with(|state| state.trace.take_sent());
        let lines = sent.iter().map(|s| format!("{} {}", s.method, s.path));
        lines.filter(|line| line.contains(part)).count()
    }

    /// The notes of the Events with this reason.
    fn events(&self, reason: &str) -> Vec<String> {
        let events = self.objects("events.k8s.io", "Event");
        let events = events.iter().map(|(_, event)| event);
        let events = events.filter(|event| event.get("reason").as_str() == Some(reason));
        let notes = events.filter_map(|event| event.get("note").as_str().map(str::to_owned));
        notes.collect()
    }

    /// Checks the condition of an Operator.
    fn expect(&self, name: &str, ready: &str) {
        assert_eq!(self.ready(name), ready, "{}", self.message(name));
    }

    /// Waits until the condition of an Operator has this `status/reason`, at most for this long.
    /// Returns how long that took.
    async fn until(&self, name: &str, ready: &str, most: Duration) -> Duration {
        let start = tokio::time::Instant::now();
        while self.ready(name) != ready {
            let waited = start.elapsed();
            let found = (self.ready(name), self.message(name));
            assert!(
                waited < most,
                "{found:?} instead of {ready} after {waited:?}"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        start.elapsed()
    }
}

async fn seconds(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

/// A controller that derives a config map from each widget, with this prefix to its name.
fn copies(prefix: &str) -> Value {
    json!({"controllers": [{
        "name": "copies",
        "sources": [{"apiGroup": "example.com", "kind": "Widget"}],
        "pipeline": [{"@project": {
            "metadata": {
                "name": {"@concat": [(prefix), "$.metadata.name"]},
                "namespace": "$.metadata.namespace",
            },
            "data": {"n": {"@string": "$.spec.n"}},
        }}],
        "target": {"apiGroup": "", "kind": "ConfigMap"},
    }]})
}
