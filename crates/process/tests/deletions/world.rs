//! A whole deltic on the API server in memory.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::time::Duration;

use document::{Value, json};
use engine::native::ViewStore;
use object::{GroupKind, ObjectKey};
use process::config::Config;
use simulation::api::{State, StreamingLists};
use simulation::faults::Fault;
use simulation::fields::{set, unset};
use simulation::scene::{Running, Scene, operator};
pub(crate) use simulation::scene::{config_map, widget};
use store::{Selector, Write};

/// A cluster and the deltic that runs on it.
#[derive(Default)]
pub(crate) struct World {
    scene: Scene,
    /// The views of the running deltic.
    views: ViewStore,
    process: Option<Running>,
}

impl Deref for World {
    type Target = Scene;

    fn deref(&self) -> &Scene {
        &self.scene
    }
}

/// A source object of another kind.
pub(crate) fn plain(name: &str) -> ObjectKey {
    ObjectKey::new("example.com", "Plain", "ns", name)
}

fn view() -> GroupKind {
    GroupKind::new("a.view.dcontroller.io", "U")
}

/// The names of `count` objects.
pub(crate) fn names(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("o{i}")).collect()
}

/// Waits long enough for everything to settle, the status included.
pub(crate) async fn rest() {
    tokio::time::sleep(Duration::from_secs(20)).await;
}

impl World {
    /// A cluster with this many widgets, on which no deltic runs.
    pub(crate) fn new(widgets: usize) -> Self {
        let world = Self::default();
        for name in names(widgets) {
            world.make(&widget(&name));
        }
        world
    }

    pub(crate) fn start(&mut self) {
        self.views = ViewStore::default();
        let config = Config {
            views: self.views.clone(),
            ..Config::default()
        };
        self.process = Some(self.scene.start(config));
    }

    pub(crate) async fn stop(&mut self) {
        self.process.take().unwrap().stop().await;
    }

    /// Creates an object without content.
    pub(crate) fn make(&self, key: &ObjectKey) {
        self.make_with(key, &json!({}));
    }

    /// Creates an object with these labels, or changes its labels.
    pub(crate) fn make_with(&self, key: &ObjectKey, labels: &Value) {
        let old = self.server.get(key).unwrap_or_else(|| json!({}));
        let object = set(&old, &["metadata", "labels"], labels.clone());
        self.server.put(key, "someone", &object);
    }

    /// From now on, requests whose line contains this text have this fault.
    pub(crate) fn answer(&self, part: &str, fault: Fault) {
        self.server.with(|state| state.faults.always(part, fault));
    }

    pub(crate) fn delete(&self, key: &ObjectKey) {
        self.server.delete(key);
    }

    /// Deletes objects without an event on any watch: they are missing from the next list.
    pub(crate) async fn lose(&self, keys: impl IntoIterator<Item = ObjectKey>) {
        let keys: Vec<ObjectKey> = keys.into_iter().collect();
        let kinds: BTreeSet<&str> = keys.iter().map(|key| key.kind.kind.as_str()).collect();
        // Before the deletion for the watches that run, and after it for new ones.
        for kind in &kinds {
            self.expire(kind);
        }
        for key in &keys {
            self.delete(key);
        }
        for kind in &kinds {
            self.expire(kind);
        }
        rest().await;
    }

    /// Expires the watches of a kind, so that they must list again.
    pub(crate) fn expire(&self, kind: &str) {
        self.server.with(|state| state.expire(kind));
    }

    /// Leaves lists of a kind unanswered.
    pub(crate) fn answer_no_lists(&self, kind: &'static str) {
        self.server.with(|state| state.unanswered.insert(kind));
    }

    /// Answers all lists again.
    pub(crate) fn answer_all(&self) {
        self.server.with(|state| state.unanswered.clear());
    }

    /// Answers lists in pages, each after a pause.
    pub(crate) fn slow_pages(&self, pause: Duration) {
        self.server.with(|state| {
            state.streaming_lists = StreamingLists::Refused;
            state.faults.always("/widgets", Fault::Slow(pause));
        });
    }

    /// Discards the history: lists cannot be continued.
    pub(crate) fn compact(&self) {
        self.server.with(State::compact);
    }

    /// Creates an object in the view `U` of the Operator `a`, as a user does.
    pub(crate) fn put_into_view(&self, name: &str) {
        let object = json!({"apiVersion": "a.view.dcontroller.io/v1alpha1", "kind": "U",
            "metadata": {"name": name, "namespace": "ns"}});
        let store = self.views.store();
        let created = store.write(
            &store::Caller::user("alice"),
            &view(),
            &Write::Create(object),
        );
        created.unwrap();
    }

    /// The number of objects of that view that have data.
    pub(crate) fn patched_in_view(&self) -> usize {
        let list = self.views.store().list(&view(), &Selector::default());
        let items = list.items.iter();
        items.filter(|object| !object.get("data").is_null()).count()
    }

    /// Creates an Operator, or changes its spec.
    pub(crate) fn apply(&self, name: &str, spec: &Value) {
        self.put_operator(name, spec);
    }

    pub(crate) fn generation(&self, name: &str) -> i64 {
        let object = self.server.get(&operator(name)).unwrap();
        object.get("metadata").get("generation").as_int().unwrap()
    }

    /// Sets or removes `dcontroller.io/allow-deletions`.
    pub(crate) async fn allow(&self, name: &str, generation: Option<i64>) {
        let at = ["metadata", "annotations", "dcontroller.io/allow-deletions"];
        self.server
            .change(&operator(name), "someone", |old| match generation {
                Some(generation) => set(old, &at, Value::from(generation.to_string())),
                None => unset(old, &at),
            });
        rest().await;
    }

    /// Requests the deletion of an Operator.
    pub(crate) fn retire(&self, name: &str) {
        self.delete_operator(name);
    }

    /// The reason of `Ready`.
    pub(crate) fn reason(&self, name: &str) -> String {
        let status = self.status(name);
        let reason = status.get("conditions").at(0).get("reason").clone();
        reason.as_str().unwrap_or_default().to_owned()
    }

    /// The number of held removals in the status of a controller.
    pub(crate) fn held(&self, name: &str, controller: &str) -> usize {
        let status = self.status(name);
        let controllers = status.get("controllers").as_list().unwrap();
        let mut controllers = controllers.iter();
        let found = controllers.find(|c| c.get("name").as_str() == Some(controller));
        let Some(found) = found else {
            return 0;
        };
        let errors = found.get("lastErrors").as_list().unwrap();
        for error in errors {
            let text = error.as_str().unwrap();
            assert!(text.starts_with("deletion-held "), "{text}");
            let generation = self.generation(name);
            let allows = format!("dop {name} dcontroller.io/allow-deletions={generation} --over");
            assert!(text.contains(&allows), "{text}");
        }
        let count = found.get("counts").get("errors").as_int().unwrap();
        usize::try_from(count).unwrap()
    }

    /// The names of the config maps, or of those whose data has this key.
    pub(crate) fn config_maps(&self, with: Option<&str>) -> Vec<String> {
        let objects = self.objects("", "ConfigMap");
        let config_maps = objects.iter().filter(|(_, object)| {
            with.is_none_or(|field| !object.get("data").get(field).is_null())
        });
        config_maps
            .map(|(key, _)| key.object_name().to_owned())
            .collect()
    }

    /// The data of an object.
    pub(crate) fn data(&self, key: &ObjectKey) -> Value {
        self.server.get(key).unwrap_or_default().get("data").clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.config_maps(None).len()
    }
}
