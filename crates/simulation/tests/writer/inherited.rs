//! Fields that one layer of the Operator takes over from another one. Whoever gives up a field last
//! restores the value of the user, or removes the field if there was none.

use super::*;

fn late_patcher() -> Actor {
    Actor::new("q", 3, TargetType::Patcher)
}

fn late_applier() -> Actor {
    Actor::new("b", 4, TargetType::Applier)
}

/// A widget of a user, on which the late Patcher has replaced the value 2 by 0.
async fn replaced() -> (Harness, ObjectKey) {
    let mut h = harness();
    let key = widget("x");
    h.sim
        .foreign(&key, "human", foreign_widget(&json!({"v": 2})));
    h.want(&key, &late_patcher().wants(&spec(&json!({"v": 0}))));
    h.settle().await;
    assert_eq!(value(&h, &key), json!(0));
    (h, key)
}

fn value(h: &Harness, key: &ObjectKey) -> Value {
    h.live(key).get("spec").get("v").clone()
}

#[tokio::test(start_paused = true)]
async fn an_applier_leaves_the_former_value_to_a_patcher() {
    let (mut h, key) = replaced().await;
    h.want(&key, &applier().wants(&spec(&json!({"v": 1}))));
    h.settle().await;
    assert_eq!(value(&h, &key), json!(1), "the first one gets the field");
    h.want(&key, &applier().wants(&spec(&json!({"other": 1}))));
    h.settle().await;
    assert_eq!(value(&h, &key), json!(0));
    writes(&h);
    h.check_again().await;
    assert_eq!(writes(&h), [""; 0]);
    h.restart();
    h.withdraw(&key, "q");
    h.settle().await;
    assert_eq!(value(&h, &key), json!(2));
}

#[tokio::test(start_paused = true)]
async fn an_applier_leaves_the_former_value_to_another_one() {
    let (mut h, key) = replaced().await;
    h.want(&key, &applier().wants(&spec(&json!({"v": 1}))));
    h.settle().await;
    h.withdraw(&key, "q");
    h.want(&key, &late_applier().wants(&spec(&json!({"v": 3}))));
    h.settle().await;
    assert_eq!(value(&h, &key), json!(1));
    h.want(&key, &applier().wants(&spec(&json!({"other": 1}))));
    h.settle().await;
    assert_eq!(value(&h, &key), json!(3));
    writes(&h);
    h.check_again().await;
    assert_eq!(writes(&h), [""; 0]);
    h.restart();
    h.withdraw(&key, "b");
    h.settle().await;
    assert_eq!(value(&h, &key), json!(2));
}

#[tokio::test(start_paused = true)]
async fn a_patcher_leaves_the_former_value_to_an_applier_of_the_same_value() {
    let mut h = harness();
    let key = widget("x");
    h.sim
        .foreign(&key, "human", foreign_widget(&json!({"theirs": 1})));
    h.want(&key, &late_applier().wants(&spec(&json!({"v": 0}))));
    h.want(&key, &patcher().wants(&spec(&json!({"v": 0}))));
    h.settle().await;
    h.sim.foreign(&key, "human", |object| {
        set(object, &["spec", "v"], json!(2))
    });
    h.settle().await;
    assert_eq!(value(&h, &key), json!(0));
    h.withdraw(&key, "p");
    h.settle().await;
    assert_eq!(value(&h, &key), json!(0), "the Applier still wants it");
    h.restart();
    h.withdraw(&key, "b");
    h.settle().await;
    assert_eq!(value(&h, &key), json!(2));
}

#[tokio::test(start_paused = true)]
async fn a_users_value_that_an_applier_wants_as_well_stays() {
    for withdrawn_first in [true, false] {
        let (mut h, key) = replaced().await;
        if withdrawn_first {
            h.withdraw(&key, "q");
        }
        h.want(&key, &applier().wants(&spec(&json!({"v": 2, "other": 1}))));
        h.settle().await;
        assert_eq!(value(&h, &key), json!(2));
        h.withdraw(&key, "q");
        h.settle().await;
        h.restart();
        h.want(&key, &applier().wants(&spec(&json!({"other": 1}))));
        h.settle().await;
        assert_eq!(value(&h, &key), json!(2), "it is the user's");
    }
}

#[tokio::test(start_paused = true)]
async fn a_restored_value_that_an_applier_has_as_well_is_the_users() {
    let (mut h, key) = replaced().await;
    h.want(&key, &applier().wants(&spec(&json!({"v": 2}))));
    h.settle().await;
    h.want(&key, &patcher().wants(&spec(&json!({"v": 7}))));
    h.settle().await;
    assert_eq!(value(&h, &key), json!(7));
    h.withdraw(&key, "a");
    h.withdraw(&key, "q");
    h.settle().await;
    h.restart();
    h.withdraw(&key, "p");
    h.settle().await;
    assert_eq!(value(&h, &key), json!(2));
}

/// A widget with what an edit of the Operator leaves: the Applier `b`, which forces its fields, is
/// gone, and the Patcher `p` is new.
async fn edited(applied: &Value, patch: &Value) -> (Harness, ObjectKey) {
    let mut h = harness();
    let key = widget("x");
    h.sim
        .foreign(&key, "human", foreign_widget(&json!({"theirs": 1})));
    let mut forcing = target(TargetType::Applier);
    forcing.force = true;
    let forcing = Actor::of(OPERATOR, "b", 4, forcing);
    h.want(&key, &forcing.wants(applied));
    h.settle().await;
    h.wanted.clear();
    let patch = patcher().wants(patch);
    h.wanted.insert((key.clone(), "p".to_owned()), patch);
    h.restart();
    h.settle().await;
    (h, key)
}

#[tokio::test(start_paused = true)]
async fn a_patcher_inherits_from_an_applier_that_an_edit_removed() {
    let (mut h, key) = edited(&spec(&json!({"v": 1})), &spec(&json!({"v": 2}))).await;
    assert_eq!(value(&h, &key), json!(2));
    h.withdraw(&key, "p");
    h.settle().await;
    let left = unset(h.live(&key).get("spec"), &["defaulted"]);
    assert_eq!(left, json!({"theirs": 1}), "there was no value before");
}

#[tokio::test(start_paused = true)]
async fn a_patcher_inherits_a_value_that_an_applier_took_from_the_owner_of_the_map() {
    let applied = spec(&json!({"theirs": 2}));
    let (mut h, key) = edited(&applied, &spec(&json!({"theirs": 3}))).await;
    h.withdraw(&key, "p");
    h.settle().await;
    let left = unset(h.live(&key).get("spec"), &["defaulted"]);
    assert_eq!(left, json!({}), "what was applied is removed in the end");
}

#[tokio::test(start_paused = true)]
async fn a_patcher_inherits_a_status_from_an_applier_that_an_edit_removed() {
    let (mut h, key) = edited(&status(1), &status(2)).await;
    assert_eq!(at(&h.live(&key), &["status", "v"]), &json!(2));
    h.withdraw(&key, "p");
    h.settle().await;
    assert!(at(&h.live(&key), &["status", "v"]).is_null());
}

/// A document that sets this status.
fn status(v: i64) -> Value {
    let named = json!({"metadata": {"name": "a", "namespace": "ns"}});
    set(&named, &["status", "v"], json!(v))
}

#[tokio::test(start_paused = true)]
async fn an_applier_restores_a_status_that_was_as_wanted_at_first() {
    let mut h = harness();
    let key = widget("x");
    let theirs = |v: i64| move |object: &Value| set(object, &["status", "v"], json!(v));
    h.sim.foreign(&key, "human", foreign_widget(&json!({})));
    h.sim.foreign(&key, "human", theirs(2));
    h.want(&key, &applier().wants(&status(2)));
    h.settle().await;
    h.sim.foreign(&key, "human", theirs(0));
    h.settle().await;
    assert_eq!(at(&h.live(&key), &["status", "v"]), &json!(2));
    writes(&h);
    h.restart();
    h.settle().await;
    assert_eq!(writes(&h), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_applier_leaves_what_an_updater_has_left_to_the_user() {
    let mut h = harness();
    let key = widget("x");
    h.sim
        .foreign(&key, "human", foreign_widget(&json!({"v": 2})));
    h.want(&key, &updater().wants(&spec(&json!({"v": 0}))));
    h.settle().await;
    h.withdraw(&key, "c");
    h.want(&key, &late_applier().wants(&spec(&json!({"v": 0}))));
    h.settle().await;
    // That another Applier has the same value does not make it ours.
    h.want(&key, &applier().wants(&spec(&json!({"v": 1}))));
    h.settle().await;
    assert_eq!(value(&h, &key), json!(0));
    assert_eq!(h.codes(&key), ["conflict"].into());
}

#[tokio::test(start_paused = true)]
async fn a_status_that_two_layers_of_an_updater_replace_is_restored() {
    let mut h = harness();
    let key = widget("x");
    h.want(&key, &updater().wants(&spec(&json!({"v": 0}))));
    h.want(&key, &patcher().wants(&status(0)));
    h.want(&key, &applier().wants(&status(0)));
    h.settle().await;
    h.sim.foreign(&key, "human", |object| {
        set(object, &["status", "v"], json!(2))
    });
    h.settle().await;
    assert_eq!(at(&h.live(&key), &["status", "v"]), &json!(0));
    h.withdraw(&key, "a");
    h.settle().await;
    h.restart();
    h.withdraw(&key, "p");
    h.settle().await;
    assert_eq!(at(&h.live(&key), &["status", "v"]), &json!(2));
}

#[tokio::test(start_paused = true)]
async fn an_applier_removes_its_status_after_an_updater_has_yielded_one_for_a_while() {
    for changed in [false, true] {
        let mut h = harness();
        let key = widget("x");
        let spec = spec(&json!({"v": 0}));
        h.want(&key, &updater().wants(&spec));
        h.want(&key, &applier().wants(&status(2)));
        h.settle().await;
        // The Updater restores the status, so that the server no longer knows that it was applied.
        h.sim.foreign(&key, "human", |object| {
            set(object, &["status", "v"], json!(1))
        });
        h.settle().await;
        h.want(
            &key,
            &updater().wants(&set(&spec, &["status"], json!({"v": 0}))),
        );
        h.settle().await;
        assert_eq!(at(&h.live(&key), &["status", "v"]), &json!(2));
        if changed {
            h.want(&key, &applier().wants(&status(3)));
            h.settle().await;
        }
        writes(&h);
        h.restart();
        h.settle().await;
        assert_eq!(writes(&h), [""; 0]);
        h.want(&key, &updater().wants(&spec));
        h.settle().await;
        h.withdraw(&key, "a");
        h.settle().await;
        // A value that only the document of the Updater had is left alone.
        let left = if changed { json!(3) } else { Value::NULL };
        assert_eq!(at(&h.live(&key), &["status", "v"]), &left);
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_that_two_appliers_took_back_does_not_return_to_an_older_value() {
    let mut h = harness();
    let key = widget("x");
    let theirs = |v: i64| move |object: &Value| set(object, &["status", "v"], json!(v));
    h.sim.foreign(&key, "human", foreign_widget(&json!({})));
    h.sim.foreign(&key, "human", theirs(0));
    h.want(&key, &patcher().wants(&status(1)));
    h.settle().await;
    h.want(&key, &applier().wants(&status(2)));
    h.withdraw(&key, "p");
    h.settle().await;
    h.want(&key, &late_applier().wants(&status(2)));
    h.settle().await;
    h.sim.foreign(&key, "human", theirs(3));
    h.settle().await;
    assert_eq!(at(&h.live(&key), &["status", "v"]), &json!(2));
    h.withdraw(&key, "b");
    h.settle().await;
    h.withdraw(&key, "a");
    h.settle().await;
    let left = h.live(&key);
    assert!(at(&left, &["status", "v"]).is_null(), "{left}");
}

#[tokio::test(start_paused = true)]
async fn a_renamed_applier_takes_over_a_list_without_keys() {
    let mut h = harness();
    let key = widget("x");
    let sizes = |size: i64| spec(&json!({"list": [{"size": size}]}));
    h.want(&key, &applier().wants(&sizes(1)));
    h.settle().await;
    h.wanted.clear();
    let renamed = late_applier().wants(&sizes(2));
    h.wanted.insert((key.clone(), "b".to_owned()), renamed);
    h.restart();
    h.settle().await;
    let list = at(&h.live(&key), &["spec", "list"]).clone();
    assert_eq!(list, json!([{"size": 2}]));
}
