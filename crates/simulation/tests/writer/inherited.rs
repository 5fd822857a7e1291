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

/// To the server, a Patcher has what it once wrote, even if only an Applier wants it by now.
#[tokio::test(start_paused = true)]
async fn an_applier_leaves_a_new_field_of_a_patcher_to_another_one() {
    for field in ["spec", "status"] {
        let v = |v: i64| set(&json!({}), &[field, "v"], json!(v));
        let mut h = harness();
        let key = widget("x");
        h.sim.foreign(&key, "human", foreign_widget(&json!({})));
        h.want(&key, &patcher().wants(&v(0)));
        h.settle().await;
        h.want(&key, &applier().wants(&v(0)));
        h.want(&key, &late_applier().wants(&v(1)));
        h.settle().await;
        h.withdraw(&key, "p");
        h.settle().await;
        h.want(&key, &applier().wants(&json!({})));
        h.settle().await;
        assert_eq!(h.live(&key).get(field).get("v"), &json!(1));
        assert!(h.codes(&key).is_empty());
        h.withdraw(&key, "b");
        h.settle().await;
        assert!(h.live(&key).get(field).get("v").is_null());
    }
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

/// To the server, a value that a Patcher has restored is ours. It belongs to the user all the same,
/// and so the map around it goes with none of our layers.
#[tokio::test(start_paused = true)]
async fn a_restored_value_in_a_map_of_an_applier_is_the_users() {
    let map = |map: Value| spec(&json!({"m": map}));
    for applier in [applier(), late_applier()] {
        let mut h = harness();
        let key = widget("x");
        h.sim.foreign(&key, "human", foreign_widget(&json!({})));
        h.want(&key, &applier.wants(&map(json!({}))));
        h.settle().await;
        h.want(&key, &late_patcher().wants(&map(json!({"v": 0}))));
        h.settle().await;
        h.sim.foreign(&key, "human", |object| {
            set(object, &["spec", "m", "v"], json!(1))
        });
        h.settle().await;
        assert_eq!(at(&h.live(&key), &["spec", "m"]), &json!({"v": 0}));
        h.withdraw(&key, "q");
        h.settle().await;
        assert_eq!(at(&h.live(&key), &["spec", "m"]), &json!({"v": 1}));
        h.want(&key, &patcher().wants(&map(json!({"w": 0}))));
        h.settle().await;
        h.withdraw(&key, &applier.0.controller);
        h.settle().await;
        assert_eq!(at(&h.live(&key), &["spec", "m"]), &json!({"v": 1, "w": 0}));
        h.withdraw(&key, "p");
        h.settle().await;
        assert_eq!(at(&h.live(&key), &["spec", "m"]), &json!({"v": 1}));
    }
}

#[tokio::test(start_paused = true)]
async fn layers_agree_whether_a_map_is_theirs_alone() {
    let mut h = harness();
    let key = widget("x");
    let map = |map: Value| spec(&json!({"m": map}));
    h.want(&key, &patcher().wants(&map(json!({}))));
    h.want(&key, &late_applier().wants(&map(json!({}))));
    h.settle().await;
    h.want(&key, &late_patcher().wants(&map(json!({"v": 1}))));
    h.settle().await;
    writes(&h);
    h.sim.foreign(&key, "human", |object| {
        set(object, &["spec", "m", "v"], json!(0))
    });
    assert!(h.step(Duration::ZERO).await);
    assert_eq!(at(&h.live(&key), &["spec", "m"]), &json!({"v": 1}));
    let requests = writes(&h);
    assert!(requests.len() < 4, "{requests:?}");
}

/// What an Applier adds to an element of a Patcher is not a value of others.
#[tokio::test(start_paused = true)]
async fn an_element_with_a_field_of_an_applier_is_ours_alone() {
    let mut h = harness();
    let key = ObjectKey::new("", "Pod", "ns", "x");
    h.sim.foreign(&key, "human", |_| json!({}));
    let container = |container: Value| json!({"spec": {"containers": [container]}});
    let patch = container(json!({"name": "a", "v": 1}));
    h.want(&key, &late_patcher().wants(&patch));
    h.settle().await;
    let applied = container(json!({"name": "a", "w": 1}));
    h.want(&key, &applier().wants(&applied));
    h.settle().await;
    h.withdraw(&key, "a");
    h.settle().await;
    let containers = |h: &Harness| at(&h.live(&key), &["spec", "containers"]).clone();
    assert_eq!(containers(&h), json!([{"name": "a", "v": 1}]));
    h.withdraw(&key, "q");
    h.settle().await;
    assert_eq!(containers(&h), Value::NULL);
}
