//! A batch, a start or a spec that takes long holds up nobody else. These tests need real threads and real time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use document::{Value, json};
use engine::guard::{Boundary, FailPoints};
use object::ObjectKey;

use super::{World, config_map, copies};

/// How long the step of the bomb may take. It would need hours.
const STEP_TIME: Duration = Duration::from_mins(1);

/// Hashes ten billion numbers for each Plain.
fn hashes() -> Value {
    let numbers = json!({"@range": 100_000});
    let none = json!({"@eq": [{"@hash": "$$"}, "none"]});
    let none = json!({"@eq": [{"@filter": [(none), (numbers.clone())]}, [1]]});
    json!({"controllers": [{
        "name": "hashes",
        "sources": [{"apiGroup": "example.com", "kind": "Plain"}],
        "pipeline": [{"@select": {"@eq": [{"@filter": [(none), (numbers)]}, [1]]}}],
        "target": {"apiGroup": "example.com", "kind": "Copy"},
    }]})
}

/// A cluster with a process whose Operator `bomb` works on a step that does not end.
async fn bomb() -> World {
    let mut world = World::new();
    world.server.with(|state| state.faults.no_delays());
    world.config.budget.steps = u64::MAX;
    world.config.budget.step_time = STEP_TIME;
    world.operator("bomb", hashes());
    world.operator("neighbour", copies(""));
    world.start();
    within(Duration::from_secs(30), "both run", || {
        ["bomb", "neighbour"].map(|name| world.ready(name)) == ["True/Ready"; 2]
    })
    .await;
    let plain = ObjectKey::new("example.com", "Plain", "ns", "o");
    world.put(&plain, "spec", json!({"n": 1}));
    within(Duration::from_secs(30), "the step is under way", || {
        is_busy(&world)
    })
    .await;
    world
}

fn is_busy(world: &World) -> bool {
    let message = world.message("bomb");
    message.contains("a batch of changes has taken longer")
}

async fn neighbour_works(world: &World) {
    for n in 0..5 {
        world.widget("a", n);
        within(Duration::from_secs(10), "the neighbour works", || {
            let object = world.server.get(&config_map("a")).unwrap_or_default();
            let expect = n.to_string();
            object.get("data").get("n").as_str() == Some(expect.as_str())
        })
        .await;
    }
}

async fn within(limit: Duration, what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < limit, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_long_step_holds_up_neither_neighbours_nor_a_shutdown() {
    let mut world = bomb().await;
    neighbour_works(&world).await;
    assert!(is_busy(&world), "{}", world.message("bomb"));
    let start = Instant::now();
    world.stop().await;
    let took = start.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_edit_does_not_wait_for_a_long_step() {
    let mut world = bomb().await;
    world.operator("bomb", copies("bomb-"));
    world.widget("a", 1);
    within(Duration::from_secs(10), "the new spec runs", || {
        world.server.get(&config_map("bomb-a")).is_some()
    })
    .await;
    world.stop().await;
}

/// Reading the spec, and planning the engine: both are bounded, but not short.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_long_start_holds_up_no_neighbours() {
    for slow in [Boundary::Spec, Boundary::Engine] {
        let mut world = World::new();
        world.server.with(|state| state.faults.no_delays());
        let (waits, ends) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicBool::new(false)),
        );
        let (at, end) = (waits.clone(), ends.clone());
        world.config.fail_points = FailPoints::new(move |operator, passed| {
            if operator == "bomb" && passed == slow {
                at.store(true, Ordering::SeqCst);
                let start = Instant::now();
                while !end.load(Ordering::SeqCst) && start.elapsed() < STEP_TIME {
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
        });
        world.operator("bomb", copies("bomb-"));
        world.operator("neighbour", copies(""));
        world.start();
        within(Duration::from_secs(10), "the start is under way", || {
            waits.load(Ordering::SeqCst)
        })
        .await;
        neighbour_works(&world).await;
        assert!(world.server.get(&config_map("bomb-a")).is_none());
        ends.store(true, Ordering::SeqCst);
        within(Duration::from_secs(10), "the bomb runs", || {
            world.server.get(&config_map("bomb-a")).is_some()
        })
        .await;
        world.stop().await;
    }
}

/// The largest chain that the API server accepts.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_large_operator_is_planned_in_a_moment() {
    let mut world = World::new();
    world.server.with(|state| state.faults.no_delays());
    let kinds = |number: usize| (0..32).map(move |view| format!("V{number}x{view}"));
    let listed = |number: usize| kinds(number).map(|kind| json!({"kind": kind}));
    let controllers = (0..255).map(|number| {
        let branches = kinds(number).zip(kinds(number + 1));
        let branches =
            branches.map(|(input, output)| json!([{"@inputs": [input]}, {"@output": output}]));
        json!({
            "name": (format!("c{number}")),
            "sources": (listed(number).collect::<Value>()),
            "pipeline": (branches.collect::<Value>()),
            "targets": (listed(number + 1).collect::<Value>()),
        })
    });
    world.operator(
        "bomb",
        json!({"controllers": (controllers.collect::<Value>())}),
    );
    world.operator("neighbour", copies(""));
    world.start();
    neighbour_works(&world).await;
    within(Duration::from_mins(1), "the bomb runs", || {
        world.ready("bomb") == "True/Ready"
    })
    .await;
    neighbour_works(&world).await;
    world.stop().await;
}
