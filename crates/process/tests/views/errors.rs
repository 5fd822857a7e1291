//! Objects in error upstream: after a restart, the documents that they would yield are missing.

use super::*;

const KEPT: &str = "no longer derived";

#[tokio::test(start_paused = true)]
async fn a_reader_removes_nothing_while_an_object_upstream_is_in_error() {
    let mut world = World::settled().await;
    world
        .restart(|world| {
            world.pod("b", "bad");
            world.server.delete("pods", "c");
        })
        .await;
    world.expect(&["a", "b", "c"], "False/NotReady");
    world.expect_waiting("reader", HEALTH, KEPT);
    // Other objects are not affected.
    world.pod("d", "1");
    rest().await;
    world.expect(&["a", "b", "c", "d"], "False/NotReady");
    world.pod("b", "2");
    rest().await;
    assert_eq!(world.server.deleted(), ["c"]);
    world.expect(&["a", "b", "d"], "True/Ready");
    let b = world.server.get("configmaps", "b");
    assert_eq!(b.get("data"), &json!({"n": "2"}));
}

/// The view does not change when its last error is cleared: it never contained the document of that
/// object.
#[tokio::test(start_paused = true)]
async fn a_reader_is_woken_when_the_object_in_error_is_deleted() {
    let mut world = World::settled().await;
    world.restart(|world| world.pod("b", "bad")).await;
    world.expect(&["a", "b", "c"], "False/NotReady");
    world.server.delete("pods", "b");
    rest().await;
    assert_eq!(world.server.deleted(), ["b"]);
    world.expect(&["a", "c"], "True/Ready");
}

/// Restarts with one object in error and then corrects it. Behind a long chain of views, nothing
/// is removed that the corrected object is about to yield.
async fn check(world: &mut World) {
    for name in ["a", "b", "c"] {
        world.pod(name, "1");
    }
    world.start();
    rest().await;
    world.expect(&["a", "b", "c"], "True/Ready");
    world
        .restart(|world| {
            world.pod("b", "bad");
            world.server.delete("pods", "c");
        })
        .await;
    assert_eq!(world.server.deleted(), [""; 0]);
    assert_eq!(world.server.names("configmaps"), ["a", "b", "c"]);
    let message = world.message("reader");
    assert!(message.contains(KEPT), "{message}");
    world.pod("b", "2");
    rest().await;
    assert_eq!(world.server.deleted(), ["c"]);
    world.expect(&["a", "b"], "True/Ready");
}

/// The number of views between the first and the last.
const BETWEEN: usize = 12;

#[tokio::test(start_paused = true)]
async fn an_error_holds_removals_until_its_object_has_passed_all_operators() {
    let mut world = World::new();
    world.operator("m0", &producer());
    for number in 1..BETWEEN {
        let of = format!("m{}", number - 1);
        world.operator(&format!("m{number}"), &middle(&of));
    }
    let last = format!("m{}", BETWEEN - 1);
    world.operator("reader", &reader(&last));
    check(&mut world).await;
}

#[tokio::test(start_paused = true)]
async fn an_error_holds_removals_until_its_object_has_passed_its_operator() {
    let mut world = World::new();
    let first = producer().get("controllers").at(0).clone();
    let mut controllers = vec![merge_patch(&first, &json!({"target": {"kind": "M0"}}))];
    let view = |number: usize| json!({"kind": (format!("M{number}"))});
    for number in 1..BETWEEN {
        let change = json!({
            "name": (format!("m{number}")),
            "sources": [(view(number - 1))], "target": (view(number)),
        });
        let controller = middle("reader").get("controllers").at(0).clone();
        controllers.push(merge_patch(&controller, &change));
    }
    let last = json!({"sources": [(view(BETWEEN - 1))]});
    let controller = reader("reader").get("controllers").at(0).clone();
    controllers.push(merge_patch(&controller, &last));
    let controllers: Value = controllers.into_iter().collect();
    world.operator("reader", &json!({"controllers": (controllers)}));
    check(&mut world).await;
}

/// An error that occurs later holds the last output, so that readers are not affected.
#[tokio::test(start_paused = true)]
async fn a_later_error_does_not_affect_readers() {
    let world = World::settled().await;
    world.pod("b", "bad");
    world.server.delete("pods", "c");
    rest().await;
    assert_eq!(world.ready("producer"), "Unknown/ReconciliationFailed");
    assert_eq!(world.server.deleted(), ["c"]);
    world.expect(&["a", "b"], "True/Ready");
}
