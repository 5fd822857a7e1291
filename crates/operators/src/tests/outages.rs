//! The CRD is missing, an engine ends, the process ends.

use super::*;

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
async fn a_start_that_panics_is_an_error_of_its_operator() {
    let world = world(&Server::default(), Policy::default());
    world.fake.panics(4);
    world.server.apply("a", &spec("ConfigMap"), &none());
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(world.standing("a"), "False/Crashed");
    world.server.apply("b", &spec("Secret"), &none());
    assert_eq!(world.told().await, ["start b Secret", "start a ConfigMap"]);
    rest().await;
    assert_eq!(world.standing("a"), "False/NotReady");
    let reasons = world.server.events();
    let mut reasons = reasons.iter().map(|event| event.get("reason").as_str());
    assert!(reasons.any(|reason| reason == Some("Crashed")));
}

/// Otherwise its views would stay in memory, and its readers would never know.
#[tokio::test(start_paused = true)]
async fn an_operator_whose_task_fails_while_it_goes_is_forgotten() {
    let world = world(&Server::default(), Policy::default());
    world.server.apply("a", &spec("ConfigMap"), &none());
    rest().await;
    world.fake.stops_badly();
    world.server.delete("a");
    rest().await;
    assert_eq!(world.fake.forgotten(), ["a"]);
    world.server.apply("a", &spec("Secret"), &none());
    assert_eq!(world.told().await, ["start a ConfigMap", "start a Secret"]);
}

#[tokio::test(start_paused = true)]
async fn a_pipeline_that_writes_back_whole_objects_is_an_event() {
    let world = world(&Server::default(), Policy::default());
    world.server.apply("good", &spec("ConfigMap"), &none());
    world.server.apply("bad", &spec("Pod"), &none());
    assert_eq!(world.told().await.len(), 2);
    let events = world.server.events();
    let about: Vec<_> = events
        .iter()
        .filter(|event| event.get("reason").as_str() == Some("WholeObject"))
        .map(|event| event.get("regarding").get("name").as_str())
        .collect();
    assert_eq!(about, [Some("bad")]);
}

#[tokio::test(start_paused = true)]
async fn the_warnings_of_check_are_an_event_for_each_spec() {
    let world = world(&Server::default(), Policy::default());
    let select = json!([{"@select": {"@exists": "$.spec.nodeNam"}}]);
    let pipeline = merge_patch(
        spec("Secret").get("controllers").at(0),
        &json!({"pipeline": (select)}),
    );
    let warned = json!({"controllers": [(pipeline)]});
    world.server.apply("a", &warned, &none());
    rest().await;
    let notes = world.server.warnings();
    let [note] = &notes[..] else {
        panic!("{notes:?}")
    };
    let finding = "no-such-field at spec.controllers[0].pipeline[0].@select.@exists: \
        $.spec has no field nodeNam, so this is always null (did you mean nodeName?)";
    assert!(note.contains(finding), "{note}");
    // Nothing new is said about the same spec, nor about what the annotation allows.
    world.server.apply("a", &warned, &json!({"note": "x"}));
    let allowed = json!({"dcontroller.io/allow": "no-such-field, whole-object, missing-field"});
    world.server.apply("b", &warned, &allowed);
    rest().await;
    assert_eq!(world.server.warnings(), notes);
}

#[tokio::test(start_paused = true)]
async fn shutdown_stops_all_and_leaves_operators_as_they_are() {
    let server = Server::default();
    let world = world(&server, Policy::default());
    server.apply("a", &spec("ConfigMap"), &none());
    server.apply("b", &deleting("Secret"), &none());
    assert_eq!(world.told().await.len(), 2);
    let mut log = world.end().await;
    log.sort();
    assert_eq!(log, ["stop a", "stop b"]);
    assert!(!server.get("b").is_null());
}
