//! Small Operators whose documents would exhaust memory, stack or time, in a running process: each
//! gets an error, its neighbour works on, and the process can be stopped.

use std::time::Duration;

use document::{ListRef, Value, json};
use object::ObjectKey;
use tokio::time::Instant;

use super::{World, config_map, copies, seconds};

const FAILED: &str = "Unknown/ReconciliationFailed";

fn source() -> Value {
    json!({"apiGroup": "example.com", "kind": "Plain"})
}

fn controller(name: &str, source: Value, stages: Vec<Value>, target: Value) -> Value {
    let pipeline = Value::list(stages);
    json!({"name": name, "sources": [source], "pipeline": pipeline, "target": target})
}

/// An Operator with one controller of these stages.
fn operator(stages: Vec<Value>) -> Value {
    let target = json!({"apiGroup": "example.com", "kind": "Copy"});
    json!({"controllers": [(controller("bomb", source(), stages, target))]})
}

fn project(spec: Value) -> Value {
    let metadata = json!({"name": "$.metadata.name", "namespace": "$.metadata.namespace"});
    json!({"@project": {"metadata": metadata, "spec": spec}})
}

/// The text `spec.s` within this many levels.
fn nested(levels: usize) -> Value {
    (0..levels).fold(json!("$.spec.s"), |inner, _| json!({"a": inner}))
}

/// Two lists that double 60 times, and a last stage.
fn doubled(last: Value) -> Value {
    let double = project(json!({"s": ["$.spec.s", "$.spec.s"], "t": ["$.spec.t", "$.spec.t"]}));
    let mut stages = vec![double; 60];
    stages.push(last);
    operator(stages)
}

/// The codes in `lastErrors` of all controllers of the bomb.
fn codes(world: &World) -> Vec<String> {
    let status = world.status("bomb");
    let controllers = status.get("controllers").as_list().into_iter();
    let controllers = controllers.flat_map(ListRef::iter);
    let errors = controllers.filter_map(|one| one.get("lastErrors").as_list());
    let errors = errors.flat_map(ListRef::iter);
    let codes = errors.filter_map(|error| error.as_str()?.split(' ').next());
    codes.map(str::to_owned).collect()
}

/// Runs the Operator beside a neighbour. Its only error must have this code.
async fn is_contained(bomb: Value, code: &str) {
    let mut world = World::new();
    let plain = ObjectKey::new("example.com", "Plain", "ns", "o");
    world.operator("bomb", bomb);
    world.operator("neighbour", copies(""));
    world.start();
    for n in 0..5 {
        world.put(&plain, "spec", json!({"s": (n.to_string()), "t": "t"}));
        world.widget("a", n);
        seconds(10).await;
        let map = world.server.get(&config_map("a")).unwrap_or_default();
        assert_eq!(map.get("data").get("n"), &json!(n.to_string()));
        world.expect("neighbour", "True/Ready");
        world.expect("bomb", FAILED);
        assert_eq!(codes(&world), [code]);
    }
    assert_eq!(world.names("example.com", "Copy"), [""; 0]);
    // The error is that of the object, and goes with it.
    world.server.delete(&plain);
    let most = Duration::from_secs(10);
    world.until("bomb", "True/Ready", most).await;
    world.put(&plain, "spec", json!({"s": "s", "t": "t"}));
    world.until("bomb", FAILED, most).await;
    let start = Instant::now();
    world.stop().await;
    let took = start.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn lists_that_double_and_are_compared() {
    let bomb = doubled(json!({"@select": {"@eq": ["$.spec.s", "$.spec.t"]}}));
    is_contained(bomb, "too-large").await;
}

#[tokio::test(start_paused = true)]
async fn lists_that_double_and_are_hashed() {
    let bomb = doubled(project(json!({"s": {"@hash": "$.spec.s"}})));
    is_contained(bomb, "too-large").await;
}

#[tokio::test(start_paused = true)]
async fn stages_that_nest() {
    let stages = vec![project(json!({"s": (nested(60))})); 300];
    is_contained(operator(stages), "too-deep").await;
}

#[tokio::test(start_paused = true)]
async fn views_that_nest_each_other() {
    let nest = || vec![project(json!({"s": (nested(40))}))];
    let view = |kind: &str| json!({"kind": kind});
    let bomb = json!({"controllers": [
        (controller("first", source(), nest(), view("A"))),
        (controller("there", view("A"), nest(), view("B"))),
        (controller("back", view("B"), nest(), view("A"))),
    ]});
    is_contained(bomb, "too-deep").await;
}

#[tokio::test(start_paused = true)]
async fn a_pipeline_as_long_as_it_may_be() {
    let mut world = World::new();
    let one =
        json!({"@project": {"metadata": {"name": "one", "namespace": "ns"}, "spec": "$.spec"}});
    let mut stages = vec![json!({"@select": true}); dataflow::pipeline::MAX_STAGES - 1];
    stages.push(one);
    let copy = ObjectKey::new("example.com", "Copy", "ns", "one");
    let plain = |name: &str| ObjectKey::new("example.com", "Plain", "ns", name);
    world.operator("bomb", operator(stages.clone()));
    stages.push(json!({"@select": true}));
    world.operator("too-long", operator(stages));
    world.operator("neighbour", copies(""));
    for name in ["a", "b"] {
        world.put(&plain(name), "spec", json!({"of": name}));
    }
    world.start();
    world.widget("a", 1);
    seconds(10).await;
    world.expect("neighbour", "True/Ready");
    world.expect("bomb", FAILED);
    assert_eq!(codes(&world), ["conflict"]);
    let refused = world.status("too-long").to_string();
    assert!(refused.contains("too-many-stages"), "{refused}");
    // The document of the other object passes through all stages again.
    world.server.delete(&plain("a"));
    let most = Duration::from_secs(10);
    world.until("bomb", "True/Ready", most).await;
    let written = world.server.get(&copy).unwrap_or_default();
    assert_eq!(written.get("spec"), &json!({"of": "b"}));
    world.stop().await;
}
