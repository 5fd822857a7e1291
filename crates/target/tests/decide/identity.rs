//! Which Operator's claim counts: the own one, that of a predecessor, that of another.

use target::live::{is_orphan, leftovers};

use super::*;

fn gone(object: &Value) -> Subject {
    let mut subject = Subject::deployment().live(object).fresh();
    subject.wanted.withdraw("u");
    subject
}

fn uid_of(object: &Value) -> Option<String> {
    let key = ObjectKey::new("apps", "Deployment", "ns", "a");
    Claim::read(object, &key).unwrap().uid
}

/// The object that an Updater or Applier of `by` has written.
fn written_by(by: &OperatorId, kind: TargetType, document: &Value) -> Value {
    let author = Author::new(by, "u", 0, target(kind));
    let desired = Desired {
        author: Arc::new(author),
        ..desired("u", 0, target(kind), document)
    };
    let mut subject = Subject::deployment().wants(desired);
    if kind == TargetType::Applier {
        subject.live = Live::Absent;
        subject.fresh = true;
    }
    served(&subject.write().body)
}

#[test]
fn a_new_operator_of_the_same_name_takes_over_and_never_sweeps() {
    let before = OperatorId::new("op", "u0");
    let document = json!({"spec": {"a": 1}});
    for kind in [TargetType::Updater, TargetType::Applier] {
        let object = written_by(&before, kind, &document);
        check(&gone(&object), "nothing");
        let Live::Present(observed) = gone(&object).live else {
            panic!("it is there");
        };
        let key = ObjectKey::new("apps", "Deployment", "ns", "a");
        let left = |by: &OperatorId| leftovers(&key, None, &observed, &Wanted::default(), by);
        assert_eq!(left(&operator()), []);
        assert_eq!(left(&before).len(), 1);
        assert!(is_orphan(&object, &key, &operator()));
        assert!(!is_orphan(&object, &key, &before));

        let subject = Subject::deployment().wants(desired("u", 0, target(kind), &document));
        let subject = subject.live(&object).fresh();
        let write = subject.write();
        assert!(!write.adopts);
        assert_eq!(uid_of(&write.body).as_deref(), Some("u1"));
        let claim = Claim::read(&write.body, &key).unwrap();
        assert!(claim.created, "what the predecessor created is ours now");
    }
}

#[test]
fn an_instance_is_another_operator() {
    let instance = OperatorId::of_instance("op", "default");
    let object = claimed_by(&instance, true);
    check(&gone(&object), "nothing");
    let subject = Subject::deployment().wants(updates(&json!({"spec": {}})));
    let subject = subject.live(&object).fresh();
    check(&subject, "wait conflict [conflict]");
    let message = subject.decide().problems[0].to_string();
    assert!(message.contains("op (u1)"), "{message}");
    assert!(message.contains("op (instance:default)"), "{message}");
}

#[test]
fn a_claim_without_a_uid_is_upgraded_only_by_another_write() {
    let old = OperatorId::new("op", "");
    for kind in [TargetType::Updater, TargetType::Applier] {
        let object = written_by(&old, kind, &json!({"spec": {"a": 1}}));
        assert_eq!(uid_of(&object), None);
        let wants = |a: i64| {
            let document = json!({"spec": {"a": a}});
            let desired = desired("u", 0, target(kind), &document);
            Subject::deployment().wants(desired).live(&object).fresh()
        };
        check(&wants(1), "nothing");
        let write = wants(2).write();
        assert_eq!(uid_of(&write.body).as_deref(), Some("u1"));
        check(&gone(&object), "delete u 1");
    }
}

#[test]
fn the_claim_of_an_operator_that_no_longer_exists_does_not_count() {
    let document = json!({"spec": {"a": 1}});
    let with = |names: Option<&[&str]>, wish: Desired| {
        let names = names.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        let mut subject = Subject::deployment().wants(wish);
        subject.peers.cluster = names.map(Arc::new);
        subject.live(&claimed("other", true)).fresh()
    };
    let both: Option<&[&str]> = Some(&["op", "other"]);
    let alone: Option<&[&str]> = Some(&["op"]);
    for wish in [updates(&document), patches(&document), applies(&document)] {
        // Without a complete list of Operators it may exist.
        check(&with(None, wish.clone()), "wait conflict [conflict]");
        check(&with(both, wish), "wait conflict [conflict]");
    }
    let adopts = with(alone, updates(&document));
    check(&adopts, "replace");
    assert!(adopts.write().adopts);
    let claim = Claim::read(&adopts.write().body, &adopts.key).unwrap();
    assert_eq!((claim.operator.as_str(), claim.created), ("op", false));
    check(&with(alone, patches(&document)), "merge");
    check(&with(alone, applies(&document)), "apply { force: false }");

    let mut careful = target(TargetType::Updater);
    careful.refuse_existing = true;
    let careful = desired("u", 0, careful, &document);
    check(&with(alone, careful), "wait conflict [conflict]");
    // What another Operator created is not deleted, whether it exists or not.
    let mut swept = gone(&claimed("other", true));
    swept.peers.cluster = Some(Arc::new(BTreeSet::new()));
    check(&swept, "nothing");
}

/// A Deployment with 3 replicas that a Patcher of `by` has scaled to 5.
fn patched_by(by: &OperatorId) -> Value {
    let patch = scales(by, 5);
    let subject = Subject::deployment().wants(patch);
    let subject = subject.live(&json!({"spec": {"replicas": 3}})).fresh();
    present(&subject.step(same))
}

fn scales(by: &OperatorId, replicas: i64) -> Desired {
    let document = json!({"spec": {"replicas": replicas}});
    Desired {
        author: Arc::new(Author::new(by, "u", 0, target(TargetType::Patcher))),
        ..desired("u", 0, target(TargetType::Patcher), &document)
    }
}

fn present(subject: &Subject) -> Value {
    let Live::Present(observed) = &subject.live else {
        panic!("it is there");
    };
    observed.object.clone()
}

/// A field of each record on an object.
fn in_records(object: &Value, field: &str) -> Vec<Option<String>> {
    let annotations = object.get("metadata").get("annotations");
    let annotations = annotations.as_map().into_iter().flatten();
    let records = annotations.filter_map(|(_, text)| text.as_str()?.parse::<Value>().ok());
    let field = records.map(|record| record.get(field).as_str().map(str::to_owned));
    field.collect()
}

/// The uid in the only record on an object.
fn record_uid(object: &Value) -> Option<String> {
    let uids = in_records(object, "uid");
    assert_eq!(uids.len(), 1);
    uids.into_iter().next().flatten()
}

/// The controllers that have a record on an object.
fn record_controllers(object: &Value) -> Vec<String> {
    let controllers = in_records(object, "controller").into_iter();
    controllers.flatten().collect()
}

#[test]
fn the_record_of_a_predecessor_is_taken_over_and_never_swept() {
    let key = ObjectKey::new("apps", "Deployment", "ns", "a");
    let before = OperatorId::new("op", "u0");
    let object = patched_by(&before);
    assert_eq!(record_uid(&object).as_deref(), Some("u0"));
    check(&gone(&object), "nothing");
    let observed = Observed::new(&object, "op");
    let left = |by: &OperatorId| leftovers(&key, None, &observed, &Wanted::default(), by);
    assert_eq!(left(&operator()), []);
    assert_eq!(left(&before).len(), 1);
    assert!(is_orphan(&object, &key, &operator()) && !is_orphan(&object, &key, &before));

    let subject = Subject::deployment().wants(scales(&operator(), 6));
    let mut subject = subject.live(&object).fresh().step(same);
    assert_eq!(record_uid(&present(&subject)).as_deref(), Some("u1"));
    check(&subject, "nothing");
    subject.wanted.withdraw("u");
    let subject = subject.step(same);
    assert_eq!(present(&subject).get("spec"), &json!({"replicas": 3}));
    check(&subject, "nothing");
}

/// A successor under the same name, with a controller of another name, has the only record of what it
/// inherits. Otherwise a third one would undo what a user has set since.
#[test]
fn what_is_inherited_is_no_longer_in_the_record_of_the_predecessor() {
    let before = OperatorId::new("op", "u0");
    let object = patched_by(&before);
    let wish = desired(
        "d",
        0,
        target(TargetType::Patcher),
        &json!({"spec": {"replicas": 6}}),
    );
    let subject = Subject::deployment().wants(wish);
    let mut subject = subject.live(&object).fresh().step(same);
    check(&subject, "nothing");
    assert_eq!(record_controllers(&present(&subject)), ["d"]);
    subject.wanted.withdraw("d");
    let subject = subject.step(same);
    assert_eq!(present(&subject).get("spec"), &json!({"replicas": 3}));
    assert_eq!(record_controllers(&present(&subject)), [""; 0]);
}

#[test]
fn the_record_of_another_instance_is_left_alone() {
    let object = patched_by(&OperatorId::of_instance("op", "default"));
    check(&gone(&object), "nothing");
    for kind in [TargetType::Patcher, TargetType::Applier] {
        let document = json!({"spec": {"replicas": 6, "paused": true}});
        let wish = desired("u", 0, target(kind), &document);
        let subject = Subject::deployment().wants(wish).live(&object).fresh();
        check(&subject, "nothing [conflict]");
        let message = subject.decide().problems[0].to_string();
        assert!(message.contains("op (instance:default)"), "{message}");
    }
}

#[test]
fn a_record_without_a_uid_is_upgraded_only_by_another_write() {
    let object = patched_by(&OperatorId::new("op", ""));
    assert_eq!(record_uid(&object), None);
    let wants = |replicas: i64| {
        let wish = scales(&operator(), replicas);
        Subject::deployment().wants(wish).live(&object).fresh()
    };
    check(&wants(5), "nothing");
    let other = wants(6).step(same);
    assert_eq!(record_uid(&present(&other)).as_deref(), Some("u1"));
    let undone = gone(&object).step(same);
    assert_eq!(present(&undone).get("spec"), &json!({"replicas": 3}));
}

#[test]
fn the_record_of_an_operator_that_no_longer_exists_does_not_count() {
    let object = patched_by(&OperatorId::new("other", "u9"));
    let with = |names: Option<&[&str]>| {
        let names = names.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        let mut subject = Subject::deployment().wants(scales(&operator(), 6));
        subject.peers.cluster = names.map(Arc::new);
        subject.live(&object).fresh()
    };
    check(&with(None), "nothing [conflict]");
    check(&with(Some(&["op", "other"])), "nothing [conflict]");
    check(&with(Some(&["op"])), "merge");
}
