//! `Ready` is True only while every derived object is as derived.

use std::time::Duration;

use document::json;
use simulation::faults::Fault;
use simulation::fields::{set, unset};

use super::{World, config_map, copies, operator, seconds, widget};

/// Every request that writes a config map takes this long.
fn slow(world: &World, pause: Duration) {
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let part = format!("{method} /api/v1/namespaces/ns/configmaps");
        world.always(&part, Fault::Slow(pause));
    }
}

/// A widget, and an Operator that has copied it.
async fn copied() -> World {
    let mut world = World::new();
    world.widget("a", 1);
    world.operator("o", copies(""));
    world.start();
    seconds(10).await;
    world.expect("o", "True/Ready");
    world
}

#[tokio::test(start_paused = true)]
async fn it_is_false_until_all_objects_are_written() {
    let mut world = World::new();
    for i in 0..400 {
        world.widget(&format!("w{i}"), i);
    }
    world.operator("o", copies(""));
    slow(&world, Duration::from_secs(1));
    world.start();
    let mut syncing = 0;
    while world.config_maps().len() < 400 {
        seconds(1).await;
        // A status that says True must be true when it is written.
        let written = world.config_maps().len();
        assert!(
            world.ready("o") != "True/Ready" || written == 400,
            "{written} of 400"
        );
        if world.ready("o") == "False/Syncing" {
            syncing += 1;
            let message = world.message("o");
            assert!(
                message.contains(" of 400 objects are as derived: "),
                "{message}"
            );
        }
    }
    assert!(syncing > 10, "{syncing}");
    // The status is not written for every object.
    let writes = world.server.with(|state| {
        let sent = state.trace.last();
        sent.iter()
            .filter(|line| line.contains("operators/o/status"))
            .count()
    });
    assert!(writes < 15, "{writes}");
    world
        .until("o", "True/Ready", Duration::from_secs(10))
        .await;
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn single_changes_do_not_make_it_flap() {
    let mut world = World::new();
    world.operator("o", copies(""));
    world.start();
    seconds(10).await;
    world.expect("o", "True/Ready");
    for i in 0..100 {
        world.widget("a", i);
        tokio::time::sleep(Duration::from_millis(200)).await;
        world.expect("o", "True/Ready");
    }
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_does_not_move_makes_it_false() {
    let mut world = copied().await;
    slow(&world, Duration::from_secs(15));
    world.widget("a", 2);
    world
        .until("o", "False/Syncing", Duration::from_secs(6))
        .await;
    let message = world.message("o");
    let expect = "0 of 1 objects are as derived: 1 is being written";
    assert!(message.contains(expect), "{message}");
    world
        .until("o", "True/Ready", Duration::from_secs(20))
        .await;
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_being_deleted_makes_it_false() {
    let mut world = copied().await;
    let finalizers = ["metadata", "finalizers"];
    let key = config_map("a");
    world.server.change(&key, "user", |old| {
        set(old, &finalizers, json!(["example.com/wait"]))
    });
    seconds(5).await;
    world.expect("o", "True/Ready");
    world.server.delete(&key);
    world
        .until("o", "False/Syncing", Duration::from_secs(6))
        .await;
    let message = world.message("o");
    assert!(
        message.contains("1 is being deleted by others"),
        "{message}"
    );
    seconds(60).await;
    world.expect("o", "False/Syncing");
    world
        .server
        .change(&key, "user", |old| unset(old, &finalizers));
    world
        .until("o", "True/Ready", Duration::from_secs(70))
        .await;
    assert_eq!(world.config_maps(), ["a"]);
    // So does one that deltic removes itself.
    world.server.change(&key, "user", |old| {
        set(old, &finalizers, json!(["example.com/wait"]))
    });
    seconds(5).await;
    world.server.delete(&widget("a"));
    world
        .until("o", "False/Syncing", Duration::from_secs(6))
        .await;
    let message = world.message("o");
    assert!(
        message.contains("1 object no longer derived is being removed"),
        "{message}"
    );
    world
        .server
        .change(&key, "user", |old| unset(old, &finalizers));
    world
        .until("o", "True/Ready", Duration::from_secs(70))
        .await;
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_patch_without_its_object_makes_it_false() {
    let mut world = World::new();
    world.widget("a", 1);
    let spec = set(&copies(""), &["controllers"], json!([]));
    let controller = copies("").get("controllers").at(0).clone();
    let controller = set(&controller, &["target", "type"], json!("Patcher"));
    let spec = set(&spec, &["controllers"], [controller].into_iter().collect());
    world.operator("o", spec);
    world.start();
    world
        .until("o", "False/Syncing", Duration::from_secs(10))
        .await;
    let message = world.message("o");
    assert!(
        message.contains("1 is waiting for the object to patch"),
        "{message}"
    );
    world.put(&config_map("a"), "data", json!({"mine": "x"}));
    world
        .until("o", "True/Ready", Duration::from_secs(10))
        .await;
    let patched = world.server.get(&config_map("a")).unwrap_or_default();
    assert_eq!(patched.get("data").get("n").as_str(), Some("1"));
    assert!(world.server.get(&operator("o")).is_some());
    world.stop().await;
}

/// A server closes the watches of a kind soon after its definition is deleted.
#[tokio::test(start_paused = true)]
async fn a_source_whose_kind_is_gone_makes_it_false_at_once() {
    let mut world = copied().await;
    world.drop_kind("example.com", "Widget");
    let took = world
        .until("o", "False/NotReady", Duration::from_secs(3))
        .await;
    // Changes of the status are collected for a second.
    assert!(took < Duration::from_secs(2), "{took:?}");
    let message = world.message("o");
    assert!(message.contains("Widget"), "{message}");
    world.serve_all();
    world.widget("a", 1);
    world
        .until("o", "True/Ready", Duration::from_secs(10))
        .await;
    assert_eq!(world.config_maps(), ["a"]);
    world.stop().await;
}
