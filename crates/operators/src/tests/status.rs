//! What status and Events say, and how often they are written.

use ::object::{GroupKind, ObjectName, abridged};
use document::Key;

use super::*;

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

    // The first one records the kinds.
    let writes = world.server.count("PATCH");
    assert_eq!(writes, 5);
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
async fn a_status_that_another_process_overwrites_is_written_ever_more_rarely() {
    let world = world(&Server::default(), Policy::default());
    world.server.apply("a", &spec("ConfigMap"), &none());
    rest().await;
    world
        .fake
        .says("a", engine_status(Ready::Failing, &["first", "second"]));
    rest().await;
    let errors = || {
        let status = world.server.get("a").get("status").clone();
        let errors = status.get("controllers").at(0).get("lastErrors").clone();
        (status, errors)
    };
    let (ours, newest_first) = errors();
    let swapped: Value = [1, 0]
        .map(|at| newest_first.at(at).clone())
        .into_iter()
        .collect();
    let controller = ours.get("controllers").at(0).as_map().unwrap();
    let controller = controller.with(Key::new("lastErrors"), swapped);
    let theirs: Value = ours
        .as_map()
        .unwrap()
        .with(Key::new("controllers"), Value::list([controller.into()]))
        .into();
    let writes = || world.server.count("PATCH");
    let before = writes();
    // Others overwrite it whenever it is as we want it.
    for _ in 0..600 {
        if errors().1 == newest_first {
            world.server.set_status("a", &theirs);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let count = writes() - before;
    assert!((5..=12).contains(&count), "{count} writes in ten minutes");
    // What is new is written at once.
    world.fake.says("a", engine_status(Ready::True, &[]));
    rest().await;
    assert_eq!(world.standing("a"), "True/Ready");
}

#[tokio::test(start_paused = true)]
async fn failed_status_writes_are_tried_again_with_pauses() {
    let world = world(&Server::default(), Policy::default());
    world.server.refuse("/status");
    world.server.apply("a", &spec("ConfigMap"), &none());
    tokio::time::sleep(Duration::from_mins(2)).await;
    let attempts = world.server.count("/status");
    // The kinds have to be recorded first: that is tried every 10 s.
    assert!((4..=25).contains(&attempts), "{attempts} attempts");
    assert_eq!(world.told().await, [""; 0]);
    world.server.accept("/status");
    tokio::time::sleep(Duration::from_secs(90)).await;
    assert_eq!(world.standing("a"), "False/NotReady");
}

#[tokio::test(start_paused = true)]
async fn what_changed_last_is_told_before_the_end() {
    let server = Server::default();
    let world = world(&server, Policy::default());
    server.apply("a", &spec("ConfigMap"), &none());
    rest().await;
    world
        .fake
        .says("a", engine_status(Ready::Failing, &["late"]));
    world.end().await;
    let ready = server
        .get("a")
        .get("status")
        .get("conditions")
        .at(0)
        .clone();
    let reason = ready.get("reason").as_str();
    assert_eq!(reason, Some("ReconciliationFailed"), "{ready}");
}

#[tokio::test(start_paused = true)]
async fn a_long_refusal_keeps_its_reason() {
    let reason = "spec.replicas: must be at most 5";
    for quoted in ["x".repeat(5000), "é".repeat(5000), "…x".repeat(5000)] {
        let world = world(&Server::default(), Policy::default());
        world.server.apply("a", &spec("ConfigMap"), &none());
        rest().await;
        let answer = format!("Deployment.apps \"web\" is invalid: {quoted}: {reason}");
        let problem = format!(
            "Deployment.apps n/web: the server refused the object (422): {}",
            abridged(&answer, 1024)
        );
        let status = engine_status(Ready::Failing, &[problem.as_str()]);
        let events = world.fake.events("a");
        events.reported("c", &status.controllers[0].errors[0]);
        world.fake.says("a", status);
        rest().await;
        let status = world.server.get("a").get("status").clone();
        let controller = status.get("controllers").at(0).clone();
        let note = world.server.events().last().unwrap().get("note").clone();
        let begins = "bad-thing at target for Pod n/a: Deployment.apps n/web: the server refused";
        for (shown, begins) in [
            (controller.get("lastErrors").at(0), begins.to_owned()),
            (
                controller.get("conditions").at(0).get("message"),
                format!("1 error; the newest: {begins}"),
            ),
            (
                status.get("conditions").at(0).get("message"),
                format!("controller c: 1 error; the newest: {begins}"),
            ),
            (&note, format!("controller c: {begins}")),
        ] {
            let shown = shown.as_str().unwrap();
            assert!(shown.len() <= 1024, "{} bytes: {shown}", shown.len());
            assert!(shown.starts_with(&begins), "{shown}");
            assert!(shown.ends_with(reason), "{shown}");
            assert_eq!(shown.matches(" … ").count(), 1, "{shown}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_engine_tells_becomes_events_about_the_operator() {
    let world = world(&Server::default(), Policy::default());
    world.server.apply("a", &spec("ConfigMap"), &none());
    rest().await;
    let events = world.fake.events("a");
    events.adopted(
        &GroupKind::new("", "ConfigMap"),
        Some(&ObjectName::new("n", "x")),
        "c",
    );
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
