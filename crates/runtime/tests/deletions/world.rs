//! A whole deltic on the server in memory.

use std::collections::BTreeSet;
use std::time::Duration;

use document::{Value, json};
use runtime::config::Config;
use runtime::native::ViewStore;
use runtime::run::{RunError, run};
use runtime::target::ObjectKey;
use store::{Collection, Selector, Write, Writer};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::target_sim::{Kind, Sim, set, unset};

/// A cluster, and the deltic that runs on it.
pub(crate) struct World {
    pub(crate) sim: Sim,
    /// The views of the deltic that runs.
    views: ViewStore,
    process: Option<Process>,
}

/// A deltic that runs.
struct Process {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), RunError>>,
}

/// Sources.
pub(crate) fn widget(name: &str) -> ObjectKey {
    ObjectKey::new("example.com", "Widget", "ns", name)
}

/// Other sources.
pub(crate) fn plain(name: &str) -> ObjectKey {
    ObjectKey::new("example.com", "Plain", "ns", name)
}

/// Targets.
pub(crate) fn config_map(name: &str) -> ObjectKey {
    ObjectKey::new("", "ConfigMap", "ns", name)
}

fn operator(name: &str) -> ObjectKey {
    ObjectKey::new("dcontroller.io", "Operator", "", name)
}

fn view() -> Collection {
    Collection::new("a.view.dcontroller.io", "U")
}

/// The names of so many objects.
pub(crate) fn names(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("o{i}")).collect()
}

/// Long enough for all that is to happen, the status included.
pub(crate) async fn rest() {
    tokio::time::sleep(Duration::from_secs(20)).await;
}

impl World {
    /// A cluster with so many widgets, on which nothing runs.
    pub(crate) fn new(widgets: usize) -> Self {
        let sim = Sim::default();
        sim.lock().kinds.push(Kind {
            group: "dcontroller.io",
            version: "v1alpha1",
            name: "Operator",
            plural: "operators",
            namespaced: false,
            status: true,
        });
        let world = Self {
            sim,
            views: ViewStore::default(),
            process: None,
        };
        for name in names(widgets) {
            world.make(&widget(&name));
        }
        world
    }

    pub(crate) fn start(&mut self) {
        let (stop, stopped) = oneshot::channel();
        let shutdown = async move { drop(stopped.await) };
        self.views = ViewStore::default();
        let config = Config {
            views: self.views.clone(),
            ..Config::default()
        };
        let task = tokio::spawn(run(self.sim.client(), config, shutdown));
        self.process = Some(Process { stop, task });
    }

    pub(crate) async fn stop(&mut self) {
        let Process { stop, task } = self.process.take().unwrap();
        stop.send(()).unwrap();
        task.await.unwrap().unwrap();
    }

    /// Creates an object without content.
    pub(crate) fn make(&self, key: &ObjectKey) {
        self.make_with(key, &json!({}));
    }

    /// Creates an object with these labels, or changes its labels.
    pub(crate) fn make_with(&self, key: &ObjectKey, labels: &Value) {
        let version = match key.group.as_str() {
            "" => "v1".to_owned(),
            group => format!("{group}/v1"),
        };
        let fresh = json!({"apiVersion": version, "kind": (key.kind.as_str()), "metadata": {}});
        self.sim.foreign(key, "someone", |old| {
            let object = if old.is_null() { &fresh } else { old };
            set(object, &["metadata", "labels"], labels.clone())
        });
    }

    pub(crate) fn delete(&self, key: &ObjectKey) {
        self.sim.foreign_delete(key);
    }

    /// Deletes objects while nobody watches: the next list does not show them.
    pub(crate) async fn lose(&self, keys: impl IntoIterator<Item = ObjectKey>) {
        let keys: Vec<ObjectKey> = keys.into_iter().collect();
        let kinds: BTreeSet<&str> = keys.iter().map(|key| key.kind.as_str()).collect();
        // Before, so that no watch shows it, and after, so that no new one does.
        for kind in &kinds {
            self.sim.lock().expire(kind);
        }
        for key in &keys {
            self.delete(key);
        }
        for kind in &kinds {
            self.sim.lock().expire(kind);
        }
        rest().await;
    }

    /// A user puts an object into the view `U` of the operator `a`.
    pub(crate) fn put_into_view(&self, name: &str) {
        let object = json!({"apiVersion": "a.view.dcontroller.io/v1alpha1", "kind": "U",
            "metadata": {"name": name, "namespace": "ns"}});
        let store = self.views.store();
        let created = store.write_one(&Writer::User, &view(), Write::Create(object));
        created.unwrap();
    }

    /// How many objects of that view have data.
    pub(crate) fn patched_in_view(&self) -> usize {
        let list = self.views.store().list(&view(), &Selector::default());
        let items = list.items.iter();
        items.filter(|object| !object.get("data").is_null()).count()
    }

    /// Creates an Operator, or changes its spec.
    pub(crate) fn apply(&self, name: &str, spec: &Value) {
        let fresh = json!({"apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
            "metadata": {"name": name}});
        self.sim.foreign(&operator(name), "someone", |old| {
            let generation = old.get("metadata").get("generation").as_int().unwrap_or(0);
            let object = if old.is_null() { &fresh } else { old };
            let object = set(object, &["spec"], spec.clone());
            set(&object, &["metadata", "generation"], json!(generation + 1))
        });
    }

    pub(crate) fn generation(&self, name: &str) -> i64 {
        let object = self.sim.get(&operator(name)).unwrap();
        object.get("metadata").get("generation").as_int().unwrap()
    }

    /// Sets or removes `dcontroller.io/allow-deletions`.
    pub(crate) async fn allow(&self, name: &str, generation: Option<i64>) {
        let at = ["metadata", "annotations", "dcontroller.io/allow-deletions"];
        self.sim
            .foreign(&operator(name), "someone", |old| match generation {
                Some(generation) => set(old, &at, Value::from(generation.to_string())),
                None => unset(old, &at),
            });
        rest().await;
    }

    /// Asks for the deletion of an Operator.
    pub(crate) fn retire(&self, name: &str) {
        let at = ["metadata", "deletionTimestamp"];
        self.sim.foreign(&operator(name), "someone", |old| {
            set(old, &at, json!("2026-01-01T00:00:00Z"))
        });
    }

    pub(crate) fn status(&self, name: &str) -> Value {
        let object = self.sim.get(&operator(name));
        object.unwrap_or_default().get("status").clone()
    }

    /// The reason of `Ready`.
    pub(crate) fn reason(&self, name: &str) -> String {
        let status = self.status(name);
        let reason = status.get("conditions").at(0).get("reason").clone();
        reason.as_str().unwrap_or_default().to_owned()
    }

    /// How many removals a controller's status says are held.
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
        }
        let count = found.get("counts").get("errors").as_int().unwrap();
        usize::try_from(count).unwrap()
    }

    /// The names of the config maps, or of those whose data has this key.
    pub(crate) fn config_maps(&self, with: Option<&str>) -> Vec<String> {
        let objects = self.sim.content();
        let config_maps = objects.iter().filter(|(key, object)| {
            let has = with.is_none_or(|field| !object.get("data").get(field).is_null());
            key.kind.as_str() == "ConfigMap" && has
        });
        config_maps
            .map(|(key, _)| key.object_name().to_owned())
            .collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.config_maps(None).len()
    }
}
