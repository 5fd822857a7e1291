//! A batch that takes long holds up nobody else. These tests need real threads and real time.

use std::time::{Duration, Instant};

use document::{Value, json};
use object::ObjectKey;

use super::{World, config_map, copies};

/// Hashes every Plain with every Thing, and finds nothing.
fn cross_join() -> Value {
    json!({"controllers": [{
        "name": "pairs",
        "sources": [
            {"apiGroup": "example.com", "kind": "Plain"},
            {"apiGroup": "example.com", "kind": "Thing"},
        ],
        "pipeline": [
            {"@join": {"@eq": [{"@hash": {"a": "$.Plain.spec", "b": "$.Thing.spec"}}, "none"]}},
            {"@project": {"metadata": {"name": "$.Plain.metadata.name", "namespace": "ns"}}},
        ],
        "target": {"apiGroup": "example.com", "kind": "Copy"},
    }]})
}

fn bomb() -> World {
    let mut world = World::new();
    world.server.with(|state| state.faults.no_delays());
    world.config.budget.candidates = u64::MAX;
    world.config.budget.step_time = Duration::from_mins(5);
    for i in 0..6_000 {
        for (kind, n) in [("Plain", 2), ("Thing", 1)] {
            let key = ObjectKey::new("example.com", kind, "ns", &format!("o{i}"));
            world.put(&key, "spec", json!({"n": n}));
        }
    }
    world.operator("bomb", cross_join());
    world.operator("neighbour", copies(""));
    world
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
    let mut world = bomb();
    world.start();
    within(Duration::from_secs(30), "the bomb runs", || {
        world.message("bomb").contains("waiting for the views")
            || world.message("bomb").contains("not read yet")
    })
    .await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    for n in 0..5 {
        world.widget("a", n);
        within(Duration::from_secs(10), "the neighbour works", || {
            let object = world.server.get(&config_map("a")).unwrap_or_default();
            let expect = n.to_string();
            object.get("data").get("n").as_str() == Some(expect.as_str())
        })
        .await;
    }
    // The step is still under way: it takes minutes, and ends at once with the process.
    world.expect("bomb", "False/NotReady");
    let start = Instant::now();
    world.stop().await;
    let took = start.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
}
