//! `maxDeletions`: the removals of lists, re-lists and edits are summed, and held if they are more
//! than the limit. The tests run a whole deltic on the API server in memory.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod edits;
mod leftovers;
mod lists;
mod views;
mod world;

use document::{Value, json};
use simulation::fields::set;
use world::{World, config_map, names, plain, rest, widget};

/// A controller that derives a config map from every widget, named with a suffix.
fn copy(name: &str, suffix: &str) -> Value {
    from("example.com", "Widget", name, suffix)
}

/// A controller that derives a config map from every object of a kind.
fn from(group: &str, kind: &str, name: &str, suffix: &str) -> Value {
    json!({
        "name": name,
        "sources": [{"apiGroup": group, "kind": kind}],
        "pipeline": [{"@project": {
            "metadata": {
                "name": {"@concat": ["$.metadata.name", suffix]},
                "namespace": "$.metadata.namespace"
            },
            "data": {"k": "v"}
        }}],
        "target": {"apiGroup": "", "kind": "ConfigMap"}
    })
}

/// A controller that derives a config map from every Widget and every Plain.
fn union(name: &str) -> Value {
    json!({
        "name": name,
        "sources": [
            {"apiGroup": "example.com", "kind": "Widget"},
            {"apiGroup": "example.com", "kind": "Plain"}
        ],
        "pipeline": [
            [{"@inputs": ["Widget"]}, {"@output": "all"}],
            [{"@inputs": ["Plain"]}, {"@output": "all"}],
            [{"@inputs": ["all"]}, {"@project": {
                "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"}
            }}, {"@output": "ConfigMap"}]
        ],
        "target": {"apiGroup": "", "kind": "ConfigMap"}
    })
}

/// A `ConfigMap` named by the label `to`, with the number in the label `n`.
fn numbered() -> Value {
    let project = json!({"@project": {
        "metadata": {"name": "$.metadata.labels.to", "namespace": "$.metadata.namespace"},
        "data": {"from": "$.metadata.name", "n": {"@string": {"@int": "$.metadata.labels.n"}}}
    }});
    set(&copy("c", ""), &["pipeline"], json!([project]))
}

/// Deletes two Widgets and two Plains from which config maps were derived. The list without the
/// Plains completes later than the one without the Widgets.
async fn lists_one_after_the_other(world: &mut World) {
    for name in ["p0", "p1"] {
        world.make(&plain(name));
    }
    world.start();
    rest().await;
    assert_eq!(world.count(), 4, "{}", world.status("a"));
    world.answer_no_lists("Plain");
    world.expire("Plain");
    world.lose([widget("o0"), widget("o1")]).await;
    assert_eq!(world.count(), 4);
    assert_ne!(world.reason("a"), "Ready");
    world.delete(&plain("p0"));
    world.delete(&plain("p1"));
    world.answer_all();
    rest().await;
}

/// A controller with `options.maxDeletions`.
fn limited(controller: &Value, max: Value) -> Value {
    set(controller, &["options", "maxDeletions"], max)
}

fn spec(controllers: &[&Value]) -> Value {
    let controllers: Value = controllers.iter().map(|&one| one.clone()).collect();
    json!({"controllers": controllers})
}

/// A spec with `maxDeletions` for all controllers.
fn limited_spec(controllers: &[&Value], max: Value) -> Value {
    set(&spec(controllers), &["maxDeletions"], max)
}

/// A cluster with this many widgets, and an Operator `a` that has derived everything from them.
async fn running(widgets: usize, spec: &Value) -> World {
    let mut world = World::new(widgets);
    world.apply("a", spec);
    world.start();
    rest().await;
    assert_eq!(world.reason("a"), "Ready", "{}", world.status("a"));
    world
}

fn widgets(count: usize) -> impl Iterator<Item = object::ObjectKey> {
    names(count).into_iter().map(|name| widget(&name))
}
