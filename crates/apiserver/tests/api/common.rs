//! A server with the views of one Operator, and requests to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use apiserver::{Access, AllowAll, Body, Catalog, Env, Limits, Resource, Server, User};
use bytes::Bytes;
use document::{Path, Value, json};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use object::{Column, ColumnType, GroupKind};
use store::{Caller, Completeness, Config, Store, Write};

pub(crate) const GROUP: &str = "shop.view.dcontroller.io";
/// The path of the objects in the namespace `shop`.
pub(crate) const SHOP: &str = "/apis/shop.view.dcontroller.io/v1alpha1/namespaces/shop/health";

/// The time stands still, and numbers count up.
struct Fixed(AtomicU64);

impl Env for Fixed {
    fn now(&self) -> i64 {
        1_767_225_900 // 2026-01-01T00:05:00Z
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

pub(crate) struct Api {
    pub(crate) store: Store,
    pub(crate) server: Server,
    pub(crate) catalog: Catalog,
    pub(crate) user: User,
}

pub(crate) fn health() -> GroupKind {
    GroupKind::new(GROUP, "Health")
}

impl Api {
    pub(crate) fn new() -> Self {
        Self::with(Arc::new(AllowAll), Limits::default())
    }

    pub(crate) fn with(access: Arc<dyn Access>, limits: Limits) -> Self {
        Self::with_config(access, limits, Config::default())
    }

    pub(crate) fn with_config(access: Arc<dyn Access>, limits: Limits, config: Config) -> Self {
        let store = Store::new(Fixed(AtomicU64::new(1)), config);
        store.set_default_completeness(Completeness::Complete(store::Basis::USERS));
        let catalog = Catalog::default();
        let mut resource = Resource::view(health());
        resource.columns = vec![Column {
            name: "Ready".to_owned(),
            path: Path::parse("$.ready").unwrap(),
            kind: ColumnType::Integer,
        }];
        catalog.set_group(GROUP, [resource]);
        let env = Arc::new(Fixed(AtomicU64::new(1)));
        let server = Server::new(store.clone(), catalog.clone(), access, env, limits);
        Self {
            store,
            server,
            catalog,
            user: User {
                name: "alice".to_owned(),
                ..User::default()
            },
        }
    }

    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Response<Body> {
        self.server.handle(&self.user, request).await
    }

    /// Sends a request with a JSON body. Returns the code and the answer.
    pub(crate) async fn call(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let json = ("content-type", "application/json");
        self.call_with(method, path, &[json], &body.to_string())
            .await
    }

    pub(crate) async fn call_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, Value) {
        let mut request = Request::builder().method(method).uri(path);
        for (key, value) in headers {
            request = request.header(*key, *value);
        }
        let request = request.body(Full::new(Bytes::from(body.to_owned())));
        let response = self.send(request.unwrap()).await;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let text = std::str::from_utf8(&bytes).unwrap();
        (code, text.parse().unwrap())
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        self.call_with("GET", path, &[], "").await
    }

    /// Stores an object as its controller does.
    pub(crate) fn derive(&self, name: &str, ready: i64) {
        let object = object(name, ready);
        let write = Write::Derive {
            object: object.clone(),
            document: object,
        };
        let caller = Caller::controller("shop", "health");
        self.store.write(&caller, &health(), &write).unwrap();
    }
}

pub(crate) fn object(name: &str, ready: i64) -> Value {
    json!({
        "apiVersion": "shop.view.dcontroller.io/v1alpha1",
        "kind": "Health",
        "metadata": {"name": name, "namespace": "shop"},
        "ready": ready
    })
}

/// Checks code, reason and message of an error.
#[track_caller]
pub(crate) fn fails(answer: &(u16, Value), code: u16, reason: &str, message: &str) {
    let (found, status) = answer;
    let texts = ["reason", "message"].map(|key| status.get(key).as_str().unwrap_or_default());
    assert_eq!((*found, texts), (code, [reason, message]), "{status}");
    assert_eq!(status.get("kind").as_str(), Some("Status"));
    assert_eq!(status.get("code").as_int(), Some(i64::from(code)));
}
