//! Changes of a producer while its readers run.

use cluster::object::Object;
use futures::StreamExt;
use kube::ResourceExt;
use kube::api::{ApiResource, GroupVersionKind};
use kube::runtime::watcher::Event;
use object::GroupKind;
use store::Selector;
use tokio::sync::mpsc;

use super::*;

/// The names of the objects in the view `Health` of the producer.
fn health(world: &World) -> Vec<String> {
    let view = GroupKind::new("producer.view.dcontroller.io", "Health");
    let list = world.views.store().list(&view, &Selector::default());
    let names = list.items.iter();
    names
        .map(|object| {
            object
                .get("metadata")
                .get("name")
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn deleting_a_producer_removes_its_view_and_nothing_else() {
    let world = World::settled().await;
    world.server.delete("operators", "producer");
    rest().await;
    assert_eq!(health(&world), [""; 0]);
    world.expect(&["a", "b", "c"], "False/NotReady");
    world.expect_waiting("reader", HEALTH, "there is no such Operator");

    // Objects that the new producer does not yield are removed once its view is complete.
    world.server.delete("pods", "b");
    world.server.refuse("pods", true);
    world.operator("producer", &producer());
    rest().await;
    world.expect(&["a", "b", "c"], "False/NotReady");
    world.expect_waiting("reader", HEALTH, "has not filled it yet");
    world.pod("d", "1");
    world.server.refuse("pods", false);
    rest().await;
    assert_eq!(world.server.deleted(), ["b"]);
    world.expect(&["a", "c", "d"], "True/Ready");
}

#[tokio::test(start_paused = true)]
async fn a_producer_with_policy_delete_deletes_only_its_own_objects() {
    let world = World::settled().await;
    let deletes = merge_patch(&producer(), &json!({"deletionPolicy": "Delete"}));
    world.operator("producer", &deletes);
    rest().await;
    world.expect(&["a", "b", "c"], "True/Ready");
    world.server.delete("operators", "producer");
    rest().await;
    assert_eq!(world.server.names("operators"), ["reader"]);
    assert_eq!(health(&world), [""; 0]);
    world.expect(&["a", "b", "c"], "False/NotReady");
    world.expect_waiting("reader", HEALTH, "there is no such Operator");
}

#[tokio::test(start_paused = true)]
async fn a_producer_that_is_created_again_at_once_removes_nothing() {
    let world = World::settled().await;
    world.server.delete("operators", "producer");
    tokio::task::yield_now().await;
    world.operator("producer", &producer());
    rest().await;
    world.expect(&["a", "b", "c"], "True/Ready");
}

#[tokio::test(start_paused = true)]
async fn an_edited_producer_removes_what_it_no_longer_yields_when_it_is_complete() {
    let world = World::settled().await;
    let mut edited = producer();
    let select = json!([
        {"@select": {"@ne": ["$.metadata.name", "b"]}},
        (edited.get("controllers").at(0).get("pipeline").at(0).clone()),
    ]);
    let controller = merge_patch(
        edited.get("controllers").at(0),
        &json!({"pipeline": (select)}),
    );
    edited = json!({"controllers": [(controller)]});
    world.server.refuse("pods", true);
    world.operator("producer", &edited);
    rest().await;
    assert_eq!(health(&world), ["a", "b", "c"]);
    world.expect(&["a", "b", "c"], "False/NotReady");
    world.expect_waiting("reader", HEALTH, "has not filled it yet");
    world.server.refuse("pods", false);
    rest().await;
    assert_eq!(health(&world), ["a", "c"]);
    assert_eq!(world.server.deleted(), ["b"]);
    world.expect(&["a", "c"], "True/Ready");
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_is_invalid_changes_nothing_for_readers() {
    let world = World::settled().await;
    world.operator("producer", &json!({"controllers": [], "controler": 1}));
    rest().await;
    assert_eq!(world.ready("producer"), "False/Invalid");
    world.expect(&["a", "b", "c"], "True/Ready");
    world.server.delete("pods", "b");
    rest().await;
    assert_eq!(world.server.deleted(), ["b"]);
    world.expect(&["a", "c"], "True/Ready");
}

#[tokio::test(start_paused = true)]
async fn a_producer_that_exceeds_its_budget_keeps_its_last_state() {
    let mut world = World::settled().await;
    world.config.budget.outputs = 3;
    world.restart(|_| {}).await;
    world.expect(&["a", "b", "c"], "True/Ready");
    world.pod("d", "1");
    rest().await;
    assert_eq!(world.ready("producer"), "False/BudgetExceeded");
    assert_eq!(health(&world), ["a", "b", "c"]);
    world.expect(&["a", "b", "c"], "False/NotReady");
    world.expect_waiting("reader", HEALTH, "over its budget");
}

#[tokio::test(start_paused = true)]
async fn a_controller_does_not_write_what_a_stopped_one_left_incomplete() {
    let mut world = World::new();
    for name in ["a", "b", "c"] {
        world.pod(name, "1");
    }
    let both = |of: &str| {
        let first = producer().get("controllers").at(0).clone();
        let second = reader(of).get("controllers").at(0).clone();
        json!({"controllers": [(first), (second)]})
    };
    world.operator("reader", &both("reader"));
    world.start();
    rest().await;
    world.expect(&["a", "b", "c"], "True/Ready");
    world.config.budget.outputs = 2;
    world.restart(|_| {}).await;
    world.expect(&["a", "b", "c"], "False/BudgetExceeded");
}

/// A native reconciler in Rust gets the same events as an Operator.
#[tokio::test(start_paused = true)]
async fn a_native_reader_gets_no_deletions_when_a_producer_is_deleted() {
    let world = World::settled().await;
    let group = "producer.view.dcontroller.io";
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1alpha1", "Health"));
    let mut events = Box::pin(world.views.watch_with::<Object>(&kind));
    let (sender, mut words) = mpsc::unbounded_channel();
    let reading = tokio::spawn(async move {
        while let Some(Ok(event)) = events.next().await {
            let word = match event {
                Event::Init => "init".to_owned(),
                Event::InitApply(object) => format!("lists {}", object.name_any()),
                Event::InitDone => "listed".to_owned(),
                Event::Apply(object) => format!("applies {}", object.name_any()),
                Event::Delete(object) => format!("deletes {}", object.name_any()),
            };
            sender.send(word).unwrap();
        }
    });
    let mut now = async || {
        rest().await;
        std::iter::from_fn(|| words.try_recv().ok()).collect::<Vec<_>>()
    };
    let first = now().await;
    assert_eq!(first, ["init", "lists a", "lists b", "lists c", "listed"]);
    world.server.delete("operators", "producer");
    assert_eq!(now().await, ["init"]);
    world.server.delete("pods", "b");
    world.operator("producer", &producer());
    assert_eq!(now().await, ["lists a", "lists c", "listed"]);
    reading.abort();
}
