//! A small API server in memory, behind a `kube::Client`.
//!
//! It has what target writes meet on a real one: versions, preconditions, defaults,
//! normalised quantities, assigned and immutable fields, status subresources, finalizers,
//! field managers, server-side apply, and answers that get lost.

#![allow(clippy::unwrap_used)] // A test fails by panicking.
#![allow(dead_code, unreachable_pub)] // Each test uses its part.

mod api;
pub mod harness;
mod managers;
mod serve;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use document::{Key, Map, Value, json};
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use kube::Client;
use kube::client::Body;
use kube::discovery::ApiResource;
use runtime::target::{ObjectKey, TargetKind};
use seeded::Random;

pub use managers::Owners;
#[allow(unused_imports)] // Each test uses its part.
pub use managers::merge_patch;

/// A change as a watch shows it.
#[derive(Clone, Debug)]
pub struct Change {
    pub key: ObjectKey,
    pub old: Option<Value>,
    pub new: Option<Value>,
    /// The version of the deletion.
    pub version: u64,
}

/// A request that was answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Logged {
    pub method: String,
    pub path: String,
    pub query: String,
    pub code: u16,
}

impl Logged {
    pub fn is_write(&self) -> bool {
        self.method != "GET"
    }
}

/// An object with what the server knows about it.
#[derive(Clone, Debug)]
pub struct Stored {
    pub object: Value,
    pub owners: Owners,
}

#[derive(Default)]
pub struct Inner {
    pub objects: BTreeMap<ObjectKey, Stored>,
    pub namespaces: BTreeSet<String>,
    pub kinds: Vec<Kind>,
    pub version: u64,
    pub changes: Vec<Change>,
    pub log: Vec<Logged>,
    /// How many of a hundred requests fail.
    pub faults: usize,
    pub random: Random,
    /// What happens to the next requests, before chance.
    pub next: Vec<Fault>,
    /// What somebody merges into an object right before the next patch of it arrives.
    pub races: Vec<(ObjectKey, Value)>,
    /// Who is told of changes.
    watchers: Vec<serve::Watcher>,
    /// The version before which a kind is forgotten.
    floors: BTreeMap<String, u64>,
    /// Lists of these kinds are not answered for now.
    pub silent: BTreeSet<String>,
}

/// What goes wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// An answer of this status; nothing is done.
    Answer(u16),
    /// 429 with `Retry-After`.
    Busy,
    /// It is not done, and the connection breaks.
    Lost,
    /// It is done, and the connection breaks.
    LostAnswer,
    /// It is done, and no answer ever comes.
    Silence,
}

/// A kind that is served.
#[derive(Clone, Debug)]
pub struct Kind {
    pub group: &'static str,
    pub version: &'static str,
    pub name: &'static str,
    pub plural: &'static str,
    pub namespaced: bool,
    pub status: bool,
}

pub const KINDS: [Kind; 7] = [
    kind("", "ConfigMap", "configmaps", true, false),
    kind("", "Secret", "secrets", true, false),
    kind("", "Namespace", "namespaces", false, true),
    kind("apps", "Deployment", "deployments", true, true),
    kind("batch", "Job", "jobs", true, true),
    kind("example.com", "Widget", "widgets", true, true),
    kind("example.com", "Plain", "plains", true, false),
];

const fn kind(
    group: &'static str,
    name: &'static str,
    plural: &'static str,
    namespaced: bool,
    status: bool,
) -> Kind {
    Kind {
        group,
        version: "v1",
        name,
        plural,
        namespaced,
        status,
    }
}

impl Kind {
    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    pub fn target(&self) -> TargetKind {
        let api_version = self.api_version();
        let resource = ApiResource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            api_version,
            kind: self.name.to_owned(),
            plural: self.plural.to_owned(),
        };
        TargetKind::new(resource, self.namespaced, self.status)
    }
}

/// The body of an answer.
type Reply = UnsyncBoxBody<Bytes, std::convert::Infallible>;

/// The server.
#[derive(Clone)]
pub struct Sim(Arc<Mutex<Inner>>);

impl Default for Sim {
    fn default() -> Self {
        Self::new(1)
    }
}

impl Sim {
    pub fn new(seed: u64) -> Self {
        let inner = Inner {
            kinds: KINDS.to_vec(),
            namespaces: ["ns", "other"].map(str::to_owned).into(),
            version: 1000,
            random: Random::new(seed),
            ..Inner::default()
        };
        Self(Arc::new(Mutex::new(inner)))
    }

    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    pub fn client(&self) -> Client {
        let sim = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let sim = sim.clone();
            async move { sim.answer(request).await }
        });
        Client::new(service, "default")
    }

    async fn answer(&self, request: Request<Body>) -> Result<Response<Reply>, std::io::Error> {
        let (parts, body) = request.into_parts();
        let bytes = body.collect_bytes().await.unwrap();
        while self.lock().is_silent(&parts) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let served = self.lock().serve(&parts);
        match served {
            Some(serve::Served::Watch(events)) => {
                return Ok(Response::new(serve::stream(events)));
            }
            Some(serve::Served::Once(code, body)) => return Ok(answer(code, &body)),
            None => {}
        }
        let (fault, response) = {
            let mut inner = self.lock();
            let fault = inner.fault();
            let response = inner.exchange(&parts, &bytes, fault);
            (fault, response)
        };
        match fault {
            Fault::Lost | Fault::LostAnswer => Err(std::io::Error::other("connection reset")),
            Fault::Silence => {
                std::future::pending::<()>().await;
                unreachable!()
            }
            Fault::None | Fault::Answer(_) | Fault::Busy => Ok(response),
        }
    }

    /// The writes since the log was last taken.
    pub fn take_writes(&self) -> Vec<Logged> {
        let log = std::mem::take(&mut self.lock().log);
        log.into_iter().filter(Logged::is_write).collect()
    }

    pub fn get(&self, key: &ObjectKey) -> Option<Value> {
        let inner = self.lock();
        let stored = inner.objects.get(key)?;
        Some(shown(stored))
    }

    /// A write of somebody else, who is never disturbed.
    pub fn foreign(&self, key: &ObjectKey, manager: &str, change: impl FnOnce(&Value) -> Value) {
        let mut inner = self.lock();
        let old = inner.objects.get(key).cloned();
        let object = change(old.as_ref().map_or(&Value::NULL, |old| &old.object));
        if old.is_none() {
            inner.create(key, &object, manager);
        } else {
            inner.update(key, &object, manager);
        }
    }

    pub fn foreign_delete(&self, key: &ObjectKey) {
        let mut inner = self.lock();
        if inner.objects.contains_key(key) {
            inner.remove(key);
        }
    }

    /// All objects without what differs from run to run.
    pub fn content(&self) -> BTreeMap<ObjectKey, Value> {
        let inner = self.lock();
        let objects = inner.objects.iter();
        objects
            .map(|(key, stored)| (key.clone(), timeless(&stored.object)))
            .collect()
    }
}

/// An object without what differs from run to run.
pub fn timeless(object: &Value) -> Value {
    let mut metadata = object.get("metadata").as_map().unwrap().clone();
    for field in ["uid", "resourceVersion", "generation", "managedFields"] {
        metadata = metadata.without(field);
    }
    let object = object.as_map().unwrap();
    object.with(Key::new("metadata"), metadata.into()).into()
}

impl Inner {
    fn fault(&mut self) -> Fault {
        if !self.next.is_empty() {
            return self.next.remove(0);
        }
        let random = &mut self.random;
        let hit = random.chance(self.faults);
        let fault = match random.below(8) {
            0 => Fault::Answer(409),
            1 => Fault::Answer(503),
            2 => Fault::Answer(500),
            3 => Fault::Busy,
            4 => Fault::Lost,
            5 | 6 => Fault::LostAnswer,
            _ => Fault::Silence,
        };
        if hit { fault } else { Fault::None }
    }

    fn exchange(
        &mut self,
        parts: &http::request::Parts,
        bytes: &[u8],
        fault: Fault,
    ) -> Response<Reply> {
        let (code, body) = match fault {
            Fault::Answer(code) => (code, status(code, "Injected", "injected", &json!({}))),
            Fault::Busy => (429, json!({"code": 429, "message": "slow down"})),
            Fault::Lost => (0, Value::NULL),
            Fault::None | Fault::LostAnswer | Fault::Silence => self.handle(parts, bytes),
        };
        self.log.push(Logged {
            method: parts.method.to_string(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            code,
        });
        let mut response = answer(code.max(200), &body);
        if fault == Fault::Busy {
            let seconds = http::HeaderValue::from_static("2");
            response.headers_mut().insert("retry-after", seconds);
        }
        response
    }
}

fn answer(code: u16, body: &Value) -> Response<Reply> {
    let body = Full::new(Bytes::from(body.to_string()));
    let response = Response::builder().status(code);
    response.body(body.boxed_unsync()).unwrap()
}

/// An object as the server shows it.
pub fn shown(stored: &Stored) -> Value {
    let managed = stored.owners.managed_fields();
    set(&stored.object, &["metadata", "managedFields"], managed)
}

/// A `Status` that says no.
pub fn status(code: u16, reason: &str, message: &str, details: &Value) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": (i64::from(code)),
        "reason": reason, "message": message, "details": (details.clone()),
    })
}

/// The object with a field set.
pub fn set(object: &Value, path: &[&str], value: Value) -> Value {
    let Some((first, rest)) = path.split_first() else {
        return value;
    };
    let map = object.as_map().cloned();
    let map = map.unwrap_or_else(|| Map::from_sorted(Vec::new()));
    let inner = map.get_str(first).cloned().unwrap_or_default();
    map.with(Key::new(first), set(&inner, rest, value)).into()
}

/// The object without a field.
pub fn unset(object: &Value, path: &[&str]) -> Value {
    match (path, object.as_map()) {
        ([last], Some(map)) => map.without(last).into(),
        ([first, rest @ ..], Some(map)) => match map.get_str(first) {
            Some(inner) => map.with(Key::new(first), unset(inner, rest)).into(),
            None => object.clone(),
        },
        _ => object.clone(),
    }
}

/// How long nothing must be due for a system to count as settled.
pub const HORIZON: Duration = Duration::from_hours(2);
