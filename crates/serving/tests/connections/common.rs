//! A server with a view, without logins.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use apiserver::{AllowAll, Catalog, Limits, Resource, Server, User};
use document::json;
use metrics::Metrics;
use object::GroupKind;
use serving::{ConnectionLimits, Listener, Security};
use store::{Basis, Caller, Completeness, Config, Store, Write};

pub(crate) const VIEWS: &str = "/apis/shop.view.dcontroller.io/v1alpha1/namespaces/shop/health";
pub(crate) const SHORT: Duration = Duration::from_millis(200);
/// Longer than any limit here.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

struct Fixed;

impl apiserver::Env for Fixed {
    fn now(&self) -> i64 {
        0
    }
    fn random(&self) -> u64 {
        0
    }
}

impl store::Env for Fixed {
    fn now(&self) -> String {
        "2026-01-01T00:00:00Z".to_owned()
    }
    fn uid(&self) -> String {
        "uid".to_owned()
    }
}

const GROUP: &str = "shop.view.dcontroller.io";

/// The store of a view.
pub(crate) struct View(Store);

impl View {
    pub(crate) fn new() -> Self {
        let store = Store::new(Fixed, Config::default());
        store.set_default_completeness(Completeness::Complete(Basis::USERS));
        Self(store)
    }

    /// Creates or changes an object of about 100 kB.
    pub(crate) fn put(&self, number: usize, ready: i64) {
        let object = json!({
            "apiVersion": (format!("{GROUP}/v1alpha1")), "kind": "Health",
            "metadata": {"name": (format!("large-{number}")), "namespace": "shop"},
            "ready": ready, "text": ("x".repeat(100_000))
        });
        let (caller, kind) = (Caller::user("alice"), GroupKind::new(GROUP, "Health"));
        self.0.write(&caller, &kind, &Write::Put(object)).unwrap();
    }
}

/// A server with an empty view, without logins.
pub(crate) async fn start(limits: Limits, connections: ConnectionLimits) -> (SocketAddr, Metrics) {
    serve(&View::new(), limits, connections).await
}

/// A server of this view, without logins.
pub(crate) async fn serve(
    view: &View,
    limits: Limits,
    connections: ConnectionLimits,
) -> (SocketAddr, Metrics) {
    let store = view.0.clone();
    let catalog = Catalog::default();
    catalog.set_group(GROUP, [Resource::view(GroupKind::new(GROUP, "Health"))]);
    let server = Server::new(store, catalog, Arc::new(AllowAll), Arc::new(Fixed), limits);
    let user = User {
        name: "alice".to_owned(),
        ..User::default()
    };
    let metrics = Metrics::default();
    let listener = Listener::bind(
        SocketAddr::from(([127, 0, 0, 1], 0)),
        server,
        Security::Insecure(user),
        metrics.clone(),
        connections,
    );
    let listener = listener.await.unwrap();
    let address = listener.address().unwrap();
    tokio::spawn(async move { listener.run().await });
    (address, metrics)
}
