//! The finalizer, and deletions that are held or allowed.

use object::marks::FINALIZER;

use super::*;

#[tokio::test(start_paused = true)]
async fn delete_has_a_finalizer_and_waits_until_nothing_is_left() {
    let world = world(&Server::default(), Policy::default());
    world.server.apply("a", &deleting("ConfigMap"), &none());
    assert_eq!(world.told().await, ["start a ConfigMap"]);
    let finalizers = |world: &World| {
        world
            .server
            .get("a")
            .get("metadata")
            .get("finalizers")
            .clone()
    };
    assert_eq!(finalizers(&world), json!([(FINALIZER)]));
    world.fake.rounds(3);
    world.server.delete("a");
    assert_eq!(
        world.told().await,
        ["delete a", "delete a", "delete a", "stop a"]
    );
    assert!(world.server.get("a").is_null());
}

#[tokio::test(start_paused = true)]
async fn the_status_says_what_is_left_to_delete() {
    let world = world(&Server::default(), Policy::default());
    world.server.apply("a", &deleting("ConfigMap"), &none());
    rest().await;
    world.fake.says("a", engine_status(Ready::True, &[]));
    rest().await;
    assert_eq!(world.standing("a"), "True/Ready");
    world.fake.rounds(20);
    world.server.delete("a");
    rest().await;
    assert_eq!(world.standing("a"), "False/Deleting");
    let message = world.message("a");
    let expect =
        regex::Regex::new(r"^derived objects are being deleted: \d+ Deployment\.apps left$");
    assert!(expect.unwrap().is_match(&message), "{message}");
}

#[tokio::test(start_paused = true)]
async fn an_operator_that_only_waits_for_others_is_not_ready() {
    let world = world(&Server::default(), Policy::default());
    world.server.apply("a", &spec("ConfigMap"), &none());
    rest().await;
    world.fake.says("a", engine_status(Ready::True, &[]));
    world
        .server
        .set_finalizers("a", &json!(["example.com/audit"]));
    rest().await;
    assert_eq!(world.standing("a"), "True/Ready");
    world.server.delete("a");
    rest().await;
    assert_eq!(world.standing("a"), "False/Deleting");
    let message = world.message("a");
    assert!(
        message.ends_with(" finalizers of others: example.com/audit"),
        "{message}"
    );
}

#[tokio::test(start_paused = true)]
async fn orphan_takes_the_finalizer_off() {
    let world = world(&Server::default(), Policy::default());
    world.server.apply("a", &deleting("ConfigMap"), &none());
    rest().await;
    world.server.apply("a", &spec("ConfigMap"), &none());
    assert_eq!(
        world.told().await,
        ["start a ConfigMap", "stop a", "start a ConfigMap"]
    );
    assert_eq!(
        world.server.get("a").get("metadata").get("finalizers"),
        &json!([])
    );
    world.server.delete("a");
    assert_eq!(world.told().await, ["stop a"]);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_finished_after_a_restart() {
    let server = Server::default();
    let first = world(&server, Policy::default());
    server.apply("a", &deleting("ConfigMap"), &none());
    rest().await;
    first.end().await;
    server.delete("a");
    rest().await;
    let second = world(&server, Policy::default());
    assert_eq!(second.told().await, ["start a ", "delete a", "stop a"]);
    assert!(server.get("a").is_null());
}

#[tokio::test(start_paused = true)]
async fn nothing_starts_under_delete_without_the_finalizer() {
    let world = world(&Server::default(), Policy::default());
    let writes = "PATCH /apis/dcontroller.io/v1alpha1/operators/a";
    world.server.refuse(writes);
    world.server.apply("a", &deleting("ConfigMap"), &none());
    assert_eq!(world.told().await, [""; 0]);
    world.server.accept(writes);
    rest().await;
    assert_eq!(world.told().await, ["start a ConfigMap"]);
}

#[tokio::test(start_paused = true)]
async fn deletions_are_allowed_for_the_generation_that_is_named() {
    let world = world(&Server::default(), Policy::default());
    let allow = |generation: &str| json!({"dcontroller.io/allow-deletions": generation});
    world.server.apply("a", &spec("ConfigMap"), &none());
    rest().await;
    world.server.apply("a", &spec("ConfigMap"), &allow("2"));
    assert_eq!(world.told().await, ["start a ConfigMap"]);
    world.server.apply("a", &spec("ConfigMap"), &allow("1"));
    assert_eq!(world.told().await, ["allow a"]);
    world.server.apply("a", &spec("ConfigMap"), &allow("0"));
    assert_eq!(world.told().await, ["hold a"]);
    world.server.apply("a", &spec("Secret"), &allow("2"));
    assert_eq!(world.told().await, ["stop a", "start a Secret", "allow a"]);
}

#[tokio::test(start_paused = true)]
async fn what_was_held_stays_so_after_an_edit_and_a_restart() {
    let server = Server::default();
    let first = world(&server, Policy::default());
    server.apply("a", &spec("ConfigMap"), &none());
    rest().await;
    let mut holding = engine_status(Ready::Failing, &["held"]);
    holding.controllers[0].counts.held = 1;
    first.fake.says("a", holding.clone());
    server.apply("a", &spec("Secret"), &none());
    let expect = ["start a ConfigMap", "stop a", "start a Secret holding c"];
    assert_eq!(first.told().await, expect);
    first.fake.says("a", holding);
    rest().await;
    first.end().await;
    let second = world(&server, Policy::default());
    assert_eq!(second.told().await, ["start a Secret holding c"]);
    second.fake.says("a", engine_status(Ready::True, &[]));
    rest().await;
    server.apply("a", &spec("ConfigMap"), &none());
    assert_eq!(second.told().await, ["stop a", "start a ConfigMap"]);
}
