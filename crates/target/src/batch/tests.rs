//! Objects in one batch after the other.
#![allow(clippy::needless_pass_by_value)] // Tests say what is wanted, and no more.

use document::{Key, Map, json};
use object::{KindRef, OperatorId};

use super::*;
use crate::layer::Was;
use crate::written::Written;

fn target(kind: TargetType) -> Target {
    let resource = KindRef {
        group: String::new(),
        version: None,
        kind: "ConfigMap".to_owned(),
    };
    Target::new(resource, kind)
}

fn writer(name: &str, kind: TargetType, document: Option<Value>) -> BatchWriter {
    BatchWriter::new(name.to_owned(), &target(kind), document.as_ref())
}

fn updater(document: Option<Value>) -> BatchWriter {
    writer("u", TargetType::Updater, document)
}

fn patcher(document: Option<Value>) -> BatchWriter {
    writer("p", TargetType::Patcher, document)
}

fn applier(document: Option<Value>) -> BatchWriter {
    writer("a", TargetType::Applier, document)
}

/// One object and its memory.
#[derive(Default)]
struct Object {
    live: Option<Value>,
    memory: Memory,
}

impl Object {
    fn of_others(live: Value) -> Self {
        let live = Some(live);
        let memory = Memory::default();
        Self { live, memory }
    }

    fn settle(&mut self, writers: &[BatchWriter]) -> Vec<(usize, Clash)> {
        let keys = MergeKeys::of_group("");
        let object = BatchObject {
            key: &ObjectKey::new("", "ConfigMap", "", "x"),
            operator: "op",
            keys: &keys,
        };
        let settled = settle(self.live.as_ref(), writers, &mut self.memory, object);
        self.live = settled.object;
        settled.conflicts
    }

    fn check(&mut self, writers: &[BatchWriter], expect: Value) {
        assert_eq!(self.settle(writers), []);
        assert_eq!(self.live, Some(expect));
    }
}

fn named(rest: Value) -> Value {
    document::merge(&json!({"metadata": {"name": "x"}}), &rest)
}

#[test]
fn an_updater_leaves_the_metadata_and_the_status_of_others() {
    let labels = |map: Value| json!({"metadata": {"labels": map}});
    let theirs = json!({
        "metadata": {"labels": {"user": "1", "both": "1"}, "finalizers": ["f"]},
        "spec": {"x": 1}, "status": {"ready": true},
    });
    let mut object = Object::of_others(named(theirs));
    let document = named(json!({
        "metadata": {"labels": {"mine": "1", "both": "1"}, "finalizers": ["g"]}, "spec": {"y": 1},
    }));
    let expect = named(json!({
        "metadata": {"labels": {"user": "1", "both": "1", "mine": "1"}, "finalizers": ["f"]},
        "spec": {"y": 1}, "status": {"ready": true},
    }));
    object.check(&[updater(Some(document))], expect);
    // What the user had before stays when it is no longer yielded.
    let document = named(labels(json!({"next": "1"})));
    let expect = named(json!({
        "metadata": {"labels": {"user": "1", "both": "1", "next": "1"}, "finalizers": ["f"]},
        "status": {"ready": true},
    }));
    object.check(&[updater(Some(document))], expect);
    // It did not create the object, which stays without what the Updater set.
    let left = json!({
        "metadata": {"labels": {"user": "1", "both": "1"}, "finalizers": ["f"]},
        "status": {"ready": true},
    });
    object.check(&[updater(None)], named(left));
}

#[test]
fn owners_of_others_stay_and_own_ones_go() {
    let owners = |list: Value| named(json!({"metadata": {"ownerReferences": list}}));
    let (theirs, mine) = (
        json!({"uid": "1", "name": "a"}),
        json!({"uid": "2", "name": "b"}),
    );
    let mut object = Object::of_others(owners(json!([(theirs.clone())])));
    let both = owners(json!([(theirs.clone()), (mine.clone())]));
    object.check(&[updater(Some(owners(json!([(mine)]))))], both);
    let expect = owners(json!([(theirs)]));
    object.check(&[updater(Some(named(json!({}))))], expect);
}

#[test]
fn what_an_updater_or_an_applier_created_goes_with_it() {
    for create in [updater, applier] {
        let mut object = Object::default();
        let document = named(json!({"data": {"a": "1"}}));
        object.check(&[create(Some(document.clone()))], document.clone());
        assert_eq!(object.settle(&[create(None)]), []);
        assert_eq!(object.live, None);
        assert_eq!(object.memory, Memory::default());
    }
    // A Patcher creates nothing.
    let mut object = Object::default();
    let patch = named(json!({"data": {"a": "1"}}));
    assert_eq!(object.settle(&[patcher(Some(patch))]), []);
    assert_eq!(object.live, None);
}

#[test]
fn an_applier_creates_anew_what_an_updater_no_longer_derives() {
    let mut object = Object::default();
    let document = named(json!({"data": {"a": "1"}}));
    let applied = named(json!({"data": {"b": "1"}}));
    let both = named(json!({"data": {"a": "1", "b": "1"}}));
    let writers = [updater(Some(document)), applier(Some(applied.clone()))];
    object.check(&writers, both);
    object.check(&[updater(None), applier(Some(applied.clone()))], applied);
}

#[test]
fn a_status_patch_layers_on_the_status_of_others() {
    let theirs = named(json!({"status": {"theirs": 1, "both": 1}}));
    let mut object = Object::of_others(theirs.clone());
    let patch = named(json!({"status": {"both": 2}}));
    let patched = named(json!({"status": {"theirs": 1, "both": 2}}));
    let document = Some(named(json!({})));
    object.check(&[updater(document.clone()), patcher(Some(patch))], patched);
    object.check(&[updater(document), patcher(None)], theirs);
}

#[test]
fn the_first_updater_is_written_and_others_wait() {
    let data = |value: &str| Some(named(json!({"data": {"a": value}})));
    let second = |document| writer("v", TargetType::Updater, document);
    let mut object = Object::default();
    let clash = (1, Clash::Object { winner: 0 });
    let writers = [updater(data("1")), second(data("2"))];
    assert_eq!(object.settle(&writers), [clash]);
    assert_eq!(object.live, data("1"));
    assert_eq!(object.settle(&[updater(data("1")), second(data("1"))]), []);
    assert_eq!(object.settle(&[updater(None), second(data("2"))]), []);
    assert_eq!(object.live, data("2"));
}

#[test]
fn a_field_that_two_patchers_set_is_a_conflict() {
    let data = |value: &str| Some(named(json!({"data": {"a": value}})));
    let mut object = Object::of_others(named(json!({})));
    let second = writer("q", TargetType::Patcher, data("2"));
    let field = FieldPath::of(&["data", "a"]);
    let clash = (1, Clash::Field { field, winner: 0 });
    assert_eq!(object.settle(&[patcher(data("1")), second]), [clash]);
    assert_eq!(object.live, data("1"));
}

#[test]
fn existing_objects_are_left_alone_where_the_target_says_so() {
    let mut refusing = target(TargetType::Updater);
    refusing.refuse_existing = true;
    let document = named(json!({"data": {"a": "1"}}));
    let refusing = || BatchWriter::new("u".to_owned(), &refusing, Some(&document));
    let theirs = named(json!({"data": {"theirs": "1"}}));
    let mut object = Object::of_others(theirs.clone());
    assert_eq!(object.settle(&[refusing()]), [(0, Clash::Existing)]);
    assert_eq!(object.live, Some(theirs));
    let mut object = Object::default();
    object.check(&[refusing()], document.clone());
    object.check(&[refusing()], document.clone());
}

#[test]
fn what_a_writer_set_that_is_not_known_yet_stays() {
    let theirs = named(json!({}));
    let mut object = Object::of_others(theirs.clone());
    let patched = named(json!({"data": {"a": "1"}}));
    object.check(&[patcher(Some(patched.clone()))], patched.clone());
    object.check(&[], patched);
    object.check(&[BatchWriter::former_patcher("p".to_owned())], theirs);
}

/// A writer whose target ignores a path.
fn ignoring(kind: TargetType, path: &str, document: Value) -> BatchWriter {
    let target = Target {
        ignore: vec![Path::parse(path).unwrap()],
        ..target(kind)
    };
    BatchWriter::new("w".to_owned(), &target, Some(&document))
}

#[test]
fn ignored_fields_are_left_to_others() {
    let wanted = json!({"metadata": {"name": "x"}, "spec": {"replicas": 2, "a": 1}});
    for kind in [
        TargetType::Updater,
        TargetType::Patcher,
        TargetType::Applier,
    ] {
        let writers = [ignoring(kind, "$.spec.replicas", wanted.clone())];
        let live = json!({"metadata": {"name": "x"}, "spec": {"replicas": 7}});
        let mut object = Object::of_others(live);
        assert_eq!(object.settle(&writers), [], "{kind:?}");
        let spec = object.live.unwrap().get("spec").clone();
        assert_eq!(spec, json!({"replicas": 7, "a": 1}), "{kind:?}");
    }
    let mut object = Object::default();
    object.settle(&[ignoring(TargetType::Updater, "$.spec.replicas", wanted)]);
    let spec = object.live.unwrap().get("spec").clone();
    assert_eq!(spec, json!({"replicas": 2, "a": 1}), "it is set once");
}

#[test]
fn an_object_that_is_being_deleted_is_not_written() {
    let metadata = json!({"name": "x", "deletionTimestamp": "2026-01-01T00:00:00Z"});
    let live = json!({"metadata": metadata, "data": {"a": "1"}});
    let wanted = Some(json!({"metadata": {"name": "x"}, "data": {"a": "2"}}));
    for writer in [
        updater(wanted.clone()),
        patcher(wanted.clone()),
        applier(wanted),
        updater(None),
    ] {
        let mut object = Object::of_others(live.clone());
        object.memory.created = true;
        assert_eq!(object.settle(&[writer]), []);
        assert_eq!(object.live, Some(live.clone()));
    }
}

#[test]
fn an_applier_takes_fields_of_others_only_by_force() {
    let live = json!({"metadata": {"name": "x"}, "data": {"a": "1", "b": "2"}});
    let wanted = json!({"metadata": {"name": "x"}, "data": {"a": "2", "b": "2", "c": "2"}});
    let mut object = Object::of_others(live.clone());
    let field = FieldPath::of(&["data", "a"]);
    let conflicts = object.settle(&[applier(Some(wanted.clone()))]);
    assert_eq!(conflicts, [(0, Clash::Others { field })]);
    let data = |object: &Object| object.live.as_ref().unwrap().get("data").clone();
    assert_eq!(data(&object), json!({"a": "1", "b": "2", "c": "2"}));
    // What it has owned before is taken back.
    object.live = Some(json!({"metadata": {"name": "x"}, "data": {"a": "1", "b": "2", "c": "9"}}));
    object.settle(&[applier(Some(wanted.clone()))]);
    assert_eq!(data(&object), json!({"a": "1", "b": "2", "c": "2"}));
    // Also if it had the same value when it was applied.
    object.live = Some(json!({"metadata": {"name": "x"}, "data": {"a": "1", "b": "9", "c": "2"}}));
    object.settle(&[applier(Some(wanted.clone()))]);
    assert_eq!(data(&object), json!({"a": "1", "b": "2", "c": "2"}));
    let forcing = Target {
        force: true,
        ..target(TargetType::Applier)
    };
    let mut object = Object::of_others(live);
    let writer = BatchWriter::new("a".to_owned(), &forcing, Some(&wanted));
    assert_eq!(object.settle(&[writer]), []);
    assert_eq!(data(&object), json!({"a": "2", "b": "2", "c": "2"}));
}

#[test]
fn the_last_applier_restores_what_a_patcher_replaced() {
    let data = |value: &str| named(json!({"data": {"a": value}}));
    let second = |document| writer("b", TargetType::Applier, document);
    let mut object = Object::of_others(data("users"));
    object.check(&[patcher(Some(data("1")))], data("1"));
    let first = applier(Some(data("1")));
    object.check(&[patcher(None), first], data("1"));
    let both = [applier(None), second(Some(data("2")))];
    object.check(&both, data("2"));
    object.check(&[second(None)], data("users"));
}

#[test]
fn a_field_in_the_record_of_another_operator_is_left_to_it() {
    let key = ObjectKey::new("", "ConfigMap", "", "x");
    let mut written = Written::new(&OperatorId::new("other", "u9"), "c", &key);
    let place = FieldPath::of(&["data", "a"]);
    written.record(&place, &json!("theirs"), None, Was::Absent);
    let record = FieldPath::of(&["metadata", "annotations", &written.annotation()]);
    let live = named(json!({"data": {"a": "theirs"}}));
    let live = record.set(&live, &Value::from(written.print()));
    let mut object = Object::of_others(live.clone());
    let ours = patcher(Some(named(json!({"data": {"a": "ours", "b": "ours"}}))));
    let (field, theirs) = (place.clone(), "other".to_owned());
    assert_eq!(
        object.settle(std::slice::from_ref(&ours)),
        [(0, Clash::Record { field, theirs })]
    );
    let expect = FieldPath::of(&["data", "b"]).set(&live, &json!("ours"));
    assert_eq!(object.live, Some(expect));
    // The same value is no conflict, and stays when the patch goes.
    let same = patcher(Some(named(json!({"data": {"a": "theirs"}}))));
    assert_eq!(object.settle(&[same]), []);
    assert_eq!(object.settle(&[patcher(None)]), []);
    assert_eq!(object.live, Some(live));
}

#[test]
fn a_patch_whose_record_is_too_large_is_not_written() {
    let data = |count: usize| {
        let fields = (0..count).map(|i| (Key::new(&format!("field-{i}")), json!("x")));
        let fields: Map = fields.collect();
        patcher(Some(named(json!({"data": fields}))))
    };
    let mut object = Object::of_others(named(json!({"data": {"user": "1"}})));
    assert_eq!(object.settle(&[data(10)]), []);
    let before = object.live.clone();
    let conflicts = object.settle(&[data(5_000)]);
    let [(0, clash)] = conflicts.as_slice() else {
        panic!("{conflicts:?}");
    };
    assert_eq!(clash.code(), "record-too-large");
    assert_eq!(object.live, before, "what was set stays");
    assert_eq!(object.settle(&[patcher(None)]), []);
    let expect = named(json!({"data": {"user": "1"}}));
    assert_eq!(object.live, Some(expect));
    // On the document of an Updater, too.
    let whole = updater(Some(named(json!({"data": {"user": "2"}}))));
    let conflicts = object.settle(&[whole, data(5_000)]);
    assert_eq!(conflicts.len(), 1);
    let expect = named(json!({"data": {"user": "2"}}));
    assert_eq!(object.live, Some(expect));
}
