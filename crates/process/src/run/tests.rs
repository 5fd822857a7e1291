//! Starting and ending on a server without Operators.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cluster::lease;
use cluster::lease::Settings;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::client::Body;
use metrics::Metrics;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::*;

/// An API server with one Lease and an empty list of Operators.
#[derive(Clone, Default)]
struct Server {
    lease: Arc<Mutex<Option<Vec<u8>>>>,
    /// Whether writes of the Lease fail.
    broken: Arc<AtomicBool>,
    /// All other requests: whether they write.
    others: Arc<Mutex<Vec<bool>>>,
}

impl Server {
    fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let (parts, body) = request.into_parts();
                let bytes = body.collect().await?.to_bytes();
                let (code, body) = server.answer(&parts.method, &parts.uri, &bytes);
                if code == 0 {
                    std::future::pending::<()>().await;
                }
                let mut response = Response::new(Body::from(body));
                *response.status_mut() = StatusCode::from_u16(code)?;
                Ok::<_, tower::BoxError>(response)
            }
        });
        Client::new(service, "default")
    }

    fn answer(&self, method: &Method, uri: &http::Uri, bytes: &[u8]) -> (u16, Vec<u8>) {
        let failure = |code: u16| {
            let reason = if code == 404 {
                "NotFound"
            } else {
                "InternalError"
            };
            let body = format!(
                r#"{{"kind":"Status","status":"Failure","code":{code},"message":"","reason":"{reason}"}}"#
            );
            (code, body.into_bytes())
        };
        if uri.path().starts_with("/apis/coordination.k8s.io/") {
            let mut lease = self.lease.lock().unwrap();
            if self.broken.load(Ordering::SeqCst) {
                return failure(500);
            }
            if *method != Method::GET {
                *lease = Some(bytes.to_vec());
            }
            return lease
                .clone()
                .map_or_else(|| failure(404), |lease| (200, lease));
        }
        self.others.lock().unwrap().push(*method != Method::GET);
        if uri
            .query()
            .is_some_and(|query| query.contains("watch=true"))
        {
            return (0, Vec::new());
        }
        let list = r#"{"kind":"OperatorList","apiVersion":"dcontroller.io/v1alpha1","metadata":{"resourceVersion":"1"},"items":[]}"#;
        (200, list.as_bytes().to_vec())
    }

    fn others(&self) -> usize {
        self.others.lock().unwrap().len()
    }

    fn writes(&self) -> usize {
        let others = self.others.lock().unwrap();
        others.iter().filter(|is_write| **is_write).count()
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_well() {
    let server = Server::default();
    let config = Config::default();
    let health = config.health.clone();
    let (stop, stopped) = oneshot::channel::<()>();
    let shutdown = async move { drop(stopped.await) };
    let running = tokio::spawn(run(server.client(), config, shutdown));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(health.readiness(), Ok(()));
    drop(stop);
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn after_the_lease_is_lost_nothing_is_sent() {
    let server = Server::default();
    let settings = Settings::new("default", lease::NAME, "me");
    let client = server.client();
    let (leadership, elector) = lease::elect(&client, settings, Metrics::default());
    let elector = tokio::spawn(elector.run(std::future::pending()));
    let config = Config {
        leadership,
        ..Config::default()
    };
    let health = config.health.clone();
    let running = tokio::spawn(run(server.client(), config, std::future::pending()));
    sleep(Duration::from_secs(30)).await;
    assert_eq!(health.liveness(), Ok(()));
    let sent = server.others();
    assert!(sent > 0);
    server.broken.store(true, Ordering::SeqCst);
    let ended = running.await.unwrap();
    assert!(matches!(ended, Err(RunError::LeaseLost)), "{ended:?}");
    assert!(health.liveness().is_err());
    sleep(Duration::from_mins(1)).await;
    assert_eq!(server.others(), sent);
    elector.abort();
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_stands_by_only_reads_and_is_ready() {
    let server = Server::default();
    server.broken.store(true, Ordering::SeqCst);
    let settings = Settings::new("default", lease::NAME, "me");
    let client = server.client();
    let (leadership, elector) = lease::elect(&client, settings, Metrics::default());
    let elector = tokio::spawn(elector.run(std::future::pending()));
    let config = Config {
        leadership,
        ..Config::default()
    };
    let health = config.health.clone();
    let shutdown = sleep(Duration::from_mins(1));
    let running = tokio::spawn(run(server.client(), config, shutdown));
    sleep(Duration::from_secs(30)).await;
    assert_eq!(health.readiness(), Ok(()));
    assert!(server.others() > 0, "its sources are watched");
    running.await.unwrap().unwrap();
    assert_eq!(server.writes(), 0);
    elector.abort();
}

#[tokio::test(start_paused = true)]
async fn an_operator_of_the_configuration_must_follow_the_policy() {
    let manifest = document::json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "a"},
        "spec": {"controllers": [{
            "name": "c",
            "sources": [{"apiGroup": "", "kind": "Pod"}],
            "target": {"apiGroup": "", "kind": "ConfigMap"},
        }]},
    });
    let (operator, _) = operator::read(&manifest, &expr::Functions::builtin());
    let config = Config {
        files: vec![operator.unwrap()],
        require_service_account: true,
        ..Config::default()
    };
    let ended = run(Server::default().client(), config, std::future::pending()).await;
    assert!(matches!(ended, Err(RunError::Refused { .. })), "{ended:?}");
}
