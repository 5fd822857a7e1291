//! Removals that the first list and re-lists cause.

use super::*;

#[tokio::test(start_paused = true)]
async fn removals_by_a_list_over_the_limit_are_held() {
    let world = running(12, &spec(&[&limited(&copy("c", ""), json!(0))])).await;
    assert_eq!(world.count(), 12);
    world.lose(widgets(10)).await;
    assert_eq!(world.count(), 12);
    assert_eq!(world.held("a", "c"), 10);
    assert_eq!(world.reason("a"), "ReconciliationFailed");
}

#[tokio::test(start_paused = true)]
async fn removals_within_the_limit_are_carried_out() {
    let world = running(12, &spec(&[&limited(&copy("c", ""), json!(10))])).await;
    world.lose(widgets(10)).await;
    assert_eq!(world.config_maps(None), ["o10", "o11"]);
    assert_eq!(world.reason("a"), "Ready");
    // The next list starts a new sum.
    world.lose([widget("o10")]).await;
    assert_eq!(world.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn single_events_do_not_count() {
    let world = running(12, &spec(&[&limited(&copy("c", ""), json!(0))])).await;
    for widget in widgets(11) {
        world.delete(&widget);
        rest().await;
    }
    assert_eq!(world.config_maps(None), ["o11"]);
    assert_eq!(world.reason("a"), "Ready");
}

#[tokio::test(start_paused = true)]
async fn later_events_release_nothing_but_objects_that_are_derived_again() {
    let world = running(12, &spec(&[&limited(&copy("c", ""), json!(0))])).await;
    world.lose(widgets(10)).await;
    // An event of another object, a change of a held target, and a list without changes.
    world.delete(&widget("o10"));
    world.make_with(&config_map("o1"), &json!({"touched": "yes"}));
    rest().await;
    world.expire("Widget");
    rest().await;
    assert_eq!((world.count(), world.held("a", "c")), (11, 10));
    world.make(&widget("o3"));
    rest().await;
    assert_eq!((world.count(), world.held("a", "c")), (11, 9));
    world.delete(&widget("o3"));
    rest().await;
    assert_eq!((world.count(), world.held("a", "c")), (10, 9));
}

#[tokio::test(start_paused = true)]
async fn the_annotation_releases_them_only_for_the_generation() {
    let world = running(12, &spec(&[&limited(&copy("c", ""), json!(0))])).await;
    world.lose(widgets(10)).await;
    let generation = world.generation("a");
    world.allow("a", Some(generation + 1)).await;
    assert_eq!((world.count(), world.held("a", "c")), (12, 10));
    world.allow("a", Some(generation)).await;
    assert_eq!(world.config_maps(None), ["o10", "o11"]);
    assert_eq!(world.reason("a"), "Ready");
    // It applies as long as it is set.
    world.lose([widget("o10")]).await;
    assert_eq!(world.count(), 1);
    world.allow("a", None).await;
    world.lose([widget("o11")]).await;
    assert_eq!((world.count(), world.held("a", "c")), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_someone_else_deletes_is_no_longer_held() {
    let world = running(4, &spec(&[&limited(&copy("c", ""), json!(0))])).await;
    world.lose(widgets(3)).await;
    assert_eq!((world.count(), world.held("a", "c")), (4, 3));
    for name in names(3) {
        world.delete(&config_map(&name));
    }
    rest().await;
    assert_eq!((world.count(), world.reason("a").as_str()), (1, "Ready"));
}

#[tokio::test(start_paused = true)]
async fn a_percentage_is_of_the_objects_before_a_restart() {
    let mut world = running(10, &spec(&[&limited(&copy("c", ""), json!("20%"))])).await;
    world.stop().await;
    for widget in widgets(3) {
        world.delete(&widget);
    }
    for i in 0..90 {
        world.make(&widget(&format!("new{i}")));
    }
    world.start();
    rest().await;
    assert_eq!((world.count(), world.held("a", "c")), (100, 3));
    // Another restart does not change that.
    world.stop().await;
    world.start();
    rest().await;
    assert_eq!(world.count(), 100);
}

#[tokio::test(start_paused = true)]
async fn a_percentage_is_of_the_objects_before_a_list() {
    let world = running(10, &spec(&[&limited(&copy("c", ""), json!("20%"))])).await;
    world.lose(widgets(2)).await;
    assert_eq!(world.count(), 8);
    // Two of eight are too many.
    world.lose([widget("o2"), widget("o3")]).await;
    assert_eq!((world.count(), world.held("a", "c")), (8, 2));
}

#[tokio::test(start_paused = true)]
async fn held_deletions_survive_a_restart() {
    let mut world = running(12, &spec(&[&limited(&copy("c", ""), json!(3))])).await;
    world.lose(widgets(4)).await;
    assert_eq!((world.count(), world.held("a", "c")), (12, 4));
    world.stop().await;
    world.start();
    rest().await;
    assert_eq!((world.count(), world.held("a", "c")), (12, 4));
    world.allow("a", Some(world.generation("a"))).await;
    assert_eq!(world.count(), 8);
}

#[tokio::test(start_paused = true)]
async fn removals_are_summed_until_all_sources_are_synced() {
    let union = limited(&union("c"), json!(3));
    let mut world = World::new(2);
    world.apply("a", &spec(&[&union]));
    lists_one_after_the_other(&mut world).await;
    assert_eq!((world.count(), world.held("a", "c")), (4, 4));
}

#[tokio::test(start_paused = true)]
async fn a_start_is_one_sum() {
    let mut world = running(6, &spec(&[&limited(&copy("c", ""), json!(3))])).await;
    world.stop().await;
    world.delete(&widget("o0"));
    world.delete(&widget("o1"));
    // Objects of the earlier process are unknown until the targets are listed.
    world.answer_no_lists("ConfigMap");
    world.start();
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    world.lose([widget("o2"), widget("o3")]).await;
    world.answer_all();
    rest().await;
    assert_eq!(world.config_maps(None), ["o0", "o1", "o4", "o5"]);
    assert_eq!(world.held("a", "c"), 2);
}

/// A Patcher on config maps that exist already.
fn patcher(name: &str, field: &str, max: Value) -> Value {
    let data = set(&json!({}), &[field], json!("yes"));
    let patcher = json!({
        "name": name,
        "sources": [{"apiGroup": "example.com", "kind": "Widget"}],
        "pipeline": [{"@project": {
            "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
            "data": data
        }}],
        "target": {"apiGroup": "", "kind": "ConfigMap", "type": "Patcher"}
    });
    limited(&patcher, max)
}

async fn patched(max: Value) -> World {
    let mut world = World::new(10);
    for name in names(10) {
        world.make(&config_map(&name));
    }
    world.apply("a", &spec(&[&patcher("p", "patched", max)]));
    world.start();
    rest().await;
    assert_eq!(world.config_maps(Some("patched")).len(), 10);
    world
}

#[tokio::test(start_paused = true)]
async fn undone_patches_count() {
    let world = patched(json!("30%")).await;
    world.lose(widgets(5)).await;
    assert_eq!(world.config_maps(Some("patched")).len(), 10);
    assert_eq!(world.held("a", "p"), 5);
    world.allow("a", Some(world.generation("a"))).await;
    assert_eq!(world.config_maps(Some("patched")).len(), 5);
    assert_eq!((world.count(), world.reason("a").as_str()), (10, "Ready"));
}

#[tokio::test(start_paused = true)]
async fn patches_that_a_restart_would_undo_count() {
    let mut world = patched(json!(4)).await;
    world.stop().await;
    for widget in widgets(5) {
        world.delete(&widget);
    }
    world.start();
    rest().await;
    assert_eq!(world.config_maps(Some("patched")).len(), 10);
    assert_eq!(world.held("a", "p"), 5);
    world.allow("a", Some(world.generation("a"))).await;
    assert_eq!(world.config_maps(Some("patched")).len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_patch_on_an_object_of_the_same_operator_counts() {
    let controllers = [&copy("c", ""), &patcher("p", "patched", json!(0))];
    let labelled = |controller: &Value| {
        let sources = json!([{"apiGroup": "example.com", "kind": "Widget",
            "labelSelector": {"matchLabels": {"patch": "yes"}}}]);
        set(controller, &["sources"], sources)
    };
    let mut world = World::new(0);
    for name in names(3) {
        world.make_with(&widget(&name), &json!({"patch": "yes"}));
    }
    world.apply("a", &spec(&[controllers[0], &labelled(controllers[1])]));
    world.start();
    rest().await;
    assert_eq!(world.config_maps(Some("patched")).len(), 3);
    world.expire("Widget");
    for name in names(3) {
        world.make_with(&widget(&name), &json!({}));
    }
    world.expire("Widget");
    rest().await;
    assert_eq!(world.config_maps(Some("patched")).len(), 3);
    assert_eq!(world.held("a", "p"), 3);
    world.allow("a", Some(world.generation("a"))).await;
    assert_eq!(world.config_maps(Some("patched")).len(), 0);
    assert_eq!((world.count(), world.reason("a").as_str()), (3, "Ready"));
}
