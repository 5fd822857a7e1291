//! Edits that give a target another type: what the earlier type has set is taken back, or passes to
//! the new one with its former value.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_patcher_that_becomes_an_applier_still_gives_values_back() {
    let theirs = json!({"data": {"a": "1", "b": "1"}});
    let steps = [
        Wants("p", json!({"data": {"a": "2", "b": "2", "c": "2"}})),
        Becomes("p", TargetType::Applier),
        Is(json!({"data": {"a": "2", "b": "2", "c": "2"}})),
        Wants("p", json!({"data": {"a": "2"}})),
        Is(json!({"data": {"a": "2", "b": "1"}})),
        Restart,
        Gone("p"),
        Is(theirs.clone()),
    ];
    check(theirs, &steps).await;
}

#[tokio::test(start_paused = true)]
async fn an_applier_that_becomes_a_patcher_leaves_nothing_behind() {
    let theirs = json!({"data": {"a": "1"}});
    let applied = json!({"metadata": {"labels": {"l": "1"}}, "data": {"b": "2"}});
    let steps = [
        Becomes("p", TargetType::Applier),
        Wants("p", applied),
        Is(json!({"metadata": {"labels": {"l": "1"}}, "data": {"a": "1", "b": "2"}})),
        Becomes("p", TargetType::Patcher),
        Wants("p", json!({"data": {"c": "2"}})),
        Is(json!({"data": {"a": "1", "c": "2"}})),
        Gone("p"),
        Is(theirs.clone()),
    ];
    check(theirs, &steps).await;
}

#[tokio::test(start_paused = true)]
async fn an_updater_or_applier_that_becomes_a_patcher_no_longer_yields_the_object() {
    for kind in [TargetType::Updater, TargetType::Applier] {
        let mut story = Story::without_object(config_map("x"));
        let document = json!({"data": {"a": "1"}});
        for step in [
            Becomes("u", kind),
            Wants("u", document.clone()),
            Becomes("u", TargetType::Patcher),
        ] {
            story.run(&step).await;
        }
        assert_eq!(story.on_server(), Value::NULL, "{kind:?}");
        // It patches an object that somebody else creates.
        let theirs = document::merge(&story.named(), &json!({"data": {"b": "1"}}));
        story.h.sim.foreign(&story.key, "human", |_| theirs.clone());
        story.object = theirs;
        story.run(&Restart).await;
        assert_eq!(story.on_server(), json!({"data": {"a": "1", "b": "1"}}));
        assert_eq!(story.on_server(), content(&story.object));
    }
}

#[tokio::test(start_paused = true)]
async fn an_applier_that_becomes_an_updater_leaves_no_labels_behind() {
    let applied = json!({"metadata": {"labels": {"l": "1"}}, "data": {"a": "1", "b": "1"}});
    let mut story = Story::without_object(config_map("x"));
    for step in [
        Becomes("u", TargetType::Applier),
        Wants("u", applied),
        Becomes("u", TargetType::Updater),
        Wants("u", json!({"data": {"a": "2"}})),
    ] {
        story.run(&step).await;
    }
    assert_eq!(story.on_server(), json!({"data": {"a": "2"}}));
    story.run(&Gone("u")).await;
    assert_eq!(story.on_server(), Value::NULL);
}
