//! `new`, `owns` and `watches` on a fake API server: each watches its kind and triggers.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use controller::{Action, Controller, ObjectRef, watcher};
use futures::StreamExt;
use http::{Request, Response};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::client::Body;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::support::{Log, ms};

/// An API server with these objects by path; its watches stay silent.
fn server(objects: HashMap<&'static str, Value>) -> (Client, Arc<Mutex<Vec<String>>>) {
    let accepts: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&accepts);
    let objects = Arc::new(objects);
    let service = tower::service_fn(move |request: Request<Body>| {
        let (log, objects) = (Arc::clone(&log), Arc::clone(&objects));
        async move {
            if request
                .uri()
                .query()
                .is_some_and(|query| query.contains("watch=true"))
            {
                return std::future::pending().await;
            }
            let path = request.uri().path();
            let accept = request
                .headers()
                .get("accept")
                .map_or("", |accept| accept.to_str().unwrap());
            let metadata = if accept.contains("PartialObjectMetadataList") {
                " (metadata)"
            } else {
                ""
            };
            log.lock().unwrap().push(format!("{path}{metadata}"));
            let list = json!({
                "apiVersion": "v1", "kind": "List",
                "metadata": {"resourceVersion": "1"},
                "items": [objects[path]],
            });
            Ok::<_, Infallible>(Response::new(Body::from(list.to_string().into_bytes())))
        }
    });
    (Client::new(service, "default"), accepts)
}

fn objects() -> HashMap<&'static str, Value> {
    let owner = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "1"});
    HashMap::from([
        (
            "/apis/apps/v1/deployments",
            json!({"metadata": {"name": "web", "namespace": "ns"}}),
        ),
        (
            "/api/v1/pods",
            json!({"metadata": {"name": "p", "namespace": "ns", "ownerReferences": [owner]}}),
        ),
        (
            "/api/v1/secrets",
            json!({"metadata": {"name": "web", "namespace": "ns"}}),
        ),
    ])
}

#[derive(Debug, thiserror::Error)]
#[error("never")]
struct Never;

async fn check(accepts: &Mutex<Vec<String>>, log: &Log, results: impl StreamExt) {
    assert_eq!(
        results.count().await,
        1,
        "three triggers merge while the store is not ready"
    );
    let mut paths = accepts.lock().unwrap().clone();
    paths.sort();
    assert_eq!(
        paths,
        [
            "/api/v1/pods (metadata)",
            "/api/v1/secrets",
            "/apis/apps/v1/deployments"
        ]
    );
    assert_eq!(log.starts(), ["0 web.ns"]);
}

#[tokio::test(start_paused = true)]
async fn a_controller_watches_its_own_owned_and_related_kinds() {
    let (client, accepts) = server(objects());
    let config = watcher::Config::default;
    let log = Log::new();
    let mapper = |secret: Secret| {
        let namespace = secret.namespace()?;
        Some(ObjectRef::<Deployment>::new(&secret.name_any()).within(&namespace))
    };
    let controller = Controller::new(Api::<Deployment>::all(client.clone()), config())
        .owns(Api::<Pod>::all(client.clone()), config())
        .watches(Api::<Secret>::all(client), config(), mapper)
        .observe(Arc::new(log.clone()))
        .graceful_shutdown_on(sleep(ms(1000)));
    let reconcile =
        |_: Arc<Deployment>, _: Arc<()>| async { Ok::<_, Never>(Action::await_change()) };
    let results = controller.run(reconcile, |_, _, _| Action::await_change(), Arc::new(()));
    check(&accepts, &log, results).await;
}

#[tokio::test(start_paused = true)]
async fn kinds_may_be_known_only_at_run_time() {
    let (client, accepts) = server(objects());
    let config = watcher::Config::default;
    let log = Log::new();
    let kind = |group, kind| ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
    let (deployment, pod, secret) = (
        kind("apps", "Deployment"),
        kind("", "Pod"),
        kind("", "Secret"),
    );
    let api = |kind| Api::<DynamicObject>::all_with(client.clone(), kind);
    let of = deployment.clone();
    let mapper = move |secret: DynamicObject| {
        let namespace = secret.namespace()?;
        Some(
            ObjectRef::<DynamicObject>::new_with(&secret.name_any(), of.clone()).within(&namespace),
        )
    };
    let controller = Controller::new_with(api(&deployment), config(), deployment.clone())
        .owns_with(api(&pod), pod.clone(), config())
        .watches_with(api(&secret), secret.clone(), config(), mapper)
        .observe(Arc::new(log.clone()))
        .graceful_shutdown_on(sleep(ms(1000)));
    let reconcile =
        |_: Arc<DynamicObject>, _: Arc<()>| async { Ok::<_, Never>(Action::await_change()) };
    let results = controller.run(reconcile, |_, _, _| Action::await_change(), Arc::new(()));
    check(&accepts, &log, results).await;
}
