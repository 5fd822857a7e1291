//! Edits of an Operator.

use std::time::Duration;

use simulation::faults::Fault;

use super::*;

/// A controller that selects objects by a label that none has, and so derives nothing.
fn dropping(name: &str) -> Value {
    let select = json!({"@select": {"@eq": ["$.metadata.labels.keep", "yes"]}});
    let copy = copy(name, "");
    let project = copy.get("pipeline").at(0).clone();
    set(&copy, &["pipeline"], json!([select, project]))
}

#[tokio::test(start_paused = true)]
async fn objects_of_a_renamed_controller_are_held() {
    let world = running(10, &limited_spec(&[&copy("old", "")], json!(0))).await;
    world.apply("a", &limited_spec(&[&copy("new", "-new")], json!(0)));
    rest().await;
    assert_eq!(world.count(), 20);
    assert_eq!((world.held("a", "old"), world.held("a", "new")), (10, 0));
    assert_eq!(world.reason("a"), "ReconciliationFailed");
    // The previous generation does not count.
    world.allow("a", Some(world.generation("a") - 1)).await;
    assert_eq!(world.count(), 20);
    world.allow("a", Some(world.generation("a"))).await;
    assert_eq!((world.count(), world.reason("a").as_str()), (10, "Ready"));
}

#[tokio::test(start_paused = true)]
async fn a_renamed_controller_that_derives_the_same_removes_nothing() {
    let world = running(10, &limited_spec(&[&copy("old", "")], json!(0))).await;
    world.apply("a", &limited_spec(&[&copy("new", "")], json!(0)));
    rest().await;
    assert_eq!((world.count(), world.reason("a").as_str()), (10, "Ready"));
}

#[tokio::test(start_paused = true)]
async fn objects_that_a_new_pipeline_does_not_derive_are_held() {
    let world = running(10, &limited_spec(&[&copy("c", "")], json!("90%"))).await;
    world.apply("a", &limited_spec(&[&dropping("c")], json!("90%")));
    rest().await;
    assert_eq!((world.count(), world.held("a", "c")), (10, 10));
    // An object that is derived again is no longer held.
    world.make_with(&widget("o3"), &json!({"keep": "yes"}));
    rest().await;
    assert_eq!((world.count(), world.held("a", "c")), (10, 9));
    world.apply("a", &limited_spec(&[&copy("c", "")], json!("90%")));
    rest().await;
    assert_eq!((world.count(), world.reason("a").as_str()), (10, "Ready"));
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_a_controller_wins_over_that_of_the_spec() {
    let world = running(10, &limited_spec(&[&copy("c", "")], json!(0))).await;
    let free = limited(&dropping("c"), json!("100%"));
    world.apply("a", &limited_spec(&[&free], json!(0)));
    rest().await;
    assert_eq!((world.count(), world.reason("a").as_str()), (0, "Ready"));
}

#[tokio::test(start_paused = true)]
async fn deleting_the_operator_deletes_held_objects() {
    let policy = |spec: &Value| set(spec, &["deletionPolicy"], json!("Delete"));
    let world = running(10, &policy(&limited_spec(&[&copy("c", "")], json!(0)))).await;
    world.lose(widgets(10)).await;
    assert_eq!((world.count(), world.held("a", "c")), (10, 10));
    world.retire("a");
    rest().await;
    assert_eq!(world.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_operator_counts_what_is_left() {
    let spec = set(
        &limited_spec(&[&copy("c", "")], json!(0)),
        &["deletionPolicy"],
        json!("Delete"),
    );
    let world = running(10, &spec).await;
    let names = names(3);
    let deletes = names
        .iter()
        .map(|name| format!("DELETE /api/v1/namespaces/ns/configmaps/{name}"));
    let deletes: Vec<String> = deletes.collect();
    for delete in &deletes {
        world.answer(delete, Fault::Answer(500));
    }
    assert_eq!(world.ready("a"), "True/Ready");
    world.retire("a");
    rest().await;
    assert_eq!(world.ready("a"), "False/Deleting");
    let message = world.message("a");
    let expect = "derived objects are being deleted: 3 ConfigMap left; the newest error: ";
    assert!(message.starts_with(expect), "{message}");
    for delete in &deletes {
        world.answer(delete, Fault::None);
    }
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert!(world.status("a").is_null() && world.count() == 0);
}

#[tokio::test(start_paused = true)]
async fn a_percentage_is_of_the_objects_of_the_renamed_controller() {
    for (max, left) in [("30%", 10), ("50%", 6)] {
        let max = || json!(max);
        let world = running(10, &limited_spec(&[&copy("old", "")], max())).await;
        let kept: Value = names(6)
            .iter()
            .map(|name| Value::from(name.as_str()))
            .collect();
        let six = json!({"@select": {"@in": ["$.metadata.name", kept]}});
        let copy = copy("new", "");
        let project = copy.get("pipeline").at(0).clone();
        let new = set(&copy, &["pipeline"], json!([six, project]));
        world.apply("a", &limited_spec(&[&new], max()));
        rest().await;
        assert_eq!((world.count(), world.held("a", "old")), (left, left - 6));
    }
}

#[tokio::test(start_paused = true)]
async fn removing_the_limit_releases_held_deletions() {
    let world = running(10, &limited_spec(&[&copy("c", "")], json!(0))).await;
    world.lose(widgets(10)).await;
    assert_eq!((world.count(), world.held("a", "c")), (10, 10));
    world.apply("a", &spec(&[&copy("c", "")]));
    rest().await;
    assert_eq!((world.count(), world.reason("a").as_str()), (0, "Ready"));
}

/// Two objects of an Operator with one controller; the source object of one is deleted, that of the
/// other one is in error, and the spec is edited. Only the first goes.
async fn an_edit_keeps_what_is_in_error(edited: &Value) {
    let mut world = World::new(0);
    for (name, to) in [("o0", "x"), ("o1", "y"), ("o2", "z")] {
        let half = if name == "o2" { "first" } else { "second" };
        world.make_with(&widget(name), &json!({"to": to, "n": "1", "half": half}));
    }
    world.apply("a", &spec(&[&numbered()]));
    world.start();
    rest().await;
    assert_eq!(world.config_maps(None), ["x", "y", "z"]);
    let labels = |n: &str| json!({"to": "x", "n": n, "half": "second"});
    world.make_with(&widget("o0"), &labels("none"));
    rest().await;
    world.stop().await;
    world.delete(&widget("o1"));
    world.apply("a", edited);
    world.start();
    rest().await;
    assert_eq!(world.config_maps(None), ["x", "z"]);
    world.delete(&widget("o0"));
    rest().await;
    assert_eq!(world.config_maps(None), ["z"]);
    assert_eq!(world.reason("a"), "Ready");
}

#[tokio::test(start_paused = true)]
async fn the_origins_in_error_of_a_renamed_source_are_the_same() {
    let source = json!([{"apiGroup": "example.com", "kind": "Widget", "as": "Main"}]);
    an_edit_keeps_what_is_in_error(&spec(&[&set(&numbered(), &["sources"], source)])).await;
}

#[tokio::test(start_paused = true)]
async fn the_origins_in_error_of_a_divided_controller_are_the_same() {
    let half = |name: &str, half: &str| {
        let select = json!({"@select": {"@eq": ["$.metadata.labels.half", half]}});
        let project = numbered().get("pipeline").at(0).clone();
        let half = set(&numbered(), &["pipeline"], json!([select, project]));
        set(&half, &["name"], json!(name))
    };
    an_edit_keeps_what_is_in_error(&spec(&[&half("c", "first"), &half("d", "second")])).await;
}
