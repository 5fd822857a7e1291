//! Paths, walks and contests.

use document::{Path, json};

use super::*;
use crate::{Contest, MergeKeys, leaves, located};

fn deployment() -> Value {
    json!({"metadata": {"labels": {"a.b/c[0]": "x"}}, "spec": {
        "replicas": 1,
        "containers": [{"name": "a", "image": "1", "args": ["x"]}, {"name": "b", "ports": [{"containerPort": 80}]}],
        "empty": {},
    }})
}

#[test]
fn leaves_have_paths_with_merge_keys() {
    let leaves = leaves(&deployment(), &MergeKeys::of_group("apps"));
    let texts: Vec<String> = leaves.iter().map(|(place, _)| place.to_string()).collect();
    assert_eq!(
        texts,
        [
            r".metadata.labels.a.b/c[0]",
            r#".spec.containers[name="a"].args"#,
            r#".spec.containers[name="a"].image"#,
            r#".spec.containers[name="b"].ports[containerPort=80,protocol="TCP"]"#,
            ".spec.empty",
            ".spec.replicas",
        ]
    );
    for (place, value) in &leaves {
        assert_eq!(place.get(&deployment()), value, "{place}");
        assert_eq!(FieldPath::parse(&place.pointer()).as_ref(), Some(place));
    }
}

#[test]
fn a_removed_value_takes_the_emptied_maps_along() {
    let place = FieldPath::parse(r#"/spec/containers/[{"name":"a"}]/image"#).unwrap();
    let changed = place.set(&deployment(), &json!("2"));
    assert_eq!(place.get(&changed), &json!("2"));
    assert_eq!(place.get(&place.remove(&changed)), &Value::NULL);
    let label = FieldPath::of(&["metadata", "labels", "a.b/c[0]"]);
    assert_eq!(label.remove(&deployment()).get("metadata"), &Value::NULL);
    let element = FieldPath::parse(r#"/spec/containers/[{"name":"b"}]"#).unwrap();
    assert_eq!(
        element
            .remove(&deployment())
            .get("spec")
            .get("containers")
            .at(1),
        &Value::NULL
    );
    let missing = FieldPath::parse(r#"/spec/containers/[{"name":"z"}]/image"#).unwrap();
    assert_eq!(missing.set(&deployment(), &json!("2")), deployment());
    assert_eq!(missing.remove(&deployment()), deployment());
}

#[test]
fn field_names_of_a_server_are_matched() {
    let image = FieldPath::parse(r#"/spec/containers/[{"name":"b"}]/image"#).unwrap();
    let has = |place: &FieldPath, field: &str| place.holds_any(&deployment(), &[field.to_owned()]);
    assert!(has(&image, "spec.containers[1].image"));
    assert!(!has(&image, "spec.containers[0].image"));
    assert!(!has(&image, "spec.containers[1].imagePullPolicy"));
    let element = FieldPath::parse(r#"/spec/containers/[{"name":"b"}]"#).unwrap();
    assert!(has(&element, "spec.containers[1].image"));
    assert!(!image.holds_any(&deployment(), &[]));
}

#[test]
fn text_that_is_not_a_path_is_refused() {
    for text in ["", "a", "/[x]/b", "/[{]", "/[\"a\"]"] {
        assert_eq!(FieldPath::parse(text), None, "{text}");
    }
}

#[test]
fn the_first_writer_gets_a_leaf() {
    let keys = MergeKeys::of_group("apps");
    let check = |first: &Value, second: Value, left: &Value, lost: &[&str]| {
        let (mut contest, mut second) = (Contest::new(&keys), second);
        contest.enter(&mut first.clone(), 1, false);
        let found = contest.enter(&mut second, 2, false);
        let found: Vec<String> = found.iter().map(|(place, _)| place.pointer()).collect();
        assert_eq!(
            (&second, found),
            (left, lost.iter().map(ToString::to_string).collect())
        );
    };
    let first = json!({"a": 1, "same": 1, "m": {"x": 1}, "l": [{"k": 1}]});
    check(
        &first,
        json!({"a": 2, "same": 1, "m": {"x": 2, "y": 2}, "l": [{"k": 2}, {"k": 2}]}),
        &json!({"same": 1, "m": {"y": 2}, "l": [{}, {"k": 2}]}),
        &["/a", "/l/[0]/k", "/m/x"],
    );
    let list = |value: Value| json!({"containers": value, "b": 1});
    let image = r#"/containers/[{"name":"a"}]/image"#;
    check(
        &list(json!([{"name": "a", "image": "1"}])),
        list(json!([{"name": "a", "image": "2"}])),
        &list(json!([{"name": "a"}])),
        &[image],
    );
    // If the whole list is removed, nothing is left of its elements.
    check(
        &list(Value::NULL),
        list(json!([{"name": "a", "image": "2"}])),
        &json!({"b": 1}),
        &[image, r#"/containers/[{"name":"a"}]"#],
    );
    check(
        &json!({"l": null}),
        json!({"l": [{"k": 1}, {"k": 2}], "b": 1}),
        &json!({"b": 1}),
        &["/l/[0]/k", "/l/[1]/k", "/l/[0]", "/l/[1]"],
    );
}

#[test]
fn lists_are_one_value_or_have_elements() {
    let check = |group: &str, pointer: &str, expect: Option<&str>| {
        let place = FieldPath::parse(pointer).unwrap();
        let list = MergeKeys::of_group(group).atomic_list(&place);
        assert_eq!(
            list.map(|list| list.pointer()).as_deref(),
            expect,
            "{pointer}"
        );
    };
    let secret = r#"/imagePullSecrets/[{"name":"a"}]"#;
    check("", secret, Some("/imagePullSecrets"));
    check("", &format!("/spec{secret}"), None);
    check("example.com", secret, None);
    check("", "/imagePullSecrets", None);
    let taint = r#"/spec/taints/[{"effect":"NoSchedule","key":"a"}]/value"#;
    check("", taint, Some("/spec/taints"));
    let port = r#"/ports/[{"port":80,"protocol":"TCP"}]/name"#;
    check("discovery.k8s.io", port, Some("/ports"));
    check("", &format!("/spec{port}"), None);
    let condition = r#"/status/conditions/[{"type":"a"}]/status"#;
    check("batch", condition, Some("/status/conditions"));
    check("apps", condition, None);
    check("apps", "/spec/l/[0]/a", Some("/spec/l"));
}

#[test]
fn whoever_applies_a_list_that_is_one_value_shares_it_with_nobody() {
    let keys = MergeKeys::of_group("");
    let check = |types: [bool; 2], shares: bool| {
        let list = |name: &str| json!({"imagePullSecrets": [{"name": name}], "x": 1});
        let mut contest = Contest::new(&keys);
        contest.enter(&mut list("a"), 1, types[0]);
        let mut same = list("a");
        assert_eq!(contest.enter(&mut same, 2, types[1]), []);
        let mut other = list("b");
        let lost = contest.enter(&mut other, 3, types[1]);
        if shares {
            assert_eq!((other, lost), (list("b"), vec![]));
        } else {
            let place = FieldPath::of(&["imagePullSecrets"]);
            assert_eq!((other, lost), (json!({"x": 1}), vec![(place, 1)]));
        }
    };
    for types in [[true, true], [true, false], [false, true]] {
        check(types, false);
    }
    check([false, false], true);
}

#[test]
fn paths_are_located() {
    let path = Path::parse("$.spec.containers[*].image").unwrap();
    let places = located(&path, &deployment());
    assert_eq!(places.len(), 1);
    assert_eq!(places[0].to_string(), ".spec.containers[0].image");
    let none = Path::parse("$.spec.nothing").unwrap();
    assert_eq!(located(&none, &deployment()), []);
}

#[test]
fn a_path_that_no_object_can_have_is_not_parsed() {
    assert!(FieldPath::parse(&"/a".repeat(100)).is_some());
    assert_eq!(FieldPath::parse(&"/a".repeat(100_000)), None);
}
