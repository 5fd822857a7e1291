//! A panic in the code of one Operator is that Operator's error, and nobody else notices.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use document::json;
use engine::guard::{Boundary, FailPoints};
use kube::client::Body;
use simulation::api::Caller;
use simulation::faults::Fault;
use tokio::time::Instant;

use super::{World, config_map, copies, seconds, widget};

/// Panics at one boundary of the Operator `victim`, as often as it is armed.
#[derive(Clone, Default)]
struct Bomb {
    armed: Arc<AtomicUsize>,
    /// When an engine of the victim was started.
    starts: Arc<Mutex<Vec<Instant>>>,
}

impl Bomb {
    fn at(&self, boundary: Boundary) -> FailPoints {
        let bomb = self.clone();
        FailPoints::new(move |operator, passed| {
            if operator != "victim" {
                return;
            }
            if passed == Boundary::Engine {
                bomb.starts.lock().unwrap().push(Instant::now());
            }
            let left = |left: usize| left.checked_sub(1);
            let armed = &bomb.armed;
            let explodes = passed == boundary && armed.fetch_update(SeqCst, SeqCst, left).is_ok();
            assert!(!explodes, "a bomb at {passed}");
        })
    }

    fn arm(&self, times: usize) {
        self.armed.store(times, SeqCst);
    }

    fn starts(&self) -> Vec<Instant> {
        self.starts.lock().unwrap().clone()
    }
}

/// A world in which the Operators `victim` and `neighbour` derive config maps from widgets. The
/// victim also fills a view and reads it.
fn world(bomb: &Bomb, boundary: Boundary) -> World {
    let mut world = World::new();
    world.config.fail_points = bomb.at(boundary);
    for name in ["a", "b"] {
        world.widget(name, 1);
    }
    let name = json!({"name": "$.metadata.name", "namespace": "$.metadata.namespace"});
    let victim = json!({"controllers": [
        {
            "name": "view",
            "sources": [{"apiGroup": "example.com", "kind": "Widget"}],
            "pipeline": [{"@project": {"metadata": (name.clone()), "n": "$.spec.n"}}],
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
                "data": {"n": {"@string": "$.n"}},
            }}],
            "target": {"apiGroup": "", "kind": "ConfigMap"},
        },
    ]});
    world.operator("victim", victim);
    world.operator("neighbour", copies("neighbour-"));
    world
}

fn expect_data(world: &World, name: &str, n: &str) {
    let object = world.server.get(&config_map(name)).unwrap_or_default();
    let found = object.get("data").get("n").as_str().map(str::to_owned);
    assert_eq!(found.as_deref(), Some(n), "{name}");
}

/// The victim crashes twice at a boundary, while the neighbour works; then it recovers.
async fn check(boundary: Boundary, provoke: impl FnOnce(&World)) {
    let bomb = Bomb::default();
    let mut world = world(&bomb, boundary);
    world.start();
    seconds(20).await;
    world.expect("victim", "True/Ready");
    world.expect("neighbour", "True/Ready");
    // Often enough that the status is written meanwhile.
    bomb.arm(4);
    provoke(&world);
    world
        .until("victim", "False/Crashed", Duration::from_mins(1))
        .await;
    let message = world.message("victim");
    assert!(message.contains(&boundary.to_string()), "{message}");
    world.widget("c", 3);
    seconds(3).await;
    expect_data(&world, "neighbour-c", "3");
    world.expect("neighbour", "True/Ready");
    world
        .until("victim", "True/Ready", Duration::from_mins(2))
        .await;
    assert_eq!(bomb.armed.load(SeqCst), 0);
    expect_data(&world, "victim-a", "2");
    expect_data(&world, "victim-c", "3");
    let crashes = world.events("Crashed");
    assert!(!crashes.is_empty());
    let metrics = world.config.metrics.encode();
    let line = r#"deltic_crashes_total{operator="victim"} "#;
    assert!(metrics.contains(line), "{metrics}");
    world.expect("neighbour", "True/Ready");
    world.stop().await;
}

fn change(world: &World) {
    world.widget("a", 2);
}

#[tokio::test(start_paused = true)]
async fn a_batch() {
    check(Boundary::Batch, change).await;
}

#[tokio::test(start_paused = true)]
async fn a_write() {
    check(Boundary::Write, change).await;
}

#[tokio::test(start_paused = true)]
async fn the_queue() {
    check(Boundary::Queue, change).await;
}

#[tokio::test(start_paused = true)]
async fn the_delivery_of_a_source() {
    check(Boundary::Source, |world| {
        change(world);
        world.server.with(|state| state.expire("Widget"));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_delivery_of_a_target() {
    check(Boundary::Target, |world| {
        change(world);
        world.server.with(|state| state.expire("ConfigMap"));
    })
    .await;
}

/// Crashes at places that an engine passes only when it starts.
async fn check_start(boundary: Boundary) {
    let bomb = Bomb::default();
    let mut world = world(&bomb, boundary);
    bomb.arm(4);
    world.start();
    world
        .until("victim", "False/Crashed", Duration::from_mins(1))
        .await;
    world
        .until("neighbour", "True/Ready", Duration::from_mins(1))
        .await;
    world
        .until("victim", "True/Ready", Duration::from_mins(2))
        .await;
    expect_data(&world, "victim-a", "1");
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_start_of_an_engine() {
    check_start(Boundary::Engine).await;
}

#[tokio::test(start_paused = true)]
async fn the_reader_of_a_view() {
    check_start(Boundary::View).await;
}

#[tokio::test(start_paused = true)]
async fn the_watch_of_namespaces() {
    check_start(Boundary::Namespaces).await;
}

/// The task of a watch, which Operators share, goes on after a panic and misses no deletion.
#[tokio::test(start_paused = true)]
async fn a_shared_watch() {
    let mut world = World::new();
    for name in ["a", "b"] {
        world.widget(name, 1);
    }
    world.operator("one", copies("one-"));
    world.operator("two", copies("two-"));
    let bomb = Bomb::default();
    let (armed, inner) = (
        bomb.armed.clone(),
        world.server.client(&Caller::new("deltic")),
    );
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (armed, inner) = (armed.clone(), inner.clone());
        async move {
            let left = |left: usize| left.checked_sub(1);
            let widgets = request.uri().path().ends_with("/widgets");
            let explodes = widgets && armed.fetch_update(SeqCst, SeqCst, left).is_ok();
            assert!(!explodes, "a bomb in a request");
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
    assert_eq!(bomb.armed.load(SeqCst), 0);
    assert_eq!(world.config_maps(), ["one-b", "two-b"]);
    world.stop().await;
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
