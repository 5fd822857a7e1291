//! Producers that cannot run after a restart.

use std::time::Duration;

use super::*;

/// After a restart with this cause the reader waits and removes nothing. After the repair it goes
/// on by itself.
async fn check(cause: impl FnOnce(&mut World), why: &str, repair: impl FnOnce(&World)) {
    let mut world = World::settled().await;
    world
        .restart(|world| {
            world.server.delete("pods", "c");
            cause(world);
        })
        .await;
    world.expect(&["a", "b", "c"], "False/NotReady");
    world.expect_waiting("reader", HEALTH, why);
    repair(&world);
    rest().await;
    assert_eq!(world.server.deleted(), ["c"]);
    world.expect(&["a", "b"], "True/Ready");
}

#[tokio::test(start_paused = true)]
async fn a_view_of_an_invalid_operator_is_not_available() {
    check(
        |world| world.operator("producer", &json!({"controllers": [], "controler": 1})),
        "unknown-field",
        |world| world.operator("producer", &producer()),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_view_of_a_refused_operator_is_not_available() {
    let account = json!({"serviceAccount": {"namespace": "n", "name": "x"}});
    let allowed = |spec: Value| merge_patch(&spec, &account);
    check(
        |world| {
            world.config.require_service_account = true;
            world.operator("reader", &allowed(reader("producer")));
        },
        "service-account-required",
        |world| world.operator("producer", &allowed(producer())),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_view_of_a_deleted_operator_is_not_available() {
    check(
        |world| world.server.delete("operators", "producer"),
        "there is no such Operator",
        |world| world.operator("producer", &producer()),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_view_of_an_operator_over_its_budget_is_not_available() {
    check(
        |world| {
            world.config.budget.outputs = 2;
            world.pod("d", "1");
        },
        "over its budget",
        |world| {
            world.server.delete("pods", "d");
            // A new spec starts it again.
            world.operator(
                "producer",
                &merge_patch(&producer(), &json!({"deletionPolicy": "Orphan"})),
            );
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_view_is_not_available_before_its_sources_are_read() {
    check(
        |world| world.server.refuse("pods", true),
        "has not filled it yet",
        |world| world.server.refuse("pods", false),
    )
    .await;
}

/// The reader waits for nothing else, and an empty view delivers no event.
#[tokio::test(start_paused = true)]
async fn a_reader_is_woken_when_an_empty_view_is_complete() {
    let mut world = World::new();
    world.server.slow("pods", Duration::from_secs(5));
    world.operator("producer", &producer());
    world.operator("reader", &reader("producer"));
    world.start();
    rest().await;
    world.expect(&[], "True/Ready");
}

#[tokio::test(start_paused = true)]
async fn views_of_views_are_not_available_either() {
    let mut world = World::new();
    for name in ["a", "b"] {
        world.pod(name, "1");
    }
    world.operator("producer", &producer());
    world.operator("middle", &middle("producer"));
    world.operator("reader", &reader("middle"));
    world.start();
    rest().await;
    world.expect(&["a", "b"], "True/Ready");
    world
        .restart(|world| world.server.delete("operators", "producer"))
        .await;
    world.expect(&["a", "b"], "False/NotReady");
    world.expect_waiting(
        "reader",
        "view Health of Operator middle",
        "has not filled it yet",
    );
    world.expect_waiting("middle", HEALTH, "there is no such Operator");
    world.server.delete("pods", "b");
    world.operator("producer", &producer());
    rest().await;
    assert_eq!(world.server.deleted(), ["b"]);
    world.expect(&["a"], "True/Ready");
}

#[tokio::test(start_paused = true)]
async fn a_reader_of_an_unavailable_view_can_be_deleted_with_its_objects() {
    let mut world = World::settled().await;
    let deletes = merge_patch(&reader("producer"), &json!({"deletionPolicy": "Delete"}));
    world.operator("reader", &deletes);
    rest().await;
    world
        .restart(|world| {
            world.server.delete("operators", "producer");
            world.server.delete("operators", "reader");
        })
        .await;
    assert_eq!(world.server.names("operators"), [""; 0]);
    assert_eq!(world.server.names("configmaps"), [""; 0]);
}

/// The trigger of a `OneShot` source has the kind of a view but is not in the store.
#[tokio::test(start_paused = true)]
async fn objects_derived_from_a_trigger_are_swept() {
    let mut world = World::new();
    let shot = |name: &str| {
        operator(
            "shot",
            json!([{"type": "OneShot", "kind": "Trigger"}]),
            json!({"metadata": {"name": name, "namespace": "n"}, "data": {}}),
            json!({"apiGroup": "", "version": "v1", "kind": "ConfigMap"}),
        )
    };
    world.operator("reader", &shot("x"));
    world.start();
    rest().await;
    world.expect(&["x"], "True/Ready");
    world
        .restart(|world| world.operator("reader", &shot("y")))
        .await;
    assert_eq!(world.server.deleted(), ["x"]);
    world.expect(&["y"], "True/Ready");
}

/// The Operators come from the configuration, not from the cluster.
#[tokio::test(start_paused = true)]
async fn a_view_of_an_operator_that_is_not_in_the_configuration_is_not_available() {
    let read = |name: &str, spec: Value| {
        let manifest = json!({
            "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
            "metadata": {"name": name}, "spec": (spec),
        });
        ::operator::read(&manifest, &expr::Functions::builtin())
            .0
            .unwrap()
    };
    let (producer, reader) = (
        read("producer", producer()),
        read("reader", reader("producer")),
    );
    let mut world = World::new();
    for name in ["a", "b"] {
        world.pod(name, "1");
    }
    world.config.files = vec![reader.clone(), producer.clone()];
    world.start();
    rest().await;
    assert_eq!(world.server.names("configmaps"), ["a", "b"]);
    world
        .restart(|world| {
            world.server.delete("pods", "b");
            world.config.files = vec![reader.clone()];
        })
        .await;
    assert_eq!(world.server.deleted(), [""; 0]);
    world
        .restart(|world| world.config.files = vec![reader, producer])
        .await;
    assert_eq!(world.server.deleted(), ["b"]);
    assert_eq!(world.server.names("configmaps"), ["a"]);
}
