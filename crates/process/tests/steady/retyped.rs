//! Targets whose type is edited: Updater, Patcher, Applier.

use document::{Value, json};
use object::ObjectKey;
use simulation::fields::at;

use super::patches::deployment;
use super::{World, seconds};

/// Derives the Deployment from a `ConfigMap`, for a target of this type.
fn derives(kind: &str, value: &str) -> Value {
    let document = json!({
        "metadata": {"name": "web", "namespace": "ns"},
        "spec": {"x": (value), "common": (value), "sub": {"x": (value), "common": (value)}}
    });
    json!({"controllers": [{
        "name": "c", "sources": [{"apiGroup": "", "kind": "ConfigMap"}],
        "pipeline": [{"@project": document}],
        "target": {"apiGroup": "apps", "kind": "Deployment", "type": (kind)},
    }]})
}

/// An Updater that writes the Deployment is edited into a Patcher.
async fn becomes_a_patcher(world: &mut World) {
    let source = ObjectKey::new("", "ConfigMap", "ns", "source");
    world.server.put(&source, "user", &json!({}));
    world.operator("o", derives("Updater", "B"));
    world.start();
    seconds(30).await;
    world.expect("o", "True/Ready");
    assert_eq!(at(&world.web(), &["spec", "x"]), &json!("B"));
    world.operator("o", derives("Patcher", "C"));
    seconds(30).await;
}

#[tokio::test(start_paused = true)]
async fn an_updater_that_becomes_a_patcher_patches_at_once() {
    let mut world = World::new();
    let theirs = json!({"spec": {"user": 1, "common": "orig"}});
    world.server.put(&deployment(), "user", &theirs);
    becomes_a_patcher(&mut world).await;
    let spec = ["x", "common"].map(|field| at(&world.web(), &["spec", field]).clone());
    assert_eq!(spec, [json!("C"), json!("C")]);
    world.expect("o", "True/Ready");
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_updater_that_becomes_a_patcher_waits_for_what_it_had_created() {
    let mut world = World::new();
    becomes_a_patcher(&mut world).await;
    assert_eq!(world.web(), Value::NULL);
    world.expect("o", "False/Syncing");
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn former_values_survive_a_while_as_an_applier() {
    let mut world = World::new();
    let theirs = json!({"spec": {"user": 1, "common": "orig", "sub": {"common": "orig"}}});
    world.server.put(&deployment(), "user", &theirs);
    let source = ObjectKey::new("", "ConfigMap", "ns", "source");
    world.server.put(&source, "user", &json!({}));
    world.operator("o", derives("Patcher", "A"));
    world.start();
    seconds(30).await;
    let spec = |world: &World| {
        ["user", "common", "x", "sub"].map(|field| at(&world.web(), &["spec", field]).clone())
    };
    assert_eq!(
        spec(&world),
        [
            json!(1),
            json!("A"),
            json!("A"),
            json!({"common": "A", "x": "A"})
        ]
    );
    world.operator("o", derives("Applier", "B"));
    seconds(30).await;
    assert_eq!(
        spec(&world),
        [
            json!(1),
            json!("B"),
            json!("B"),
            json!({"common": "B", "x": "B"})
        ]
    );
    world.operator("o", derives("Patcher", "C"));
    seconds(30).await;
    assert_eq!(
        spec(&world),
        [
            json!(1),
            json!("C"),
            json!("C"),
            json!({"common": "C", "x": "C"})
        ]
    );
    world.expect("o", "True/Ready");
    world.operator(
        "o",
        json!({"controllers": [{
            "name": "c", "sources": [{"apiGroup": "", "kind": "ConfigMap"}],
            "pipeline": [{"@select": false}],
            "target": {"apiGroup": "apps", "kind": "Deployment", "type": "Patcher"},
        }]}),
    );
    seconds(30).await;
    assert_eq!(
        spec(&world),
        [
            json!(1),
            json!("orig"),
            Value::NULL,
            json!({"common": "orig"})
        ]
    );
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_updater_that_becomes_an_applier_leaves_no_nulls_behind() {
    let mut world = World::new();
    let theirs = json!({"spec": {"user": 1, "common": "orig", "sub": {"common": "orig"}}});
    world.server.put(&deployment(), "user", &theirs);
    let source = ObjectKey::new("", "ConfigMap", "ns", "source");
    world.server.put(&source, "user", &json!({}));
    world.operator("o", derives("Updater", "B"));
    world.start();
    seconds(30).await;
    world.operator("o", derives("Applier", "C"));
    seconds(30).await;
    assert_eq!(at(&world.web(), &["spec", "sub", "x"]), &json!("C"));
    world.server.delete(&source);
    seconds(30).await;
    let spec = world.web().get("spec").clone();
    assert!(!spec.to_string().contains("null"), "{spec}");
    assert!(world.web().get("metadata").get("annotations").is_null());
    world.stop().await;
}
