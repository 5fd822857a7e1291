//! A whole deltic on the API server in memory.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::time::Duration;

use document::{Value, json};
use object::ObjectKey;
use process::config::Config;
use simulation::fields::{set, unset};
use simulation::scene::{Running, Scene};
pub(crate) use simulation::scene::{config_map, operator, widget};
use target::claim::Claim;

/// A cluster and the deltic that runs on it.
#[derive(Default)]
pub(crate) struct World {
    scene: Scene,
    process: Option<Running>,
}

impl Deref for World {
    type Target = Scene;

    fn deref(&self) -> &Scene {
        &self.scene
    }
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
        let world = Self::default();
        for name in widgets {
            world.server.put(&widget(name), "someone", &json!({}));
        }
        world
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
        self.process = Some(self.scene.start(config));
    }

    pub(crate) async fn stop(&mut self) {
        self.process.take().unwrap().stop().await;
    }

    /// Creates an Operator, or changes its spec.
    pub(crate) fn apply(&self, name: &str, spec: &Value) {
        self.put_operator(name, spec);
    }

    pub(crate) fn exists(&self, key: &ObjectKey) -> bool {
        self.server.get(key).is_some()
    }

    pub(crate) fn uid(&self, name: &str) -> String {
        let object = self.server.get(&operator(name)).unwrap();
        let uid = object.get("metadata").get("uid").clone();
        uid.as_str().unwrap().to_owned()
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
        let objects = self.objects(group, kind);
        let claims = objects.iter().map(|(key, object)| {
            let name = key.object_name().to_owned();
            (name, Claim::read(object, key))
        });
        claims.collect()
    }

    /// The versions of all config maps.
    pub(crate) fn versions(&self) -> Vec<Value> {
        let objects = self.objects("", "ConfigMap");
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
}
