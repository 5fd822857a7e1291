//! What is written, and when an object is right.

use document::Path;

use super::*;

#[test]
fn what_is_not_known_is_read_and_what_is_not_there_is_created() {
    let document = json!({"spec": {"a": 1}});
    for (live, updater, patcher, applier) in [
        (Live::Unknown, "read", "read", "read"),
        (Live::Unseen, "create", "read", "read"),
        (Live::Absent, "create", "wait object", "read"),
    ] {
        let on = |desired: Desired| {
            let mut subject = Subject::deployment().wants(desired);
            subject.live = live.clone();
            subject
        };
        check(&on(updates(&document)), updater);
        check(&on(patches(&document)), patcher);
        check(&on(applies(&document)), applier);
    }
    let mut absent = Subject::deployment().wants(applies(&document)).fresh();
    absent.live = Live::Absent;
    check(&absent, "apply { force: false }");
}

#[test]
fn only_the_used_metadata_is_written() {
    let owner = |uid: &str| json!({"uid": uid, "kind": "K", "name": "n", "apiVersion": "v1"});
    let document = json!({"kind": "Other", "apiVersion": "v9", "metadata": {
        "name": "other", "uid": "x", "generateName": "g", "finalizers": ["f"], "resourceVersion": "9",
        "labels": {"l": "1", "dcontroller.io/operator": "forged"}, "annotations": {"dcontroller.io/owner": "forged"},
        "ownerReferences": [(owner("o")), (owner("stranger"))],
    }});
    let subject = Subject::deployment().wants(updates(&document));
    check(&subject, "create [owner-dropped]");
    let body = subject.write().body;
    let metadata = body.get("metadata");
    let fields: Vec<&str> = metadata
        .as_map()
        .unwrap()
        .iter()
        .map(|(key, _)| key.as_str())
        .collect();
    assert_eq!(
        fields,
        [
            "annotations",
            "labels",
            "name",
            "namespace",
            "ownerReferences"
        ]
    );
    assert_eq!(metadata.get("name"), &json!("a"));
    assert_eq!(metadata.get("ownerReferences"), &json!([(owner("o"))]));
    assert_eq!(
        metadata.get("labels").get("dcontroller.io/operator"),
        &json!("op")
    );
    assert_eq!(body.get("kind"), &json!("Deployment"));
    assert_eq!(body.get("apiVersion"), &json!("apps/v1"));
}

#[test]
fn an_object_is_right_if_it_is_what_the_last_write_returned() {
    let document = json!({"spec": {"cpu": "1000m", "dropped": 1}});
    let stored = |object: &Value| {
        set(
            object,
            &["spec"],
            json!({"cpu": "1", "default": null, "more": true}),
        )
    };
    let subject = || Subject::deployment().wants(updates(&document)).step(stored);
    check(&subject(), "nothing");
    for (path, value, expect) in [
        (&["metadata", "generation"][..], json!(7), "nothing"),
        (&["metadata", "managedFields"], json!([]), "nothing"),
        (
            &["metadata", "annotations", "theirs"],
            json!("x"),
            "nothing",
        ),
        (&["metadata", "finalizers"], json!(["theirs"]), "nothing"),
        (&["status"], json!({"x": 1}), "nothing"),
        (&["spec", "null"], Value::NULL, "nothing"),
        (&["spec", "cpu"], json!("2"), "replace drift"),
        (&["spec", "added"], json!(1), "replace drift"),
        (
            &["metadata", "labels", "dcontroller.io/operator"],
            json!("x"),
            "replace drift",
        ),
    ] {
        check(
            &subject().changed(|object| set(object, path, value.clone())),
            expect,
        );
    }
}

#[test]
fn without_a_record_an_object_is_right_if_all_that_is_wanted_is_there() {
    let document = json!({"spec": {"a": 1, "l": [{"x": 1}]}});
    let stored = |object: &Value| {
        set(
            object,
            &["spec"],
            json!({"a": 1, "l": [{"x": 1, "default": 1}], "default": 1}),
        )
    };
    let subject = || {
        Subject::deployment()
            .wants(updates(&document))
            .step(stored)
            .restarted()
    };
    check(&subject(), "nothing");
    check(
        &subject().changed(|object| set(object, &["spec", "a"], json!(2))),
        "replace",
    );
    check(
        &subject().changed(|object| set(object, &["spec", "l"], json!([{"x": 1}, {"x": 2}]))),
        "replace",
    );
    let managed = json!([{"manager": "human", "fieldsV1": {"f:spec": {"f:added": {}}}}]);
    let added = subject().changed(|object| {
        let object = set(object, &["spec", "added"], json!(1));
        set(&object, &["metadata", "managedFields"], managed.clone())
    });
    check(&added, "replace");
    // What was derived before and is not any more.
    let less = subject().wants(updates(&json!({"spec": {"a": 1}})));
    check(&less, "replace");
    // One write settles what the server made of it.
    let odd = Subject::deployment().wants(updates(&json!({"spec": {"cpu": "1000m"}})));
    let odd = odd
        .step(|object| set(object, &["spec", "cpu"], json!("1")))
        .restarted();
    check(&odd, "replace");
    check(
        &odd.step(|object| set(object, &["spec", "cpu"], json!("1"))),
        "nothing",
    );
}

#[test]
fn the_status_goes_to_its_own_request_and_is_left_alone_if_it_is_not_yielded() {
    let document = json!({"spec": {}, "status": {"ready": true}});
    let without = |object: &Value| set(object, &["status"], Value::NULL);
    let subject = Subject::deployment().wants(updates(&document));
    assert!(subject.write().body.get("status").is_null());
    let subject = subject.step(without);
    check(&subject, "merge status");
    let subject = subject.step(same);
    check(&subject, "nothing");
    let theirs = || subject_with_status(&document);
    check(&theirs(), "merge status");
    assert_eq!(
        theirs().write().body.get("status"),
        &json!({"ready": true, "theirs": null})
    );
    check(&subject_with_status(&json!({"spec": {}})), "nothing");
    // Where there is no subresource, it is a field like any other.
    let mut plain = Subject::deployment().wants(updates(&document));
    plain.kind.status = false;
    assert_eq!(plain.write().body.get("status"), &json!({"ready": true}));
    check(&plain.step(same), "nothing");
}

fn subject_with_status(document: &Value) -> Subject {
    let subject = Subject::deployment().wants(updates(document));
    subject.step(|object| set(object, &["status"], json!({"theirs": 1})))
}

#[test]
fn fields_that_belong_to_others_are_ignored() {
    for kind in [
        TargetType::Updater,
        TargetType::Patcher,
        TargetType::Applier,
    ] {
        let mut target = target(kind);
        target.ignore = vec![Path::parse("$.spec.replicas").unwrap()];
        let document = json!({"spec": {"replicas": 1, "a": 1}});
        let live = json!({"spec": {"replicas": 5}});
        let subject = Subject::deployment()
            .wants(desired("u", 0, target, &document))
            .live(&live)
            .fresh();
        let subject = subject.step(|object| match kind {
            TargetType::Applier => set(object, &["spec", "replicas"], json!(5)),
            _ => object.clone(),
        });
        let Live::Present(observed) = &subject.live else {
            panic!("still there");
        };
        assert_eq!(
            observed.object.get("spec"),
            &json!({"replicas": 5, "a": 1}),
            "{kind:?}"
        );
        check(&subject, "nothing");
        check(
            &subject.changed(|object| set(object, &["spec", "replicas"], json!(9))),
            "nothing",
        );
    }
}
