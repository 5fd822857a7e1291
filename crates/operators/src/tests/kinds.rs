//! The kinds that may hold objects of an Operator, and the Operators that exist.

use super::*;

fn kinds(world: &World) -> Value {
    let status = world.server.get("a").get("status").clone();
    status.get("kinds").clone()
}

fn kind(name: &str) -> Value {
    json!({"group": "", "kind": name})
}

#[tokio::test(start_paused = true)]
async fn kinds_are_recorded_before_the_engine_starts() {
    let world = world(&Server::default(), Policy::default());
    let writes = "PATCH /apis/dcontroller.io/v1alpha1/operators/a/status";
    world.server.refuse(writes);
    world.server.apply("a", &spec("ConfigMap"), &none());
    assert_eq!(world.told().await, [""; 0]);
    world.server.accept(writes);
    rest().await;
    assert_eq!(world.told().await, ["start a ConfigMap"]);
    assert_eq!(kinds(&world), json!([(kind("ConfigMap"))]));
}

#[tokio::test(start_paused = true)]
async fn a_former_kind_stays_recorded_until_the_engine_has_swept_it() {
    let server = Server::default();
    let first = world(&server, Policy::default());
    server.apply("a", &spec("ConfigMap"), &none());
    rest().await;
    server.apply("a", &spec("Secret"), &none());
    rest().await;
    let both = json!([(kind("ConfigMap")), (kind("Secret"))]);
    assert_eq!(kinds(&first), both);
    assert_eq!(first.fake.kinds("a"), both);
    first.end().await;

    let second = world(&server, Policy::default());
    rest().await;
    assert_eq!(second.fake.kinds("a"), both);
    // An engine that has reported nothing yet changes nothing.
    assert_eq!(kinds(&second), both);
    let swept = json!([(kind("Secret"))]);
    let status = OperatorStatus {
        kinds: Some(Kinds::read(&swept)),
        orphans: Some(3),
        ..engine_status(Ready::True, &[])
    };
    second.fake.says("a", status);
    rest().await;
    assert_eq!(kinds(&second), swept);
    let status = server.get("a").get("status").clone();
    assert_eq!(status.get("orphans"), &json!(3));
}

#[tokio::test(start_paused = true)]
async fn a_deletion_needs_no_valid_spec() {
    let server = Server::default();
    let first = world(&server, Policy::default());
    server.apply("a", &deleting("ConfigMap"), &none());
    rest().await;
    let invalid = merge_patch(
        &deleting("ConfigMap"),
        &json!({"controllers": [{"name": "c"}]}),
    );
    server.apply("a", &invalid, &none());
    rest().await;
    first.end().await;
    server.delete("a");
    let second = world(&server, Policy::default());
    assert_eq!(second.told().await, ["start a ", "delete a", "stop a"]);
    let removed = second.fake.kinds("a");
    assert_eq!(removed, json!([(kind("ConfigMap"))]));
    assert!(server.get("a").is_null());
}

#[tokio::test(start_paused = true)]
async fn a_deletion_needs_the_account_that_the_policy_requires() {
    let server = Server::default();
    let first = world(&server, Policy::default());
    server.apply("a", &deleting("ConfigMap"), &none());
    rest().await;
    first.end().await;
    server.delete("a");
    let strict = Policy {
        require_service_account: true,
        ..Policy::default()
    };
    let second = world(&server, strict);
    assert_eq!(second.told().await, [""; 0]);
    assert_eq!(second.standing("a"), "False/Invalid");
    let message = second.message("a");
    assert!(message.contains("serviceAccount"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn only_a_complete_list_says_which_operators_exist() {
    let world = world(&Server::default(), Policy::default());
    world.server.apply("a", &spec("ConfigMap"), &none());
    world.server.apply("b", &spec("Secret"), &none());
    rest().await;
    let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(world.fake.existing(), names(&["a", "b"]));
    world.server.delete("b");
    rest().await;
    assert_eq!(world.fake.existing(), names(&["a"]));
    // The list starts again and cannot be completed.
    world.server.missing(true);
    world.server.cut();
    rest().await;
    assert_eq!(world.fake.existing(), None);
    world.server.missing(false);
    rest().await;
    assert_eq!(world.fake.existing(), names(&["a"]));
}
