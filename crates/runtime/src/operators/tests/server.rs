//! An API server that knows Operators and Events, behind a `kube::Client`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use document::{Key, Map, Value, json};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use kube::Client;
use kube::client::Body;
use tokio::sync::mpsc;

type Answer = Response<StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>>;

#[derive(Clone, Default)]
pub(super) struct Server(Arc<Mutex<Inner>>);

#[derive(Default)]
pub(super) struct Inner {
    pub(super) operators: BTreeMap<String, Value>,
    version: u64,
    watchers: Vec<mpsc::UnboundedSender<Value>>,
    /// `METHOD path` of all requests.
    pub(super) log: Vec<String>,
    pub(super) missing: bool,
    /// Requests whose line contains this are refused with this code.
    pub(super) refuse: Option<(String, u16)>,
    pub(super) events: Vec<Value>,
}

/// Is sent as lists nested 1,000 levels deep.
pub(super) const DEEP: &str = "<deep>";

impl Server {
    pub(super) fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let (parts, body) = request.into_parts();
                let bytes = body.collect().await?.to_bytes();
                Ok::<_, kube::Error>(server.answer(&parts, &bytes))
            }
        });
        Client::new(service, "default")
    }

    pub(super) fn with<T>(&self, see: impl FnOnce(&mut Inner) -> T) -> T {
        see(&mut self.0.lock().unwrap())
    }

    /// How many requests there were whose line contains this.
    pub(super) fn count(&self, part: &str) -> usize {
        self.with(|inner| inner.log.iter().filter(|line| line.contains(part)).count())
    }

    pub(super) fn get(&self, name: &str) -> Value {
        self.with(|inner| inner.operators.get(name).cloned().unwrap_or_default())
    }

    /// Creates or changes an Operator.
    pub(super) fn apply(&self, name: &str, spec: &Value, annotations: &Value) {
        self.with(|inner| {
            let old = inner.operators.get(name).cloned();
            let uid = format!("uid-{name}-{}", inner.version);
            let fresh = json!({
                "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
                "metadata": {"name": name, "uid": uid, "generation": 0},
            });
            let old = old.unwrap_or(fresh);
            let generation = old.get("metadata").get("generation").as_int().unwrap();
            let generation = generation + i64::from(old.get("spec") != spec);
            let metadata = json!({"generation": generation, "annotations": (annotations.clone())});
            let new = set(&old, "spec", spec.clone());
            let new = merge(&new, &json!({"metadata": (metadata)}));
            inner.store(name, &new, "MODIFIED");
        });
    }

    /// Deletes an Operator, as far as its finalizers let it.
    pub(super) fn delete(&self, name: &str) {
        self.with(|inner| {
            let patch = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
            let leaving = merge(&inner.operators[name], &patch);
            inner.store(name, &leaving, "MODIFIED");
        });
    }

    /// Ends all watches.
    pub(super) fn cut(&self) {
        self.with(|inner| inner.watchers.clear());
    }

    fn answer(&self, parts: &http::request::Parts, bytes: &[u8]) -> Answer {
        self.with(|inner| inner.answer(parts, bytes))
    }
}

impl Inner {
    fn store(&mut self, name: &str, object: &Value, kind: &str) {
        self.version += 1;
        let version = self.version.to_string();
        let object = merge(object, &json!({"metadata": {"resourceVersion": version}}));
        let metadata = object.get("metadata");
        let held = metadata
            .get("finalizers")
            .as_list()
            .is_some_and(|f| !f.is_empty());
        let gone = !metadata.get("deletionTimestamp").is_null() && !held;
        let kind = if gone { "DELETED" } else { kind };
        if gone {
            self.operators.remove(name);
        } else {
            self.operators.insert(name.to_owned(), object.clone());
        }
        let event = json!({"type": kind, "object": (object)});
        self.watchers
            .retain(|watcher| watcher.send(event.clone()).is_ok());
    }

    fn answer(&mut self, parts: &http::request::Parts, bytes: &[u8]) -> Answer {
        let path = parts.uri.path();
        let line = format!("{} {path}", parts.method);
        self.log.push(line.clone());
        if let Some((part, code)) = &self.refuse
            && line.contains(part.as_str())
        {
            return status(*code);
        }
        let body = Value::from_json(bytes).unwrap_or_default();
        if path.starts_with("/apis/events.k8s.io/") {
            self.events.push(body.clone());
            return one(200, &body);
        }
        let Some(rest) = path.strip_prefix("/apis/dcontroller.io/v1alpha1/operators") else {
            return status(404);
        };
        if self.missing {
            return status(404);
        }
        let rest = rest.trim_start_matches('/');
        match (&parts.method, rest.split_once('/')) {
            (&Method::GET, None) if rest.is_empty() => {
                self.list(parts.uri.query().unwrap_or_default())
            }
            (&Method::PATCH, None) => self.patch(rest, &body, false),
            (&Method::PATCH, Some((name, "status"))) => self.patch(name, &body, true),
            _ => status(405),
        }
    }

    fn list(&mut self, query: &str) -> Answer {
        if query.contains("watch=true") {
            let (sender, receiver) = mpsc::unbounded_channel();
            self.watchers.push(sender);
            let events = stream::unfold(receiver, |mut receiver| async {
                let event: Value = receiver.recv().await?;
                // As it is on the wire: the type first.
                let (kind, object) = (event.get("type"), sent(event.get("object")));
                let line = format!("{{\"type\":{kind},\"object\":{object}}}\n");
                Some((Ok(Frame::data(Bytes::from(line))), receiver))
            });
            return Response::new(StreamBody::new(events.boxed()));
        }
        let items: Value = self.operators.values().cloned().collect();
        let version = self.version.to_string();
        let list = json!({
            "apiVersion": "dcontroller.io/v1alpha1", "kind": "OperatorList",
            "metadata": {"resourceVersion": version}, "items": (items),
        });
        one(200, &list)
    }

    fn patch(&mut self, name: &str, patch: &Value, of_status: bool) -> Answer {
        let Some(old) = self.operators.get(name).cloned() else {
            return status(404);
        };
        let metadata = patch.get("metadata");
        for precondition in ["uid", "resourceVersion"] {
            let wanted = metadata.get(precondition);
            if !wanted.is_null() && wanted != old.get("metadata").get(precondition) {
                return status(409);
            }
        }
        let patch = if of_status {
            json!({"status": (patch.get("status").clone())})
        } else {
            patch.clone()
        };
        let new = merge(&old, &patch);
        if new != old {
            self.store(name, &new, "MODIFIED");
        }
        one(200, self.operators.get(name).unwrap_or(&new))
    }
}

fn one(code: u16, value: &Value) -> Answer {
    let frame = Ok(Frame::data(Bytes::from(sent(value))));
    let body = StreamBody::new(stream::iter([frame]).boxed());
    Response::builder().status(code).body(body).unwrap()
}

fn sent(value: &Value) -> String {
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    value.to_string().replace(&format!("\"{DEEP}\""), &deep)
}

fn status(code: u16) -> Answer {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": (i64::from(code)), "reason": "Refused", "message": "refused by the test",
    });
    one(code, &body)
}

fn set(value: &Value, key: &str, to: Value) -> Value {
    value.as_map().unwrap().with(Key::new(key), to).into()
}

/// A JSON merge patch.
pub(super) fn merge(value: &Value, patch: &Value) -> Value {
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
            merged.with(key.clone(), merge(&old, value))
        };
    }
    merged.into()
}
