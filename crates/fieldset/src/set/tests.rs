use std::collections::BTreeSet;

use document::{Key, json};
use seeded::Random;

use super::*;

/// The paths of a set.
fn paths(set: &FieldSet) -> BTreeSet<FieldPath> {
    set.paths().into_iter().collect()
}

fn some_element(random: &mut Random) -> PathElement {
    match random.below(6) {
        0 => PathElement::Element(json!({"name": (["a", "b"][random.below(2)])})),
        1 => PathElement::Index(random.below(2)),
        2 => PathElement::Value(Value::from(["x", "y"][random.below(2)])),
        _ => PathElement::Field(Key::new(["spec", "a.b/c", "name"][random.below(3)])),
    }
}

fn some_set(random: &mut Random) -> FieldSet {
    let mut set = FieldSet::default();
    for _ in 0..random.below(8) {
        let length = 1 + random.below(3);
        let path = (0..length).map(|_| some_element(random)).collect();
        set.insert(&FieldPath(path));
    }
    set
}

#[test]
fn sets_equal_sets_of_paths() {
    for seed in 0..500 {
        let mut random = Random::new(seed);
        let (a, b) = (some_set(&mut random), some_set(&mut random));
        let (left, right) = (paths(&a), paths(&b));
        let union: BTreeSet<_> = left.union(&right).cloned().collect();
        assert_eq!(paths(&a.union(&b)), union, "seed {seed}");
        let both: BTreeSet<_> = left.intersection(&right).cloned().collect();
        assert_eq!(paths(&a.intersection(&b)), both, "seed {seed}");
        let rest: BTreeSet<_> = left.difference(&right).cloned().collect();
        assert_eq!(paths(&a.difference(&b)), rest, "seed {seed}");
        for path in left.iter().chain(&right) {
            assert_eq!(a.contains(path), left.contains(path), "seed {seed}");
            let has_fields = |map: &FieldPath| left.iter().any(|p| p != map && p.within(map));
            let near = |other: &FieldPath| {
                other.within(path) || (path.within(other) && !has_fields(other))
            };
            assert_eq!(a.touches(path), left.iter().any(near), "seed {seed}");
        }
    }
}

#[test]
fn printed_fields_v1_is_parsed_to_the_same() {
    for seed in 0..500 {
        let set = some_set(&mut Random::new(seed));
        let text = set.to_fields_v1();
        assert_eq!(
            FieldSet::from_fields_v1(&text),
            Ok(set),
            "seed {seed}: {text}"
        );
    }
}

#[test]
fn fields_v1_of_a_server_is_parsed() {
    let fields = json!({
        "f:metadata": {"f:labels": {".": {}, "f:app": {}}, "f:finalizers": {".": {}, "v:\"a/b\"": {}}},
        "f:spec": {"f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:image": {}}}}
    });
    let set = FieldSet::from_fields_v1(&fields).unwrap();
    let app = FieldPath::of(&["metadata", "labels", "app"]);
    assert!(set.contains(&app) && set.touches(&app));
    assert!(set.touches(&FieldPath::of(&["spec"])));
    assert!(!set.contains(&FieldPath::of(&["spec"])));
    assert!(!set.touches(&FieldPath::of(&["spec", "replicas"])));
    assert_eq!(set.to_fields_v1(), fields);
}

#[test]
fn the_owner_of_a_map_does_not_own_what_others_add_to_it() {
    let set = |fields: Value| FieldSet::from_fields_v1(&fields).unwrap();
    let added = FieldPath::of(&["data", "added"]);
    let creator = set(json!({"f:data": {".": {}, "f:a": {}}}));
    assert!(!creator.touches(&added));
    assert!(creator.touches(&FieldPath::of(&["data"])));
    // A map without fields in the set may be one that is replaced as a whole.
    let rest = set(json!({"f:data": {}, "f:selector": {}}));
    assert!(rest.touches(&added));
    let all = rest.union(&set(json!({"f:data": {"f:added": {}}})));
    let rest = rest.without_maps_of(&all);
    assert_eq!(rest, set(json!({"f:selector": {}})));
}

#[test]
fn malformed_fields_v1_is_refused() {
    for (bad, expect) in [
        (json!([]), FieldsV1Error::NotAMap),
        (json!({"f:a": 1}), FieldsV1Error::NotAMap),
        (json!({"a": {}}), FieldsV1Error::Name),
        (json!({"k:[1]": {}}), FieldsV1Error::Name),
        (json!({"i:-1": {}}), FieldsV1Error::Name),
    ] {
        assert_eq!(FieldSet::from_fields_v1(&bad), Err(expect), "{bad}");
    }
}

#[test]
fn a_document_owns_its_leaves_and_the_elements_of_its_lists() {
    let document = json!({
        "data": {"a": "1", "empty": {}},
        "spec": {"containers": [{"name": "a", "args": ["x"]}], "odd": [{"x": 1}]}
    });
    let set = FieldSet::of(&document, &MergeKeys::of_group("apps"));
    assert_eq!(
        set.to_fields_v1(),
        json!({
            "f:data": {"f:a": {}, "f:empty": {}},
            "f:spec": {
                "f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:args": {}, "f:name": {}}},
                "f:odd": {}
            }
        })
    );
}
