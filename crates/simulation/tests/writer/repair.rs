//! Derived objects are written, repaired when others change them, and otherwise left alone.

use super::*;

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

    h.check_again().await;
    assert_eq!(writes(&h), [""; 0]);
    assert_eq!(h.last[&key], Ok(Next::Settled));
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_one_write_reveals_what_the_server_normalised() {
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
    h.check_again().await;
    assert_eq!(writes(&h), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_replacement_drops_fields_no_longer_yielded_and_keeps_those_of_others() {
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
async fn drift_while_no_process_ran_is_repaired() {
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
async fn drift_is_repaired_with_growing_pauses_in_a_fight() {
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
async fn constant_conflicts_lead_to_growing_pauses() {
    let mut h = harness();
    let key = widget("a");
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    writes(&h);
    let mut attempts = 0;
    // Each change starts a run at once, whatever the last one returned.
    for value in 2..50 {
        h.sim.foreign(&key, "vandal", |object| {
            set(object, &["spec", "a"], json!(value))
        });
        h.sim.fail([Fault::Answer(409), Fault::None].repeat(10));
        h.step(Duration::ZERO).await;
        h.sim.fail([]);
        attempts += writes(&h).len();
    }
    assert!((10..=30).contains(&attempts), "{attempts}");
    assert_eq!(h.codes(&key), ["fighting"].into());
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("a"), &json!(1));
}

/// An object that is gone, after others kept changing it. The problem is still reported.
async fn gone_after_a_fight(h: &mut Harness, key: &ObjectKey) {
    h.want(key, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    for value in 2..50 {
        h.sim.foreign(key, "vandal", |object| {
            set(object, &["spec", "a"], json!(value))
        });
        h.step(Duration::from_secs(1)).await;
    }
    assert_eq!(h.codes(key), ["fighting"].into());
    h.withdraw(key, "c");
    h.run(key).await;
    assert_eq!(h.live(key), Value::NULL);
    assert_eq!(h.codes(key), ["fighting"].into(), "for another minute");
    // The watch drops what is known of the object.
    h.pump();
}

#[tokio::test(start_paused = true)]
async fn problems_end_with_an_object_that_is_gone() {
    let mut h = harness();
    let key = widget("a");
    gone_after_a_fight(&mut h, &key).await;
    h.settle_within(Duration::from_hours(1)).await;
    assert!(h.codes(&key).is_empty());
}

#[tokio::test(start_paused = true)]
async fn problems_do_not_pass_to_the_next_object_of_the_name() {
    let mut h = harness();
    let key = widget("a");
    gone_after_a_fight(&mut h, &key).await;
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle_within(Duration::from_hours(1)).await;
    assert_eq!(h.live(&key).get("spec").get("a"), &json!(1));
    assert!(h.codes(&key).is_empty());
}

#[tokio::test(start_paused = true)]
async fn ignored_fields_belong_to_others() {
    let mut h = harness();
    let key = ObjectKey::new("apps", "Deployment", "ns", "a");
    let mut scaled = target(TargetType::Updater);
    scaled.ignore = vec![
        Path::parse("$.spec.replicas").unwrap(),
        Path::parse("$.spec.template.spec.containers[*].image").unwrap(),
    ];
    let who = Actor::of(OPERATOR, "c", 0, scaled);
    let containers = ["spec", "template", "spec", "containers"];
    let document = |x: i64| {
        let document = json!({"spec": {"replicas": 3, "x": x}});
        set(&document, &containers, json!([{"name": "a", "image": "1"}]))
    };
    h.want(&key, &who.wants(&document(1)));
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("replicas"), &json!(3));
    h.sim.foreign(&key, "autoscaler", |object| {
        let object = set(object, &["spec", "replicas"], json!(7));
        let container = at(&object, &containers).at(0);
        let container = set(container, &["image"], json!("2"));
        set(&object, &containers, json!([container]))
    });
    writes(&h);
    h.settle().await;
    assert_eq!(writes(&h), [""; 0]);
    h.restart();
    h.settle().await;
    assert_eq!(writes(&h), [""; 0]);
    h.want(&key, &who.wants(&document(2)));
    h.settle().await;
    let live = h.live(&key);
    assert_eq!(at(&live, &["spec", "x"]), &json!(2));
    assert_eq!(at(&live, &["spec", "replicas"]), &json!(7));
    assert_eq!(at(&live, &containers).at(0).get("image"), &json!("2"));
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
async fn fields_that_cannot_be_removed_are_kept_if_we_never_wanted_them() {
    let mut h = harness();
    let key = widget("a");
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    // Somebody sets an immutable field.
    h.sim.foreign(&key, "binder", |object| {
        set(object, &["spec", "fixed"], json!("x"))
    });
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("fixed"), &json!("x"));
    assert!(h.codes(&key).is_empty(), "{:?}", h.messages(&key));
    // It is different for a field that we wanted before.
    let other = widget("b");
    h.want(&other, &updater().wants(&spec(&json!({"fixed": "x"}))));
    h.settle().await;
    h.want(&other, &updater().wants(&spec(&json!({}))));
    h.settle().await;
    assert_eq!(h.codes(&other), ["refused"].into());
}

#[tokio::test(start_paused = true)]
async fn an_object_deleted_before_the_first_list_is_recreated() {
    let mut h = Harness::unlisted(Sim::default());
    h.lag = true;
    let key = widget("a");
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    assert_ne!(h.live(&key), Value::NULL);
    h.sim.foreign_delete(&key);
    h.writer.listing("example.com", "Widget");
    let gone = h.writer.listed("example.com", "Widget");
    assert_eq!(gone, std::slice::from_ref(&key));
    h.run(&key).await;
    assert_ne!(h.live(&key), Value::NULL);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_went_with_its_kind_is_created_again() {
    let mut h = harness();
    let key = widget("a");
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    h.list();
    h.list();
    // Nothing says that its objects are gone but the first list of the kind that is back.
    h.writer.unserve("example.com", "Widget", false);
    h.sim.foreign_delete(&key);
    assert!(!h.writer.synced("example.com", "Widget"));
    h.list();
    assert!(h.writer.synced("example.com", "Widget"));
    h.settle().await;
    assert_ne!(h.live(&key), Value::NULL);
}

#[tokio::test(start_paused = true)]
async fn an_object_deleted_before_the_answer_to_its_write_is_recreated() {
    for by_list in [false, true] {
        let mut h = harness();
        let key = widget("a");
        h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
        h.sim.fail([Fault::SlowAnswer(Duration::from_secs(5))]);
        let writer = h.writer.clone();
        let run = tokio::spawn({
            let key = key.clone();
            async move { writer.converge(&key).await }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_ne!(h.live(&key), Value::NULL);
        h.sim.foreign_delete(&key);
        if by_list {
            h.list();
        } else {
            h.pump();
        }
        run.await.unwrap().unwrap();
        assert_ne!(h.live(&key), Value::NULL, "by list: {by_list}");
    }
}
