//! Removals: those that `maxDeletions` holds, and those that count.

use std::sync::Arc;

use document::{Key, Map};
use engine::writer::Writer;

use super::*;
use crate::harness::UID;

#[tokio::test(start_paused = true)]
async fn held_deletions_wait() {
    let mut h = harness();
    let key = widget("a");
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    assert!(h.writer.removes(&key, "c"));
    h.hold(&key, "c").await;
    assert_ne!(h.live(&key), Value::NULL);
    assert_eq!(h.codes(&key), ["deletion-held"].into());
    assert_eq!((h.writer.held("c"), h.writer.held("p")), (1, 0));
    // The leftover is known and is not returned again.
    assert_eq!(h.writer.leftovers(|_| false), []);
    h.withdraw(&key, "c");
    h.settle().await;
    assert_ne!(h.live(&key), Value::NULL);
    assert_eq!(h.writer.release(), std::slice::from_ref(&key));
    h.run(&key).await;
    assert_eq!(h.live(&key), Value::NULL);
    assert!(h.codes(&key).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_held_removal_ends_when_the_object_is_wanted_again() {
    let mut h = harness();
    let key = widget("a");
    let wanted = updater().wants(&spec(&json!({"a": 1})));
    h.want(&key, &wanted);
    h.settle().await;
    h.hold(&key, "c").await;
    h.want(&key, &wanted);
    h.settle().await;
    assert!(h.codes(&key).is_empty());
    assert_eq!(h.writer.release(), []);
    h.withdraw(&key, "c");
    h.settle().await;
    assert_eq!(h.live(&key), Value::NULL);
}

#[tokio::test(start_paused = true)]
async fn held_patches_stay_while_others_are_undone() {
    let mut h = harness();
    let key = widget("a");
    h.sim
        .foreign(&key, "user", foreign_widget(&json!({"own": 1})));
    let layers = [
        Actor::new("p", 1, TargetType::Patcher).wants(&spec(&json!({"a": 1}))),
        Actor::new("q", 2, TargetType::Patcher).wants(&spec(&json!({"b": 1}))),
        applier().wants(&spec(&json!({"c": 1}))),
    ];
    for layer in &layers {
        h.want(&key, layer);
    }
    h.settle().await;
    for controller in ["p", "q", "a"] {
        assert!(h.writer.removes(&key, controller), "{controller}");
    }
    h.hold(&key, "p").await;
    h.hold(&key, "a").await;
    h.withdraw(&key, "q");
    h.settle().await;
    let live = h.live(&key);
    let field = |name: &str| live.get("spec").get(name).clone();
    assert_eq!(
        ["a", "b", "c"].map(field),
        [json!(1), Value::NULL, json!(1)]
    );
    assert_eq!(h.codes(&key), ["deletion-held"].into());
    h.writer.release();
    h.run(&key).await;
    let live = h.live(&key);
    let field = |name: &str| live.get("spec").get(name).clone();
    assert_eq!(
        ["own", "a", "c"].map(field),
        [json!(1), Value::NULL, Value::NULL]
    );
    assert!(h.codes(&key).is_empty());
}

/// The map goes with the Patcher that has created it, but not with what others have set in it.
#[tokio::test(start_paused = true)]
async fn patches_in_a_map_stay_while_the_patch_that_created_it_is_undone() {
    for restarted in [false, true] {
        let mut h = harness();
        let key = widget("a");
        h.sim
            .foreign(&key, "user", foreign_widget(&json!({"own": 1})));
        let patch = |controller: &str, rank: usize, field: &str| {
            let fields = Value::from(Map::from_entries(vec![(Key::new(field), json!(1))]));
            let patcher = Actor::new(controller, rank, TargetType::Patcher);
            patcher.wants(&spec(&json!({"m": fields})))
        };
        let q = patch("q", 2, "b");
        h.want(&key, &q);
        h.settle().await;
        h.want(&key, &patch("p", 1, "a"));
        h.settle().await;
        let inside = |h: &Harness| h.live(&key).get("spec").get("m").clone();
        assert_eq!(inside(&h), json!({"a": 1, "b": 1}));
        if restarted {
            // What the other one derives is not known.
            let operator = OperatorId::new(OPERATOR, UID);
            let writer = Writer::new(&operator, h.sim.client(), h.reported.clone());
            h.writer = Arc::new(writer);
            h.wanted.clear();
            h.list();
            h.want(&key, &q);
            h.settle().await;
        } else {
            h.hold(&key, "p").await;
        }
        h.withdraw(&key, "q");
        h.settle().await;
        assert_eq!(inside(&h), json!({"a": 1}), "restarted: {restarted}");
        h.want(&key, &patch("p", 1, "a"));
        h.settle().await;
        h.withdraw(&key, "p");
        h.settle().await;
        assert_eq!(inside(&h).get("a"), &Value::NULL);
        assert_eq!(h.live(&key).get("spec").get("own"), &json!(1));
    }
}

#[tokio::test(start_paused = true)]
async fn only_deletions_and_undone_patches_count_as_removals() {
    let mut h = harness();
    let (adopted, moved, absent) = (widget("adopted"), widget("moved"), widget("absent"));
    h.sim
        .foreign(&adopted, "user", foreign_widget(&json!({"a": 1})));
    h.want(&adopted, &updater().wants(&spec(&json!({"a": 1}))));
    h.want(&moved, &updater().wants(&spec(&json!({"a": 1}))));
    h.want(&absent, &patcher().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    assert!(!h.writer.removes(&adopted, "c"), "it stays");
    assert!(!h.writer.removes(&absent, "p"), "it never existed");
    assert!(h.writer.removes(&moved, "c"));
    h.want(
        &moved,
        &Actor::new("d", 3, TargetType::Updater).wants(&spec(&json!({"a": 2}))),
    );
    assert!(
        !h.writer.removes(&moved, "c"),
        "another controller takes it over"
    );
}
