//! Values of users that a Patcher has replaced, and that another layer of the Operator takes over.
//! Whoever gives them up last restores them.

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
