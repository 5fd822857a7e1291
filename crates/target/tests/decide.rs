//! The decisions about target objects, sentence by sentence: what is wanted, known and
//! remembered goes in, the next step comes out.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::collections::BTreeSet;
use std::sync::Arc;

use document::{Key, Map, Path, Value, json};
use object::marks::OWNER;
use object::{GroupKind, KindRef, ObjectKey, Unreadable};
use operator::spec::{Target, TargetType};
use target::claim::Claim;
use target::decide::{Action, Case, Decision, Learned, Verb, Write, decide};
use target::desired::Wanted;
use target::live::{Live, Observed, Record};
use target::{Author, Desired, Owner, TargetKind};

/// One object, with all that can be known about it.
struct Subject {
    key: ObjectKey,
    kind: TargetKind,
    wanted: Wanted,
    live: Live,
    fresh: bool,
    record: Record,
    held: BTreeSet<String>,
    learned: Learned,
}

impl Subject {
    fn new(group: &str, kind: &str) -> Self {
        let name = GroupKind::new(group, kind);
        let plural = format!("{}s", kind.to_lowercase());
        Self {
            key: ObjectKey::new(group, kind, "ns", "a"),
            kind: TargetKind {
                status: true,
                ..TargetKind::new(name, "v1", &plural)
            },
            wanted: Wanted::default(),
            live: Live::Unseen,
            fresh: false,
            record: Record::default(),
            held: BTreeSet::new(),
            learned: Learned::default(),
        }
    }

    fn deployment() -> Self {
        Self::new("apps", "Deployment")
    }

    fn wants(mut self, desired: Desired) -> Self {
        self.wanted.want(desired);
        self
    }

    fn live(mut self, object: &Value) -> Self {
        self.live = Live::Present(Observed::new(&served(object), "op"));
        self
    }

    fn fresh(mut self) -> Self {
        self.fresh = true;
        self
    }

    fn decide(&self) -> Decision {
        decide(&Case {
            key: &self.key,
            kind: &self.kind,
            operator: "op",
            wanted: &self.wanted,
            live: &self.live,
            fresh: self.fresh,
            record: &self.record,
            held: &self.held,
            learned: &self.learned,
        })
    }

    fn write(&self) -> Write {
        match self.decide().action {
            Action::Write(write) => *write,
            other => panic!("expected a write, found {other:?}"),
        }
    }

    /// Takes the next step, on a server that stores what it is sent, with `change` made
    /// to it.
    fn step(mut self, change: impl Fn(&Value) -> Value) -> Self {
        let write = self.write();
        let object = match (write.verb, &self.live) {
            (Verb::Merge, Live::Present(observed)) => merged(&observed.object, &write.body),
            _ => write.body.clone(),
        };
        let object = served(&change(&object));
        self.record
            .note(&write.manager, write.status, write.goal, object.clone());
        self.live = Live::Present(Observed::new(&object, "op"));
        self.fresh = true;
        self
    }

    /// A new process that finds the same object.
    fn restarted(mut self) -> Self {
        self.record = Record::default();
        self.fresh = false;
        self
    }

    /// Someone changes the object.
    fn changed(mut self, change: impl Fn(&Value) -> Value) -> Self {
        let Live::Present(observed) = &self.live else {
            panic!("nothing is there");
        };
        let object = change(&observed.object);
        let object = set(&object, &["metadata", "resourceVersion"], json!("2"));
        self.live = Live::Present(Observed::new(&object, "op"));
        self.fresh = false;
        self
    }
}

/// What is decided, in short, with the codes of the problems.
fn check(subject: &Subject, expect: &str) {
    let decision = subject.decide();
    let mut text = match decision.action {
        Action::Nothing => "nothing".to_owned(),
        Action::Read => "read".to_owned(),
        Action::Write(write) => {
            let status = if write.status { " status" } else { "" };
            let drift = if write.drift.is_empty() { "" } else { " drift" };
            format!("{:?}{status}{drift}", write.verb).to_lowercase()
        }
        Action::Delete { uid, version } => format!("delete {uid} {version}"),
        Action::Wait(wait) => format!("wait {wait:?}").to_lowercase(),
    };
    for problem in &decision.problems {
        text = format!("{text} [{}]", problem.code());
    }
    assert_eq!(text, expect, "{:?}", decision.problems);
}

/// An object as a server gives it.
fn served(object: &Value) -> Value {
    let object = set(object, &["metadata", "uid"], json!("u"));
    let object = set(&object, &["metadata", "resourceVersion"], json!("1"));
    set(&object, &["metadata", "name"], json!("a"))
}

fn merged(target: &Value, patch: &Value) -> Value {
    let Some(patch) = patch.as_map() else {
        return patch.clone();
    };
    let mut result = target.as_map().cloned().unwrap_or_else(empty);
    for (key, value) in patch {
        let old = result.get(key).cloned().unwrap_or_default();
        result = if value.is_null() {
            result.without(key.as_str())
        } else {
            result.with(key.clone(), merged(&old, value))
        };
    }
    result.into()
}

fn empty() -> Map {
    Map::from_sorted(Vec::new())
}

fn set(object: &Value, path: &[&str], value: Value) -> Value {
    let Some((first, rest)) = path.split_first() else {
        return value;
    };
    let map = object.as_map().cloned().unwrap_or_else(empty);
    let inner = map.get_str(first).cloned().unwrap_or_default();
    map.with(Key::new(first), set(&inner, rest, value)).into()
}

fn target(kind: TargetType) -> Target {
    Target {
        resource: KindRef {
            group: "apps".to_owned(),
            version: None,
            kind: "Deployment".to_owned(),
        },
        kind,
        refuse_existing: false,
        force: false,
        recreate: false,
        ignore: Vec::new(),
        written_nulls: Vec::new(),
        literal_data: Vec::new(),
    }
}

fn desired(controller: &str, rank: usize, target: Target, document: &Value) -> Desired {
    Desired {
        author: Arc::new(Author::new("op", controller, rank, target)),
        document: document.clone(),
        origin: json!([{"name": "s"}]),
        owners: Arc::new([Owner {
            uid: "o".to_owned(),
            namespace: "ns".to_owned(),
        }]),
    }
}

fn updates(document: &Value) -> Desired {
    desired("u", 0, target(TargetType::Updater), document)
}

fn patches(document: &Value) -> Desired {
    desired("p", 1, target(TargetType::Patcher), document)
}

fn applies(document: &Value) -> Desired {
    desired("a", 2, target(TargetType::Applier), document)
}

fn claimed(operator: &str, created: bool) -> Value {
    let claim = Claim {
        operator: operator.to_owned(),
        controller: "u".to_owned(),
        origin: json!([{"name": "s"}]),
        created,
    };
    let key = ObjectKey::new("apps", "Deployment", "ns", "a");
    let text = Value::from(claim.print(&key));
    set(
        &json!({"spec": {}}),
        &["metadata", "annotations", OWNER],
        text,
    )
}

fn same(object: &Value) -> Value {
    object.clone()
}

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

#[test]
fn keys_that_no_object_can_have_are_errors_before_any_request() {
    let wish = || updates(&json!({"spec": {}}));
    let mut cluster = Subject::deployment().wants(wish());
    cluster.kind.namespaced = false;
    check(&cluster, "wait document [wrong-scope]");
    let mut nowhere = Subject::deployment().wants(wish());
    nowhere.key = ObjectKey::new("apps", "Deployment", "", "a");
    check(&nowhere, "wait document [wrong-scope]");
    let mut odd = Subject::deployment().wants(wish());
    odd.key = ObjectKey::new("apps", "Deployment", "ns", "a/status");
    check(&odd, "wait document [bad-name]");
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
