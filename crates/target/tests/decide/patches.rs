//! Patches: when they are sent, what they record, and how they are taken back.

use super::*;

#[test]
fn a_patch_names_the_version_that_it_was_computed_from() {
    let live = json!({"spec": {"l": [1], "m": {"x": 1}}});
    for document in [
        json!({"spec": {"a": 1, "m": {"y": 1}}}),
        json!({"spec": {"l": [2]}}),
        json!({"spec": {"c": [{"name": "x"}]}}),
    ] {
        let subject = Subject::deployment().wants(patches(&document)).live(&live);
        check(&subject, "read");
        let write = subject.fresh().write();
        assert_eq!(write.verb, Verb::Merge);
        assert_eq!(write.manager, "deltic/op/p");
        let metadata = write.body.get("metadata");
        assert_eq!(metadata.get("resourceVersion"), &json!("1"));
    }
}

/// A Patcher, or an Applier, of status and spec, and the object that it has changed.
fn changes_both(kind: TargetType) -> Subject {
    let document = json!({"spec": {"a": 1, "b": 1}, "status": {"s": 1, "t": 1}});
    let live = json!({"spec": {"a": 0, "b": 0}, "status": {"s": 0, "t": 0}});
    let subject = Subject::deployment().wants(patches(&document));
    let subject = subject.live(&live).fresh().step(same).step(same);
    check(&subject, "nothing");
    let less = json!({"spec": {"a": 1}, "status": {"s": 1}});
    subject.wants(desired("p", 1, target(kind), &less))
}

#[test]
fn a_patch_that_undoes_names_the_version_that_it_was_computed_from() {
    let withdrawn = || {
        let mut subject = changes_both(TargetType::Patcher);
        subject.wanted.withdraw("p");
        subject
    };
    let unmarked = || {
        let subject = Subject::deployment().live(&claimed("op", false)).fresh();
        let mut subject = subject.wants(updates(&json!({"spec": {}})));
        subject.wanted.withdraw("u");
        subject
    };
    for (undoes, steps) in [
        // It yields less.
        (
            changes_both(TargetType::Patcher),
            &["merge status", "merge"][..],
        ),
        // It has become an Applier, and yields less.
        (
            changes_both(TargetType::Applier),
            &["merge status", "merge"],
        ),
        // It yields nothing.
        (withdrawn(), &["merge status", "merge"]),
        (unmarked(), &["merge"]),
    ] {
        let mut subject = undoes;
        for step in steps {
            // Somebody changes another field: that is a new version.
            let change = |object: &Value| set(object, &["spec", "other"], json!(1));
            subject = subject.changed(change).fresh();
            check(&subject, step);
            let write = subject.write();
            let metadata = write.body.get("metadata");
            assert_eq!(metadata.get("resourceVersion"), &json!("2"), "{step}");
            subject = subject.step(same);
        }
    }
}

#[test]
fn a_patch_of_what_is_there_is_no_patch() {
    let live = json!({"metadata": {"labels": {"l": "1"}}, "spec": {
        "a": 1, "m": {"x": 1}, "requests": {"cpu": "1"}, "containers": [{"name": "c", "image": "1", "policy": "x"}],
    }, "status": {"s": 1}});
    let document = json!({"metadata": {"labels": {"l": "1"}}, "spec": {
        "a": 1, "m": {}, "requests": {"cpu": "1000m"}, "containers": [{"name": "c", "image": "1"}],
    }, "status": {"s": 1}});
    let subject = || {
        let subject = Subject::deployment().wants(patches(&document));
        subject.live(&live)
    };
    check(&subject(), "nothing");
    check(&subject().fresh(), "nothing");
    let changed = subject().changed(|object| set(object, &["spec", "a"], json!(2)));
    check(&changed, "read");
    let body = changed.fresh().write().body;
    assert_eq!(body.get("spec"), &json!({"a": 1}));
    let annotations = body.get("metadata").get("annotations").as_map().unwrap();
    let record: Value = annotations.entries()[0]
        .1
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let places = record.get("paths").as_map().unwrap();
    assert_eq!(places.len(), 1, "{record}");
}

#[test]
fn a_patch_is_recorded_with_its_fields_and_taken_back() {
    let subject = Subject::deployment()
        .wants(patches(&json!({"metadata": {"labels": {"l": "1"}}, "spec": {"a": 1, "m": {"x": {"y": 1}}}, "status": {"s": 1}})))
        .live(&json!({"spec": {"theirs": 1, "m": {"z": 1}}}))
        .fresh();
    let body = subject.write().body;
    let annotations = body
        .get("metadata")
        .get("annotations")
        .as_map()
        .unwrap()
        .clone();
    let (name, text) = &annotations.entries()[0];
    assert!(name.as_str().starts_with("dcontroller.io/set."));
    let paths: Value = text.as_str().unwrap().parse().unwrap();
    let paths: Vec<&str> = paths
        .get("paths")
        .as_map()
        .unwrap()
        .iter()
        .map(|(key, _)| key.as_str())
        .collect();
    assert_eq!(
        paths,
        [
            "/metadata/labels/l",
            "/spec/a",
            "/spec/m/x",
            "/spec/m/x/y",
            "/status/s"
        ]
    );
    assert!(body.get("status").is_null());
    let subject = subject.step(same);
    check(&subject, "merge status");
    let mut subject = subject.step(same);
    check(&subject, "nothing");
    check(
        &subject
            .changed(|object| set(object, &["spec", "a"], json!(2)))
            .fresh(),
        "merge drift",
    );

    subject = Subject::deployment()
        .wants(patches(
            &json!({"spec": {"a": 1, "b": 1, "m": {"x": {"y": 1}}}}),
        ))
        .live(&json!({"spec": {"theirs": 1, "m": {"z": 1}}}))
        .fresh()
        .step(same)
        .changed(|object| set(object, &["spec", "b"], json!(2)))
        .restarted()
        .fresh();
    subject.wanted.withdraw("p");
    let subject = subject.step(same);
    check(&subject, "nothing");
    let Live::Present(left) = &subject.live else {
        panic!("still there");
    };
    assert_eq!(
        left.object.get("spec"),
        &json!({"theirs": 1, "b": 2, "m": {"z": 1}})
    );
    assert_eq!(left.object.get("metadata").get("annotations"), &Value::NULL);
}

/// On a real server the Applier owns the list element as well, and the removal of what it applied
/// leaves what the Patcher wrote.
#[test]
fn an_element_that_was_patched_and_then_applied_goes_as_a_whole() {
    let containers = json!([{"name": "side", "image": "s"}]);
    let document = json!({"spec": {"containers": containers}, "status": {"s": 1}});
    let live = json!({"spec": {"containers": [{"name": "app"}]}, "status": {"s": 0}});
    let patched = Subject::deployment().wants(patches(&document));
    let patched = patched.live(&live).fresh().step(same).step(same);
    check(&patched, "nothing");
    let applies = desired("p", 1, target(TargetType::Applier), &document);
    let mut applied = patched.wants(applies);
    let body = applied.write().body;
    let annotations = body.get("metadata").get("annotations").clone();
    // A server merges what is applied.
    applied = applied.changed(|object| {
        merged(
            object,
            &json!({"metadata": {"annotations": (annotations.clone())}}),
        )
    });
    applied.fresh = true;
    applied.wanted.withdraw("p");
    check(&applied, "merge status");
    let applied = applied.step(same);
    check(&applied, "merge");
    let applied = applied.step(same);
    let Live::Present(left) = &applied.live else {
        panic!("still there");
    };
    assert_eq!(left.object.get("spec"), live.get("spec"));
    assert_eq!(left.object.get("status"), live.get("status"));
    check(&applied, "apply { force: false } status");
}

#[test]
fn a_patcher_that_was_an_applier_keeps_its_first_record() {
    let document = json!({"spec": {"replicas": 5, "paused": true}});
    let live = json!({"spec": {"replicas": 3}});
    let patched = Subject::deployment().wants(patches(&document));
    let patched = patched.live(&live).fresh().step(same);
    let applies = desired(
        "p",
        1,
        target(TargetType::Applier),
        &json!({"spec": {"replicas": 5, "applied": 1}}),
    );
    let mut subject = patched.wants(applies);
    // `paused` is no longer wanted.
    check(&subject, "merge");
    subject = subject.step(same);
    let body = subject.write().body;
    let answer = |body: &Value| {
        let body = body.clone();
        move |object: &Value| merged(object, &body)
    };
    subject = subject
        .changed(answer(&body))
        .fresh()
        .wants(patches(&document));
    // Without `managedFields` it is unknown whose the label is, so the last Applier removes it.
    let label = subject.write();
    assert_eq!(label.verb, Verb::Merge);
    let metadata = label.body.get("metadata").as_map().expect("a map");
    assert_eq!(metadata.get_str("labels"), Some(&Value::NULL));
    subject = subject.changed(answer(&label.body)).fresh();
    let released = subject.write();
    assert_eq!(released.verb, Verb::Apply { force: false });
    assert_eq!(released.body.get("spec"), &Value::NULL);
    // What was only applied is gone; the record of the Patcher is left.
    let gone = json!({"spec": {"applied": null}});
    subject = subject
        .changed(answer(&released.body))
        .changed(answer(&gone))
        .fresh();
    check(&subject, "merge");
    subject = subject.step(same);
    check(&subject, "nothing");
    subject.wanted.withdraw("p");
    let subject = subject.step(same);
    let Live::Present(left) = &subject.live else {
        panic!("still there");
    };
    assert_eq!(left.object.get("spec"), live.get("spec"));
    assert_eq!(left.object.get("metadata").get("annotations"), &Value::NULL);
}
