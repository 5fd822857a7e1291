//! A panic in the code of one Operator is that Operator's error, and nobody else notices.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use document::{Value, json};
use engine::guard::{Boundary, FailPoints};
use kube::client::Body;
use simulation::api::Caller;
use simulation::faults::Fault;
use simulation::fields::set;
use tokio::time::Instant;

use super::{World, config_map, copies, operator, seconds, widget};

/// Panics at one boundary, as often as it is armed.
#[derive(Clone, Default)]
pub(super) struct Bomb {
    armed: Arc<AtomicUsize>,
    /// When it exploded.
    explosions: Arc<Mutex<Vec<Instant>>>,
    /// When an engine of the victim, or a task of the process, was started.
    pub(super) starts: Arc<Mutex<Vec<Instant>>>,
}

impl Bomb {
    /// Panics at this boundary of the Operator `victim`.
    fn at(&self, boundary: Boundary) -> FailPoints {
        let bomb = self.clone();
        FailPoints::new(move |operator, passed| {
            if operator != "victim" {
                return;
            }
            if passed == Boundary::Engine {
                bomb.starts.lock().unwrap().push(Instant::now());
            }
            if passed == boundary {
                bomb.pass(&passed.to_string());
            }
        })
    }

    /// Panics if it is armed.
    pub(super) fn pass(&self, at: &str) {
        let left = |left: usize| left.checked_sub(1);
        let explodes = self.armed.fetch_update(SeqCst, SeqCst, left).is_ok();
        if explodes {
            self.explosions.lock().unwrap().push(Instant::now());
        }
        assert!(!explodes, "a bomb at {at}");
    }

    pub(super) fn arm(&self, times: usize) {
        self.armed.store(times, SeqCst);
    }

    pub(super) fn starts(&self) -> Vec<Instant> {
        self.starts.lock().unwrap().clone()
    }

    /// Checks that it has exploded as often as it was armed, each time after a longer pause.
    pub(super) fn expect_growing_pauses(&self) {
        assert_eq!(self.armed.load(SeqCst), 0);
        let mut explosions = self.explosions.lock().unwrap().clone();
        // A list is delivered to several sinks of an engine.
        explosions.dedup_by(|next, last| *next - *last < Duration::from_millis(100));
        let pauses: Vec<_> = explosions
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .collect();
        assert!(pauses.is_sorted(), "{pauses:?}");
        if let Some(first) = pauses.first() {
            assert!(*first >= Duration::from_millis(500), "{pauses:?}");
        }
    }
}

/// The spec of the victim: it fills a view and reads it, and stamps an object every second. It goes
/// with its objects.
fn victim(salt: &str) -> Value {
    let name = json!({"name": "$.metadata.name", "namespace": "$.metadata.namespace"});
    json!({"deletionPolicy": "Delete", "controllers": [
        {
            "name": "view",
            "sources": [{"apiGroup": "example.com", "kind": "Widget"}],
            "pipeline": [{"@project": {"metadata": (name), "n": "$.spec.n"}}],
            "target": {"kind": "Number"},
        },
        {
            "name": "maps",
            "sources": [{"kind": "Number"}],
            "pipeline": [{"@project": {
                "metadata": {
                    "name": {"@concat": ["victim-", "$.metadata.name"]},
                    "namespace": "$.metadata.namespace",
                },
                "data": {"n": {"@string": "$.n"}, "salt": salt},
            }}],
            "target": {"apiGroup": "", "kind": "ConfigMap"},
        },
        {
            "name": "stamp",
            "sources": [
                {"apiGroup": "example.com", "kind": "Widget", "labelSelector": {
                    "matchLabels": {"stamped": "yes"},
                }},
                {"kind": "Clock", "type": "Periodic", "parameters": {"period": "1s"}},
            ],
            "pipeline": [{"@project": {
                "metadata": {"name": "victim-stamp", "namespace": "ns"},
                "data": {"at": "@now"},
            }}],
            "target": {"apiGroup": "", "kind": "ConfigMap"},
        },
    ]})
}

/// A world in which the Operators `victim` and `neighbour` derive config maps from widgets.
fn world(bomb: &Bomb, boundary: Boundary) -> World {
    let mut world = World::new();
    world.config.fail_points = bomb.at(boundary);
    for name in ["a", "b"] {
        world.widget(name, 1);
    }
    world.operator("victim", victim(""));
    world.operator("neighbour", copies("neighbour-"));
    world
}

fn expect_data(world: &World, name: &str, n: &str) {
    let object = world.server.get(&config_map(name)).unwrap_or_default();
    let found = object.get("data").get("n").as_str().map(str::to_owned);
    assert_eq!(found.as_deref(), Some(n), "{name}");
}

/// Checks that Events and the metric report the crashes of the victim, and of nobody else.
fn expect_reported(world: &World, boundary: Boundary) {
    let crashes = world.events("Crashed");
    let named = |note: &String| note.contains(&boundary.to_string());
    assert!(crashes.iter().any(named), "{boundary}: {crashes:?}");
    let metrics = world.config.metrics.encode();
    let mut lines = metrics.lines();
    let line = r#"deltic_crashes_total{operator="victim"} "#;
    assert!(lines.any(|l| l.starts_with(line)), "{metrics}");
    let mut lines = metrics.lines();
    let line = r#"deltic_crashes_total{operator="neighbour"}"#;
    assert!(!lines.any(|l| l.starts_with(line)), "{metrics}");
}

/// The neighbour writes what a user changes.
async fn expect_neighbour(world: &World) {
    world.widget("c", 3);
    seconds(3).await;
    expect_data(world, "neighbour-c", "3");
    world.expect("neighbour", "True/Ready");
}

/// How the victim is made to pass a boundary.
enum Provocation {
    /// It passes the boundary when it starts.
    Start,
    /// A source changes.
    Change,
    /// A source changes, and the watch of this kind has to begin with a list.
    List(&'static str),
    /// The spec changes.
    Edit,
    /// The spec changes, so that the finalizer has to go.
    Orphan,
    /// Has a test of its own.
    Elsewhere,
}

/// Without `_`, so that a new boundary needs a test.
fn provocation(boundary: Boundary) -> Provocation {
    match boundary {
        Boundary::Engine | Boundary::View | Boundary::Namespaces => Provocation::Start,
        Boundary::Batch | Boundary::Time | Boundary::Report | Boundary::Write | Boundary::Queue => {
            Provocation::Change
        }
        Boundary::Source => Provocation::List("Widget"),
        Boundary::Target => Provocation::List("ConfigMap"),
        Boundary::Operator | Boundary::Spec => Provocation::Edit,
        Boundary::Finalizer => Provocation::Orphan,
        Boundary::Removal | Boundary::Stop | Boundary::Publish | Boundary::Chore(_) => {
            Provocation::Elsewhere
        }
    }
}

impl Provocation {
    fn happens(&self, world: &World) {
        world.widget("a", 2);
        match self {
            Self::Start | Self::Change | Self::Elsewhere => {}
            Self::List(kind) => world.server.with(|state| state.expire(kind)),
            Self::Edit => world.operator("victim", victim("edited")),
            Self::Orphan => {
                let spec = set(&victim(""), &["deletionPolicy"], "Orphan".into());
                world.operator("victim", spec);
            }
        }
    }
}

/// The victim crashes four times at a boundary, often enough that the status is written meanwhile,
/// while the neighbour works; then it recovers.
async fn check(boundary: Boundary, provocation: Provocation) {
    let bomb = Bomb::default();
    let mut world = world(&bomb, boundary);
    if matches!(provocation, Provocation::Start) {
        bomb.arm(4);
        world.start();
    } else {
        world.start();
        seconds(20).await;
        world.expect("victim", "True/Ready");
        world.expect("neighbour", "True/Ready");
        bomb.arm(4);
    }
    provocation.happens(&world);
    world
        .until("victim", "False/Crashed", Duration::from_mins(1))
        .await;
    let message = world.message("victim");
    assert!(message.contains(&boundary.to_string()), "{message}");
    expect_neighbour(&world).await;
    world
        .until("victim", "True/Ready", Duration::from_mins(2))
        .await;
    bomb.expect_growing_pauses();
    seconds(5).await;
    expect_data(&world, "victim-a", "2");
    expect_data(&world, "victim-c", "3");
    expect_reported(&world, boundary);
    world.expect("neighbour", "True/Ready");
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_anywhere_is_an_error_of_its_operator() {
    for boundary in Boundary::ALL {
        match provocation(boundary) {
            Provocation::Elsewhere => {}
            provocation => check(boundary, provocation).await,
        }
    }
}

/// Such a status cannot be written, but Events and the metric report the crash.
#[tokio::test(start_paused = true)]
async fn the_write_of_the_status() {
    let bomb = Bomb::default();
    let mut world = world(&bomb, Boundary::Publish);
    world.start();
    seconds(20).await;
    bomb.arm(4);
    world.operator("victim", victim("edited"));
    world.widget("a", 2);
    seconds(10).await;
    expect_data(&world, "victim-a", "2");
    expect_neighbour(&world).await;
    expect_reported(&world, Boundary::Publish);
    seconds(60).await;
    bomb.expect_growing_pauses();
    let operator = world.server.get(&operator("victim")).unwrap();
    let observed = operator.get("status").get("observedGeneration");
    assert_eq!(observed, operator.get("metadata").get("generation"));
    world.expect("victim", "True/Ready");
    world.stop().await;
}

/// A command to stop is obeyed, although the engine that it was for has crashed.
#[tokio::test(start_paused = true)]
async fn the_end_of_an_engine() {
    let bomb = Bomb::default();
    let mut world = world(&bomb, Boundary::Stop);
    world.start();
    seconds(20).await;
    bomb.arm(1);
    world.operator("victim", victim("edited"));
    expect_neighbour(&world).await;
    world
        .until("victim", "True/Ready", Duration::from_mins(1))
        .await;
    let object = world.server.get(&config_map("victim-c")).unwrap();
    assert_eq!(object.get("data").get("salt").as_str(), Some("edited"));
    expect_reported(&world, Boundary::Stop);
    bomb.arm(1);
    let start = Instant::now();
    world.stop().await;
    assert!(start.elapsed() < Duration::from_secs(5));
    bomb.expect_growing_pauses();
}

#[tokio::test(start_paused = true)]
async fn the_removal_of_all_objects() {
    let bomb = Bomb::default();
    let mut world = world(&bomb, Boundary::Removal);
    world.start();
    seconds(20).await;
    bomb.arm(4);
    world.server.delete(&operator("victim"));
    seconds(2).await;
    expect_neighbour(&world).await;
    expect_reported(&world, Boundary::Removal);
    seconds(60).await;
    bomb.expect_growing_pauses();
    assert_eq!(world.server.get(&operator("victim")), None);
    let left = ["neighbour-a", "neighbour-b", "neighbour-c"];
    assert_eq!(world.config_maps(), left);
    world.stop().await;
}

/// The task of a watch, which Operators share, goes on after panics in the requests for this path,
/// and misses no deletion.
async fn check_shared_watch(path: &'static str) {
    let mut world = World::new();
    for name in ["a", "b"] {
        world.widget(name, 1);
    }
    world.operator("one", copies("one-"));
    world.operator("two", copies("two-"));
    let bomb = Bomb::default();
    let (armed, inner) = (bomb.clone(), world.server.client(&Caller::new("deltic")));
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (bomb, inner) = (armed.clone(), inner.clone());
        async move {
            if request.uri().path().ends_with(path) {
                bomb.pass(path);
            }
            inner.send(request).await.map_err(tower::BoxError::from)
        }
    });
    world.start_on(kube::Client::new(service, "default"));
    seconds(20).await;
    world.expect("one", "True/Ready");
    bomb.arm(6);
    world.server.with(|state| state.expire("Widget"));
    world.server.delete(&widget("a"));
    world.server.with(|state| state.expire("Widget"));
    seconds(5).await;
    world.expect("one", "False/NotReady");
    let message = world.message("one");
    assert!(message.contains("an error in deltic itself"), "{message}");
    assert_eq!(world.config_maps(), ["one-a", "one-b", "two-a", "two-b"]);
    for name in ["one", "two"] {
        world
            .until(name, "True/Ready", Duration::from_mins(3))
            .await;
    }
    bomb.expect_growing_pauses();
    assert_eq!(world.config_maps(), ["one-b", "two-b"]);
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_shared_watch() {
    check_shared_watch("/widgets").await;
}

#[tokio::test(start_paused = true)]
async fn the_discovery_of_a_kind() {
    check_shared_watch("/apis/example.com/v1").await;
}

#[tokio::test(start_paused = true)]
async fn the_pauses_grow() {
    let bomb = Bomb::default();
    let mut world = world(&bomb, Boundary::Batch);
    bomb.arm(usize::MAX);
    world.start();
    seconds(600).await;
    let starts = bomb.starts();
    assert!((9..=13).contains(&starts.len()), "{} starts", starts.len());
    let pauses: Vec<Duration> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(pauses.is_sorted(), "{pauses:?}");
    world.expect("victim", "False/Crashed");
    world.expect("neighbour", "True/Ready");
    // A shutdown does not wait for the end of a pause.
    world.stop().await;
}

/// The next engine starts only when the requests of the crashed one have ended.
#[tokio::test(start_paused = true)]
async fn the_writes_of_two_engines_do_not_overlap() {
    let bomb = Bomb::default();
    let mut world = world(&bomb, Boundary::Source);
    world.start();
    seconds(20).await;
    let before = bomb.starts().len();
    world.always(
        "PUT /api/v1/namespaces/ns/configmaps",
        Fault::Slow(Duration::from_secs(20)),
    );
    world.widget("a", 2);
    seconds(2).await;
    bomb.arm(1);
    world.server.with(|state| state.expire("Widget"));
    let crash = Instant::now();
    seconds(60).await;
    let starts = bomb.starts();
    assert_eq!(starts.len(), before + 1);
    let waited = starts[before] - crash;
    assert!(waited > Duration::from_secs(15), "{waited:?}");
    expect_data(&world, "victim-a", "2");
    world.stop().await;
}
