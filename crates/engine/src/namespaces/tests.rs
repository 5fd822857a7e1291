//! Objects that wait for a namespace, on a server that has no namespaces at first.

use std::sync::Mutex;

use cluster::client::{Clients, Rate};
use cluster::lease::Leadership;
use document::{Key, Value, json};
use futures::stream;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use kube::client::Body;
use metrics::Metrics;
use object::OperatorId;
use operator::Operator;
use target::problem::{Happened, Problem, Report};
use target::{Author, Desired, TargetKind};
use tokio::sync::broadcast;
use tokio::time::sleep;

use super::*;
use crate::Context;
use crate::measures::Measures;
use crate::native::ViewStore;
use crate::writes::Writes;

type Reply = UnsyncBoxBody<Bytes, std::convert::Infallible>;

/// An API server with namespaces and `ConfigMap`s.
struct Server {
    /// The namespaces, each with whether it is being deleted.
    namespaces: Mutex<Vec<(String, bool)>>,
    events: broadcast::Sender<String>,
    forbidden: bool,
    /// All requests so far.
    requests: Mutex<Vec<String>>,
}

impl Server {
    fn new(forbidden: bool) -> Arc<Self> {
        Arc::new(Self {
            namespaces: Mutex::default(),
            events: broadcast::Sender::new(16),
            forbidden,
            requests: Mutex::default(),
        })
    }

    fn client(self: &Arc<Self>) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await?.to_bytes();
                Ok::<_, tower::BoxError>(server.answer(&parts, &body))
            }
        });
        Client::new(service, "default")
    }

    fn answer(&self, request: &http::request::Parts, body: &[u8]) -> Response<Reply> {
        let uri = &request.uri;
        let path = uri.path();
        let watch = uri
            .query()
            .is_some_and(|query| query.contains("watch=true"));
        let what = if watch {
            "WATCH"
        } else {
            request.method.as_str()
        };
        let mut requests = self.requests.lock().unwrap();
        requests.push(format!("{what} {path}"));
        if path == "/api/v1/namespaces" {
            return self.of_namespaces(watch);
        }
        let namespaces = self.namespaces.lock().unwrap();
        let there = namespaces
            .iter()
            .any(|(name, deleting)| name == "late" && !deleting);
        if what == "POST" && there {
            let object = Value::from_json(body).unwrap();
            let metadata = object.get("metadata").as_map().unwrap();
            let metadata = metadata.with(Key::new("uid"), "u".into());
            let metadata = metadata.with(Key::new("resourceVersion"), "1".into());
            let object = object.as_map().unwrap();
            let object = object.with(Key::new("metadata"), metadata.into()).into();
            return reply(201, &object);
        }
        let details = if what == "POST" {
            json!({"name": "late", "kind": "namespaces"})
        } else {
            json!({"name": "a", "kind": "configmaps"})
        };
        refuse(404, "NotFound", &details)
    }

    fn of_namespaces(&self, watch: bool) -> Response<Reply> {
        if self.forbidden {
            return refuse(403, "Forbidden", &json!({}));
        }
        if watch {
            let events = self.events.subscribe();
            let frames = stream::unfold(events, |mut events| async move {
                let line = events.recv().await.ok()?;
                let frame = Frame::data(Bytes::from(line));
                Some((Ok::<_, std::convert::Infallible>(frame), events))
            });
            return Response::new(StreamBody::new(frames).boxed_unsync());
        }
        let namespaces = self.namespaces.lock().unwrap();
        let items: Value = namespaces
            .iter()
            .map(|(name, deleting)| namespace(name, *deleting))
            .collect();
        let list = json!({"kind": "NamespaceList", "apiVersion": "v1",
            "metadata": {"resourceVersion": "1"}, "items": (items)});
        reply(200, &list)
    }

    /// Creates a namespace, or sets whether it is being deleted.
    fn set(&self, name: &str, deleting: bool) {
        let mut namespaces = self.namespaces.lock().unwrap();
        namespaces.retain(|(other, _)| other != name);
        namespaces.push((name.to_owned(), deleting));
        let event = json!({"type": "MODIFIED", "object": (namespace(name, deleting))});
        let _ = self.events.send(format!("{event}\n"));
    }

    /// The number of requests of this kind.
    fn count(&self, request: &str) -> usize {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|one| *one == request).count()
    }
}

fn namespace(name: &str, deleting: bool) -> Value {
    let deleted = deleting.then_some("2024-01-01T00:00:00Z");
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": name, "resourceVersion": "2", "deletionTimestamp": (deleted.map_or(Value::NULL, Value::from))}})
}

fn reply(code: u16, body: &Value) -> Response<Reply> {
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())).boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}

fn refuse(code: u16, reason: &str, details: &Value) -> Response<Reply> {
    let status = json!({"kind": "Status", "status": "Failure", "code": (i64::from(code)),
        "reason": reason, "message": "no", "details": (details.clone())});
    reply(code, &status)
}

#[derive(Default)]
struct Reports(Mutex<Vec<String>>);

impl Report for Reports {
    fn problems(&self, _: &ObjectKey, problems: &[Problem]) {
        *self.0.lock().unwrap() = problems.iter().map(ToString::to_string).collect();
    }
    fn happened(&self, _: &ObjectKey, _: &str, _: Happened) {}
}

fn operator() -> Operator {
    let spec = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"},
        "spec": {"controllers": [{
            "name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}],
            "pipeline": [{"@select": true}], "target": {"apiGroup": "", "kind": "ConfigMap"}
        }]}
    });
    operator::read(&spec, &expr::Functions::builtin())
        .0
        .unwrap()
}

/// Wants a `ConfigMap` in the namespace `late`.
fn start(server: &Arc<Server>) -> (Writes, Arc<Reports>) {
    let (operator, reports) = (operator(), Arc::new(Reports::default()));
    let clients = Clients::new(server.client(), Rate::default(), Leadership::always());
    let context = Context::new(clients, &ViewStore::default(), Metrics::default());
    let measures = Measures::new(&context.metrics, &operator);
    let writer = Arc::new(Writer::new(
        &OperatorId::new("o", "u"),
        server.client(),
        reports.clone(),
    ));
    let mut writes = Writes::start(
        &context,
        &operator,
        writer,
        &measures,
        &crate::guard::Guard::default(),
    );
    writes.subscribed();
    writes.lead();
    let kind = object::GroupKind::new("", "ConfigMap");
    writes
        .writer
        .serve(TargetKind::new(kind, "v1", "configmaps"));
    let controller = &operator.controllers[0];
    let author = Author::new(
        &OperatorId::new("o", "u"),
        "c",
        0,
        controller.targets[0].clone(),
    );
    let document = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "late"}});
    let desired = Desired {
        author: Arc::new(author),
        document,
        origin: json!([]),
        owners: Arc::new([]),
    };
    let key = ObjectKey::new("", "ConfigMap", "late", "a");
    writes.want(&key, controller, Some(desired));
    (writes, reports)
}

const POST: &str = "POST /api/v1/namespaces/late/configmaps";
const LIST: &str = "GET /api/v1/namespaces";
const WATCH: &str = "WATCH /api/v1/namespaces";

#[tokio::test(start_paused = true)]
async fn an_object_is_written_when_its_namespace_exists() {
    let server = Server::new(false);
    server.set("other", false);
    let (writes, reports) = start(&server);
    sleep(Duration::from_secs(30)).await;
    assert_eq!(server.count(POST), 1);
    assert_eq!(*reports.0.lock().unwrap(), ["waiting for the namespace"]);
    server.set("other", false);
    // A namespace that is being deleted does not wake the object.
    server.set("late", true);
    sleep(Duration::from_secs(30)).await;
    assert_eq!(server.count(POST), 1);
    server.set("late", false);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(server.count(POST), 2);
    assert_eq!(*reports.0.lock().unwrap(), [""; 0]);
    // Nothing waits any more, so the watch has ended.
    assert_eq!(server.events.receiver_count(), 0);
    assert_eq!((server.count(LIST), server.count(WATCH)), (1, 1));
    drop(writes);
}

#[tokio::test(start_paused = true)]
async fn namespaces_are_watched_only_while_an_object_waits() {
    let server = Server::new(false);
    server.set("late", false);
    let (writes, _) = start(&server);
    sleep(Duration::from_mins(30)).await;
    assert_eq!(server.count(POST), 1);
    assert_eq!(server.count(LIST) + server.count(WATCH), 0);
    drop(writes);
}

#[tokio::test(start_paused = true)]
async fn without_permission_to_watch_namespaces_objects_are_retried_and_reported() {
    let server = Server::new(true);
    let (writes, reports) = start(&server);
    sleep(Duration::from_mins(5)).await;
    let tries = server.count(POST);
    assert!((3..=7).contains(&tries), "{tries}");
    let said = reports.0.lock().unwrap().join("");
    assert!(
        said.contains("grant list and watch of namespaces"),
        "{said}"
    );
    server.set("late", false);
    sleep(Duration::from_secs(61)).await;
    assert_eq!(*reports.0.lock().unwrap(), [""; 0]);
    drop(writes);
}
