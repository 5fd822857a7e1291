//! How the writer reacts to answers, and which requests it never sends.

use simulation::api::kind::Kind;

use super::harness::target_kind;
use super::*;

#[tokio::test(start_paused = true)]
async fn a_refused_object_is_tried_again_when_its_kind_changes() {
    let mut h = harness();
    let key = widget("a");
    let serve = |h: &Harness| {
        let kind = Kind::named("example.com", "Widget").unwrap();
        h.writer.serve(target_kind(kind))
    };
    h.sim.fail([Fault::Answer(422)]);
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    assert_eq!(h.codes(&key), ["refused"].into());
    assert!(serve(&h).is_empty(), "nothing has changed");
    h.writer.unserve("example.com", "Widget", false);
    assert_eq!(serve(&h), std::slice::from_ref(&key));
    h.run(&key).await;
    assert!(h.codes(&key).is_empty());
    assert_eq!(h.live(&key).get("spec").get("a"), &json!(1));
}

#[tokio::test(start_paused = true)]
async fn an_object_waits_for_its_namespace_or_kind() {
    let mut h = harness();
    let key = ObjectKey::new("example.com", "Widget", "later", "a");
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    assert_eq!(h.codes(&key), ["no-namespace"].into());
    writes(&h);
    h.settle_within(Duration::from_mins(5)).await;
    assert_eq!(writes(&h), [""; 0]);
    h.sim.0.create_namespace("later");
    let woken = h.writer.namespace_changed("later");
    assert_eq!(woken, std::slice::from_ref(&key));
    h.run(&key).await;
    assert_ne!(h.live(&key), Value::NULL);

    let kind = Kind::named("example.com", "Widget").unwrap();
    h.sim
        .0
        .with(|state| state.kinds.retain(|served| served.name != "Widget"));
    let other = widget("b");
    h.want(&other, &updater().wants(&spec(&json!({"a": 1}))));
    writes(&h);
    h.run(&other).await;
    assert_eq!(writes(&h), ["POST 404"]);
    assert_eq!(h.codes(&other), ["unavailable"].into());
    h.writer.unserve("example.com", "Widget", false);
    h.run(&other).await;
    assert_eq!(h.codes(&other), ["no-kind"].into());
    assert_eq!(writes(&h), [""; 0]);
    h.sim.0.with(|state| state.kinds.push(kind));
    assert!(h.writer.serve(target_kind(kind)).contains(&other));
    h.run(&other).await;
    assert_ne!(h.live(&other), Value::NULL);
    assert!(h.codes(&other).is_empty());
}

/// One of several API servers does not serve a new kind yet. No event tells when it does.
#[tokio::test(start_paused = true)]
async fn an_object_whose_kind_one_server_does_not_know_is_tried_again() {
    let mut h = harness();
    let kind = Kind::named("example.com", "Widget").unwrap();
    h.sim
        .0
        .with(|state| state.kinds.retain(|served| served.name != "Widget"));
    let key = widget("a");
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.run(&key).await;
    assert_eq!(h.codes(&key), ["unavailable"].into());
    h.sim.0.with(|state| state.kinds.push(kind));
    h.want(&key, &updater().wants(&spec(&json!({"a": 2}))));
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("a"), &json!(2));
    assert!(h.codes(&key).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_refused_object_is_retried_after_a_change_or_ten_minutes() {
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
async fn a_refused_document_leaves_no_fields_of_others_in_the_next_one() {
    let mut h = harness();
    let key = ObjectKey::new("", "Secret", "ns", "a");
    let secret = |quoted: &str| {
        let labels = json!({"quoted": quoted});
        json!({"metadata": {"labels": labels}, "data": {"a": "YQ=="}})
    };
    h.want(&key, &updater().wants(&secret("no")));
    h.settle().await;
    // The server refuses the field `data`.
    h.want(&key, &updater().wants(&secret("yes")));
    h.settle().await;
    assert_eq!(h.codes(&key), ["refused"].into());
    h.sim.foreign(&key, "vandal", |object| {
        set(object, &["data", "theirs"], "Yg==".into())
    });
    h.settle().await;
    h.want(&key, &updater().wants(&secret("no")));
    h.settle().await;
    assert!(h.codes(&key).is_empty());
    assert_eq!(h.live(&key).get("data"), &json!({"a": "YQ=="}));
}

#[tokio::test(start_paused = true)]
async fn an_immutable_object_is_recreated_only_if_the_target_allows_it() {
    let mut h = harness();
    let (kept, replaced) = (widget("kept"), widget("replaced"));
    let mut recreating = target(TargetType::Updater);
    recreating.recreate = true;
    let recreating = Actor::of(OPERATOR, "c", 0, recreating);
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
    assert_eq!(
        writes(&h),
        ["PUT 422", "PUT 422", "POST 409", "DELETE 200", "POST 201"]
    );
}

#[tokio::test(start_paused = true)]
async fn an_invalid_object_is_never_deleted_to_recreate_it() {
    let mut h = harness();
    let key = widget("a");
    let mut recreating = target(TargetType::Updater);
    recreating.recreate = true;
    let recreating = Actor::of(OPERATOR, "c", 0, recreating);
    h.want(&key, &recreating.wants(&spec(&json!({"size": 1}))));
    h.settle().await;
    writes(&h);
    // The server quotes the object that it refuses.
    let refused = json!({"reject": true, "reason": "field is immutable"});
    h.want(&key, &recreating.wants(&spec(&refused)));
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("size"), &json!(1));
    assert_eq!(h.codes(&key), ["refused"].into());
    assert_eq!(writes(&h), ["PUT 422", "POST 422"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_is_read_after_a_lost_answer() {
    for fault in [
        Fault::LostAnswer,
        Fault::SilentAnswer,
        Fault::Lost,
        Fault::Silence,
        Fault::Answer(503),
        Fault::Answer(500),
        Fault::Busy(2),
        Fault::Answer(409),
    ] {
        let mut h = harness();
        let key = widget("a");
        h.sim.fail([fault]);
        h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
        h.step(Duration::ZERO).await;
        let log = h.sim.take_sent();
        assert_eq!(log[0].method, "POST");
        h.run(&key).await;
        let log = h.sim.take_sent();
        h.settle().await;
        if !matches!(fault, Fault::Busy(_) | Fault::Answer(409)) {
            assert_eq!(log[0].method, "GET", "{fault:?}");
            let again = !matches!(fault, Fault::LostAnswer | Fault::SilentAnswer);
            assert_eq!(log.len() > 1, again, "{fault:?}");
        }
        assert_eq!(h.live(&key).get("spec").get("a"), &json!(1));
        assert!(claim(&h, &key).unwrap().created, "{fault:?}");
        assert!(h.codes(&key).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn retry_after_of_a_busy_server_is_respected() {
    let mut h = harness();
    let key = widget("a");
    h.sim.fail([Fault::Busy(2)]);
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.step(Duration::ZERO).await;
    let error = h.last[&key].clone().unwrap_err();
    assert_eq!(error.retry, Some(Duration::from_secs(2)));
    assert_eq!(error.problem.code(), "unavailable");
}

#[tokio::test(start_paused = true)]
async fn secrets_are_encoded_and_not_shown() {
    let mut h = harness();
    let key = ObjectKey::new("", "Secret", "ns", "s");
    let mut target = target(TargetType::Updater);
    target.resource.group = String::new();
    target.resource.kind = "Secret".to_owned();
    let who = Actor::of(OPERATOR, "c", 0, target);
    let data = json!({"data": {"text": "hunter2", "bytes": (Value::bytes(&[0xff, 0xfe]))}});
    h.want(&key, &who.wants(&data));
    h.settle().await;
    assert_eq!(
        h.live(&key).get("data"),
        &json!({"text": "aHVudGVyMg==", "bytes": "//4="})
    );
    h.sim.fail([Fault::Answer(422)]);
    h.want(&key, &who.wants(&json!({"data": {"text": "other"}})));
    h.settle().await;
    let reported = format!("{:?}{:?}{:?}", h.messages(&key), h.last, h.writer);
    assert!(
        !reported.contains("hunter2") && !reported.contains("aHVudGVyMg"),
        "{reported}"
    );
}

#[tokio::test(start_paused = true)]
async fn invalid_keys_cause_no_request() {
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
        assert!(h.sim.take_sent().is_empty());
    }
}

/// The target watch shows only objects with our label.
#[tokio::test(start_paused = true)]
async fn a_refused_applier_finds_the_object_that_a_user_creates() {
    let mut h = harness();
    h.lag = true;
    let key = widget("x");
    h.want(&key, &applier().wants(&spec(&json!({"ours": 1}))));
    h.sim.fail([Fault::None, Fault::Answer(422)]);
    h.run(&key).await;
    assert_eq!(writes(&h), ["PATCH 422"]);
    let retry = h.last[&key].as_ref().unwrap_err().retry.unwrap();
    assert!(retry <= Duration::from_mins(1), "{retry:?}");
    // Until then it is read, and not written again.
    tokio::time::advance(retry).await;
    h.run(&key).await;
    assert_eq!(writes(&h), [""; 0]);
    assert_eq!(h.last[&key], Ok(Next::After(Duration::from_mins(1))));
    h.sim
        .foreign(&key, "human", foreign_widget(&json!({"theirs": 1})));
    tokio::time::advance(retry).await;
    h.run(&key).await;
    assert_eq!(writes(&h), ["PATCH 200"]);
    assert_eq!(h.live(&key).get("spec").get("ours"), &json!(1));
}

/// A cache in front of the server answers with what it knew before. The watch shows the truth.
#[tokio::test(start_paused = true)]
async fn an_answer_with_the_old_object_is_corrected_by_the_watch() {
    for actor in [updater(), patcher(), applier()] {
        for answers in [1, usize::MAX] {
            let mut h = harness();
            let key = widget("x");
            h.sim
                .foreign(&key, "human", foreign_widget(&json!({"theirs": 1})));
            match answers {
                1 => h.sim.fail([Fault::None, Fault::OldAnswer]),
                _ => h.sim.0.with(|state| {
                    let widgets = "/apis/example.com/v1/namespaces/ns/widgets";
                    state.faults.always(widgets, Fault::OldAnswer);
                }),
            }
            h.want(&key, &actor.wants(&spec(&json!({"ours": 1}))));
            h.settle().await;
            let (kind, live) = (actor.0.target.kind, h.live(&key));
            assert_eq!(live.get("spec").get("ours"), &json!(1), "{kind:?}");
            assert!(h.codes(&key).is_empty(), "{kind:?}: {:?}", h.messages(&key));
            let sent = writes(&h);
            assert!(sent.len() <= 6, "{kind:?}: {sent:?}");
            h.check_again().await;
            assert_eq!(writes(&h), [""; 0], "{kind:?}");
        }
    }
}

/// An object of a user is not taken for our own, even if the user has set no field.
#[tokio::test(start_paused = true)]
async fn an_applier_does_not_take_an_empty_object_of_a_user_for_its_own() {
    let mut h = harness();
    let key = widget("x");
    h.lag = true;
    h.sim.foreign(&key, "human", foreign_widget(&json!({})));
    tokio::time::sleep(Duration::from_secs(5)).await;
    h.want(&key, &applier().wants(&spec(&json!({"v": 1}))));
    h.run(&key).await;
    h.lag = false;
    h.settle().await;
    h.withdraw(&key, "a");
    h.settle().await;
    assert!(h.sim.get(&key).is_some());
}
