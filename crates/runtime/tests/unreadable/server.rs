//! An API server in memory that serves objects which deltic cannot read.
//!
//! Objects are stored as documents; the texts [`DEEP`], [`LARGE`] and [`BROKEN`] in them are
//! replaced when an object is sent, so that the answer holds what no document can.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

use document::{Map, Value, json};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use http::request::Parts;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use kube::Client;
use kube::client::Body;
use tokio::sync::mpsc;

/// Is sent as lists and maps nested 100,000 levels deep.
pub const DEEP: &str = "<deep>";
/// Is sent as a text of 9 MiB.
pub const LARGE: &str = "<large>";
/// Is sent as a text that no parser takes: half of a surrogate pair.
pub const BROKEN: &str = "<broken>";

type Answer = Response<StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>>;
/// The plural of a kind and a name; all objects are in the namespace `n`.
type Name = (String, String);

#[derive(Clone, Default)]
pub struct Server(Arc<Mutex<Inner>>);

#[derive(Default)]
pub struct Inner {
    objects: BTreeMap<Name, Value>,
    version: u64,
    /// All events, with their version.
    history: Vec<(u64, String, Value)>,
    watchers: Vec<Watcher>,
    /// The writes, as `METHOD plural/name`.
    pub writes: Vec<String>,
    /// Whether lists cannot be streamed.
    pub no_streaming: bool,
    /// What a webhook adds to all objects that are created.
    pub webhook: Value,
}

struct Watcher {
    plural: String,
    selector: Option<(String, String)>,
    lines: mpsc::UnboundedSender<String>,
}

impl Server {
    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    pub fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let (parts, body) = request.into_parts();
                let bytes = body.collect().await?.to_bytes();
                Ok::<_, kube::Error>(server.lock().answer(&parts, &bytes))
            }
        });
        Client::new(service, "default")
    }

    /// Creates or replaces an object; `object` has any fields but a name.
    pub fn put(&self, plural: &str, name: &str, object: &Value) {
        let mut inner = self.lock();
        let key = (plural.to_owned(), name.to_owned());
        let old = inner.objects.get(&key).cloned().unwrap_or_default();
        let uid = match old.get("metadata").get("uid").as_str() {
            Some(uid) => uid.to_owned(),
            None => format!("uid-{}", inner.version),
        };
        let identity = json!({"metadata": {"namespace": "n", "name": name, "uid": uid}});
        let object = merge(object, &identity);
        inner.store(&key, &object);
    }

    pub fn delete(&self, plural: &str, name: &str) {
        self.lock().remove(&(plural.to_owned(), name.to_owned()));
    }

    /// The object; null if there is none.
    pub fn get(&self, plural: &str, name: &str) -> Value {
        let key = (plural.to_owned(), name.to_owned());
        self.lock().objects.get(&key).cloned().unwrap_or_default()
    }

    /// The names of all objects of a kind.
    pub fn names(&self, plural: &str) -> Vec<String> {
        let inner = self.lock();
        let of_kind = inner.objects.keys().filter(|(of, _)| of == plural);
        of_kind.map(|(_, name)| name.clone()).collect()
    }

    /// The writes since the last time.
    pub fn take_writes(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().writes)
    }
}

impl Inner {
    fn store(&mut self, key: &Name, object: &Value) {
        self.version += 1;
        let version = json!({"metadata": {"resourceVersion": (self.version.to_string())}});
        let object = merge(object, &version);
        let old = self.objects.insert(key.clone(), object.clone());
        let event = if old.is_some() { "MODIFIED" } else { "ADDED" };
        self.tell(key, event, &object);
    }

    fn remove(&mut self, key: &Name) {
        let Some(object) = self.objects.remove(key) else {
            return;
        };
        self.version += 1;
        let version = json!({"metadata": {"resourceVersion": (self.version.to_string())}});
        self.tell(key, "DELETED", &merge(&object, &version));
    }

    fn tell(&mut self, key: &Name, event: &str, object: &Value) {
        let line = event_line(event, object);
        self.history.push((
            self.version,
            key.0.clone(),
            json!({"type": event, "object": (object.clone())}),
        ));
        self.watchers.retain(|watcher| {
            let concerned = watcher.plural == key.0 && selects(watcher.selector.as_ref(), object);
            !concerned || watcher.lines.send(line.clone()).is_ok()
        });
    }

    fn answer(&mut self, parts: &Parts, bytes: &[u8]) -> Answer {
        let path = parts.uri.path();
        let query = parts.uri.query().unwrap_or_default();
        if path == "/apis/example.com/v1" {
            return one(200, &resources().to_string());
        }
        let Some(rest) = path.strip_prefix("/apis/example.com/v1/") else {
            return status(404, "NotFound", "", "");
        };
        let rest = rest.strip_prefix("namespaces/n/").unwrap_or(rest);
        let body = Value::from_json(bytes).unwrap_or_default();
        let (plural, name) = match rest.split_once('/') {
            Some((plural, name)) => (plural, name.to_owned()),
            None => {
                let name = body.get("metadata").get("name").as_str();
                (rest, name.unwrap_or_default().to_owned())
            }
        };
        let key = (plural.to_owned(), name);
        if parts.method == Method::GET && key.1.is_empty() {
            return self.list(plural, query);
        }
        if parts.method != Method::GET {
            let write = format!("{} {}/{}", parts.method, key.0, key.1);
            self.writes.push(write);
        }
        self.object(&parts.method, &key, &body)
    }

    fn object(&mut self, method: &Method, key: &Name, body: &Value) -> Answer {
        let Some(old) = self.objects.get(key).cloned() else {
            if method != Method::POST {
                return status(404, "NotFound", &key.0, &key.1);
            }
            let uid = format!("uid-{}", self.version);
            let object = merge(body, &self.webhook.clone());
            self.store(key, &merge(&object, &json!({"metadata": {"uid": uid}})));
            return one(201, &sent(&self.objects[key]));
        };
        let expected = body.get("metadata").get("resourceVersion");
        if !expected.is_null() && expected != old.get("metadata").get("resourceVersion") {
            return status(409, "Conflict", &key.0, &key.1);
        }
        match *method {
            Method::GET => {}
            Method::POST => return status(409, "AlreadyExists", &key.0, &key.1),
            Method::PUT => self.store(key, body),
            Method::PATCH => self.store(key, &merge(&old, body)),
            Method::DELETE => {
                self.remove(key);
                return one(200, r#"{"kind": "Status", "status": "Success"}"#);
            }
            _ => return status(405, "MethodNotAllowed", &key.0, &key.1),
        }
        one(200, &sent(&self.objects[key]))
    }

    fn list(&mut self, plural: &str, query: &str) -> Answer {
        let parameter = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        // Other selectors than `key=value` are left to deltic.
        let selector = parameter("labelSelector").and_then(|selector| {
            let selector = selector.replace("%3D", "=").replace("%2F", "/");
            let (key, value) = selector.split_once('=')?;
            Some((key.to_owned(), value.to_owned()))
        });
        let of_kind = self.objects.iter().filter(|((of, _), _)| of == plural);
        let listed = of_kind
            .map(|(_, object)| object.clone())
            .filter(|object| selects(selector.as_ref(), object));
        let listed: Vec<Value> = listed.collect();
        if parameter("watch") != Some("true") {
            return one(200, &self.page(&listed));
        }
        let streams = parameter("sendInitialEvents") == Some("true");
        if streams && self.no_streaming {
            return status(400, "BadRequest", "", "");
        }
        let (lines, receiver) = mpsc::unbounded_channel();
        if streams {
            for object in &listed {
                lines.send(event_line("ADDED", object)).unwrap();
            }
            lines.send(self.bookmark()).unwrap();
        } else {
            let since: u64 = parameter("resourceVersion").unwrap().parse().unwrap();
            let missed = self.history.iter();
            let missed = missed.filter(|(version, of, _)| *version > since && of == plural);
            for (_, _, event) in missed {
                let kind = event.get("type").as_str().unwrap();
                lines.send(event_line(kind, event.get("object"))).unwrap();
            }
        }
        self.watchers.push(Watcher {
            plural: plural.to_owned(),
            selector,
            lines,
        });
        let frames = stream::unfold(receiver, |mut receiver| async {
            let line = receiver.recv().await?;
            Some((Ok(Frame::data(Bytes::from(line))), receiver))
        });
        Response::new(StreamBody::new(frames.boxed()))
    }

    fn page(&self, listed: &[Value]) -> String {
        let items: Vec<String> = listed.iter().map(sent).collect();
        format!(
            r#"{{"kind": "List", "apiVersion": "v1", "metadata": {{"resourceVersion": "{}"}}, "items": [{}]}}"#,
            self.version,
            items.join(",")
        )
    }

    fn bookmark(&self) -> String {
        let annotations = json!({"k8s.io/initial-events-end": "true"});
        let object = json!({"kind": "Any", "apiVersion": "v1", "metadata": {
            "resourceVersion": (self.version.to_string()), "annotations": (annotations),
        }});
        event_line("BOOKMARK", &object)
    }
}

/// An object as it is sent.
fn sent(object: &Value) -> String {
    let mut text = object.to_string();
    for mark in [DEEP, LARGE, BROKEN] {
        if text.contains(mark) {
            text = text.replace(&format!("\"{mark}\""), &content(mark));
        }
    }
    text
}

/// What a mark stands for.
fn content(mark: &str) -> String {
    match mark {
        DEEP => nested(100_000),
        LARGE => format!("\"{}\"", "x".repeat(9 << 20)),
        _ => r#""\ud800""#.to_owned(),
    }
}

/// Maps in lists, so many levels deep.
fn nested(levels: usize) -> String {
    let pairs = levels / 2;
    format!("{}0{}", r#"[{"a":"#.repeat(pairs), "}]".repeat(pairs))
}

/// As it is on the wire: the type first.
fn event_line(kind: &str, object: &Value) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{}}}\n", sent(object))
}

fn selects(selector: Option<&(String, String)>, object: &Value) -> bool {
    selector.is_none_or(|(key, value)| {
        let labels = object.get("metadata").get("labels");
        labels.get(key).as_str() == Some(value)
    })
}

fn resources() -> Value {
    let resource = |kind: &str, plural: &str| {
        json!({
            "name": plural, "singularName": "", "kind": kind, "namespaced": true,
            "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
        })
    };
    json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "example.com/v1",
        "resources": [(resource("Thing", "things")), (resource("Copy", "copies"))],
    })
}

fn one(code: u16, text: &str) -> Answer {
    let frame = Ok(Frame::data(Bytes::from(text.to_owned())));
    let body = StreamBody::new(stream::iter([frame]).boxed());
    Response::builder().status(code).body(body).unwrap()
}

fn status(code: u16, reason: &str, plural: &str, name: &str) -> Answer {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": (i64::from(code)),
        "reason": reason, "message": "refused by the test",
        "details": {"kind": plural, "name": name},
    });
    one(code, &body.to_string())
}

/// A JSON merge patch.
fn merge(value: &Value, patch: &Value) -> Value {
    if patch.is_null() {
        return value.clone();
    }
    let Some(patch) = patch.as_map() else {
        return patch.clone();
    };
    let mut merged = value
        .as_map()
        .cloned()
        .unwrap_or_else(|| Map::from_sorted(Vec::new()));
    for (key, value) in patch {
        merged = if value.is_null() {
            merged.without(key.as_str())
        } else {
            let old = merged.get(key).cloned().unwrap_or_default();
            merged.with(key.clone(), merge(&old, value))
        };
    }
    merged.into()
}
