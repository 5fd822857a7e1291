//! Objects that two controllers derive, while one of them cannot read its source.

use document::{Value, json};
use object::ObjectKey;

use super::{World, config_map, seconds, widget};

/// A controller that derives a config map from each object of a kind.
fn copies(kind: &str) -> Value {
    json!({
        "name": kind,
        "sources": [{"apiGroup": "example.com", "kind": kind}],
        "pipeline": [{"@project": {
            "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
            "data": {"from": kind},
        }}],
        "target": {"apiGroup": "", "kind": "ConfigMap"},
    })
}

/// The kind that a config map was derived from.
fn kind_of(world: &World, name: &str) -> Option<String> {
    let object = world.server.get(&config_map(name))?;
    object.get("data").get("from").as_str().map(str::to_owned)
}

#[tokio::test(start_paused = true)]
async fn an_object_that_waits_for_another_controller_is_created_once_somebody_deletes_it() {
    let mut world = World::new();
    let both: Value = [copies("Widget"), copies("Plain")].into_iter().collect();
    world.operator("o", json!({"controllers": both}));
    world.put(&widget("a"), "spec", json!({}));
    let plain = ObjectKey::new("example.com", "Plain", "ns", "a");
    world.put(&plain, "spec", json!({}));
    world.start();
    seconds(20).await;
    assert_eq!(kind_of(&world, "a").as_deref(), Some("Widget"));
    world.stop().await;
    world.server.with(|state| state.unanswered.insert("Widget"));
    world.start();
    seconds(20).await;
    assert_eq!(kind_of(&world, "a").as_deref(), Some("Widget"));
    world.server.delete(&config_map("a"));
    seconds(5).await;
    assert_eq!(kind_of(&world, "a").as_deref(), Some("Plain"));
    world.server.with(|state| state.unanswered.clear());
    seconds(5).await;
    assert_eq!(kind_of(&world, "a").as_deref(), Some("Widget"));
    world.stop().await;
}
