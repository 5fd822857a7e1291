//! What an earlier process derived and this one does not.

use super::*;

#[tokio::test(start_paused = true)]
async fn an_origin_that_waits_in_a_conflict_keeps_nothing_of_its_past() {
    let project = json!({"@project": {
        "metadata": {"name": "$.metadata.labels.to", "namespace": "$.metadata.namespace"},
        "data": {"from": "$.metadata.name"}
    }});
    let controller = set(&copy("c", ""), &["pipeline"], json!([project]));
    let mut world = World::new(0);
    world.make_with(&widget("o0"), &json!({"to": "x"}));
    world.make_with(&widget("o1"), &json!({"to": "y"}));
    world.apply("a", &spec(&[&controller]));
    world.start();
    rest().await;
    assert_eq!(world.config_maps(None), ["x", "y"]);
    world.stop().await;
    world.make_with(&widget("o1"), &json!({"to": "x"}));
    world.start();
    rest().await;
    assert_eq!(world.config_maps(None), ["x"]);
    assert_eq!(world.reason("a"), "ReconciliationFailed");
    let from = world.data(&config_map("x")).get("from").clone();
    assert_eq!(from, json!("o0"));
}
