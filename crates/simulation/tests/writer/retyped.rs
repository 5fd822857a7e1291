//! Objects of users that an Updater has adopted, after its target became an Applier. When nobody
//! derives them any more, they stay as they are, like any adopted object.

use super::*;

/// The writer of the controller `c`, as an Applier.
fn as_applier() -> Actor {
    Actor::new("c", 0, TargetType::Applier)
}

/// A widget of a user that the Updater `c` has adopted, and that `c` applies since its target was
/// edited.
async fn adopted(updated: &Value, applied: &Value) -> (Harness, ObjectKey) {
    let mut h = harness();
    let key = widget("x");
    let theirs = json!({"v": 1, "sub": {"a": 0}});
    h.sim.foreign(&key, "human", foreign_widget(&theirs));
    h.want(&key, &updater().wants(updated));
    h.settle().await;
    becomes(&mut h, &key, &as_applier().wants(applied)).await;
    (h, key)
}

/// An edit of the Operator, after which only this controller writes the object.
async fn becomes(h: &mut Harness, key: &ObjectKey, desired: &target::Desired) {
    h.wanted.clear();
    let controller = desired.author.controller.clone();
    h.wanted.insert((key.clone(), controller), desired.clone());
    h.restart();
    h.settle().await;
    assert!(h.codes(key).is_empty(), "{:?}", h.messages(key));
}

/// Its content, and whether we have left a mark on it.
fn left(h: &Harness, key: &ObjectKey) -> (Value, bool) {
    let live = h.live(key);
    let spec = unset(live.get("spec"), &["defaulted"]);
    let metadata = live.get("metadata");
    let marked = ["annotations", "labels"].map(|field| metadata.get(field).to_string());
    (spec, marked.iter().any(|text| text.contains("dcontroller")))
}

#[tokio::test(start_paused = true)]
async fn an_adopted_object_keeps_its_content_after_its_updater_became_an_applier() {
    let wanted = json!({"sub": {"a": 2}, "more": 1});
    for updated in [json!({"sub": {"a": 1}}), json!({}), wanted.clone()] {
        for restarted in [false, true] {
            let (mut h, key) = adopted(&spec(&updated), &spec(&wanted)).await;
            assert!(!claim(&h, &key).unwrap().created);
            assert!(!h.writer.removes(&key, "c"), "it stays");
            if restarted {
                h.wanted.clear();
                h.restart();
            } else {
                h.withdraw(&key, "c");
            }
            h.settle().await;
            assert_eq!(left(&h, &key), (wanted.clone(), false), "{updated}");
            writes(&h);
            h.check_again().await;
            assert_eq!(writes(&h), [""; 0]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_applier_does_not_write_an_adopted_object_again_after_a_restart() {
    let wanted = spec(&json!({"sub": {"a": 2}}));
    let (mut h, key) = adopted(&spec(&json!({})), &wanted).await;
    writes(&h);
    h.restart();
    h.settle().await;
    h.check_again().await;
    assert_eq!(writes(&h), [""; 0]);
    assert_eq!(claim(&h, &key).unwrap().controller, "c");
}

#[tokio::test(start_paused = true)]
async fn a_renamed_applier_keeps_the_content_of_an_adopted_object() {
    let wanted = json!({"sub": {"a": 2}});
    let (mut h, key) = adopted(&spec(&json!({})), &spec(&wanted)).await;
    becomes(&mut h, &key, &applier().wants(&spec(&wanted))).await;
    let taken = claim(&h, &key).unwrap();
    assert_eq!((taken.controller.as_str(), taken.created), ("a", false));
    h.withdraw(&key, "a");
    h.settle().await;
    assert_eq!(left(&h, &key), (wanted, false));
}

#[tokio::test(start_paused = true)]
async fn an_adopted_object_loses_the_metadata_of_an_applier() {
    let mut h = harness();
    let key = widget("x");
    h.sim.foreign(&key, "human", |_| {
        let object = foreign_widget(&json!({"v": 1}))(&Value::NULL);
        set(&object, &["metadata", "labels"], json!({"team": "a"}))
    });
    let owner = json!({"apiVersion": "v1", "kind": "Source", "name": "s", "uid": "u"});
    let labels = json!({"team": "a", "ours": "1"});
    let metadata = json!({"labels": labels, "ownerReferences": [owner]});
    let wanted = set(&spec(&json!({"v": 1})), &["metadata"], metadata);
    let owners = [("u", "ns")];
    h.want(&key, &updater().wants_owned(&wanted, &owners));
    h.settle().await;
    let applies = as_applier().wants_owned(&wanted, &owners);
    becomes(&mut h, &key, &applies).await;
    let labels = |h: &Harness| at(&h.live(&key), &["metadata", "labels"]).clone();
    assert_eq!(labels(&h).get("ours"), &json!("1"));
    h.withdraw(&key, "c");
    h.settle().await;
    assert_eq!(labels(&h), json!({"team": "a"}));
    assert!(at(&h.live(&key), &["metadata", "ownerReferences"]).is_null());
}

/// What a former Patcher replaced is still given back.
#[tokio::test(start_paused = true)]
async fn an_adopted_object_gets_back_what_a_patcher_had_replaced() {
    let mut h = harness();
    let key = widget("x");
    let theirs = json!({"v": 1, "w": 1});
    h.sim.foreign(&key, "human", foreign_widget(&theirs));
    h.want(&key, &patcher().wants(&spec(&json!({"v": 2}))));
    h.settle().await;
    let applies = applier().wants(&spec(&json!({"v": 3})));
    h.want(&key, &applies);
    h.settle().await;
    h.withdraw(&key, "p");
    h.settle().await;
    h.withdraw(&key, "a");
    h.settle().await;
    assert_eq!(left(&h, &key), (theirs, false));
}

#[tokio::test(start_paused = true)]
async fn an_applier_of_an_adopted_object_that_becomes_a_patcher_leaves_its_content() {
    let (mut h, key) = adopted(&spec(&json!({})), &spec(&json!({"sub": {"a": 2}}))).await;
    let patches = Actor::new("c", 0, TargetType::Patcher);
    becomes(
        &mut h,
        &key,
        &patches.wants(&spec(&json!({"sub": {"a": 3}}))),
    )
    .await;
    assert_eq!(claim(&h, &key), None);
    assert_eq!(left(&h, &key).0, json!({"sub": {"a": 3}}));
    h.withdraw(&key, "c");
    h.settle().await;
    assert_eq!(left(&h, &key), (json!({"sub": {"a": 2}}), false));
}
