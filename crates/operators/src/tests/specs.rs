//! A spec that changes, is invalid, cannot be read, or is refused by the policy.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_changed_spec_rolls_over_and_nothing_else_does() {
    let world = world(&Server::default(), Policy::default());
    world.server.apply("a", &spec("ConfigMap"), &none());
    assert_eq!(world.told().await, ["start a ConfigMap"]);
    world
        .server
        .apply("a", &spec("ConfigMap"), &json!({"note": "new"}));
    assert_eq!(world.told().await, [""; 0]);
    world.server.apply("a", &spec("Secret"), &none());
    assert_eq!(world.told().await, ["stop a", "start a Secret"]);
    world.server.delete("a");
    assert_eq!(world.told().await, ["stop a"]);
    world.server.apply("a", &spec("Secret"), &none());
    assert_eq!(world.told().await, ["start a Secret"]);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_change_keeps_the_last_good_one() {
    let world = world(&Server::default(), Policy::default());
    let bad = json!({"controler": []});
    world.server.apply("a", &spec("ConfigMap"), &none());
    world.server.apply("b", &bad, &none());
    assert_eq!(world.told().await, ["start a ConfigMap"]);
    assert_eq!(world.standing("b"), "False/Invalid");
    let message = world.message("b");
    assert!(
        message.contains("unknown-field at spec.controler: "),
        "{message}"
    );
    assert!(message.contains("did you mean controllers?"), "{message}");

    world.server.apply("a", &bad, &none());
    assert_eq!(world.told().await, [""; 0]);
    assert_eq!(world.standing("a"), "False/Invalid");
    let message = world.message("a");
    assert!(
        message.starts_with("generation 1 keeps running; "),
        "{message}"
    );
    assert_eq!(
        world
            .server
            .get("a")
            .get("status")
            .get("observedGeneration"),
        &json!(2)
    );
    world.server.apply("a", &spec("ConfigMap"), &none());
    assert_eq!(world.told().await, [""; 0]);
    assert_eq!(world.standing("a"), "False/NotReady");
    let reasons = world.server.events();
    assert!(
        reasons
            .iter()
            .all(|event| event.get("reason") == &json!("Invalid"))
    );
    assert_eq!(reasons.len(), 2);
}

/// A spec with something in it that cannot be read.
fn deep(kind: &str) -> Value {
    merge_patch(
        &spec(kind),
        &json!({"controllers": [{"pipeline": (server::DEEP)}]}),
    )
}

#[tokio::test(start_paused = true)]
async fn one_that_cannot_be_read_does_not_run_and_the_others_do() {
    let server = Server::default();
    server.apply("a", &spec("ConfigMap"), &none());
    server.apply("b", &deep("ConfigMap"), &none());
    server.apply("c", &spec("Secret"), &none());
    let world = world(&server, Policy::default());
    assert_eq!(world.told().await, ["start a ConfigMap", "start c Secret"]);
    assert_eq!(world.health.readiness(), Ok(()));
    assert_eq!(world.standing("b"), "False/Invalid");
    let message = world.message("b");
    let expect = "unreadable at spec: spec is nested deeper than 100 levels";
    assert!(message.starts_with(expect), "{message}");
    assert_eq!(
        server.get("b").get("status").get("observedGeneration"),
        &json!(1)
    );
    let events = server.events();
    let [event] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(event.get("reason"), &json!("Invalid"));
    assert_eq!(event.get("regarding").get("name"), &json!("b"));

    server.apply("b", &spec("ConfigMap"), &none());
    assert_eq!(world.told().await, ["start b ConfigMap"]);
    server.delete("c");
    assert_eq!(world.told().await, ["stop c"]);
}

#[tokio::test(start_paused = true)]
async fn one_that_becomes_unreadable_stops_and_what_it_derived_stays() {
    let world = world(&Server::default(), Policy::default());
    world.server.apply("a", &deleting("ConfigMap"), &none());
    assert_eq!(world.told().await, ["start a ConfigMap"]);
    let unreadable = merge_patch(&deep("ConfigMap"), &json!({"deletionPolicy": "Delete"}));
    world.server.apply("a", &unreadable, &none());
    assert_eq!(world.told().await, ["stop a"]);
    assert_eq!(world.standing("a"), "False/Invalid");
    // Its objects cannot be deleted now, so it stays until it can be read.
    world.server.delete("a");
    assert_eq!(world.told().await, [""; 0]);
    assert!(
        world.message("a").contains("cannot be deleted"),
        "{}",
        world.message("a")
    );
    world.server.apply("a", &deleting("ConfigMap"), &none());
    assert_eq!(world.told().await, ["start a ", "delete a", "stop a"]);
    assert!(world.server.get("a").is_null());
}

#[tokio::test(start_paused = true)]
async fn one_that_cannot_be_read_may_go() {
    let world = world(&Server::default(), Policy::default());
    world.server.apply("a", &deep("ConfigMap"), &none());
    assert_eq!(world.told().await, [""; 0]);
    world.server.delete("a");
    assert_eq!(world.told().await, [""; 0]);
    assert!(world.server.get("a").is_null());
    world.server.apply("a", &spec("ConfigMap"), &none());
    assert_eq!(world.told().await, ["start a ConfigMap"]);
}

#[tokio::test(start_paused = true)]
async fn a_policy_refuses_and_says_what_to_do() {
    let policy = Policy {
        require_service_account: true,
        ..Policy::default()
    };
    let world = world(&Server::default(), policy);
    let role = merge_patch(
        &json!({"serviceAccount": {"namespace": "n", "name": "x"}}),
        &json!({"controllers": [{
            "name": "c",
            "sources": [{"apiGroup": "", "kind": "Pod"}],
            "target": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role"},
        }]}),
    );
    world.server.apply("a", &spec("ConfigMap"), &none());
    world.server.apply("b", &role, &none());
    assert_eq!(world.told().await, [""; 0]);
    let message = world.message("a");
    assert!(
        message.contains("service-account-required at spec: "),
        "{message}"
    );
    let message = world.message("b");
    let expect = "target-denied at spec.controllers[0].target: ";
    assert!(message.starts_with(expect), "{message}");
    assert!(
        message.contains("--allow-target rbac.authorization.k8s.io/Role"),
        "{message}"
    );
}
