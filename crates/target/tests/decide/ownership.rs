//! Whose an object is: adoption, deletion, and what is never touched.

use object::Unreadable;

use super::*;

#[test]
fn existing_objects_are_adopted_refused_or_left_to_their_operators() {
    let document = json!({"spec": {"a": 1}});
    let adopts = Subject::deployment()
        .wants(updates(&document))
        .live(&json!({"spec": {}}));
    check(&adopts, "replace");
    assert!(adopts.write().adopts);
    let body = adopts.write().body;
    assert!(!Claim::read(&body, &adopts.key).unwrap().created);
    assert!(
        body.get("metadata")
            .get("labels")
            .get("app.kubernetes.io/managed-by")
            .is_null()
    );

    let mut careful = target(TargetType::Updater);
    careful.refuse_existing = true;
    let careful = || Subject::deployment().wants(desired("u", 0, careful.clone(), &document));
    check(&careful().live(&json!({"spec": {}})), "read [conflict]");
    check(
        &careful().live(&json!({"spec": {}})).fresh(),
        "wait conflict [conflict]",
    );
    check(&careful().live(&claimed("op", true)), "replace");

    for wish in [updates(&document), patches(&document), applies(&document)] {
        let theirs = Subject::deployment()
            .wants(wish)
            .live(&claimed("other", true))
            .fresh();
        check(&theirs, "wait conflict [conflict]");
    }
}

#[test]
fn the_label_of_the_manager_is_never_changed() {
    let label = ["metadata", "labels", "app.kubernetes.io/managed-by"];
    let at = |object: &Value| object.get("metadata").get("labels").get(label[2]).clone();
    let subject = Subject::deployment().wants(updates(&json!({"spec": {}})));
    assert_eq!(at(&subject.write().body), json!("deltic"));
    let helm = subject
        .step(same)
        .changed(|object| set(object, &label, json!("Helm")));
    check(&helm, "nothing");
    let yields = set(&json!({"spec": {"x": 1}}), &label, json!("mine"));
    let subject = Subject::deployment().wants(updates(&yields));
    assert_eq!(at(&subject.write().body), json!("mine"));
    let subject = subject.live(&set(&claimed("op", true), &label, json!("Helm")));
    assert_eq!(at(&subject.write().body), json!("Helm"));
}

#[test]
fn a_delete_needs_a_claim_a_fresh_read_and_no_hold() {
    let gone = |object: &Value| {
        let mut subject = Subject::deployment().live(object);
        subject.wanted.withdraw("u");
        subject
    };
    check(&gone(&claimed("op", true)), "read");
    check(&gone(&claimed("op", true)).fresh(), "delete u 1");
    check(&gone(&claimed("op", false)).fresh(), "merge");
    check(&gone(&claimed("other", true)).fresh(), "nothing");
    check(&gone(&json!({"spec": {}})).fresh(), "nothing");
    let copied = set(
        &json!({}),
        &["metadata", "annotations", OWNER],
        Value::from(
            claimed("op", true)
                .get("metadata")
                .get("annotations")
                .get(OWNER)
                .as_str()
                .unwrap()
                .replace("/a\"", "/b\""),
        ),
    );
    check(&gone(&copied).fresh(), "nothing");
    let mut held = gone(&claimed("op", true)).fresh();
    held.held.insert("x".to_owned());
    check(&held, "delete u 1");
    held.held.insert("u".to_owned());
    check(&held, "wait held [deletion-held]");
    // Another controller of the operator, which has not said that it is done.
    let mut other = Subject::deployment().live(&claimed("op", true)).fresh();
    other.wanted.withdraw("x");
    check(&other, "nothing");
    let going = set(
        &claimed("op", true),
        &["metadata", "deletionTimestamp"],
        json!("2024-01-01T00:00:00Z"),
    );
    check(&gone(&going).fresh(), "nothing");
}

#[test]
fn an_object_that_cannot_be_read_is_neither_written_nor_created() {
    let unreadable = |object: &Value| {
        let mut subject = Subject::deployment().fresh();
        let metadata = json!({"metadata": (served(object).get("metadata").clone())});
        let why = Unreadable::Large;
        subject.live = Live::Present(Observed::unreadable(&metadata, "op", &why));
        subject
    };
    let document = json!({"spec": {"a": 1}});
    for object in [json!({}), claimed("op", true)] {
        for wish in [updates(&document), patches(&document), applies(&document)] {
            let mut subject = unreadable(&object).wants(wish);
            check(&subject, "wait unreadable [unreadable]");
            subject.fresh = false;
            check(&subject, "read [unreadable]");
        }
    }
    // What the metadata says is known: whose it is, and whether we created it.
    let theirs = unreadable(&claimed("other", true)).wants(updates(&document));
    check(&theirs, "wait conflict [conflict]");
    let gone = |object: &Value, controller: &str| {
        let mut subject = unreadable(object);
        subject.wanted.withdraw(controller);
        subject
    };
    check(&gone(&claimed("op", true), "u"), "delete u 1");
    check(&gone(&claimed("op", false), "u"), "merge");
    check(&gone(&json!({}), "u"), "nothing");
    // What a patch has set cannot be taken back.
    let patched = Subject::deployment()
        .wants(patches(&document))
        .live(&json!({"spec": {}}))
        .fresh()
        .write()
        .body;
    check(&gone(&patched, "p"), "wait unreadable [unreadable]");
    // What is held stays so, whatever can be read.
    for (object, controller) in [(&claimed("op", true), "u"), (&patched, "p")] {
        let mut held = gone(object, controller);
        held.held.insert(controller.to_owned());
        check(&held, "wait held [deletion-held]");
    }
}

#[test]
fn an_object_being_deleted_is_not_written() {
    let going = set(
        &json!({"spec": {}}),
        &["metadata", "deletionTimestamp"],
        json!("2024-01-01T00:00:00Z"),
    );
    for wish in [
        updates(&json!({"spec": {"a": 1}})),
        patches(&json!({"spec": {"a": 1}})),
        applies(&json!({"spec": {"a": 1}})),
    ] {
        let subject = Subject::deployment().wants(wish).live(&going).fresh();
        check(&subject, "wait gone");
    }
}

#[test]
fn writers_rank_by_controller() {
    let both = |first: &Value, second: &Value| {
        let second = desired("v", 1, target(TargetType::Updater), second);
        Subject::deployment().wants(second).wants(updates(first))
    };
    let (one, two) = (json!({"spec": {"a": 1}}), json!({"spec": {"a": 2}}));
    check(&both(&one, &two), "create [conflict]");
    assert_eq!(both(&one, &two).write().body.get("spec"), &json!({"a": 1}));
    check(&both(&one, &one), "create");

    let layers = Subject::deployment()
        .wants(updates(&json!({"spec": {"a": 1, "b": 1}})))
        .wants(patches(&json!({"spec": {"b": 2, "c": 2, "m": {"x": 1}}})))
        .wants(applies(&json!({"spec": {"c": 3, "d": 3, "m": {"y": 1}}})));
    check(&layers, "create [conflict]");
    let expect = json!({"a": 1, "b": 2, "c": 2, "d": 3, "m": {"x": 1, "y": 1}});
    assert_eq!(layers.write().body.get("spec"), &expect);
    check(&layers.step(same), "nothing [conflict]");
}

#[test]
fn an_immutable_object_is_deleted_only_if_it_is_ours_and_read() {
    let again = |object: &Value| {
        let mut subject = Subject::deployment()
            .wants(updates(&json!({"spec": {"a": 1}})))
            .live(object);
        subject.learned.recreate = true;
        subject
    };
    check(&again(&claimed("op", true)), "read");
    check(&again(&claimed("op", true)).fresh(), "delete u 1");
    check(&again(&claimed("op", false)).fresh(), "replace");
}
