//! Converging objects on a simulated API server: what stands on it after each story, and
//! which requests that took.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod target_sim;

use std::time::Duration;

use document::{Path, Value, json};
use operator::spec::TargetType;
use runtime::target::claim::{Claim, OPERATOR as LABEL, OWNER};
use runtime::target::problem::Happened;
use runtime::target::{Next, ObjectKey};

use target_sim::harness::{Harness, OPERATOR, Who, config_map, spec, target, widget};
use target_sim::{Fault, Sim, set, unset};

fn harness() -> Harness {
    Harness::new(Sim::default())
}

fn updater() -> Who {
    Who::new("c", 0, TargetType::Updater)
}

fn patcher() -> Who {
    Who::new("p", 1, TargetType::Patcher)
}

fn applier() -> Who {
    Who::new("a", 2, TargetType::Applier)
}

fn claim(harness: &Harness, key: &ObjectKey) -> Option<Claim> {
    Claim::read(&harness.live(key), key)
}

fn foreign_widget(spec: &Value) -> impl Fn(&Value) -> Value {
    let spec = spec.clone();
    move |_| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}, "spec": (spec.clone())})
}

/// The methods and codes of the writes since the last look.
fn writes(harness: &Harness) -> Vec<String> {
    let writes = harness.sim.take_writes();
    let text = writes.iter().map(|write| {
        let status = if write.path.ends_with("/status") {
            " status"
        } else {
            ""
        };
        format!("{}{status} {}", write.method, write.code)
    });
    text.collect()
}

#[tokio::test(start_paused = true)]
async fn an_object_is_created_with_its_marks_and_then_left_alone() {
    let mut h = harness();
    let key = widget("a");
    let document = json!({"metadata": {"name": "a", "namespace": "ns", "labels": {"l": "1"}, "uid": "no", "finalizers": ["no"]},
        "spec": {"cpu": "1000m", "unknown": 1, "empty": {}}, "status": {"ready": true}});
    h.want(&key, &updater().wants(&document));
    h.settle().await;
    assert_eq!(writes(&h), ["POST 201", "PATCH status 200"]);
    let live = h.live(&key);
    assert_eq!(
        live.get("spec"),
        &json!({"cpu": "1", "defaulted": "yes", "empty": {}})
    );
    assert_eq!(live.get("status"), &json!({"ready": true}));
    let metadata = live.get("metadata");
    assert_eq!(metadata.get("labels").get("l"), &json!("1"));
    assert_eq!(metadata.get("labels").get(LABEL), &json!(OPERATOR));
    assert_eq!(
        metadata.get("labels").get("app.kubernetes.io/managed-by"),
        &json!("deltic")
    );
    assert!(metadata.get("finalizers").is_null());
    assert!(claim(&h, &key).unwrap().created);
    assert_eq!(
        metadata.get("managedFields").at(0).get("manager"),
        &json!("deltic/op/c")
    );

    h.look_again().await;
    assert_eq!(writes(&h), [""; 0]);
    assert_eq!(h.last[&key], Ok(Next::Settled));
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_one_write_settles_what_the_server_normalised() {
    let mut h = harness();
    let (odd, plain) = (widget("odd"), widget("plain"));
    h.want(
        &odd,
        &updater().wants(&spec(&json!({"cpu": "2000m", "unknown": {"x": 1}}))),
    );
    h.want(&plain, &updater().wants(&spec(&json!({"cpu": "2"}))));
    h.settle().await;
    writes(&h);
    let before = (h.live(&odd), h.live(&plain));
    h.restart();
    h.settle().await;
    assert_eq!(writes(&h), ["PUT 200"]);
    assert_eq!((h.live(&odd), h.live(&plain)), before);
    h.look_again().await;
    assert_eq!(writes(&h), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_replacement_drops_what_is_no_longer_yielded_and_keeps_what_others_added() {
    let mut h = harness();
    let key = widget("a");
    let first = json!({"metadata": {"labels": {"keep": "1", "drop": "1"}, "annotations": {"drop": "1"}}, "spec": {"a": 1, "b": 2}, "other": 1});
    h.want(&key, &updater().wants(&first));
    h.settle().await;
    h.sim.foreign(&key, "human", |object| {
        let object = set(object, &["metadata", "labels", "theirs"], json!("1"));
        set(&object, &["metadata", "finalizers"], json!(["f"]))
    });
    h.restart();
    let second = json!({"metadata": {"labels": {"keep": "2"}}, "spec": {"a": 1}});
    h.want(&key, &updater().wants(&second));
    h.settle().await;
    let live = h.live(&key);
    let labels = live.get("metadata").get("labels");
    assert_eq!(labels.get("keep"), &json!("2"));
    assert_eq!(labels.get("theirs"), &json!("1"));
    assert!(labels.get("drop").is_null());
    assert!(
        live.get("metadata")
            .get("annotations")
            .get("drop")
            .is_null()
    );
    assert_eq!(live.get("metadata").get("finalizers"), &json!(["f"]));
    assert_eq!(live.get("spec"), &json!({"a": 1, "defaulted": "yes"}));
    assert!(live.get("other").is_null());
}

#[tokio::test(start_paused = true)]
async fn what_changed_while_we_were_away_is_put_right() {
    let mut h = harness();
    let (added, dropped) = (config_map("added"), config_map("dropped"));
    let data = |data: Value| json!({"data": data});
    h.want(&added, &updater().wants(&data(json!({"a": "1"}))));
    h.want(
        &dropped,
        &updater().wants(&data(json!({"a": "1", "b": "2"}))),
    );
    h.settle().await;
    h.sim.foreign(&added, "human", |object| {
        set(object, &["data", "x"], json!("1"))
    });
    h.wanted.insert(
        (dropped.clone(), "c".to_owned()),
        updater().wants(&data(json!({"a": "1"}))),
    );
    h.restart();
    h.settle().await;
    assert_eq!(
        h.live(&added).get("data"),
        &json!({"a": "1"}),
        "an addition of others"
    );
    assert_eq!(
        h.live(&dropped).get("data"),
        &json!({"a": "1"}),
        "a field that is no longer derived"
    );
}

#[tokio::test(start_paused = true)]
async fn drift_is_put_back_and_a_fight_has_growing_pauses() {
    let mut h = harness();
    let (key, neighbour) = (widget("a"), widget("b"));
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.want(&neighbour, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    writes(&h);
    let start = tokio::time::Instant::now();
    let mut repairs = Vec::new();
    while start.elapsed() < Duration::from_hours(1) {
        if h.live(&key).get("spec").get("a") == &json!(1) {
            h.sim.foreign(&key, "vandal", |object| {
                set(object, &["spec", "a"], json!(2))
            });
        }
        if !h.step(Duration::from_secs(400)).await {
            break;
        }
        repairs.extend(writes(&h));
    }
    assert!(
        (14..40).contains(&repairs.len()),
        "{} writes in an hour",
        repairs.len()
    );
    assert_eq!(h.codes(&key), ["fighting"].into());
    let message = h.messages(&key).join("");
    assert!(
        message.contains(".spec.a") && message.contains("vandal") && message.contains("300 s"),
        "{message}"
    );
    assert!(h.codes(&neighbour).is_empty());

    h.settle_within(Duration::from_hours(1)).await;
    assert_eq!(h.live(&key).get("spec").get("a"), &json!(1));
    assert!(h.codes(&key).is_empty(), "peace");
}

#[tokio::test(start_paused = true)]
async fn attempts_that_always_meet_someone_faster_have_growing_pauses() {
    let mut h = harness();
    let key = widget("a");
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    writes(&h);
    let mut attempts = 0;
    // Each change starts a run at once, whatever the last one asked for.
    for value in 2..50 {
        h.sim.foreign(&key, "vandal", |object| {
            set(object, &["spec", "a"], json!(value))
        });
        h.sim.lock().next = [Fault::Answer(409), Fault::None].repeat(10);
        h.step(Duration::ZERO).await;
        h.sim.lock().next.clear();
        attempts += writes(&h).len();
    }
    assert!((10..=30).contains(&attempts), "{attempts}");
    assert_eq!(h.codes(&key), ["fighting"].into());
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("a"), &json!(1));
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_served_anew_may_take_what_was_refused() {
    let mut h = harness();
    let key = widget("a");
    let serve = |h: &Harness| {
        let kinds = h.sim.lock().kinds.clone();
        let kind = kinds.iter().find(|kind| kind.name == "Widget").unwrap();
        h.writer.serve(kind.target())
    };
    h.sim.lock().next = vec![Fault::Answer(422)];
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    assert_eq!(h.codes(&key), ["refused"].into());
    assert!(serve(&h).is_empty(), "nothing is new");
    h.writer.unserve("example.com", "Widget");
    assert_eq!(serve(&h), std::slice::from_ref(&key));
    h.run(&key).await;
    assert!(h.codes(&key).is_empty());
    assert_eq!(h.live(&key).get("spec").get("a"), &json!(1));
}

#[tokio::test(start_paused = true)]
async fn ignored_fields_belong_to_others() {
    let mut h = harness();
    let key = ObjectKey::new("apps", "Deployment", "ns", "a");
    let mut scaled = target(TargetType::Updater);
    scaled.ignore = vec![
        Path::parse("$.spec.replicas").unwrap(),
        Path::parse("$.spec.containers[*].image").unwrap(),
    ];
    let who = Who::of(OPERATOR, "c", 0, scaled);
    let document = |x: i64| json!({"spec": {"replicas": 3, "x": x, "containers": [{"name": "a", "image": "1"}]}});
    h.want(&key, &who.wants(&document(1)));
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("replicas"), &json!(3));
    h.sim.foreign(&key, "autoscaler", |object| {
        let object = set(object, &["spec", "replicas"], json!(7));
        set(
            &object,
            &["spec", "containers"],
            json!([{"name": "a", "image": "2", "policy": "Always"}]),
        )
    });
    writes(&h);
    h.settle().await;
    assert_eq!(writes(&h), [""; 0]);
    h.restart();
    h.settle().await;
    assert_eq!(writes(&h), [""; 0]);
    h.want(&key, &who.wants(&document(2)));
    h.settle().await;
    let spec = h.live(&key).get("spec").clone();
    assert_eq!(spec.get("x"), &json!(2));
    assert_eq!(spec.get("replicas"), &json!(7));
    assert_eq!(spec.get("containers").at(0).get("image"), &json!("2"));
}

#[tokio::test(start_paused = true)]
async fn assigned_fields_are_not_dropped() {
    let mut h = harness();
    let key = ObjectKey::new("batch", "Job", "ns", "a");
    h.want(&key, &updater().wants(&json!({"spec": {"cpu": "1000m"}})));
    h.settle().await;
    h.want(&key, &updater().wants(&json!({"spec": {"cpu": "2000m"}})));
    writes(&h);
    h.settle().await;
    assert_eq!(writes(&h), ["PUT 200"]);
    h.restart();
    h.settle().await;
    assert_eq!(writes(&h), ["PUT 200"]);
    assert_eq!(h.live(&key).get("spec").get("cpu"), &json!("2"));
}

#[tokio::test(start_paused = true)]
async fn fields_that_the_server_does_not_let_go_are_kept_if_we_never_wanted_them() {
    let mut h = harness();
    let key = widget("a");
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    // Somebody sets a field that never changes again.
    h.sim.lock().next = vec![];
    h.sim.foreign(&key, "binder", |object| {
        set(object, &["spec", "fixed"], json!("x"))
    });
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("fixed"), &json!("x"));
    assert!(h.codes(&key).is_empty(), "{:?}", h.messages(&key));
    // A field that we wanted and drop is another matter.
    let other = widget("b");
    h.want(&other, &updater().wants(&spec(&json!({"fixed": "x"}))));
    h.settle().await;
    h.want(&other, &updater().wants(&spec(&json!({}))));
    h.settle().await;
    assert_eq!(h.codes(&other), ["refused"].into());
}

#[tokio::test(start_paused = true)]
async fn an_object_without_a_claim_is_adopted_and_stays() {
    let mut h = harness();
    let key = widget("x");
    h.sim
        .foreign(&key, "human", foreign_widget(&json!({"theirs": 1})));
    h.want(&key, &updater().wants(&spec(&json!({"ours": 1}))));
    h.settle().await;
    assert_eq!(
        h.live(&key).get("spec"),
        &json!({"ours": 1, "defaulted": "yes"})
    );
    assert!(!claim(&h, &key).unwrap().created);
    assert!(
        h.live(&key)
            .get("metadata")
            .get("labels")
            .get("app.kubernetes.io/managed-by")
            .is_null()
    );
    assert_eq!(
        *h.reported.happened.lock().unwrap(),
        [(key.clone(), Happened::Adopted)]
    );

    h.restart();
    h.settle().await;
    assert!(
        h.reported.happened.lock().unwrap().is_empty(),
        "adopted once"
    );
    h.withdraw(&key, "c");
    h.settle().await;
    let metadata = h.live(&key).get("metadata").clone();
    assert!(
        metadata.get("annotations").is_null() && metadata.get("labels").is_null(),
        "{metadata}"
    );
    assert_eq!(
        h.live(&key).get("spec"),
        &json!({"ours": 1, "defaulted": "yes"})
    );
}

#[tokio::test(start_paused = true)]
async fn existing_objects_are_refused_where_that_is_asked_for() {
    let mut h = harness();
    let key = widget("x");
    h.sim
        .foreign(&key, "human", foreign_widget(&json!({"theirs": 1})));
    let mut careful = target(TargetType::Updater);
    careful.refuse_existing = true;
    let before = h.live(&key);
    h.want(
        &key,
        &Who::of(OPERATOR, "c", 0, careful).wants(&spec(&json!({"ours": 1}))),
    );
    h.settle_within(Duration::from_secs(10)).await;
    assert_eq!(h.live(&key), before);
    assert_eq!(h.codes(&key), ["conflict"].into());
    h.sim.foreign_delete(&key);
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("ours"), &json!(1));
    assert!(h.codes(&key).is_empty());
}

#[tokio::test(start_paused = true)]
async fn claims_of_other_operators_are_respected() {
    let mut h = harness();
    for who in [updater(), patcher(), applier()] {
        let key = widget("x");
        h.sim.foreign(&key, "them", |_| {
            let theirs = Claim {
                operator: "them".to_owned(),
                controller: "c".to_owned(),
                origin: Value::NULL,
                created: true,
            };
            let object = foreign_widget(&json!({"theirs": 1}))(&Value::NULL);
            set(
                &object,
                &["metadata", "annotations", OWNER],
                Value::from(theirs.print(&key)),
            )
        });
        let before = h.live(&key);
        h.want(&key, &who.wants(&spec(&json!({"ours": 1}))));
        h.settle_within(Duration::from_secs(10)).await;
        assert_eq!(h.live(&key), before);
        assert_eq!(h.codes(&key), ["conflict"].into());
        let message = h.messages(&key).join("");
        assert!(
            message.contains("them") && message.contains(OPERATOR),
            "{message}"
        );
        h.withdraw(&key, &who.0.controller);
        h.settle().await;
        assert_eq!(h.live(&key), before);
        h.sim.foreign_delete(&key);
        h.settle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_we_created_is_deleted() {
    let mut h = harness();
    let (ours, copied) = (widget("ours"), widget("copied"));
    h.want(&ours, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    let text = h.live(&ours).get("metadata").clone();
    h.sim.foreign(&copied, "human", |_| {
        let object = foreign_widget(&json!({"a": 1}))(&Value::NULL);
        let object = set(
            &object,
            &["metadata", "annotations"],
            text.get("annotations").clone(),
        );
        set(&object, &["metadata", "labels"], text.get("labels").clone())
    });
    let before = h.live(&copied);
    h.wanted.clear();
    h.restart();
    h.settle().await;
    assert_eq!(h.live(&ours), Value::NULL);
    assert_eq!(h.live(&copied), before);
}

#[tokio::test(start_paused = true)]
async fn what_is_stale_goes_after_a_restart_unless_it_is_kept() {
    let mut h = harness();
    let (gone, kept) = (widget("gone"), widget("kept"));
    for key in [&gone, &kept] {
        h.want(key, &updater().wants(&spec(&json!({"a": 1}))));
    }
    h.settle().await;
    h.wanted.clear();
    let mut fresh = Harness::new(h.sim.clone());
    fresh.settle().await;
    assert_ne!(
        fresh.live(&gone),
        Value::NULL,
        "nothing goes before it is asked for"
    );
    let stale = fresh.writer.stale(|leftover| leftover.key == kept);
    assert_eq!(stale.len(), 1);
    assert!(stale[0].deletes);
    assert_eq!(stale[0].origin, json!([{"kind": "Source", "name": "s"}]));
    for leftover in stale {
        fresh.writer.withdraw(&leftover);
        fresh.run(&leftover.key).await;
    }
    assert_eq!(fresh.live(&gone), Value::NULL);
    assert_ne!(fresh.live(&kept), Value::NULL);
}

#[tokio::test(start_paused = true)]
async fn held_deletions_wait() {
    let mut h = harness();
    let key = widget("a");
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    h.writer.hold(&key, true);
    h.withdraw(&key, "c");
    h.settle().await;
    assert_ne!(h.live(&key), Value::NULL);
    assert_eq!(h.codes(&key), ["deletion-held"].into());
    assert_eq!(h.writer.held(), std::slice::from_ref(&key));
    h.writer.hold(&key, false);
    h.run(&key).await;
    assert_eq!(h.live(&key), Value::NULL);
    assert!(h.codes(&key).is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_object_being_deleted_is_created_again_when_it_is_gone() {
    let mut h = harness();
    let key = widget("a");
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    let uid = h.live(&key).get("metadata").get("uid").clone();
    h.sim.foreign(&key, "human", |object| {
        let object = set(object, &["metadata", "finalizers"], json!(["f"]));
        set(
            &object,
            &["metadata", "deletionTimestamp"],
            json!("2024-01-01T00:00:00Z"),
        )
    });
    h.want(&key, &updater().wants(&spec(&json!({"a": 2}))));
    writes(&h);
    h.settle_within(Duration::from_secs(10)).await;
    assert_eq!(writes(&h), [""; 0]);
    h.sim.foreign(&key, "human", |object| {
        unset(object, &["metadata", "finalizers"])
    });
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("a"), &json!(2));
    assert_ne!(h.live(&key).get("metadata").get("uid"), &uid);
}

#[tokio::test(start_paused = true)]
async fn the_first_updater_wins_and_the_next_takes_its_place() {
    let mut h = harness();
    let key = widget("a");
    let (first, second) = (updater(), Who::new("d", 1, TargetType::Updater));
    h.want(&key, &second.wants(&spec(&json!({"by": "second"}))));
    h.settle().await;
    h.want(&key, &first.wants(&spec(&json!({"by": "first"}))));
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("by"), &json!("first"));
    assert_eq!(h.codes(&key), ["conflict"].into());
    assert_eq!(claim(&h, &key).unwrap().controller, "c");
    h.withdraw(&key, "c");
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("by"), &json!("second"));
    assert!(h.codes(&key).is_empty());
    let taken = claim(&h, &key).unwrap();
    assert_eq!((taken.controller.as_str(), taken.created), ("d", true));
    h.withdraw(&key, "d");
    h.settle().await;
    assert_eq!(h.live(&key), Value::NULL);
}

#[tokio::test(start_paused = true)]
async fn a_renamed_controller_takes_its_objects_over() {
    let mut h = harness();
    let key = widget("a");
    let document = json!({"metadata": {"labels": {"old": "1"}}, "spec": {"a": 1}});
    h.want(
        &key,
        &Who::new("old", 0, TargetType::Updater).wants(&document),
    );
    h.settle().await;
    h.wanted.clear();
    let new = Who::new("new", 0, TargetType::Updater).wants(&spec(&json!({"a": 1})));
    h.wanted.insert((key.clone(), "new".to_owned()), new);
    let uid = h.live(&key).get("metadata").get("uid").clone();
    h.restart();
    h.settle().await;
    let live = h.live(&key);
    assert_eq!(live.get("metadata").get("uid"), &uid);
    let taken = claim(&h, &key).unwrap();
    assert_eq!((taken.controller.as_str(), taken.created), ("new", true));
    assert!(live.get("metadata").get("labels").get("old").is_null());
    let marks = live
        .get("metadata")
        .get("annotations")
        .as_map()
        .unwrap()
        .len();
    assert_eq!(marks, 2, "one claim and one record");
}

#[tokio::test(start_paused = true)]
async fn layers_lie_on_the_updater_and_the_first_of_them_has_a_field() {
    let mut h = harness();
    let key = widget("a");
    h.want(&key, &updater().wants(&spec(&json!({"a": 1, "b": 1}))));
    h.want(&key, &patcher().wants(&spec(&json!({"b": 2, "c": 2}))));
    h.want(&key, &applier().wants(&spec(&json!({"c": 3, "d": 3}))));
    h.settle().await;
    let check = |h: &Harness, expect: Value| {
        assert_eq!(unset(h.live(&key).get("spec"), &["defaulted"]), expect);
    };
    check(&h, json!({"a": 1, "b": 2, "c": 2, "d": 3}));
    assert_eq!(h.codes(&key), ["conflict"].into());
    assert!(h.messages(&key).join("").contains(".spec.c"));
    writes(&h);
    h.look_again().await;
    assert_eq!(writes(&h), [""; 0], "no fight with ourselves");
    h.withdraw(&key, "p");
    h.settle().await;
    check(&h, json!({"a": 1, "b": 1, "c": 3, "d": 3}));
    assert!(h.codes(&key).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_patcher_waits_for_its_object_and_takes_back_what_it_set() {
    let mut h = harness();
    let key = ObjectKey::new("apps", "Deployment", "ns", "x");
    let document = json!({"metadata": {"annotations": {"note": "1"}}, "spec": {
        "containers": [{"name": "b", "env": [{"name": "X", "value": "1"}], "cpu": "3000m"}, {"name": "side", "image": "s"}],
        "nested": {"deep": {"er": 1}},
    }});
    h.want(&key, &patcher().wants(&document));
    h.settle().await;
    assert_eq!(h.live(&key), Value::NULL);
    assert!(h.codes(&key).is_empty());
    h.sim.foreign(&key, "human", |_| json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": {
        "containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1", "env": [{"name": "Y", "value": "2"}]}, {"name": "c", "image": "1"}],
    }}));
    let before = target_sim::timeless(&h.live(&key));
    h.settle().await;
    let live = h.live(&key);
    let containers = live.get("spec").get("containers");
    assert_eq!(
        containers.at(0),
        &json!({"name": "a", "image": "1", "policy": "Always"})
    );
    assert_eq!(
        containers.at(1).get("env"),
        &json!([{"name": "Y", "value": "2"}, {"name": "X", "value": "1"}])
    );
    assert_eq!(containers.at(1).get("image"), &json!("1"));
    assert_eq!(containers.at(1).get("cpu"), &json!("3"));
    assert_eq!(containers.at(3).get("image"), &json!("s"));
    assert_eq!(live.get("spec").get("nested"), &json!({"deep": {"er": 1}}));
    assert_eq!(claim(&h, &key), None);

    writes(&h);
    h.look_again().await;
    h.restart();
    h.settle().await;
    assert_eq!(writes(&h), [""; 0]);

    h.wanted.clear();
    h.restart();
    h.settle().await;
    assert_eq!(target_sim::timeless(&h.live(&key)), before);
}

#[tokio::test(start_paused = true)]
async fn a_patcher_removes_only_what_still_holds_what_it_wrote() {
    let mut h = harness();
    let key = widget("x");
    h.sim
        .foreign(&key, "human", foreign_widget(&json!({"theirs": 1})));
    h.want(
        &key,
        &patcher().wants(&spec(
            &json!({"a": 1, "b": 1, "m": {"x": 1, "y": 1}, "probe": {"path": "/"}}),
        )),
    );
    h.settle().await;
    assert_eq!(
        h.live(&key).get("spec").get("probe").get("timeout"),
        &json!(1),
        "a default in what we added"
    );
    h.want(
        &key,
        &patcher().wants(&spec(
            &json!({"b": 1, "m": {"x": 1}, "probe": {"path": "/"}}),
        )),
    );
    h.settle().await;
    let shown = |h: &Harness| unset(h.live(&key).get("spec"), &["defaulted"]);
    assert_eq!(
        shown(&h),
        json!({"theirs": 1, "b": 1, "m": {"x": 1}, "probe": {"path": "/", "timeout": 1}})
    );

    h.wanted.clear();
    h.sim.foreign(&key, "human", |object| {
        let object = set(object, &["spec", "b"], json!(9));
        set(&object, &["spec", "m", "z"], json!(9))
    });
    h.restart();
    h.settle().await;
    assert_eq!(shown(&h), json!({"theirs": 1, "b": 9, "m": {"z": 9}}));
}

#[tokio::test(start_paused = true)]
async fn nulls_remove_only_where_they_are_written() {
    let mut h = harness();
    let key = widget("x");
    h.sim.foreign(
        &key,
        "human",
        foreign_widget(&json!({"written": 1, "given": 1})),
    );
    let mut target = target(TargetType::Patcher);
    target.written_nulls = vec![vec!["spec".to_owned(), "written".to_owned()]];
    let who = Who::of(OPERATOR, "p", 0, target);
    h.want(
        &key,
        &who.wants(&spec(&json!({"written": null, "given": null, "a": 1}))),
    );
    h.settle().await;
    assert_eq!(
        h.live(&key).get("spec"),
        &json!({"a": 1, "given": 1, "defaulted": "yes"})
    );
}

#[tokio::test(start_paused = true)]
async fn patches_are_versioned_where_they_must_be_and_status_goes_second() {
    let mut h = harness();
    let key = widget("x");
    h.sim.foreign(&key, "human", |_| {
        let object = foreign_widget(&json!({"l": [1]}))(&Value::NULL);
        set(&object, &["status", "theirs"], json!(1))
    });
    let document = json!({"spec": {"a": 1}, "status": {"ours": 1}});
    h.want(&key, &patcher().wants(&document));
    h.sim.take_writes();
    h.settle().await;
    assert_eq!(writes(&h), ["PATCH 200", "PATCH status 200"]);
    assert_eq!(h.live(&key).get("status"), &json!({"ours": 1, "theirs": 1}));
    h.withdraw(&key, "p");
    h.settle().await;
    assert_eq!(writes(&h), ["PATCH status 200", "PATCH 200"]);
    assert_eq!(h.live(&key).get("status"), &json!({"theirs": 1}));
    assert_eq!(
        h.live(&key).get("spec"),
        &json!({"l": [1], "defaulted": "yes"})
    );
}

#[tokio::test(start_paused = true)]
async fn an_applier_creates_updates_and_releases() {
    let mut h = harness();
    let (own, theirs) = (widget("own"), widget("x"));
    h.sim
        .foreign(&theirs, "human", foreign_widget(&json!({"theirs": 1})));
    let before = target_sim::timeless(&h.live(&theirs));
    let document =
        json!({"metadata": {"labels": {"l": "1"}}, "spec": {"a": 1, "b": 1}, "status": {"s": 1}});
    for key in [&own, &theirs] {
        h.want(key, &applier().wants(&document));
    }
    h.settle().await;
    assert!(claim(&h, &own).unwrap().created);
    assert_eq!(claim(&h, &theirs), None);
    for key in [&own, &theirs] {
        assert_eq!(h.live(key).get("spec").get("a"), &json!(1));
        assert_eq!(h.live(key).get("status"), &json!({"s": 1}));
    }
    writes(&h);
    h.look_again().await;
    h.restart();
    h.settle().await;
    assert_eq!(writes(&h), [""; 0]);
    for key in [&own, &theirs] {
        h.want(key, &applier().wants(&spec(&json!({"a": 2}))));
    }
    h.settle().await;
    for key in [&own, &theirs] {
        assert_eq!(h.live(key).get("spec").get("a"), &json!(2));
        assert!(h.live(key).get("spec").get("b").is_null());
        assert!(h.live(key).get("status").get("s").is_null());
    }
    h.wanted.clear();
    h.restart();
    h.settle().await;
    assert_eq!(h.live(&own), Value::NULL);
    let after = target_sim::timeless(&h.live(&theirs));
    assert_eq!(after.get("spec"), before.get("spec"));
    assert_eq!(claim(&h, &theirs), None);
}

#[tokio::test(start_paused = true)]
async fn an_applier_forces_only_what_it_has_owned() {
    let mut h = harness();
    let key = widget("x");
    h.sim
        .foreign(&key, "human", foreign_widget(&json!({"theirs": 1})));
    h.want(
        &key,
        &applier().wants(&spec(&json!({"theirs": 2, "ours": 1}))),
    );
    h.settle().await;
    let shown = |h: &Harness| unset(h.live(&key).get("spec"), &["defaulted"]);
    assert_eq!(shown(&h), json!({"theirs": 1, "ours": 1}));
    assert_eq!(h.codes(&key), ["conflict"].into());
    assert!(h.messages(&key).join("").contains("human"));
    writes(&h);
    h.look_again().await;
    assert_eq!(writes(&h), [""; 0]);
    assert_eq!(h.codes(&key), ["conflict"].into());

    h.sim.foreign(&key, "vandal", |object| {
        set(object, &["spec", "ours"], json!(9))
    });
    h.settle().await;
    assert_eq!(shown(&h), json!({"theirs": 1, "ours": 1}), "owned before");
    h.restart();
    h.sim.foreign(&key, "vandal", |object| {
        set(object, &["spec", "ours"], json!(8))
    });
    h.settle().await;
    assert_eq!(
        shown(&h),
        json!({"theirs": 1, "ours": 1}),
        "owned before the restart"
    );

    let mut forcing = target(TargetType::Applier);
    forcing.force = true;
    h.want(
        &key,
        &Who::of(OPERATOR, "a", 2, forcing).wants(&spec(&json!({"theirs": 2, "ours": 1}))),
    );
    h.settle().await;
    assert_eq!(shown(&h), json!({"theirs": 2, "ours": 1}));
    assert!(h.codes(&key).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_missing_namespace_or_kind_is_waited_for() {
    let mut h = harness();
    let key = ObjectKey::new("example.com", "Widget", "later", "a");
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    assert_eq!(h.codes(&key), ["no-namespace"].into());
    writes(&h);
    h.settle_within(Duration::from_mins(5)).await;
    assert_eq!(writes(&h), [""; 0]);
    h.sim.lock().namespaces.insert("later".to_owned());
    let woken = h.writer.namespace_changed("later");
    assert_eq!(woken, std::slice::from_ref(&key));
    h.run(&key).await;
    assert_ne!(h.live(&key), Value::NULL);

    let kind = h.sim.lock().kinds.remove(5);
    let other = widget("b");
    h.want(&other, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    assert_eq!(h.codes(&other), ["no-kind"].into());
    writes(&h);
    h.run(&other).await;
    h.writer.unserve("example.com", "Widget");
    h.run(&other).await;
    assert_eq!(writes(&h), [""; 0]);
    h.sim.lock().kinds.push(kind.clone());
    assert!(h.writer.serve(kind.target()).contains(&other));
    h.run(&other).await;
    assert_ne!(h.live(&other), Value::NULL);
    assert!(h.codes(&other).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_refused_object_is_tried_again_when_something_changes_or_after_ten_minutes() {
    let mut h = harness();
    let key = widget("a");
    h.want(&key, &updater().wants(&spec(&json!({"reject": true}))));
    h.settle().await;
    assert_eq!(h.codes(&key), ["refused"].into());
    assert!(h.messages(&key).join("").contains("not allowed"));
    assert_eq!(writes(&h), ["POST 422"]);
    for _ in 0..5 {
        h.run(&key).await;
    }
    assert_eq!(writes(&h), [""; 0]);
    h.step(Duration::from_secs(601)).await;
    assert_eq!(writes(&h), ["POST 422"]);
    h.want(&key, &updater().wants(&spec(&json!({"reject": false}))));
    h.settle().await;
    assert!(h.codes(&key).is_empty());
    assert_eq!(h.live(&key).get("spec").get("reject"), &json!(false));
}

#[tokio::test(start_paused = true)]
async fn immutable_objects_are_created_again_only_where_that_is_asked_for() {
    let mut h = harness();
    let (kept, replaced) = (widget("kept"), widget("replaced"));
    let mut recreating = target(TargetType::Updater);
    recreating.recreate = true;
    let recreating = Who::of(OPERATOR, "c", 0, recreating);
    h.want(&kept, &updater().wants(&spec(&json!({"fixed": 1}))));
    h.want(&replaced, &recreating.wants(&spec(&json!({"fixed": 1}))));
    h.settle().await;
    writes(&h);
    h.want(&kept, &updater().wants(&spec(&json!({"fixed": 2}))));
    h.want(&replaced, &recreating.wants(&spec(&json!({"fixed": 2}))));
    h.settle().await;
    assert_eq!(h.live(&kept).get("spec").get("fixed"), &json!(1));
    assert_eq!(h.codes(&kept), ["refused"].into());
    assert_eq!(h.live(&replaced).get("spec").get("fixed"), &json!(2));
    assert_eq!(writes(&h), ["PUT 422", "PUT 422", "DELETE 200", "POST 201"]);
}

#[tokio::test(start_paused = true)]
async fn lost_answers_are_looked_up_before_anything_else() {
    for fault in [
        Fault::LostAnswer,
        Fault::Silence,
        Fault::Lost,
        Fault::Answer(503),
        Fault::Answer(500),
        Fault::Busy,
        Fault::Answer(409),
    ] {
        let mut h = harness();
        let key = widget("a");
        h.sim.lock().next = vec![fault];
        h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
        h.step(Duration::ZERO).await;
        let log: Vec<_> = h.sim.lock().log.drain(..).collect();
        assert_eq!(log[0].method, "POST");
        h.run(&key).await;
        let log: Vec<_> = h.sim.lock().log.drain(..).collect();
        h.settle().await;
        if !matches!(fault, Fault::Busy | Fault::Answer(409)) {
            assert_eq!(log[0].method, "GET", "{fault:?}");
            let again = !matches!(fault, Fault::LostAnswer | Fault::Silence);
            assert_eq!(log.len() > 1, again, "{fault:?}");
        }
        assert_eq!(h.live(&key).get("spec").get("a"), &json!(1));
        assert!(claim(&h, &key).unwrap().created, "{fault:?}");
        assert!(h.codes(&key).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_given_the_time_it_asks_for() {
    let mut h = harness();
    let key = widget("a");
    h.sim.lock().next = vec![Fault::Busy];
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.step(Duration::ZERO).await;
    let error = h.last[&key].clone().unwrap_err();
    assert_eq!(error.retry, Some(Duration::from_secs(2)));
    assert_eq!(error.problem.code(), "unavailable");
}

#[tokio::test(start_paused = true)]
async fn secrets_are_encoded_and_do_not_show() {
    let mut h = harness();
    let key = ObjectKey::new("", "Secret", "ns", "s");
    let mut target = target(TargetType::Updater);
    target.resource.group = String::new();
    target.resource.kind = "Secret".to_owned();
    let who = Who::of(OPERATOR, "c", 0, target);
    let data = json!({"data": {"text": "hunter2", "bytes": (Value::bytes(&[0xff, 0xfe]))}});
    h.want(&key, &who.wants(&data));
    h.settle().await;
    assert_eq!(
        h.live(&key).get("data"),
        &json!({"text": "aHVudGVyMg==", "bytes": "//4="})
    );
    h.sim.lock().next = vec![Fault::Answer(422)];
    h.want(&key, &who.wants(&json!({"data": {"text": "other"}})));
    h.settle().await;
    let told = format!("{:?}{:?}{:?}", h.messages(&key), h.last, h.writer);
    assert!(
        !told.contains("hunter2") && !told.contains("aHVudGVyMg"),
        "{told}"
    );
}

#[tokio::test(start_paused = true)]
async fn owners_are_written_only_if_they_are_origins() {
    let mut h = harness();
    let key = widget("a");
    let owner = |uid: &str| json!({"apiVersion": "v1", "kind": "Source", "name": "s", "uid": uid});
    let document = json!({"metadata": {"ownerReferences": [(owner("yes")), (owner("cluster")), (owner("far")), (owner("no"))]}, "spec": {}});
    let owners = [("yes", "ns"), ("cluster", ""), ("far", "other")];
    h.want(&key, &updater().wants_owned(&document, &owners));
    h.settle().await;
    let uids = |h: &Harness| {
        let live = h.live(&key);
        let list = live.get("metadata").get("ownerReferences").as_list();
        let uids = list
            .into_iter()
            .flatten()
            .map(|owner| owner.get("uid").as_str().unwrap().to_owned());
        uids.collect::<Vec<String>>()
    };
    assert_eq!(uids(&h), ["yes", "cluster"]);
    assert_eq!(h.messages(&key).len(), 2);
    assert_eq!(h.codes(&key), ["owner-dropped"].into());
    h.sim.foreign(&key, "human", |object| {
        let mut list = object
            .get("metadata")
            .get("ownerReferences")
            .as_list()
            .unwrap()
            .to_vec();
        list.push(owner("theirs"));
        set(object, &["metadata", "ownerReferences"], list.into())
    });
    h.restart();
    let document = json!({"metadata": {"ownerReferences": [(owner("yes"))]}, "spec": {}});
    h.want(&key, &updater().wants_owned(&document, &owners));
    h.settle().await;
    assert_eq!(uids(&h), ["yes", "theirs"]);
}

#[tokio::test(start_paused = true)]
async fn keys_that_no_object_can_have_make_no_request() {
    let mut h = harness();
    for (key, code) in [
        (
            ObjectKey::new("example.com", "Widget", "", "a"),
            "wrong-scope",
        ),
        (ObjectKey::new("", "Namespace", "ns", "a"), "wrong-scope"),
        (widget("a/status"), "bad-name"),
        (widget(".."), "bad-name"),
    ] {
        h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
        h.settle().await;
        assert_eq!(h.codes(&key), [code].into(), "{key}");
        assert!(h.sim.lock().log.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_someone_took_off_is_put_back() {
    let mut h = harness();
    let key = widget("a");
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    h.sim.foreign(&key, "human", |object| {
        unset(object, &["metadata", "annotations"])
    });
    h.settle().await;
    assert!(claim(&h, &key).unwrap().created);
    assert!(h.reported.happened.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_apply_that_met_an_object_does_not_claim_to_have_created_it() {
    let mut h = harness();
    let key = widget("a");
    h.want(&key, &applier().wants(&spec(&json!({"a": 1}))));
    // Someone creates it between our read and our write: the read is answered as if it
    // were not there.
    h.sim
        .foreign(&key, "human", foreign_widget(&json!({"theirs": 1})));
    h.sim.lock().next = vec![];
    let hidden = h.sim.lock().objects.remove(&key).unwrap();
    let sim = h.sim.clone();
    let at = key.clone();
    let put_back = tokio::spawn(async move {
        loop {
            if sim.lock().log.iter().any(|logged| logged.method == "GET") {
                sim.lock().objects.insert(at, hidden);
                return;
            }
            tokio::task::yield_now().await;
        }
    });
    h.step(Duration::ZERO).await;
    put_back.await.unwrap();
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("theirs"), &json!(1));
    assert_eq!(claim(&h, &key), None);
    h.withdraw(&key, "a");
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("theirs"), &json!(1));
}
