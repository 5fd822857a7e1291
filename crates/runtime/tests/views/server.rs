//! An API server in memory that serves a few kinds with lists and watches.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use document::{Key, Map, Value, json};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use http::request::Parts;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use kube::Client;
use kube::client::Body;
use tokio::sync::mpsc;

type Answer = Response<StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>>;

/// A kind that is served.
struct Served {
    /// Where its group and version are found.
    path: &'static str,
    api_version: &'static str,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
}

const KINDS: [Served; 3] = [
    Served {
        path: "/api/v1",
        api_version: "v1",
        kind: "Pod",
        plural: "pods",
        namespaced: true,
    },
    Served {
        path: "/api/v1",
        api_version: "v1",
        kind: "ConfigMap",
        plural: "configmaps",
        namespaced: true,
    },
    Served {
        path: "/apis/dcontroller.io/v1alpha1",
        api_version: "dcontroller.io/v1alpha1",
        kind: "Operator",
        plural: "operators",
        namespaced: false,
    },
];

/// The plural of the kind, the namespace, the name.
pub(crate) type Id = (&'static str, String, String);

#[derive(Clone, Default)]
pub(crate) struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    objects: BTreeMap<Id, Value>,
    version: u64,
    watchers: Vec<Watcher>,
    /// The objects that clients deleted.
    deleted: Vec<String>,
    /// Lists of these kinds do not end before this time has passed.
    slow: BTreeMap<&'static str, Duration>,
    /// Nothing is answered about these kinds.
    refused: BTreeSet<&'static str>,
}

struct Watcher {
    plural: &'static str,
    selector: String,
    events: mpsc::UnboundedSender<Value>,
}

impl Server {
    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let (parts, body) = request.into_parts();
                let bytes = body.collect().await?.to_bytes();
                let pause = server.pause(&parts);
                tokio::time::sleep(pause).await;
                Ok::<_, tower::BoxError>(server.state(|state| state.answer(&parts, &bytes)))
            }
        });
        Client::new(service, "default")
    }

    fn state<T>(&self, see: impl FnOnce(&mut State) -> T) -> T {
        see(&mut self.0.lock().unwrap())
    }

    fn pause(&self, parts: &Parts) -> Duration {
        self.state(|state| {
            let found = route(parts.uri.path());
            let slow = found.and_then(|route| state.slow.get(route.kind.plural));
            slow.copied().unwrap_or_default()
        })
    }

    /// Requests about this kind take so long.
    pub(crate) fn slow(&self, plural: &'static str, pause: Duration) {
        self.state(|state| state.slow.insert(plural, pause));
    }

    /// Refuses all requests about a kind, or answers them again.
    pub(crate) fn refuse(&self, plural: &'static str, refused: bool) {
        self.state(|state| {
            if refused {
                state.refused.insert(plural)
            } else {
                state.refused.remove(plural)
            }
        });
    }

    pub(crate) fn get(&self, plural: &'static str, name: &str) -> Value {
        let id = id(plural, name);
        self.state(|state| state.objects.get(&id).cloned().unwrap_or_default())
    }

    /// The names of all objects of a kind.
    pub(crate) fn names(&self, plural: &str) -> Vec<String> {
        self.state(|state| {
            let ids = state.objects.keys().filter(|id| id.0 == plural);
            ids.map(|id| id.2.clone()).collect()
        })
    }

    /// Creates or changes an object, as a user does.
    pub(crate) fn apply(&self, plural: &'static str, name: &str, fields: &Value) {
        let id = id(plural, name);
        self.state(|state| {
            let old = state.objects.get(&id).cloned();
            let old = old.unwrap_or_else(|| state.fresh(&id));
            let fields = fields.as_map().unwrap().iter();
            let new = fields.fold(old.clone(), |new, (key, value)| {
                new.as_map()
                    .unwrap()
                    .with(key.clone(), value.clone())
                    .into()
            });
            let generation = old.get("metadata").get("generation").as_int().unwrap();
            let generation = generation + i64::from(old.get("spec") != new.get("spec"));
            let new = merge(&new, &json!({"metadata": {"generation": generation}}));
            state.store(&id, &new);
        });
    }

    /// Deletes an object, as a user does.
    pub(crate) fn delete(&self, plural: &'static str, name: &str) {
        let id = id(plural, name);
        self.state(|state| state.delete(&id));
    }

    /// The objects that clients have deleted since the last call.
    pub(crate) fn deleted(&self) -> Vec<String> {
        self.state(|state| std::mem::take(&mut state.deleted))
    }
}

/// The namespace of all objects that have one.
const NAMESPACE: &str = "n";

fn id(plural: &'static str, name: &str) -> Id {
    let kind = KINDS.iter().find(|kind| kind.plural == plural).unwrap();
    let namespace = if kind.namespaced { NAMESPACE } else { "" };
    (plural, namespace.to_owned(), name.to_owned())
}

struct Route {
    kind: &'static Served,
    namespace: String,
    name: String,
    status: bool,
}

fn route(path: &str) -> Option<Route> {
    let of_group = |kind: &&Served| path.starts_with(kind.path);
    let group = KINDS.iter().find(of_group)?;
    let rest = path.strip_prefix(group.path)?.trim_start_matches('/');
    let rest: Vec<&str> = rest.split('/').collect();
    let (namespace, rest) = match rest.as_slice() {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
        rest => ("", rest),
    };
    let plural = rest.first()?;
    Some(Route {
        kind: KINDS.iter().find(|kind| kind.plural == *plural)?,
        namespace: namespace.to_owned(),
        name: rest.get(1).copied().unwrap_or_default().to_owned(),
        status: rest.get(2) == Some(&"status"),
    })
}

impl State {
    fn fresh(&self, id: &Id) -> Value {
        let kind = KINDS.iter().find(|kind| kind.plural == id.0).unwrap();
        let uid = format!("uid-{}-{}", id.2, self.version);
        let object = json!({
            "apiVersion": (kind.api_version), "kind": (kind.kind),
            "metadata": {"name": (id.2.as_str()), "uid": uid, "generation": 0},
        });
        match id.1.as_str() {
            "" => object,
            namespace => merge(&object, &json!({"metadata": {"namespace": namespace}})),
        }
    }

    fn store(&mut self, id: &Id, object: &Value) {
        self.version += 1;
        let version = self.version.to_string();
        let object = merge(object, &json!({"metadata": {"resourceVersion": version}}));
        let metadata = object.get("metadata");
        let finalizers = metadata.get("finalizers").as_list();
        let held = finalizers.is_some_and(|finalizers| !finalizers.is_empty());
        if !metadata.get("deletionTimestamp").is_null() && !held {
            self.objects.remove(id);
            self.tell("DELETED", id.0, &object);
            return;
        }
        let old = self.objects.insert(id.clone(), object.clone());
        let event = if old.is_some() { "MODIFIED" } else { "ADDED" };
        self.tell(event, id.0, &object);
    }

    fn delete(&mut self, id: &Id) {
        if let Some(object) = self.objects.get(id) {
            let going = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
            let going = merge(object, &going);
            self.store(id, &going);
        }
    }

    fn tell(&mut self, event: &str, plural: &str, object: &Value) {
        let event = json!({"type": event, "object": (object.clone())});
        self.watchers.retain(|watcher| {
            let sees = watcher.plural == plural && selects(&watcher.selector, object);
            !sees || watcher.events.send(event.clone()).is_ok()
        });
    }

    fn answer(&mut self, parts: &Parts, bytes: &[u8]) -> Answer {
        let path = parts.uri.path();
        let body = Value::from_json(bytes).unwrap_or_default();
        if path.starts_with("/apis/events.k8s.io/") {
            return one(200, &body);
        }
        if let Some(resources) = resources(path) {
            return one(200, &resources);
        }
        let Some(route) = route(path) else {
            return refuse(404, "NotFound");
        };
        if self.refused.contains(route.kind.plural) {
            return refuse(403, "Forbidden");
        }
        if route.name.is_empty() && parts.method == Method::GET {
            return self.list(route.kind, parts.uri.query().unwrap_or_default());
        }
        let name = match parts.method {
            Method::POST => body.get("metadata").get("name").as_str().unwrap(),
            _ => &route.name,
        };
        let id = (route.kind.plural, route.namespace.clone(), name.to_owned());
        self.one(&parts.method, &route, &id, &body)
    }

    fn one(&mut self, method: &Method, route: &Route, id: &Id, body: &Value) -> Answer {
        let old = self.objects.get(id).cloned();
        match (method, old) {
            (&Method::GET, Some(old)) => one(200, &old),
            (&Method::POST, Some(_)) => refuse(409, "AlreadyExists"),
            (&Method::POST, None) => {
                let object = merge(&self.fresh(id), body);
                self.store(id, &object);
                one(201, &self.objects[id])
            }
            (_, None) => refuse(404, "NotFound"),
            (_, Some(old)) if !meets(&old, body) => refuse(409, "Conflict"),
            (&Method::DELETE, Some(old)) => {
                self.deleted.push(id.2.clone());
                self.delete(id);
                one(200, &old)
            }
            (&Method::PUT, Some(old)) => {
                let kept = json!({"metadata": (old.get("metadata").clone())});
                let object = merge(&kept, body);
                self.store(id, &object);
                one(200, &self.objects[id])
            }
            (&Method::PATCH, Some(old)) => {
                let patch = if route.status {
                    json!({"status": (body.get("status").clone())})
                } else {
                    body.clone()
                };
                let new = merge(&old, &patch);
                if new != old {
                    self.store(id, &new);
                }
                one(200, self.objects.get(id).unwrap_or(&new))
            }
            _ => refuse(405, "MethodNotAllowed"),
        }
    }

    fn list(&mut self, kind: &'static Served, query: &str) -> Answer {
        let parameter = |name: &str| {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            let mut values = pairs.filter(|pair| pair.0 == name).map(|pair| pair.1);
            let value = values.next().unwrap_or_default();
            value.replace("%2F", "/").replace("%3D", "=")
        };
        let selector = parameter("labelSelector");
        let objects = self.objects.iter();
        let listed =
            objects.filter(|(id, object)| id.0 == kind.plural && selects(&selector, object));
        let listed = listed.map(|(_, object)| object.clone());
        let version = self.version.to_string();
        if parameter("watch") != "true" {
            let items: Value = listed.collect();
            let list = json!({
                "apiVersion": (kind.api_version), "kind": (format!("{}List", kind.kind)),
                "metadata": {"resourceVersion": version}, "items": (items),
            });
            return one(200, &list);
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        if parameter("sendInitialEvents") == "true" {
            let done = json!({"k8s.io/initial-events-end": "true"});
            let bookmark = json!({
                "apiVersion": (kind.api_version), "kind": (kind.kind),
                "metadata": {"resourceVersion": version, "annotations": (done)},
            });
            let added = listed.map(|object| json!({"type": "ADDED", "object": (object)}));
            let done = json!({"type": "BOOKMARK", "object": (bookmark)});
            for event in added.chain([done]) {
                sender.send(event).unwrap();
            }
        }
        self.watchers.push(Watcher {
            plural: kind.plural,
            selector,
            events: sender,
        });
        let events = stream::unfold(receiver, |mut receiver| async {
            let event: Value = receiver.recv().await?;
            Some((Ok(frame(format!("{event}\n"))), receiver))
        });
        Response::new(StreamBody::new(events.boxed()))
    }
}

/// What discovery says about a group and version.
fn resources(path: &str) -> Option<Value> {
    let kinds = KINDS.iter().filter(|kind| kind.path == path);
    let resources: Vec<Value> = kinds
        .map(|kind| {
            json!({
                "name": (kind.plural), "singularName": "", "kind": (kind.kind),
                "namespaced": (kind.namespaced), "verbs": ["list", "watch"],
            })
        })
        .collect();
    if resources.is_empty() {
        return None;
    }
    let version = path
        .trim_start_matches("/api/")
        .trim_start_matches("/apis/");
    let resources: Value = resources.into_iter().collect();
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1",
        "groupVersion": version, "resources": (resources),
    }))
}

fn selects(selector: &str, object: &Value) -> bool {
    let Some((key, value)) = selector.split_once('=') else {
        return true;
    };
    let labels = object.get("metadata").get("labels");
    labels.get(key).as_str() == Some(value)
}

/// Whether an object is the one that a write or a delete is meant for.
fn meets(object: &Value, body: &Value) -> bool {
    let conditions = [body.get("metadata"), body.get("preconditions")];
    let mut conditions = conditions
        .iter()
        .flat_map(|from| ["uid", "resourceVersion"].map(|field| (field, from.get(field).clone())));
    let metadata = object.get("metadata");
    conditions.all(|(field, wanted)| wanted.is_null() || wanted == *metadata.get(field))
}

fn frame(text: String) -> Frame<Bytes> {
    Frame::data(Bytes::from(text))
}

fn one(code: u16, value: &Value) -> Answer {
    let body = StreamBody::new(stream::iter([Ok(frame(value.to_string()))]).boxed());
    Response::builder().status(code).body(body).unwrap()
}

fn refuse(code: u16, reason: &str) -> Answer {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": (i64::from(code)), "reason": reason, "message": "refused by the test",
    });
    one(code, &body)
}

/// A JSON merge patch.
pub(crate) fn merge(value: &Value, patch: &Value) -> Value {
    let Some(patch) = patch.as_map() else {
        return patch.clone();
    };
    let mut merged: Map = value
        .as_map()
        .cloned()
        .unwrap_or_else(|| Map::from_sorted(Vec::new()));
    for (key, value) in patch {
        merged = if value.is_null() {
            merged.without(key.as_str())
        } else {
            let old = merged.get(key).cloned().unwrap_or_default();
            merged.with(Key::new(key.as_str()), merge(&old, value))
        };
    }
    merged.into()
}
