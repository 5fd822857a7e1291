//! Objects that an earlier process derived and this one does not, and objects that only an earlier,
//! interrupted list contained.

use std::time::Duration;

use simulation::faults::Fault;

use super::*;

#[tokio::test(start_paused = true)]
async fn an_origin_that_waits_in_a_conflict_keeps_no_old_object() {
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

#[tokio::test(start_paused = true)]
async fn objects_of_an_interrupted_list_are_removed_if_the_next_lacks_them() {
    let mut world = World::new(5);
    world.apply("a", &spec(&[&copy("c", "")]));
    world.slow_pages(Duration::from_secs(5));
    world.start();
    // Without a streamed list: the first page has arrived, the second is under way.
    tokio::time::sleep(Duration::from_secs(13)).await;
    world.compact();
    world.delete(&widget("o0"));
    rest().await;
    rest().await;
    assert_eq!(world.config_maps(None), ["o1", "o2", "o3", "o4"]);
    assert_eq!(world.reason("a"), "Ready");
}

/// The API server refuses objects with the label `quoted: yes`.
#[tokio::test(start_paused = true)]
async fn a_renamed_controller_removes_what_it_could_not_take_over() {
    let labels = json!({"quoted": "$.metadata.labels.quoted"});
    let project = json!({"@project": {
        "metadata": {
            "name": "$.metadata.name", "namespace": "$.metadata.namespace", "labels": labels,
        },
        "data": {"from": "$.metadata.name"}
    }});
    let controller = |name: &str| {
        set(
            &copy(name, ""),
            &["pipeline"],
            Value::list([project.clone()]),
        )
    };
    let mut world = World::new(0);
    world.make_with(&widget("o0"), &json!({"quoted": "no"}));
    world.apply("a", &spec(&[&controller("old")]));
    world.start();
    rest().await;
    assert_eq!(world.config_maps(None), ["o0"]);
    // The new name cannot be written.
    world.make_with(&widget("o0"), &json!({"quoted": "yes"}));
    rest().await;
    world.apply("a", &spec(&[&controller("new")]));
    rest().await;
    assert_eq!(world.config_maps(None), ["o0"]);
    world.delete(&widget("o0"));
    rest().await;
    assert_eq!(world.config_maps(None), [""; 0]);
}

/// Requests for the object fail, so that nobody knows what it looks like.
#[tokio::test(start_paused = true)]
async fn a_renamed_controller_removes_an_object_that_was_in_doubt() {
    let mut world = World::new(1);
    world.apply("a", &spec(&[&copy("old", "")]));
    world.start();
    rest().await;
    assert_eq!(world.config_maps(None), ["o0"]);
    world.answer("/configmaps/o0", Fault::Answer(504));
    world.apply("a", &spec(&[&copy("new", "")]));
    rest().await;
    world.delete(&widget("o0"));
    rest().await;
    world.answer("/configmaps/o0", Fault::None);
    // The pause before the next try has grown.
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(world.config_maps(None), [""; 0]);
    assert_eq!(world.reason("a"), "Ready");
}
