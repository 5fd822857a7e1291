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
