//! Lives of Operators, with engines that only take notes, on an API server in memory.

mod fake;
mod server;

use std::time::Duration;

use ::object::ObjectKey;
use document::{Value, json};
use engine::status::{ControllerStatus, Counts, OperatorStatus, Ready, ReportedError};
use fake::Fake;
use server::Server;
use simulation::fields::merge_patch;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::*;
use crate::targets::TargetPolicy;

/// A deltic, and the cluster around it.
struct World {
    server: Server,
    fake: Fake,
    health: Health,
    stop: oneshot::Sender<()>,
    task: JoinHandle<bool>,
}

fn world(server: &Server, policy: Policy) -> World {
    let (fake, health) = (Fake::default(), Health::default());
    let operators = Operators::new(Services {
        client: server.client(),
        engines: Arc::new(fake.clone()),
        policy,
        events: Events::start(server.client(), "test"),
        metrics: Metrics::default(),
        health: health.clone(),
        clock: Arc::new(engine::clock::System),
    });
    let (stop, stopped) = oneshot::channel();
    let shutdown = async move { drop(stopped.await) };
    World {
        server: server.clone(),
        fake,
        health,
        stop,
        task: tokio::spawn(operators.run(shutdown, Duration::from_secs(20))),
    }
}

impl World {
    /// What the engines were told until nothing moves.
    async fn told(&self) -> Vec<String> {
        rest().await;
        self.fake.log()
    }

    fn ready(&self, name: &str) -> Value {
        self.server
            .get(name)
            .get("status")
            .get("conditions")
            .at(0)
            .clone()
    }

    /// Status and reason.
    fn standing(&self, name: &str) -> String {
        let ready = self.ready(name);
        let part = |key: &str| ready.get(key).as_str().unwrap_or_default().to_owned();
        format!("{}/{}", part("status"), part("reason"))
    }

    fn message(&self, name: &str) -> String {
        self.ready(name)
            .get("message")
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

async fn rest() {
    tokio::time::sleep(Duration::from_secs(8)).await;
}

fn spec(kind: &str) -> Value {
    json!({"controllers": [{
        "name": "c",
        "sources": [{"apiGroup": "", "kind": "Pod"}],
        "target": {"apiGroup": "", "kind": kind},
    }]})
}

fn deleting(kind: &str) -> Value {
    merge_patch(&spec(kind), &json!({"deletionPolicy": "Delete"}))
}

fn none() -> Value {
    json!({})
}

fn engine_status(ready: Ready, errors: &[&str]) -> OperatorStatus {
    let reported = |message: &&str| ReportedError {
        code: "bad-thing".to_owned(),
        stage: "target".to_owned(),
        origin: json!([{"source": "Pod", "namespace": "n", "name": "a"}, {"key": "hidden"}]),
        message: (*message).to_owned(),
    };
    OperatorStatus {
        controllers: vec![ControllerStatus {
            name: "c".to_owned(),
            ready,
            errors: errors.iter().map(reported).collect(),
            counts: Counts {
                sources: 1,
                errors: errors.len(),
                ..Counts::default()
            },
        }],
    }
}

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
    let bad = json!({"controllers": [], "controler": 1});
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
    assert_eq!(
        world.told().await,
        ["start a ConfigMap", "delete a", "stop a"]
    );
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
    assert_eq!(finalizers(&world), json!([(crd::FINALIZER)]));
    world.fake.rounds(3);
    world.server.delete("a");
    assert_eq!(
        world.told().await,
        ["delete a", "delete a", "delete a", "stop a"]
    );
    assert!(world.server.get("a").is_null());
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
    first.stop.send(()).unwrap();
    assert!(first.task.await.unwrap());
    server.delete("a");
    rest().await;
    let second = world(&server, Policy::default());
    assert_eq!(
        second.told().await,
        ["start a ConfigMap", "delete a", "stop a"]
    );
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
    first.stop.send(()).unwrap();
    assert!(first.task.await.unwrap());
    let second = world(&server, Policy::default());
    assert_eq!(second.told().await, ["start a Secret holding c"]);
    second.fake.says("a", engine_status(Ready::True, &[]));
    rest().await;
    server.apply("a", &spec("ConfigMap"), &none());
    assert_eq!(second.told().await, ["stop a", "start a ConfigMap"]);
}

#[tokio::test(start_paused = true)]
async fn a_policy_refuses_and_says_what_to_do() {
    let policy = Policy {
        require_service_account: true,
        targets: TargetPolicy::default(),
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

#[tokio::test(start_paused = true)]
async fn the_status_follows_the_engine_and_is_written_only_when_it_changes() {
    let world = world(&Server::default(), Policy::default());
    world.server.apply("a", &spec("ConfigMap"), &none());
    rest().await;
    assert_eq!(world.standing("a"), "False/NotReady");
    world
        .fake
        .says("a", engine_status(Ready::Failing, &["first", "second"]));
    rest().await;
    assert_eq!(world.standing("a"), "Unknown/ReconciliationFailed");
    let controller = world
        .server
        .get("a")
        .get("status")
        .get("controllers")
        .at(0)
        .clone();
    let expect = json!([
        "bad-thing at target for Pod n/a: first",
        "bad-thing at target for Pod n/a: second"
    ]);
    assert_eq!(controller.get("lastErrors"), &expect);
    assert_eq!(controller.get("counts").get("errors"), &json!(2));
    world.fake.says(
        "a",
        engine_status(Ready::Stopped("too much".to_owned()), &[]),
    );
    rest().await;
    assert_eq!(world.standing("a"), "False/BudgetExceeded");
    world.fake.says("a", engine_status(Ready::True, &[]));
    rest().await;
    assert_eq!(world.standing("a"), "True/Ready");

    let writes = world.server.count("PATCH");
    assert_eq!(writes, 4);
    for _ in 0..20 {
        world.fake.says("a", engine_status(Ready::True, &[]));
        rest().await;
    }
    assert_eq!(world.server.count("PATCH"), writes);
}

#[tokio::test(start_paused = true)]
async fn a_busy_engine_does_not_make_a_busy_status() {
    let world = world(&Server::default(), Policy::default());
    world.server.apply("a", &spec("ConfigMap"), &none());
    rest().await;
    let before = world.server.count("PATCH");
    for objects in 0..600 {
        let mut status = engine_status(Ready::True, &[]);
        status.controllers[0].counts.objects = objects;
        world.fake.says("a", status);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let writes = world.server.count("PATCH") - before;
    assert!((5..=15).contains(&writes), "{writes} writes in a minute");
    rest().await;
    let controller = world
        .server
        .get("a")
        .get("status")
        .get("controllers")
        .at(0)
        .clone();
    assert_eq!(controller.get("counts").get("objects"), &json!(599));
}

#[tokio::test(start_paused = true)]
async fn failed_status_writes_are_tried_again_with_pauses() {
    let world = world(&Server::default(), Policy::default());
    world.server.refuse("/status");
    world.server.apply("a", &spec("ConfigMap"), &none());
    tokio::time::sleep(Duration::from_mins(2)).await;
    let attempts = world.server.count("/status");
    assert!((4..=9).contains(&attempts), "{attempts} attempts");
    world.server.accept("/status");
    tokio::time::sleep(Duration::from_secs(90)).await;
    assert_eq!(world.standing("a"), "False/NotReady");
}

#[tokio::test(start_paused = true)]
async fn without_the_definition_it_waits() {
    let server = Server::default();
    server.missing(true);
    let world = world(&server, Policy::default());
    rest().await;
    let why = world.health.readiness().unwrap_err();
    assert!(why.contains("deltic install"), "{why}");
    server.missing(false);
    server.apply("a", &spec("ConfigMap"), &none());
    assert_eq!(world.told().await, ["start a ConfigMap"]);
    assert_eq!(world.health.readiness(), Ok(()));
    assert!(!world.task.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_goes_and_comes_back_stops_nothing() {
    let world = world(&Server::default(), Policy::default());
    world.server.apply("a", &spec("ConfigMap"), &none());
    assert_eq!(world.told().await, ["start a ConfigMap"]);
    world.server.missing(true);
    world.server.cut();
    assert_eq!(world.told().await, [""; 0]);
    assert!(world.health.readiness().is_err());
    world.server.missing(false);
    assert_eq!(world.told().await, [""; 0]);
    assert_eq!(world.health.readiness(), Ok(()));
    world.server.vanish();
    rest().await;
    world.server.missing(false);
    assert_eq!(world.told().await, ["stop a"]);
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_ends_by_itself_is_started_again_with_pauses() {
    let world = world(&Server::default(), Policy::default());
    world.server.apply("a", &spec("ConfigMap"), &none());
    assert_eq!(world.told().await, ["start a ConfigMap"]);
    let mut starts = 0;
    for _ in 0..120 {
        world.fake.crash("a");
        tokio::time::sleep(Duration::from_secs(1)).await;
        starts += world.fake.log().len();
    }
    assert!((3..=9).contains(&starts), "{starts} starts");
}

#[tokio::test(start_paused = true)]
async fn shutdown_stops_all_and_leaves_operators_as_they_are() {
    let world = world(&Server::default(), Policy::default());
    world.server.apply("a", &spec("ConfigMap"), &none());
    world.server.apply("b", &deleting("Secret"), &none());
    assert_eq!(world.told().await.len(), 2);
    world.stop.send(()).unwrap();
    assert!(world.task.await.unwrap());
    let mut log = world.fake.log();
    log.sort();
    assert_eq!(log, ["stop a", "stop b"]);
    assert!(!world.server.get("b").is_null());
}

#[tokio::test(start_paused = true)]
async fn what_changed_last_is_told_before_the_end() {
    let world = world(&Server::default(), Policy::default());
    world.server.apply("a", &spec("ConfigMap"), &none());
    rest().await;
    world
        .fake
        .says("a", engine_status(Ready::Failing, &["late"]));
    world.stop.send(()).unwrap();
    assert!(world.task.await.unwrap());
    let ready = world
        .server
        .get("a")
        .get("status")
        .get("conditions")
        .at(0)
        .clone();
    let reason = ready.get("reason").as_str();
    assert_eq!(reason, Some("ReconciliationFailed"), "{ready}");
}

#[tokio::test(start_paused = true)]
async fn what_the_engine_tells_becomes_events_about_the_operator() {
    let world = world(&Server::default(), Policy::default());
    world.server.apply("a", &spec("ConfigMap"), &none());
    rest().await;
    let events = world.fake.events("a");
    events.adopted(&ObjectKey::new("", "ConfigMap", "n", "x"), "c");
    events.reported(
        "c",
        &engine_status(Ready::Failing, &["why"]).controllers[0].errors[0],
    );
    rest().await;
    let events = world.server.events();
    let uid = world.server.get("a").get("metadata").get("uid").clone();
    let reasons: Vec<_> = events
        .iter()
        .map(|event| event.get("reason").clone())
        .collect();
    assert_eq!(reasons, [json!("Adopted"), json!("BadThing")]);
    assert!(
        events
            .iter()
            .all(|event| event.get("regarding").get("uid") == &uid)
    );
}
