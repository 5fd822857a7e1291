//! The queue of an Operator, on a server that is slow or down.

use std::collections::BTreeMap;

use cluster::client::{Clients, Rate};
use cluster::lease::Leadership;
use document::{Value, json};
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use metrics::Metrics;
use target::Author;
use target::problem::{Happened, Problem, Report};
use tokio::time::sleep;

use object::OperatorId;

use super::*;
use crate::limits;
use crate::native::ViewStore;

/// How the server answers a request.
#[derive(Clone, Copy)]
enum Answer {
    Never,
    Code(u16),
}

/// The number of requests for each object.
type Requests = Arc<Mutex<BTreeMap<String, usize>>>;

fn client(answer: Answer, requests: &Requests) -> Client {
    let requests = requests.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let requests = requests.clone();
        async move {
            let name = if request.method() == Method::POST {
                let body = request.into_body().collect().await?.to_bytes();
                let object = Value::from_json(&body)?;
                object
                    .get("metadata")
                    .get("name")
                    .as_str()
                    .map(str::to_owned)
            } else {
                let path = request.uri().path();
                path.rsplit('/').next().map(str::to_owned)
            };
            let name = name.unwrap_or_default();
            *requests.lock().unwrap().entry(name).or_default() += 1;
            match answer {
                Answer::Never => std::future::pending().await,
                Answer::Code(code) => {
                    let mut response = Response::new(Body::from(b"{}".to_vec()));
                    *response.status_mut() = StatusCode::from_u16(code)?;
                    Ok::<_, tower::BoxError>(response)
                }
            }
        }
    });
    Client::new(service, "default")
}

struct IgnoreProblems;

impl Report for IgnoreProblems {
    fn problems(&self, _: &ObjectKey, _: &[Problem]) {}
    fn happened(&self, _: &ObjectKey, _: &str, _: Happened) {}
}

/// Two controllers with these options, which write `ConfigMap`s.
fn operator(one: Value, two: Value) -> Operator {
    let controller = |name: &str, target: &str, options: Value| {
        json!({
            "name": name, "sources": [{"apiGroup": "", "kind": "Pod"}],
            "pipeline": [{"@select": true}], "options": (options),
            "target": {"apiGroup": "", "kind": "ConfigMap", "type": target},
        })
    };
    let controllers = [
        controller("one", "Updater", one),
        controller("two", "Patcher", two),
    ];
    let controllers: Value = controllers.into_iter().collect();
    let spec = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"},
        "spec": {"controllers": (controllers)},
    });
    let (operator, problems) = operator::read(&spec, &expr::Functions::builtin());
    operator.unwrap_or_else(|| panic!("{problems:?}"))
}

struct World {
    operator: Operator,
    writes: Writes,
    requests: Requests,
    metrics: Metrics,
}

impl World {
    fn new(answer: Answer, operator: Operator) -> Self {
        let requests = Requests::default();
        let client = client(answer, &requests);
        let clients = Clients::new(client.clone(), Rate::default(), Leadership::always());
        let metrics = Metrics::default();
        let context = Context::new(clients, &ViewStore::default(), metrics.clone());
        let measures = Measures::new(&metrics, &operator);
        let writer = Writer::new(&OperatorId::new("o", "u"), client, Arc::new(IgnoreProblems));
        let writer = Arc::new(limits::retry_refused(&operator, writer));
        let mut writes = Writes::start(&context, &operator, writer, &measures, &Guard::default());
        writes.subscribed();
        writes.lead();
        let kind = GroupKind::new("", "ConfigMap");
        let writer = &writes.writer;
        writer.serve(TargetKind::new(kind, "v1", "configmaps"));
        // An empty list: desired objects are created.
        writer.listing("", "ConfigMap");
        writer.listed("", "ConfigMap");
        Self {
            operator,
            writes,
            requests,
            metrics,
        }
    }

    /// A controller derives a `ConfigMap` of this name.
    fn want(&self, controller: usize, name: &str) {
        let rank = controller;
        let controller = &self.operator.controllers[rank];
        let author = Author::new(
            &OperatorId::new("o", "u"),
            &controller.name,
            rank,
            controller.targets[0].clone(),
        );
        let desired = Desired {
            author: Arc::new(author),
            document: json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": "n"}, "data": {"k": "v"}}),
            origin: json!([]),
            owners: Arc::new([]),
        };
        self.writes.want(&key(name), controller, Some(desired));
    }

    /// The number of requests for objects with this prefix.
    fn count(&self, start: &str) -> usize {
        let requests = self.requests.lock().unwrap();
        let requests = requests.iter().filter(|(name, _)| name.starts_with(start));
        requests.map(|(_, count)| count).sum()
    }

    fn metric(&self, name: &str) -> String {
        let text = self.metrics.encode();
        let line = text.lines().find(|line| line.starts_with(name));
        line.unwrap().rsplit(' ').next().unwrap().to_owned()
    }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("", "ConfigMap", "n", name)
}

fn concurrency(limit: i64) -> Value {
    json!({"concurrency": limit})
}

fn retry(initial: &str, max: &str) -> Value {
    json!({"retry": {"initial": initial, "max": max}})
}

/// A Patcher only writes objects that exist. So the first controller, an Updater, wants all
/// objects, and the second one patches some of them.
#[tokio::test(start_paused = true)]
async fn a_controller_has_its_own_concurrency() {
    let world = World::new(Answer::Never, operator(concurrency(2), concurrency(5)));
    for number in 0..20 {
        world.want(0, &format!("alone-{number}"));
        let shared = format!("shared-{number}");
        world.want(1, &shared);
        world.want(0, &shared);
    }
    sleep(Duration::from_secs(1)).await;
    assert_eq!((world.count("alone"), world.count("shared")), (2, 5));
}

#[tokio::test(start_paused = true)]
async fn a_smaller_limit_of_another_controller_does_not_apply() {
    let world = World::new(Answer::Never, operator(concurrency(3), concurrency(1)));
    for number in 0..20 {
        let shared = format!("shared-{number}");
        world.want(1, &shared);
        world.want(0, &shared);
    }
    sleep(Duration::from_secs(1)).await;
    assert_eq!(world.count("shared"), 3);
}

/// Jitter shortens pauses by up to a half.
#[tokio::test(start_paused = true)]
async fn a_controller_has_its_own_pauses() {
    let operator = operator(retry("1s", "1s"), retry("60s", "60s"));
    let world = World::new(Answer::Code(500), operator);
    world.want(0, "alone");
    world.want(1, "shared");
    world.want(0, "shared");
    sleep(Duration::from_secs(25)).await;
    let alone = world.count("alone");
    assert!((25..=51).contains(&alone), "{alone}");
    assert_eq!(world.count("shared"), 1);
}

/// The retry comes after twice the longest pause.
#[tokio::test(start_paused = true)]
async fn refused_objects_are_retried_at_the_pace_of_their_controllers() {
    let operator = operator(retry("1s", "1s"), retry("60s", "60s"));
    let world = World::new(Answer::Code(422), operator);
    world.want(0, "alone");
    world.want(1, "shared");
    world.want(0, "shared");
    sleep(Duration::from_secs(25)).await;
    assert_eq!((world.count("alone"), world.count("shared")), (13, 1));
}

#[tokio::test(start_paused = true)]
async fn leftovers_of_a_removed_controller_have_the_default_limits() {
    let world = World::new(Answer::Never, operator(concurrency(2), concurrency(5)));
    let limits = Limits::new(&world.operator, world.writes.writer.clone());
    assert_eq!(limits.pools(), [2, 5, 16]);
    assert_eq!(limits.pool(&key("unknown")), 2);
    world.writes.writer.set(&key("left"), "removed", None);
    assert_eq!(limits.pool(&key("left")), 2);
    assert_eq!(limits.backoff(&key("left")), Limits::default_backoff());
    world.want(0, "left");
    assert_eq!(limits.pool(&key("left")), 0);
}

#[tokio::test(start_paused = true)]
async fn additions_to_the_queue_are_counted_not_starts() {
    let operator = operator(concurrency(1), concurrency(1));
    let world = World::new(Answer::Never, operator);
    for name in ["a", "b", "c"] {
        world.want(0, name);
    }
    // These are in the queue already.
    let again = ["b", "c"].map(key);
    world.writes.look(again, WriteReason::TargetChanged);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(world.metric("workqueue_adds_total"), "3");
    assert_eq!(
        world.metric(r#"controller_runtime_active_workers{controller="o/one"}"#),
        "1"
    );
    assert_eq!(world.writes.waiting(), 2);
    // An object that is being processed is queued for another run.
    world.writes.look([key("a")], WriteReason::TargetChanged);
    assert_eq!(world.metric("workqueue_adds_total"), "4");
}

#[tokio::test(start_paused = true)]
async fn a_requeue_after_a_failure_is_a_retry_and_an_addition() {
    let operator = operator(retry("1h", "1h"), retry("1h", "1h"));
    let world = World::new(Answer::Code(500), operator);
    world.want(0, "a");
    sleep(Duration::from_secs(1)).await;
    // It has not run again.
    assert_eq!(world.count("a"), 1);
    assert_eq!(world.metric("workqueue_retries_total"), "1");
    assert_eq!(world.metric("workqueue_adds_total"), "2");
    assert_eq!(world.metric("workqueue_work_duration_seconds_count"), "1");
}
