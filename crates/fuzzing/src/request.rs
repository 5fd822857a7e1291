//! Any requests to the server of views: each gets an answer, an error is a `Status` with the code
//! of the answer, and what is stored stays well-formed.
//!
//! The bytes are split into requests by line feeds. The first bytes of a request choose its method,
//! resource, name, parameters and content type; the rest is its body, or becomes one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use apiserver::{AllowAll, Catalog, Env, Limits, Resource, Server, User};
use document::{Key, Map, Value, json};
use http::Request;
use http_body_util::{BodyExt as _, Full};
use object::{GroupKind, ObjectName};
use store::{Caller, Completeness, Config, Selector, Store, Write};

use crate::bytes::Bytes;

const GROUP: &str = "shop.view.dcontroller.io";
const METHODS: [&str; 14] = [
    "GET", "GET", "POST", "POST", "PUT", "PUT", "PATCH", "PATCH", "PATCH", "DELETE", "DELETE",
    "HEAD", "OPTIONS", "x",
];
const COLLECTIONS: [&str; 6] = [
    "/apis/shop.view.dcontroller.io/v1alpha1/namespaces/a/health",
    "/apis/shop.view.dcontroller.io/v1alpha1/namespaces/a/health",
    "/apis/shop.view.dcontroller.io/v1alpha1/namespaces/a/health",
    "/apis/shop.view.dcontroller.io/v1alpha1/namespaces/b/health",
    "/apis/shop.view.dcontroller.io/v1alpha1/health",
    "/apis/shop.view.dcontroller.io/v1alpha1/other",
];
const NAMES: [&str; 6] = ["", "/a", "/b", "/derived", "/a/status", "/a/why"];
const PARAMETERS: [&str; 20] = [
    "watch=1",
    "limit=1",
    "continue=x",
    "resourceVersion=1",
    "resourceVersion=0",
    "resourceVersionMatch=NotOlderThan",
    "resourceVersionMatch=Exact",
    "sendInitialEvents=true",
    "allowWatchBookmarks=true",
    "timeoutSeconds=1",
    "labelSelector=a%20in%20(b,c),!d",
    "labelSelector=%28",
    "fieldSelector=metadata.name%3Da",
    "fieldSelector=spec.x%3D1",
    "dryRun=All",
    "fieldManager=m",
    "force=true",
    "fieldValidation=Strict",
    "propagationPolicy=Foreground",
    "gracePeriodSeconds=-1",
];
const TYPES: [&str; 7] = [
    "application/json",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/apply-patch+yaml",
    "application/strategic-merge-patch+json",
    "application/vnd.kubernetes.protobuf",
    "application/yaml",
];
const ACCEPTS: [&str; 5] = [
    "application/json",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf",
    "text/plain",
];

/// The time stands still, and numbers count up.
struct Fixed(AtomicU64);

impl Env for Fixed {
    fn now(&self) -> i64 {
        1_767_225_900
    }

    fn random(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

impl store::Env for Fixed {
    fn now(&self) -> String {
        "2026-01-01T00:00:00Z".to_owned()
    }

    fn uid(&self) -> String {
        format!("uid-{}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

fn kind() -> GroupKind {
    GroupKind::new(GROUP, "Health")
}

/// Any bytes as requests.
pub fn request(data: &[u8]) {
    let store = Store::new(Fixed(AtomicU64::new(1)), Config::default());
    store.set_default_completeness(Completeness::Complete(store::Basis::USERS));
    let derived = object("a", "derived", Value::from(1));
    let write = Write::Derive {
        object: derived.clone(),
        document: derived,
    };
    let caller = Caller::controller("shop", "health");
    store
        .write(&caller, &kind(), &write)
        .expect("a controller may write its view");
    let write = Write::Create(object("a", "a", Value::from(1)));
    store
        .write(&Caller::user("alice"), &kind(), &write)
        .expect("a user may create an object");
    let catalog = Catalog::default();
    catalog.set_group(GROUP, [Resource::view(kind())]);
    let server = Server::new(
        store.clone(),
        catalog,
        Arc::new(AllowAll),
        Arc::new(Fixed(AtomicU64::new(1))),
        Limits::default(),
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without threads can be built");
    for request in data.split(|byte| *byte == b'\n').take(8) {
        if let Some(request) = made(&mut Bytes::new(request)) {
            runtime.block_on(send(&server, request));
        }
        well_formed(&store);
    }
}

fn object(namespace: &str, name: &str, ready: Value) -> Value {
    json!({
        "apiVersion": "shop.view.dcontroller.io/v1alpha1",
        "kind": "Health",
        "metadata": {"name": name, "namespace": namespace},
        "ready": ready
    })
}

/// A request; `None` if it is none of HTTP.
fn made(bytes: &mut Bytes<'_>) -> Option<Request<Full<bytes::Bytes>>> {
    let method = METHODS[bytes.below(METHODS.len())];
    let mut uri = COLLECTIONS[bytes.below(COLLECTIONS.len())].to_owned();
    uri.push_str(NAMES[bytes.below(NAMES.len())]);
    for number in 0..bytes.below(4) {
        uri.push(if number == 0 { '?' } else { '&' });
        uri.push_str(PARAMETERS[bytes.below(PARAMETERS.len())]);
    }
    let accept = ACCEPTS[bytes.below(8).saturating_sub(3)];
    let (content, form) = match bytes.below(4) {
        0 => (TYPES[bytes.below(TYPES.len())], bytes.below(4)),
        _ if method == "PATCH" => [(TYPES[1], 1), (TYPES[2], 2), (TYPES[3], 3)][bytes.below(3)],
        _ => (TYPES[0], 3),
    };
    let body = match form {
        0 => bytes.rest().to_vec(),
        1 => patch(bytes).to_string().into_bytes(),
        2 => bytes.value(3).to_string().into_bytes(),
        _ => {
            let name = ["a", "b", "derived"][bytes.below(3)];
            let mut object = object("a", name, bytes.value(2));
            if bytes.below(2) == 1
                && let Some(map) = object.as_map()
            {
                object = map.with(Key::new("metadata"), metadata(name, bytes)).into();
            }
            object.to_string().into_bytes()
        }
    };
    let request = Request::builder().method(method).uri(uri);
    let request = request
        .header("content-type", content)
        .header("accept", accept);
    request.body(Full::new(body.into())).ok()
}

/// Metadata with values of any type.
fn metadata(name: &str, bytes: &mut Bytes<'_>) -> Value {
    const FIELDS: [&str; 9] = [
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
        "managedFields",
        "generateName",
        "resourceVersion",
        "uid",
        "deletionTimestamp",
    ];
    let mut metadata = Map::default().with(Key::new("name"), name.into());
    for _ in 0..bytes.below(4) {
        let field = FIELDS[bytes.below(FIELDS.len())];
        metadata = metadata.with(Key::new(field), bytes.value(3));
    }
    metadata.into()
}

/// A JSON patch.
fn patch(bytes: &mut Bytes<'_>) -> Value {
    const OPERATIONS: [&str; 6] = ["add", "remove", "replace", "move", "copy", "test"];
    const POINTERS: [&str; 7] = [
        "",
        "/ready",
        "/metadata/labels",
        "/metadata/name",
        "/ready/0",
        "/ready/-",
        "/metadata",
    ];
    let operations = (0..bytes.below(5)).map(|_| {
        let op = OPERATIONS[bytes.below(OPERATIONS.len())];
        let path = POINTERS[bytes.below(POINTERS.len())];
        let from = POINTERS[bytes.below(POINTERS.len())];
        let value = bytes.value(2);
        json!({"op": op, "path": path, "from": from, "value": value})
    });
    operations.collect()
}

/// Sends a request and checks its answer.
async fn send(server: &Server, request: Request<Full<bytes::Bytes>>) {
    let user = User {
        name: "alice".to_owned(),
        ..User::default()
    };
    let shown = format!("{} {}", request.method(), request.uri());
    let head = request.method() == http::Method::HEAD;
    let response = server.handle(&user, request).await;
    let code = response.status();
    let Ok(body) = response.into_body().collect().await;
    if code.is_client_error() || code.is_server_error() {
        if head {
            return;
        }
        let body = body.to_bytes();
        let text = String::from_utf8_lossy(&body);
        let status: Value = text
            .parse()
            .unwrap_or_else(|error| panic!("{shown}: {error}: {text}"));
        assert_eq!(status.get("kind").as_str(), Some("Status"), "{shown}");
        let expected = i64::from(code.as_u16());
        assert_eq!(
            status.get("code").as_int(),
            Some(expected),
            "{shown}: {status}"
        );
        let message = status.get("message").as_str();
        // kube-apiserver answers in this way if a version is not a number.
        let known = message.is_some_and(|it| it.starts_with("strconv.ParseUint"));
        assert!(
            message.is_some() && (code != 500 || known),
            "{shown}: {status}"
        );
    }
}

/// Every object has what clients rely on, and the derived one is there.
fn well_formed(store: &Store) {
    let all = store.list(&kind(), &Selector::default()).items;
    for object in &all {
        let metadata = object.get("metadata");
        for field in ["name", "uid", "resourceVersion", "creationTimestamp"] {
            assert!(
                metadata
                    .get(field)
                    .as_str()
                    .is_some_and(|it| !it.is_empty()),
                "{field}: {object}"
            );
        }
        for field in ["labels", "annotations"] {
            let values = metadata.get(field);
            let texts = values
                .as_map()
                .is_none_or(|map| map.iter().all(|(_, value)| value.as_str().is_some()));
            assert!(
                texts && (values.is_null() || values.as_map().is_some()),
                "{object}"
            );
        }
        assert_eq!(object.get("kind").as_str(), Some("Health"), "{object}");
    }
    let derived = store.get(&kind(), &ObjectName::new("a", "derived"));
    assert_eq!(
        derived.map(|object| object.get("ready").clone()),
        Some(Value::from(1)),
        "only its controller changes a derived object"
    );
}
