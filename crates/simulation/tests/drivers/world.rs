//! The drivers of a story: an engine on a server and on a store of views, and the offline runner.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cluster::client::{Clients, Rate};
use cluster::lease::Leadership;
use document::{Value, json};
use engine::native::ViewStore;
use engine::status::ReportedError;
use engine::{Context, Engine, EngineEvents, Running};
use expr::Env;
use metrics::Metrics;
use object::{GroupKind, ObjectKey, ObjectName};
use offline::{Event, EventType, Offline};
use operator::Operator;
use simulation::api::{Caller, Server};
use simulation::clock::Virtual;
use simulation::fields::{merge_patch, set, unset};
use simulation::stories::{content, without_empty_maps};
use store::{Preconditions, Write};

use super::{CONTROLLERS, Step};

/// The kinds of the written objects: one on the server, one in a view.
pub(crate) const KINDS: [&str; 2] = ["Pod", "V"];

const NAMESPACE: &str = "ns";
const VIEWS: &str = "op.view.dcontroller.io";

/// Longer than the longest pause of an engine whose objects others keep changing back.
const REST: Duration = Duration::from_secs(320);

struct IgnoreEvents;

impl EngineEvents for IgnoreEvents {
    fn adopted(&self, _kind: &GroupKind, _name: Option<&ObjectName>, _controller: &str) {}
    fn reported(&self, _controller: &str, _error: &ReportedError) {}
}

/// For each controller one that writes the pod and one that writes the object of the view.
fn operator() -> Operator {
    let controllers = KINDS.iter().flat_map(|kind| {
        CONTROLLERS.iter().map(move |(name, target)| {
            let project = match *name {
                // A null that is written in the pipeline removes a field.
                "nulls" => json!({
                    "metadata": {"name": "x", "namespace": (NAMESPACE)},
                    "data": {"a": null}, "spec": {"m": {"x": null}, "new": 1},
                }),
                _ => json!("$.wish"),
            };
            let resource = match *kind {
                "V" => json!({"kind": "V", "type": (*target)}),
                _ => json!({"apiGroup": "", "version": "v1", "kind": (*kind), "type": (*target)}),
            };
            let resource = set(&resource, &["force"], json!(*name == "forces"));
            json!({
                "name": (format!("{name}-{}", kind.to_lowercase())),
                "sources": [{"kind": "Wish", "labelSelector": {"matchLabels": {"of": (*name)}}}],
                "pipeline": [{"@project": (project)}],
                "target": (resource),
            })
        })
    });
    let spec = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "op"},
        "spec": {"controllers": (controllers.collect::<Value>())},
    });
    let (operator, problems) = operator::read(&spec, &expr::Functions::builtin());
    operator.unwrap_or_else(|| panic!("{problems:?}"))
}

fn api_version(kind: &str) -> String {
    match kind {
        "Pod" => "v1".to_owned(),
        _ => format!("{VIEWS}/v1alpha1"),
    }
}

/// The object `x` with these fields.
fn named(kind: &str, name: &str, fields: &Value) -> Value {
    let identity = json!({
        "apiVersion": (api_version(kind)), "kind": (kind),
        "metadata": {"name": (name), "namespace": (NAMESPACE)},
    });
    document::merge(fields, &identity)
}

fn wish(controller: &str, fields: &Value) -> Value {
    let wish = document::merge(
        fields,
        &json!({"metadata": {"name": "x", "namespace": (NAMESPACE)}}),
    );
    let labels = json!({"metadata": {"labels": {"of": (controller)}}, "wish": (wish)});
    named("Wish", controller, &labels)
}

/// The drivers.
pub(crate) struct World {
    server: Server,
    views: ViewStore,
    running: Option<Running>,
    offline: Offline,
    /// The objects that the offline runner has, by kind.
    objects: BTreeMap<String, Value>,
}

impl World {
    /// Starts the drivers. `theirs` are the fields of the objects that others made before.
    pub(crate) async fn new(theirs: Option<&Value>) -> Self {
        let server = Server::new(Virtual::start(), 1);
        server.with(|state| state.faults.no_delays());
        server.create_namespace(NAMESPACE);
        let mut world = Self {
            server,
            views: ViewStore::default(),
            running: None,
            offline: Offline::new(operator(), dataflow::Budget::default()),
            objects: BTreeMap::new(),
        };
        if let Some(theirs) = theirs {
            for kind in KINDS {
                let object = named(kind, "x", theirs);
                match kind {
                    "V" => {
                        world.user(kind, &Write::Create(object.clone())).unwrap();
                        // As on a server, the status is not part of what is created.
                        if !object.get("status").is_null() {
                            world.user(kind, &Write::Status(object.clone())).unwrap();
                        }
                    }
                    _ => world.server.put(&pod(), "human", &object),
                }
                world.enter(EventType::Added, object);
            }
        }
        world.start();
        tokio::time::sleep(REST).await;
        world
    }

    pub(crate) async fn run(&mut self, step: &Step) {
        match step {
            Step::Wants(controller, fields) => {
                let wish = wish(controller, fields);
                self.user("Wish", &Write::Put(wish.clone())).unwrap();
                self.enter(EventType::Added, wish);
            }
            Step::Gone(controller) => {
                let name = ObjectName::new(NAMESPACE, controller);
                let delete = Write::Delete(name, Preconditions::default());
                if self.user("Wish", &delete).is_ok() {
                    self.enter(EventType::Deleted, wish(controller, &json!({})));
                }
            }
            Step::They(patch) => self.they(patch),
            Step::TheyMeanwhile(patch) => {
                self.stop().await;
                self.they(patch);
                self.start();
            }
            Step::Restart => {
                self.stop().await;
                self.start();
            }
        }
        tokio::time::sleep(REST).await;
    }

    /// Others change the objects. In a view, they may not change what a controller yields.
    fn they(&mut self, patch: &Value) {
        if let Some(object) = self.objects.get("Pod").cloned() {
            let live = self.server.get(&pod()).unwrap();
            let live = unset(&live, &["metadata", "managedFields"]);
            let live = merge_patch(&live, patch);
            self.server.put(&pod(), "human", &live);
            self.enter(EventType::Modified, merge_patch(&object, patch));
        }
        let view = GroupKind::new(VIEWS, "V");
        let name = ObjectName::new(NAMESPACE, "x");
        let status = json!({"status": (patch.get("status").clone())});
        let parts = [unset(patch, &["status"]), status];
        for (part, write) in parts.iter().zip([Write::Replace, Write::Status]) {
            let Some(live) = self.views.store().get(&view, &name) else {
                return;
            };
            if self.user("V", &write(merge_patch(&live, part))).is_ok() {
                let object = self.objects.get("V").cloned().unwrap();
                self.enter(EventType::Modified, merge_patch(&object, part));
            }
        }
    }

    fn user(&self, kind: &str, write: &Write) -> Result<(), store::Error> {
        let alice = store::Caller::user("alice");
        let view = GroupKind::new(VIEWS, kind);
        self.views.store().write(&alice, &view, write).map(drop)
    }

    /// An event for the offline runner.
    fn enter(&mut self, kind: EventType, object: Value) {
        self.note(kind, &object);
        let events = [Event { kind, object }];
        let batch = self.offline.batch(&events, &Env::default()).unwrap();
        for event in batch.events {
            self.note(event.kind, &event.object);
        }
    }

    fn note(&mut self, event: EventType, object: &Value) {
        let kind = object.get("kind").as_str().unwrap().to_owned();
        match event {
            EventType::Deleted => drop(self.objects.remove(&kind)),
            EventType::Added | EventType::Modified => {
                self.objects.insert(kind, object.clone());
            }
        }
    }

    fn start(&mut self) {
        let client = self.server.client(&Caller::new("deltic"));
        let clients = Clients::new(client, Rate::default(), Leadership::always());
        let context = Context::new(clients, &self.views, Metrics::default());
        let running = Engine::start(context, operator(), Arc::new(IgnoreEvents));
        self.running = Some(running);
    }

    async fn stop(&mut self) {
        self.running.take().unwrap().stop().await;
    }

    /// The last requests and the marks on the pod, for a failure.
    pub(crate) fn last_requests(&self) -> String {
        let lines = self.server.with(|state| state.trace.last());
        let last = lines[lines.len().saturating_sub(30)..].join("\n");
        let pod = self.server.get(&pod()).unwrap_or_default();
        format!("{last}\n{}", pod.get("metadata"))
    }

    /// The object of a kind as the engine left it, and as it is offline.
    pub(crate) fn states(&self, kind: &str) -> (Value, Value) {
        let found = match kind {
            "V" => {
                let view = GroupKind::new(VIEWS, "V");
                let name = ObjectName::new(NAMESPACE, "x");
                self.views.store().get(&view, &name)
            }
            _ => self.server.get(&pod()),
        };
        let content = |object: Option<&Value>| {
            object.map_or(Value::NULL, |object| without_empty_maps(&content(object)))
        };
        (content(found.as_ref()), content(self.objects.get(kind)))
    }
}

fn pod() -> ObjectKey {
    ObjectKey::new("", "Pod", NAMESPACE, "x")
}
