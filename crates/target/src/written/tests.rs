//! Tests of records.

use super::*;

fn key() -> ObjectKey {
    ObjectKey::new("apps", "Deployment", "ns", "web")
}

fn op() -> OperatorId {
    OperatorId::new("op", "u1")
}

#[test]
fn a_printed_record_is_parsed_to_the_same() {
    let mut written = Written::new(&op(), "c", &key());
    written.origin = json!([{"name": "a"}]);
    let place = FieldPath::parse(r#"/spec/containers/[{"name":"a/b"}]/cpu"#).unwrap();
    let was = Was::Value(json!("500m"));
    written.record(&place, &json!("1000m"), Some(&json!("1")), was);
    let label = FieldPath::of(&["metadata", "labels", "x"]);
    written.record_new(&label, &json!("y"));
    let removed = FieldPath::of(&["spec", "removed"]);
    written.record(&removed, &Value::NULL, None, Was::NotKept);
    let text = written.print();
    let object = json!({"metadata": {"annotations": ({
        let other = Written::new(&OperatorId::new("other", "u1"), "c", &key()).print();
        [(written.annotation(), text), (set_annotation("other", "c"), other)]
            .into_iter()
            .map(|(key, text)| (document::Key::new(&key), Value::from(text)))
            .collect::<Map>()
    })}});
    assert_eq!(
        Written::of_operator(&object, &op(), &key()),
        [written.clone()]
    );
    let copy = ObjectKey::new("apps", "ReplicaSet", "ns", "web-1");
    assert_eq!(Written::of_operator(&object, &op(), &copy), []);

    assert!(written.holds(&place, &json!("1000m")));
    assert!(written.holds(&place, &json!("1")));
    assert!(!written.holds(&place, &json!("2")));
    assert!(!written.holds(&FieldPath::of(&["spec"]), &json!("1")));
    assert!(written.settled(&place, &json!("1000m"), &json!("1")));
    assert!(!written.settled(&place, &json!("2000m"), &json!("1")));
    assert!(written.settled(&label, &json!("y"), &json!("y")));
}

#[test]
fn values_that_may_belong_to_others_are_recorded_as_strings() {
    let mut written = Written::new(&op(), "c", &key());
    let (ours, applied) = (FieldPath::of(&["spec", "a"]), FieldPath::of(&["spec", "b"]));
    written.record_new(&ours, &json!(1));
    written.record_applied(&applied, &json!(1));
    let text = written.print();
    let read = Written::parse(&text).unwrap();
    assert_eq!(read, written);
    assert!(read.holds(&ours, &json!(1)) && read.is_certain(&ours));
    assert!(!read.holds(&applied, &json!(1)) && !read.is_certain(&applied));
    assert!(read.has(&applied) && read.settled(&applied, &json!(1), &json!(1)));
    let mark = value_hash(&json!(1));
    let paths = text.parse::<Value>().unwrap().get("paths").clone();
    assert_eq!(
        paths,
        json!({"/spec/a": {"sent": (mark.as_str()), "absent": true}, "/spec/b": (mark.as_str())})
    );
}

#[test]
fn a_record_of_the_first_format_has_no_previous_values() {
    let paths = json!({
        "/metadata/labels/l": "1", "/spec/replicas": "1",
        r#"/spec/containers/[{"name":"a"}]"#: "1",
        r#"/spec/containers/[{"name":"a"}]/image"#: "1 2",
    });
    let text = json!({"operator": "op", "controller": "c", "target": "t", "paths": paths});
    let written = Written::parse(&text.to_string()).unwrap();
    let was: Vec<_> = written.places().map(|place| written.was(place)).collect();
    let absent = Some(&Was::Absent);
    assert_eq!(was, [absent, absent, absent, Some(&Was::NotKept)]);
}

#[test]
fn a_record_belongs_to_the_operator_with_its_uid() {
    let check = |uid: Option<&str>, expect: Ownership| {
        let mut written = Written::new(&op(), "c", &key());
        written.uid = uid.map(str::to_owned);
        let read = Written::parse(&written.print()).unwrap();
        assert_eq!(read.owner(&op()), expect, "{uid:?}");
    };
    check(Some("u1"), Ownership::Own);
    check(None, Ownership::Own);
    check(Some("u2"), Ownership::Former);
    check(Some("instance:default"), Ownership::Other);
}

#[test]
fn a_record_without_a_uid_stays_until_it_changes() {
    let mut written = Written::new(&op(), "c", &key());
    written.record_new(&FieldPath::of(&["spec", "a"]), &json!(1));
    let mut old = written.clone();
    old.uid = None;
    let place = FieldPath::of(&["metadata", "annotations", &old.annotation()]);
    let live = place.set(&Value::NULL, &old.print().into());
    assert_eq!(written.print_over(&live), old.print());
    written.record_new(&FieldPath::of(&["spec", "b"]), &json!(1));
    assert_eq!(written.print_over(&live), written.print());
}

#[test]
fn a_record_under_another_name_does_not_count() {
    let text = Written::new(&op(), "c", &key()).print();
    let annotation = format!("{SET}0000000000000");
    let annotations: Map = [(document::Key::new(&annotation), Value::from(text))]
        .into_iter()
        .collect();
    let object = json!({"metadata": {"annotations": annotations}});
    assert_eq!(Written::of_operator(&object, &op(), &key()), []);
}

#[test]
fn values_are_not_shown() {
    let mut written = Written::new(&op(), "c", &key());
    written.record_new(
        &FieldPath::of(&["data", "password"]),
        &json!("aHVudGVyMg=="),
    );
    assert!(!written.print().contains("aHVudGVyMg"));
}

/// The positions of a value that was set in the elements at 0 and 1 of a list, when that has become
/// another one.
fn followed(list: &Value) -> Vec<String> {
    let operator = OperatorId::new("o", "u");
    let key = ObjectKey::new("", "Pod", "ns", "x");
    let mut written = Written::new(&operator, "c", &key);
    for place in ["/l/[0]/x", "/l/[1]/x"] {
        let place = FieldPath::parse(place).unwrap();
        written.record(&place, &json!(1), None, Was::Absent);
    }
    written.identify(&json!({"l": [{"h": "a", "x": 1}, {"h": "b", "x": 1}]}));
    let printed = Written::parse(&written.print()).unwrap();
    assert_eq!(printed, written);
    let moved = printed.relocated(&json!({"l": (list.clone())}));
    moved.places().map(FieldPath::pointer).collect()
}

#[test]
fn a_value_follows_the_element_that_it_was_set_in() {
    let (a, b) = (json!({"h": "a", "x": 1}), json!({"h": "b", "x": 1}));
    let new = json!({"h": "new"});
    let both = ["/l/[0]/x", "/l/[1]/x"];
    assert_eq!(followed(&json!([(a.clone()), (b.clone())])), both);
    assert_eq!(followed(&json!([(b.clone()), (a.clone())])), both);
    let moved = json!([(new.clone()), (a.clone()), (b.clone())]);
    assert_eq!(followed(&moved), ["/l/[1]/x", "/l/[2]/x"]);
    // One is gone.
    assert_eq!(followed(&json!([(b.clone())])), ["/l/[0]/x"]);
    assert_eq!(followed(&json!([(new.clone()), (b.clone())])), both);
    // One has changed, so that only its position tells, if no other one has that.
    let changed = json!({"h": "changed", "x": 1});
    assert_eq!(followed(&json!([(a.clone()), (changed.clone())])), both);
    assert_eq!(followed(&json!([(changed), (a)])), ["/l/[1]/x"]);
    assert_eq!(followed(&json!([])), both);
}
