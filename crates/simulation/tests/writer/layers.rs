//! What Patchers and Appliers set on objects, and undo.

use super::*;

#[tokio::test(start_paused = true)]
async fn layers_are_added_to_the_updater_and_the_first_one_gets_a_field() {
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
    h.check_again().await;
    assert_eq!(writes(&h), [""; 0], "layers do not overwrite each other");
    h.withdraw(&key, "p");
    h.settle().await;
    check(&h, json!({"a": 1, "b": 1, "c": 3, "d": 3}));
    assert!(h.codes(&key).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_patcher_waits_for_its_object_and_undoes_what_it_set() {
    let mut h = harness();
    let key = ObjectKey::new("apps", "Deployment", "ns", "x");
    let containers = ["spec", "template", "spec", "containers"];
    let document = json!({"metadata": {"annotations": {"note": "1"}}, "spec": {
        "nested": {"deep": {"er": 1}},
    }});
    let document = set(
        &document,
        &containers,
        json!([
            {"name": "b", "env": [{"name": "X", "value": "1"}], "cpu": "3000m"}, {"name": "side", "image": "s"},
        ]),
    );
    h.want(&key, &patcher().wants(&document));
    h.settle().await;
    assert_eq!(h.live(&key), Value::NULL);
    assert!(h.codes(&key).is_empty());
    h.sim.foreign(&key, "human", |_| set(&json!({}), &containers, json!([
        {"name": "a", "image": "1"}, {"name": "b", "image": "1", "env": [{"name": "Y", "value": "2"}]}, {"name": "c", "image": "1"},
    ])));
    let before = timeless(&h.live(&key));
    h.settle().await;
    let live = h.live(&key);
    let containers = at(&live, &containers);
    assert_eq!(
        containers.at(0),
        &json!({"name": "a", "image": "1", "imagePullPolicy": "IfNotPresent"})
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
    h.check_again().await;
    h.restart();
    h.settle().await;
    assert_eq!(writes(&h), [""; 0]);

    h.wanted.clear();
    h.restart();
    h.settle().await;
    assert_eq!(timeless(&h.live(&key)), before);
}

#[tokio::test(start_paused = true)]
async fn a_patcher_removes_only_values_that_are_still_as_written() {
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
        "a default inside an added value"
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
async fn only_literal_nulls_remove_fields() {
    let mut h = harness();
    let key = widget("x");
    h.sim.foreign(
        &key,
        "human",
        foreign_widget(&json!({"written": 1, "given": 1})),
    );
    let mut target = target(TargetType::Patcher);
    target.written_nulls = vec![vec!["spec".to_owned(), "written".to_owned()]];
    let who = Actor::of(OPERATOR, "p", 0, target);
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
async fn patches_have_a_version_and_the_status_comes_second() {
    let mut h = harness();
    let key = widget("x");
    h.sim.foreign(&key, "human", |_| {
        let object = foreign_widget(&json!({"l": [1]}))(&Value::NULL);
        set(&object, &["status", "theirs"], json!(1))
    });
    let document = json!({"spec": {"a": 1}, "status": {"ours": 1}});
    h.want(&key, &patcher().wants(&document));
    h.sim.take_sent();
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
    let before = timeless(&h.live(&theirs));
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
    h.check_again().await;
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
    let after = timeless(&h.live(&theirs));
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
    h.check_again().await;
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
        &Actor::of(OPERATOR, "a", 2, forcing).wants(&spec(&json!({"theirs": 2, "ours": 1}))),
    );
    h.settle().await;
    assert_eq!(shown(&h), json!({"theirs": 2, "ours": 1}));
    assert!(h.codes(&key).is_empty());
}

/// A list without merge keys has one owner: nothing of it may be sent, not even empty elements,
/// which would replace the list of others.
#[tokio::test(start_paused = true)]
async fn an_applier_leaves_a_list_to_its_owner_as_a_whole() {
    let mut h = harness();
    let key = widget("x");
    let theirs = json!({"rules": [{"from": [{"pods": {"user": "1"}}]}, {"from": []}], "deep": {"l": [{"a": 1}]}});
    h.sim.foreign(&key, "human", foreign_widget(&theirs));
    let wanted = json!({"rules": [{"ports": [{"port": 80}]}], "deep": {"l": [{"a": {"b": [{"c": 1}]}}]}, "ours": 1});
    h.want(&key, &applier().wants(&spec(&wanted)));
    h.settle().await;
    let shown = |h: &Harness| unset(h.live(&key).get("spec"), &["defaulted"]);
    let both = set(&theirs, &["ours"], json!(1));
    assert_eq!(shown(&h), both);
    assert_eq!(h.codes(&key), ["conflict"].into());
    h.restart();
    h.settle().await;
    assert_eq!(shown(&h), both);
    h.withdraw(&key, "a");
    h.settle().await;
    assert_eq!(shown(&h), theirs, "it never owned the lists");
}

#[tokio::test(start_paused = true)]
async fn the_conflict_of_an_applier_outlives_its_write_of_the_status() {
    let mut h = harness();
    let key = widget("x");
    h.sim
        .foreign(&key, "human", foreign_widget(&json!({"theirs": 1})));
    let wanted = set(
        &spec(&json!({"theirs": 2})),
        &["status"],
        json!({"seen": 7}),
    );
    h.want(&key, &applier().wants(&wanted));
    h.settle().await;
    assert_eq!(h.live(&key).get("status").get("seen"), &json!(7));
    assert_eq!(h.live(&key).get("spec").get("theirs"), &json!(1));
    assert_eq!(h.codes(&key), ["conflict"].into());
}

#[tokio::test(start_paused = true)]
async fn an_applier_does_not_force_the_first_conflict_in_the_status() {
    let mut h = harness();
    let key = widget("x");
    h.sim.foreign(&key, "human", |_| {
        let object = foreign_widget(&json!({"theirs": 1}))(&Value::NULL);
        set(&object, &["status", "ready"], json!(0))
    });
    let wanted = json!({"spec": {"ours": 1}, "status": {"ready": 1, "seen": 7}});
    h.want(&key, &applier().wants(&wanted));
    h.settle().await;
    let status = |h: &Harness| h.live(&key).get("status").clone();
    assert_eq!(status(&h), json!({"ready": 0, "seen": 7}));
    assert_eq!(h.codes(&key), ["conflict"].into());
    assert!(h.messages(&key).join("").contains("human"));
    writes(&h);
    h.check_again().await;
    assert_eq!(writes(&h), [""; 0]);
    h.restart();
    h.settle().await;
    assert_eq!(
        status(&h),
        json!({"ready": 0, "seen": 7}),
        "after a restart"
    );

    // What it has owned before, it takes back.
    h.sim.foreign(&key, "vandal", |object| {
        set(object, &["status", "seen"], json!(9))
    });
    h.settle().await;
    assert_eq!(status(&h), json!({"ready": 0, "seen": 7}));
    h.sim
        .foreign(&key, "human", |object| unset(object, &["status", "ready"]));
    h.settle().await;
    assert_eq!(status(&h), json!({"ready": 1, "seen": 7}), "nobody has it");
    assert!(h.codes(&key).is_empty());
}

#[tokio::test(start_paused = true)]
async fn two_appliers_of_an_object_do_not_replace_each_others_claim() {
    let mut h = harness();
    let key = widget("own");
    let second = || Actor::of(OPERATOR, "b", 3, target(TargetType::Applier));
    h.want(&key, &applier().wants(&spec(&json!({"a": 1}))));
    h.want(&key, &second().wants(&spec(&json!({"b": 1}))));
    h.settle().await;
    let shown = |h: &Harness| unset(h.live(&key).get("spec"), &["defaulted"]);
    assert_eq!(shown(&h), json!({"a": 1, "b": 1}));
    assert_eq!(claim(&h, &key).unwrap().controller, "a");
    writes(&h);
    h.check_again().await;
    h.restart();
    h.settle().await;
    assert_eq!(writes(&h), [""; 0]);
    assert!(h.codes(&key).is_empty());

    // The other one takes the claim over, and the object goes with it.
    h.withdraw(&key, "a");
    h.settle().await;
    assert_eq!(shown(&h), json!({"b": 1}));
    assert_eq!(claim(&h, &key).unwrap().controller, "b");
    h.withdraw(&key, "b");
    h.settle().await;
    assert_eq!(h.live(&key), Value::NULL);
}

/// Others set a field of the status between the write of the record and that of the status.
#[tokio::test(start_paused = true)]
async fn an_applier_does_not_force_a_status_that_others_set_meanwhile() {
    let mut h = harness();
    let key = widget("x");
    h.sim
        .foreign(&key, "human", foreign_widget(&json!({"theirs": 1})));
    let wanted = json!({"spec": {"ours": 1}, "status": {"ready": 1, "seen": 7}});
    h.want(&key, &applier().wants(&wanted));
    h.sim.race(&key, json!({"status": {"ready": 0}}));
    h.settle().await;
    assert!(!h.sim.has_races());
    let status = |h: &Harness| h.live(&key).get("status").clone();
    assert_eq!(status(&h), json!({"ready": 0, "seen": 7}));
    assert_eq!(h.codes(&key), ["conflict"].into());
    // What the server has accepted is ours, also for the next process.
    h.restart();
    h.sim.foreign(&key, "vandal", |object| {
        set(object, &["status", "seen"], json!(9))
    });
    h.settle().await;
    assert_eq!(status(&h), json!({"ready": 0, "seen": 7}));
    h.wanted.clear();
    h.restart();
    h.settle().await;
    assert_eq!(status(&h), json!({"ready": 0}));
}

/// A process that ends between the write of the status and that of its record leaves nothing.
#[tokio::test(start_paused = true)]
async fn an_applied_status_without_a_record_is_released() {
    let mut h = harness();
    let key = widget("x");
    h.sim
        .foreign(&key, "human", foreign_widget(&json!({"theirs": 1})));
    let wanted = json!({"spec": {"ours": 1}, "status": {"seen": 7}});
    h.want(&key, &applier().wants(&wanted));
    while h.live(&key).get("status").get("seen").is_null() {
        // One request at a time: a run ends with the first one that fails.
        h.sim.fail([Fault::None, Fault::None, Fault::Answer(503)]);
        assert!(h.step(Duration::from_mins(2)).await);
    }
    h.sim.fail([]);
    h.wanted.clear();
    h.restart();
    h.settle().await;
    assert_eq!(h.live(&key).get("status").get("seen"), &Value::NULL);
    assert_eq!(h.live(&key).get("spec").get("ours"), &Value::NULL);
}

#[tokio::test(start_paused = true)]
async fn the_status_of_an_applier_on_an_updater_is_taken_back() {
    for restarts in [false, true] {
        let mut h = harness();
        let key = widget("a");
        h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
        h.settle().await;
        h.sim.foreign(&key, "human", |object| {
            set(object, &["status", "theirs"], json!(1))
        });
        let applied = json!({"spec": {"b": 1}, "status": {"mine": 1}});
        h.want(&key, &applier().wants(&applied));
        h.settle().await;
        let live = h.live(&key);
        assert_eq!(live.get("status"), &json!({"theirs": 1, "mine": 1}));
        assert_eq!(live.get("spec").get("b"), &json!(1));
        writes(&h);
        h.check_again().await;
        assert_eq!(writes(&h), [""; 0]);
        if restarts {
            h.restart();
        }
        h.withdraw(&key, "a");
        h.settle().await;
        assert_eq!(h.live(&key).get("status"), &json!({"theirs": 1}));
        assert_eq!(h.live(&key).get("spec").get("b"), &Value::NULL);
    }
}

/// The record of an empty document can be read, so that another Applier takes the object over.
#[tokio::test(start_paused = true)]
async fn an_applier_of_an_empty_document_leaves_the_object_to_another_one() {
    let mut h = harness();
    let key = widget("own");
    let second = || Actor::of(OPERATOR, "b", 3, target(TargetType::Applier));
    h.want(&key, &applier().wants(&spec(&json!({"a": 1}))));
    h.want(&key, &second().wants(&spec(&json!({"b": 1}))));
    h.settle().await;
    h.want(&key, &applier().wants(&json!({})));
    h.settle().await;
    let uid = h.live(&key).get("metadata").get("uid").clone();
    h.withdraw(&key, "a");
    h.settle().await;
    let live = h.live(&key);
    assert_eq!(live.get("metadata").get("uid"), &uid);
    assert_eq!(unset(live.get("spec"), &["defaulted"]), json!({"b": 1}));
    assert_eq!(claim(&h, &key).unwrap().controller, "b");
}
