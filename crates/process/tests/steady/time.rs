//! Deadlines and ticks, on a clock that may be set.

use std::sync::Arc;
use std::time::Duration;

use document::{Value, json};
use expr::Time;
use simulation::clock::{ClockSteps, ProcessClock, Virtual};

use super::{World, config_map, seconds, widget};

/// A world whose process has a clock that can be set.
fn timed() -> (World, ClockSteps, Virtual) {
    let mut world = World::new();
    let (clock, steps) = (Virtual::start(), ClockSteps::default());
    world.config.clock = Arc::new(ProcessClock::new(clock, steps.clone(), 1));
    (world, steps, clock)
}

/// A controller that derives a config map from each widget until its time is over.
pub(super) fn temporary() -> Value {
    json!({"controllers": [{
        "name": "temporary",
        "sources": [{"apiGroup": "example.com", "kind": "Widget"}],
        "pipeline": [
            {"@select": {"@lt": ["@now", "$.spec.until"]}},
            {"@project": {
                "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
                "data": {"until": "$.spec.until"},
            }},
        ],
        "target": {"apiGroup": "", "kind": "ConfigMap"},
        "options": {"maxDeletions": 1},
    }]})
}

/// Creates a widget whose time is over after these seconds.
fn lives(world: &World, clock: Virtual, name: &str, seconds: i64) {
    let until = Time::of_unix(clock.now().as_second() + seconds).unwrap();
    world.put(&widget(name), "spec", json!({"until": (until.to_string())}));
}

#[tokio::test(start_paused = true)]
async fn an_engine_sleeps_until_the_next_deadline() {
    let (mut world, _, clock) = timed();
    for (name, left) in [("a", 600), ("b", 600), ("c", 600), ("d", 1200)] {
        lives(&world, clock, name, left);
    }
    world.operator("o", temporary());
    world.start();
    seconds(10).await;
    world.expect("o", "True/Ready");
    assert_eq!(world.config_maps(), ["a", "b", "c", "d"]);
    let steps = || world.config.metrics.encode();
    let before = count(&steps());
    assert!(before > 0);
    seconds(585).await;
    assert_eq!(count(&steps()), before, "nothing is evaluated in between");
    assert_eq!(world.config_maps().len(), 4);
    // Deadlines do not count for maxDeletions.
    seconds(10).await;
    assert_eq!(world.config_maps(), ["d"]);
    assert_eq!(count(&steps()), before + 1);
    seconds(600).await;
    assert!(world.config_maps().is_empty());
    world.expect("o", "True/Ready");
    world.stop().await;
}

/// The number of steps so far.
fn count(metrics: &str) -> u64 {
    let line = metrics
        .lines()
        .find(|line| line.starts_with("deltic_steps_total"));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok())
        .unwrap_or(0)
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_forward_is_noticed() {
    let (mut world, steps, clock) = timed();
    lives(&world, clock, "a", 600);
    world.operator("o", temporary());
    world.start();
    seconds(30).await;
    assert_eq!(world.config_maps(), ["a"]);
    steps.step(600);
    seconds(15).await;
    assert!(world.config_maps().is_empty());
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_is_waited_for() {
    let (mut world, steps, clock) = timed();
    lives(&world, clock, "a", 600);
    world.operator("o", temporary());
    world.start();
    seconds(30).await;
    steps.step(-300);
    // The time does not go back, so this one is over already.
    lives(&world, clock, "late", -60);
    seconds(600).await;
    assert_eq!(world.config_maps(), ["a"]);
    seconds(300).await;
    assert!(world.config_maps().is_empty());
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_fell_due_while_no_process_ran_happens_at_the_start() {
    let (mut world, _, clock) = timed();
    lives(&world, clock, "a", 600);
    lives(&world, clock, "b", 6000);
    world.operator("o", temporary());
    world.start();
    seconds(10).await;
    assert_eq!(world.config_maps(), ["a", "b"]);
    world.stop().await;
    seconds(1000).await;
    assert_eq!(world.config_maps(), ["a", "b"]);
    world.start();
    seconds(10).await;
    assert_eq!(world.config_maps(), ["b"]);
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_periodic_source_moves_the_time_on() {
    let (mut world, _, _) = timed();
    world.widget("a", 1);
    let stamp = |name: &str, sources: Value| {
        json!({"controllers": [{
            "name": "stamp",
            "sources": sources,
            "pipeline": [{"@project": {
                "metadata": {"name": name, "namespace": "ns"},
                "data": {"at": "@now"},
            }}],
            "target": {"apiGroup": "", "kind": "ConfigMap"},
        }]})
    };
    let widgets = json!({"apiGroup": "example.com", "kind": "Widget"});
    let clock = json!({"kind": "Clock", "type": "Periodic", "parameters": {"period": "1m"}});
    world.operator("with", stamp("with", json!([(widgets.clone()), clock])));
    world.operator("without", stamp("without", json!([widgets])));
    world.start();
    seconds(10).await;
    let at = |name: &str| {
        let object = world.server.get(&config_map(name)).unwrap();
        Time::parse(object.get("data").get("at").as_str().unwrap()).unwrap()
    };
    let first = (at("with"), at("without"));
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert_eq!(at("without"), first.1);
    let moved = at("with").seconds() - first.0.seconds();
    assert!((240..=310).contains(&moved), "{moved}");
    world.stop().await;
}
