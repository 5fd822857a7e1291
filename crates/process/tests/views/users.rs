//! View kinds that no controller yields. Their objects exist as long as the process.

use object::{GroupKind, ObjectName};
use store::{Caller, Preconditions, Write};

use super::*;

/// Writes an object of the view `Fact` of an Operator, as a user does.
fn put(world: &World, operator: &str, name: &str) {
    let group = format!("{operator}.view.dcontroller.io");
    let object = json!({
        "apiVersion": (format!("{group}/v1alpha1")), "kind": "Fact",
        "metadata": {"name": name, "namespace": "n"}, "n": 1,
    });
    let view = GroupKind::new(&group, "Fact");
    let written = world
        .views
        .store()
        .write(&Caller::user("alice"), &view, &Write::Put(object));
    written.unwrap();
}

fn delete(world: &World, operator: &str, name: &str) {
    let view = GroupKind::new(&format!("{operator}.view.dcontroller.io"), "Fact");
    let delete = Write::Delete(ObjectName::new("n", name), Preconditions::default());
    let written = world
        .views
        .store()
        .write(&Caller::user("alice"), &view, &delete);
    written.unwrap();
}

fn of_facts(spec: &Value) -> Value {
    let controller = spec.get("controllers").at(0);
    let source = merge_patch(controller.get("sources").at(0), &json!({"kind": "Fact"}));
    let controller = merge_patch(controller, &json!({"sources": [(source)]}));
    json!({"controllers": [(controller)]})
}

/// Users write objects into a view of the Operator `of`; `operators` are the Operators between that
/// view and the config maps.
async fn check(operators: &[(&str, Value)], of: &str) {
    let mut world = World::new();
    for (name, spec) in operators {
        world.operator(name, spec);
    }
    world.start();
    rest().await;
    for name in ["a", "b"] {
        put(&world, of, name);
    }
    rest().await;
    world.expect(&["a", "b"], "True/Ready");
    // A restart empties the view and removes nothing.
    world.restart(|_| {}).await;
    world.expect(&["a", "b"], "True/Ready");
    put(&world, of, "a");
    rest().await;
    world.expect(&["a", "b"], "True/Ready");
    delete(&world, of, "a");
    rest().await;
    assert_eq!(world.server.deleted(), ["a"]);
    world.expect(&["b"], "True/Ready");
}

#[tokio::test(start_paused = true)]
async fn objects_derived_from_users_objects_are_not_swept() {
    let operators = [
        ("producer", producer()),
        ("reader", of_facts(&reader("producer"))),
    ];
    check(&operators, "producer").await;
}

#[tokio::test(start_paused = true)]
async fn objects_derived_from_users_objects_in_an_own_view_are_not_swept() {
    check(&[("reader", of_facts(&reader("reader")))], "reader").await;
}

#[tokio::test(start_paused = true)]
async fn objects_derived_from_users_objects_through_other_views_are_not_swept() {
    let operators = [
        ("producer", producer()),
        ("middle", of_facts(&middle("producer"))),
        ("reader", reader("middle")),
    ];
    check(&operators, "producer").await;
}

/// Objects of the last spec are removed; objects of users stay.
#[tokio::test(start_paused = true)]
async fn a_view_that_is_no_longer_yielded_keeps_only_objects_of_users() {
    let world = World::settled().await;
    let mine = json!({
        "apiVersion": "producer.view.dcontroller.io/v1alpha1", "kind": "Health",
        "metadata": {"name": "mine", "namespace": "n"}, "n": 1,
    });
    let view = GroupKind::new("producer.view.dcontroller.io", "Health");
    let written = world
        .views
        .store()
        .write(&Caller::user("alice"), &view, &Write::Create(mine));
    written.unwrap();
    rest().await;
    world.expect(&["a", "b", "c", "mine"], "True/Ready");
    let controller = producer().get("controllers").at(0).clone();
    let other = merge_patch(&controller, &json!({"target": {"kind": "Other"}}));
    world.operator("producer", &json!({"controllers": [(other)]}));
    rest().await;
    let mut deleted = world.server.deleted();
    deleted.sort();
    assert_eq!(deleted, ["a", "b", "c"]);
    world.expect(&["mine"], "True/Ready");
}

/// The object `a` of the view `Health`, which the producer derives from a pod.
fn derived(world: &World) -> Option<Value> {
    let view = GroupKind::new("producer.view.dcontroller.io", "Health");
    world.views.store().get(&view, &ObjectName::new("n", "a"))
}

fn change(world: &World, write: &Write) {
    let view = GroupKind::new("producer.view.dcontroller.io", "Health");
    let store = world.views.store();
    store.write(&Caller::user("alice"), &view, write).unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_object_is_derived_when_the_user_who_held_its_name_deletes_it() {
    let mut world = World::new();
    world.operator("producer", &producer());
    world.start();
    rest().await;
    let own = json!({
        "apiVersion": "producer.view.dcontroller.io/v1alpha1", "kind": "Health",
        "metadata": {"name": "a", "namespace": "n"}, "mine": true,
    });
    change(&world, &Write::Create(own));
    world.pod("a", "1");
    rest().await;
    assert_eq!(derived(&world).unwrap().get("mine").as_bool(), Some(true));
    assert_eq!(
        world.ready("producer"),
        "Unknown/ReconciliationFailed",
        "{}",
        world.message("producer")
    );
    let delete = Write::Delete(ObjectName::new("n", "a"), Preconditions::default());
    change(&world, &delete);
    rest().await;
    assert!(derived(&world).unwrap().get("mine").is_null());
    assert_eq!(world.ready("producer"), "True/Ready");
}

#[tokio::test(start_paused = true)]
async fn an_object_is_derived_again_when_its_last_finalizer_goes() {
    let mut world = World::settled().await;
    let finalizers = |list: Value| {
        let object = derived(&world).unwrap();
        let metadata = object.get("metadata").as_map().unwrap();
        let metadata = metadata.with("finalizers".into(), list).into();
        Write::Replace(
            object
                .as_map()
                .unwrap()
                .with("metadata".into(), metadata)
                .into(),
        )
    };
    change(&world, &finalizers(json!(["example.com/wait"])));
    world.server.delete("pods", "a");
    rest().await;
    let ready = || (world.ready("producer"), world.message("producer"));
    let syncing = |message: &str| ("False/Syncing".to_owned(), message.to_owned());
    let removed = "controller pods: 2 of 2 objects are as derived: \
        1 object no longer derived is being removed";
    assert_eq!(ready(), syncing(removed));
    world.pod("a", "1");
    rest().await;
    let waits = "controller pods: 2 of 3 objects are as derived: 1 is being deleted by others";
    assert_eq!(ready(), syncing(waits));
    let old = derived(&world).unwrap();
    assert!(
        old.get("metadata")
            .get("deletionTimestamp")
            .as_str()
            .is_some()
    );
    change(&world, &finalizers(Value::NULL));
    rest().await;
    let new = derived(&world).unwrap();
    assert_ne!(
        new.get("metadata").get("uid"),
        old.get("metadata").get("uid")
    );
    assert_eq!(world.ready("producer"), "True/Ready");
    world.stop().await;
}
