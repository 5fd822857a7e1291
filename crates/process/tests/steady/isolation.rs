//! A batch that takes long holds up nobody else. These tests need real threads and real time.

use std::time::{Duration, Instant};

use document::{Value, json};
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
    for n in 0..5 {
        world.widget("a", n);
        within(Duration::from_secs(10), "the neighbour works", || {
            let object = world.server.get(&config_map("a")).unwrap_or_default();
            let expect = n.to_string();
            object.get("data").get("n").as_str() == Some(expect.as_str())
        })
        .await;
    }
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
