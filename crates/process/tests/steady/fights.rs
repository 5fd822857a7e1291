//! Others that keep changing or deleting a target, and controllers that derive the same object.

use std::time::Duration;

use document::{Value, json};
use object::ObjectKey;
use simulation::faults::Fault;
use simulation::fields::set;

use super::{World, config_map, copies, seconds, widget};

/// A world with the config map `a`, which somebody else has created.
async fn world() -> World {
    let mut world = World::new();
    world.widget("a", 1);
    let object = json!({"metadata": {"labels": {"made": "by-hand"}}, "data": {"other": "1"}});
    world.server.put(&config_map("a"), "creator", &object);
    world.operator("o", copies(""));
    world.start();
    seconds(10).await;
    world.expect("o", "True/Ready");
    world
}

#[tokio::test(start_paused = true)]
async fn the_rival_is_named_and_not_the_creator() {
    let mut world = world().await;
    for i in 0..20 {
        let n = ["data", "n"];
        let value = json!(format!("rival {i}"));
        world
            .server
            .change(&config_map("a"), "rival", |old| set(old, &n, value));
        seconds(1).await;
    }
    world.expect("o", "Unknown/ReconciliationFailed");
    let message = world.message("o");
    assert!(message.contains("fighting"), "{message}");
    assert!(message.contains(".data.n"), "{message}");
    assert!(
        message.contains("changed back repeatedly by rival;"),
        "{message}"
    );
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_deleted_again_and_again_is_created_with_growing_pauses() {
    let mut world = world().await;
    world.requests("");
    for _ in 0..300 {
        world.server.delete(&config_map("a"));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let created = world.requests("POST /api/v1/namespaces/ns/configmaps");
    assert!((4..=9).contains(&created), "{created} times");
    world.expect("o", "Unknown/ReconciliationFailed");
    let message = world.message("o");
    assert!(message.contains("fighting"), "{message}");
    assert!(
        message.contains("the object is deleted repeatedly"),
        "{message}"
    );
    assert!(!world.events("Fighting").is_empty());
    // Nobody deletes it any more: it is created again, and the fight is over after a while.
    seconds(60).await;
    assert_eq!(world.config_maps(), ["a"]);
    world
        .until("o", "True/Ready", Duration::from_mins(10))
        .await;
    world.stop().await;
}

/// Two controllers that derive the same config maps, from Widgets and from Plains.
fn two() -> Value {
    let controller = |name: &str, kind: &str| {
        json!({
            "name": name,
            "sources": [{"apiGroup": "example.com", "kind": kind}],
            "pipeline": [{"@project": {
                "metadata": {"name": "$.metadata.name", "namespace": "ns"}, "data": {"from": kind},
            }}],
            "target": {"apiGroup": "", "kind": "ConfigMap"},
        })
    };
    json!({"controllers": [(controller("first", "Widget")), (controller("second", "Plain"))]})
}

#[tokio::test(start_paused = true)]
async fn a_controller_does_not_take_what_another_one_has_not_derived_yet() {
    let plain = ObjectKey::new("example.com", "Plain", "ns", "a");
    let mut world = World::new();
    world.widget("a", 1);
    world.put(&plain, "spec", json!({}));
    world.operator("o", two());
    world.start();
    seconds(20).await;
    let from = |world: &World| {
        let object = world.server.get(&config_map("a")).unwrap_or_default();
        object.get("data").get("from").as_str().map(str::to_owned)
    };
    assert_eq!(from(&world).as_deref(), Some("Widget"));
    world.stop().await;
    // The sources of the first controller cannot be listed for a while.
    world.always("/widgets", Fault::Slow(Duration::from_secs(20)));
    let before = world.server.get(&config_map("a"));
    world.start();
    seconds(10).await;
    assert_eq!(from(&world).as_deref(), Some("Widget"));
    // The other one no longer derives it, and then derives it again.
    world.server.delete(&plain);
    seconds(5).await;
    assert_eq!(from(&world).as_deref(), Some("Widget"));
    world.put(&plain, "spec", json!({}));
    seconds(60).await;
    assert_eq!(from(&world).as_deref(), Some("Widget"));
    assert_eq!(world.server.get(&config_map("a")), before);
    // What the first one no longer derives is written by the other one.
    world.stop().await;
    world.server.delete(&widget("a"));
    world.start();
    seconds(10).await;
    assert_eq!(from(&world).as_deref(), Some("Widget"));
    seconds(60).await;
    assert_eq!(from(&world).as_deref(), Some("Plain"));
    world.stop().await;
}

/// A controller that derives config maps from Widgets, and one that labels them.
fn labelled() -> Value {
    let project = |fields: Value| json!([{"@project": (fields)}]);
    let name = json!({"name": "$.metadata.name", "namespace": "ns"});
    let labelled = set(&name, &["labels"], json!({"team": "a"}));
    json!({"controllers": [
        {
            "name": "base",
            "sources": [{"apiGroup": "example.com", "kind": "Widget"}],
            "pipeline": (project(json!({"metadata": (name), "data": {"from": "Widget"}}))),
            "target": {"apiGroup": "", "kind": "ConfigMap"},
        },
        {
            "name": "labels",
            "sources": [{"apiGroup": "example.com", "kind": "Plain"}],
            "pipeline": (project(json!({"metadata": (labelled)}))),
            "target": {"apiGroup": "", "kind": "ConfigMap", "type": "Patcher"},
        },
    ]})
}

#[tokio::test(start_paused = true)]
async fn an_updater_does_not_remove_what_a_patcher_has_not_derived_yet() {
    let plain = ObjectKey::new("example.com", "Plain", "ns", "a");
    let mut world = World::new();
    world.widget("a", 1);
    world.put(&plain, "spec", json!({}));
    world.operator("o", labelled());
    world.start();
    seconds(20).await;
    let team = |world: &World| {
        let object = world.server.get(&config_map("a")).unwrap_or_default();
        let labels = object.get("metadata").get("labels");
        labels.get("team").as_str().map(str::to_owned)
    };
    assert_eq!(team(&world).as_deref(), Some("a"));
    world.stop().await;
    // The sources of the Patcher cannot be listed for a while.
    world.always("/plains", Fault::Slow(Duration::from_secs(20)));
    let before = world.server.get(&config_map("a"));
    world.start();
    seconds(60).await;
    assert_eq!(world.server.get(&config_map("a")), before);
    // What it no longer derives is taken back.
    world.stop().await;
    world.server.delete(&plain);
    world.start();
    seconds(10).await;
    assert_eq!(team(&world).as_deref(), Some("a"));
    seconds(60).await;
    assert_eq!(team(&world), None);
    assert!(world.server.get(&config_map("a")).is_some());
    world.stop().await;
}

/// After a restart, the Patcher has lost what it derived for an object that is in error now.
#[tokio::test(start_paused = true)]
async fn an_updater_does_not_remove_what_a_patcher_has_set_for_an_object_in_error() {
    let plain = |name: &str| ObjectKey::new("example.com", "Plain", "ns", name);
    let spec = labelled();
    let team = json!({"@concat": ["team-", "$.spec.team"]});
    let patcher = spec.get("controllers").at(1);
    let metadata = patcher.get("pipeline").at(0).get("@project");
    let project = set(metadata, &["metadata", "labels", "team"], team);
    let patcher = set(patcher, &["pipeline"], json!([{"@project": project}]));
    let updater = spec.get("controllers").at(0).clone();
    let mut world = World::new();
    world.operator("o", json!({"controllers": [updater, patcher]}));
    for name in ["a", "b"] {
        world.widget(name, 1);
        world.put(&plain(name), "spec", json!({"team": "1"}));
    }
    world.start();
    seconds(20).await;
    let team = |world: &World, name: &str| {
        let object = world.server.get(&config_map(name)).unwrap_or_default();
        let labels = object.get("metadata").get("labels");
        labels.get("team").as_str().map(str::to_owned)
    };
    assert_eq!(team(&world, "a").as_deref(), Some("team-1"));
    world.stop().await;
    world.put(&plain("a"), "spec", json!({}));
    world.put(&plain("b"), "spec", json!({"team": "2"}));
    let before = world.server.get(&config_map("a"));
    world.start();
    seconds(60).await;
    world.expect("o", "Unknown/ReconciliationFailed");
    assert_eq!(world.server.get(&config_map("a")), before);
    assert_eq!(team(&world, "b").as_deref(), Some("team-2"), "others go on");
    world.put(&plain("a"), "spec", json!({"team": "3"}));
    seconds(20).await;
    assert_eq!(team(&world, "a").as_deref(), Some("team-3"));
    world.expect("o", "True/Ready");
    world.stop().await;
}
