//! Two replicas with a Lease, on the API server in memory: one writes, the other is ready to.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cluster::lease::{self, Settings};
use document::{Value, json};
use kube::Client;
use kube::client::Body;
use metrics::Metrics;
use object::ObjectKey;
use process::config::Config;
use process::run::{RunError, run};
use simulation::api::{Caller, Server};
use simulation::clock::Virtual;
use simulation::fields::set;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// A write: the process, when, and the path.
type Log = Arc<Mutex<Vec<(String, Instant, String)>>>;

struct Cluster {
    server: Server,
    log: Log,
}

struct Replica {
    caller: Caller,
    stop: oneshot::Sender<()>,
    /// Runs until the shutdown is done, and then releases the Lease.
    task: JoinHandle<Result<(), RunError>>,
    elector: JoinHandle<()>,
}

fn widget(name: &str) -> ObjectKey {
    ObjectKey::new("example.com", "Widget", "ns", name)
}

fn config_map(name: &str) -> ObjectKey {
    ObjectKey::new("", "ConfigMap", "ns", name)
}

impl Cluster {
    /// A cluster with widgets, and an Operator that derives a `ConfigMap` from each.
    fn new(widgets: usize, spec: &Value) -> Self {
        let server = Server::new(Virtual::start(), 1);
        let log = Log::default();
        let writes = log.clone();
        server.with(|state| {
            state.guard(Box::new(move |done| {
                let (name, path) = (done.caller.name.to_string(), done.request.path.clone());
                writes.lock().unwrap().push((name, Instant::now(), path));
                Ok(())
            }));
        });
        for number in 0..widgets {
            server.put(&widget(&format!("w{number}")), "someone", &json!({}));
        }
        let cluster = Self { server, log };
        cluster.apply(spec);
        cluster
    }

    fn operator(&self) -> Value {
        self.server.get(&operator()).unwrap_or_default()
    }

    fn apply(&self, spec: &Value) {
        let old = self.server.get(&operator()).unwrap_or_else(|| json!({}));
        let object = set(&old, &["spec"], spec.clone());
        self.server.put(&operator(), "someone", &object);
    }

    fn start(&self, name: &str) -> Replica {
        self.start_with(name, &Arc::default())
    }

    /// Starts a replica whose elector panics with its next request once the flag is set.
    fn start_with(&self, name: &str, panics: &Arc<AtomicBool>) -> Replica {
        let caller = Caller::new(name);
        let client = self.server.client(&caller);
        let settings = Settings::new("ns", lease::NAME, name);
        let elects = panicking(client.clone(), panics.clone());
        let (leadership, elector) = lease::elect(&elects, settings, Metrics::default());
        let (ended, has_ended) = oneshot::channel::<()>();
        let elector = tokio::spawn(elector.run(async { drop(has_ended.await) }));
        let (stop, stopped) = oneshot::channel::<()>();
        let config = Config {
            leadership,
            ..Config::default()
        };
        let task = tokio::spawn(async move {
            let result = run(client, config, async { drop(stopped.await) }).await;
            drop(ended);
            result
        });
        Replica {
            caller,
            stop,
            task,
            elector,
        }
    }

    /// The writes of a process to anything but Leases, since a time.
    fn writes(&self, name: &str, since: Instant) -> Vec<Instant> {
        let log = self.log.lock().unwrap();
        let writes = log
            .iter()
            .filter(|(by, at, path)| by == name && *at >= since && !path.contains("/leases"));
        writes.map(|(_, at, _)| *at).collect()
    }

    fn config_maps(&self) -> usize {
        let kind = simulation::api::kind::Kind::named("", "ConfigMap").unwrap();
        self.server.all(kind).len()
    }
}

/// A client whose requests panic once the flag is set.
fn panicking(client: Client, panics: Arc<AtomicBool>) -> Client {
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (client, panics) = (client.clone(), panics.clone());
        async move {
            assert!(!panics.load(Ordering::SeqCst), "as the test wants it");
            client.send(request).await
        }
    });
    Client::new(service, "default")
}

fn operator() -> ObjectKey {
    ObjectKey::new("dcontroller.io", "Operator", "", "o")
}

fn spec() -> Value {
    json!({"deletionPolicy": "Delete", "controllers": [{
        "name": "c",
        "sources": [{"apiGroup": "example.com", "kind": "Widget"}],
        "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name", "namespace": "ns"},
            "data": {"label": {"@definedOr": ["$.metadata.labels.x", "none"]}}}}],
        "target": {"apiGroup": "", "kind": "ConfigMap"},
    }]})
}

impl Replica {
    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap().unwrap();
        self.elector.await.unwrap();
    }

    fn kill(self) {
        self.caller.die();
        self.task.abort();
        self.elector.abort();
    }
}

/// Two replicas, of which the first leads, when all is written.
async fn pair(widgets: usize) -> (Cluster, Replica, Replica) {
    let cluster = Cluster::new(widgets, &spec());
    let one = cluster.start("one");
    sleep(Duration::from_secs(5)).await;
    let two = cluster.start("two");
    sleep(Duration::from_secs(30)).await;
    assert_eq!(cluster.config_maps(), widgets);
    (cluster, one, two)
}

#[tokio::test(start_paused = true)]
async fn a_replica_takes_over_within_two_seconds_of_a_release() {
    let (cluster, one, two) = pair(500).await;
    let start = Instant::now() - Duration::from_mins(1);
    assert_eq!(cluster.writes("two", start), [], "it only stands by");
    one.stop().await;
    let free = Instant::now();
    let labelled = json!({"metadata": {"labels": {"x": "new"}}});
    cluster.server.put(&widget("w7"), "someone", &labelled);
    sleep(Duration::from_secs(10)).await;
    let writes = cluster.writes("two", free);
    let took = writes[0] - free;
    assert!(took < Duration::from_secs(2), "{took:?}");
    let changed = cluster.server.get(&config_map("w7")).unwrap();
    assert_eq!(changed.get("data").get("label"), &json!("new"));
    assert!(
        writes.len() < 5,
        "only what changed is written: {}",
        writes.len()
    );
    two.stop().await;
}

/// A replica reads an Operator before it leads, and must not send an Event then.
#[tokio::test(start_paused = true)]
async fn the_leader_sends_events_about_what_is_wrong_with_an_operator() {
    let misspelled = json!({"deletionPolicy": "Delete", "controllers": [{
        "name": "c",
        "sources": [{"apiGroup": "", "kind": "Pod"}],
        "pipeline": [{"@select": {"@exists": "$.spec.nodeNam"}}],
        "target": {"apiGroup": "", "kind": "ConfigMap"},
    }]});
    let cluster = Cluster::new(0, &misspelled);
    let events = || {
        let kind = simulation::api::kind::Kind::named("events.k8s.io", "Event").unwrap();
        let all = cluster.server.all(kind).into_iter();
        let of_check = all.filter(|(_, event)| event.get("reason").as_str() == Some("Warnings"));
        of_check.count()
    };
    let first = cluster.start("first");
    sleep(Duration::from_mins(1)).await;
    assert_eq!(events(), 1);
    let second = cluster.start("second");
    sleep(Duration::from_mins(1)).await;
    assert_eq!(events(), 1);
    first.stop().await;
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_takes_over_when_the_lease_of_a_dead_one_expires() {
    let (cluster, one, two) = pair(20).await;
    one.kill();
    let died = Instant::now();
    cluster.server.delete(&widget("w7"));
    sleep(Duration::from_secs(14)).await;
    assert_eq!(cluster.writes("two", died), [], "the Lease is still held");
    sleep(Duration::from_secs(5)).await;
    assert_eq!(cluster.config_maps(), 19);
    two.stop().await;
}

#[tokio::test(start_paused = true)]
async fn removals_that_the_old_leader_held_stay_held() {
    let limited = set(&spec(), &["maxDeletions"], json!(0));
    let cluster = Cluster::new(5, &limited);
    let one = cluster.start("one");
    sleep(Duration::from_secs(5)).await;
    let two = cluster.start("two");
    sleep(Duration::from_secs(30)).await;
    one.kill();
    // A single event, which `maxDeletions` does not count; the old leader found it in a list.
    cluster.server.delete(&widget("w1"));
    let status = json!({"controllers": [{"name": "c", "counts": {"held": 1}, "conditions": [{
        "type": "Ready", "status": "False", "reason": "DeletionHeld",
    }]}]});
    let object = set(&cluster.operator(), &["status"], status);
    cluster.server.put(&operator(), "one", &object);
    sleep(Duration::from_mins(1)).await;
    assert_eq!(cluster.config_maps(), 5, "it is still held");
    two.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_operator_that_is_deleted_leaves_nothing_behind_at_a_takeover() {
    let (cluster, one, two) = pair(20).await;
    one.kill();
    cluster.server.delete(&operator());
    sleep(Duration::from_secs(10)).await;
    assert_eq!(cluster.config_maps(), 20);
    assert!(!cluster.operator().is_null(), "its finalizer holds it");
    sleep(Duration::from_mins(1)).await;
    assert_eq!(cluster.config_maps(), 0);
    assert!(cluster.operator().is_null());
    two.stop().await;
}

/// The other replica takes over when the Lease has expired, as after a crash.
#[tokio::test(start_paused = true)]
async fn a_leader_whose_elector_panics_stops_writing_at_once_and_ends() {
    let (cluster, panics) = (Cluster::new(20, &spec()), Arc::default());
    let one = cluster.start_with("one", &panics);
    sleep(Duration::from_secs(5)).await;
    let two = cluster.start("two");
    sleep(Duration::from_secs(30)).await;
    assert_eq!(cluster.config_maps(), 20);
    panics.store(true, Ordering::SeqCst);
    let ended = timeout(Duration::from_secs(3), one.task).await.unwrap();
    let ended = ended.unwrap();
    assert!(matches!(ended, Err(RunError::ElectionFailed)), "{ended:?}");
    let since = Instant::now();
    cluster.server.delete(&widget("w7"));
    sleep(Duration::from_secs(30)).await;
    assert_eq!(cluster.writes("one", since), []);
    assert_eq!(cluster.config_maps(), 19);
    two.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_whose_elector_panics_while_it_stands_by_ends_without_a_write() {
    let (cluster, panics) = (Cluster::new(20, &spec()), Arc::default());
    let (start, one) = (Instant::now(), cluster.start("one"));
    sleep(Duration::from_secs(5)).await;
    let two = cluster.start_with("two", &panics);
    sleep(Duration::from_secs(30)).await;
    panics.store(true, Ordering::SeqCst);
    // The elector of the third one panics when it starts.
    let three = cluster.start_with("three", &panics);
    for replica in [two, three] {
        let ended = timeout(Duration::from_secs(3), replica.task).await.unwrap();
        let ended = ended.unwrap();
        assert!(matches!(ended, Err(RunError::ElectionFailed)), "{ended:?}");
        assert_eq!(cluster.writes(&replica.caller.name, start), []);
    }
    one.stop().await;
}
