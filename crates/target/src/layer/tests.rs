//! The effect of one patch, and undoing it. Longer histories, also with a server, are in the
//! tests of the writer.

use document::{Key, json};

use super::*;

fn keys() -> MergeKeys {
    MergeKeys::of_group("apps")
}

fn layer(wish: Option<Value>, set: Patched) -> Layer {
    let wish = wish.map_or(Wish::Nothing, Wish::Patch);
    Layer {
        wish,
        applies: false,
        inherits: false,
        set,
    }
}

/// Applies a patch, checks the result and the recorded paths, and undoes it.
fn check(live: &Value, patch: &Value, laid: &Value, set: &[&str], left: &Value) {
    let mut layers = [layer(Some(patch.clone()), Patched::default())];
    let object = lay(live, &mut layers, &keys());
    assert_eq!(object, *laid, "{patch} on {live}");
    let places: Vec<String> = layers[0].set.places().map(FieldPath::pointer).collect();
    assert_eq!(places, set, "{patch} on {live}");
    let before = layers[0].set.clone();
    assert_eq!(lay(&object, &mut layers, &keys()), object);
    assert_eq!(layers[0].set, before, "it does not matter how often");
    layers[0].wish = Wish::Nothing;
    assert_eq!(lay(&object, &mut layers, &keys()), *left);
    assert!(layers[0].set.is_empty());
}

/// A patch whose undo restores the object.
fn check_undone(live: &Value, patch: &Value, laid: &Value, set: &[&str]) {
    check(live, patch, laid, set, live);
}

#[test]
fn a_value_that_exists_already_is_not_recorded() {
    let live = json!({"metadata": {"labels": {"app": "x"}}, "data": {"a": "1", "b": "2"}});
    check_undone(&live, &live, &live, &[]);
    let patch = json!({"metadata": {"labels": {"app": "x", "new": "1"}}, "data": {"a": "1"}});
    let laid =
        json!({"metadata": {"labels": {"app": "x", "new": "1"}}, "data": {"a": "1", "b": "2"}});
    check_undone(&live, &patch, &laid, &["/metadata/labels/new"]);
}

#[test]
fn list_elements_of_others_stay() {
    let live =
        json!({"containers": [{"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]}]});
    check_undone(&live, &live, &live, &[]);
    check_undone(&live, &json!({"containers": [{"name": "a"}]}), &live, &[]);
    let patch = json!({"containers": [
        {"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]},
        {"name": "b"},
    ]});
    check_undone(
        &live,
        &patch,
        &patch,
        &[
            r#"/containers/[{"name":"a"}]/env/[{"name":"Y"}]"#,
            r#"/containers/[{"name":"a"}]/env/[{"name":"Y"}]/value"#,
            r#"/containers/[{"name":"b"}]"#,
        ],
    );
}

#[test]
fn lists_without_keys_are_compared_by_position_or_as_a_whole() {
    let live = json!({"l": [{"k": 1}, {"k": 2}], "s": [1, 2]});
    check_undone(&live, &live, &live, &[]);
    check_undone(&live, &json!({"l": [{"k": 1}]}), &live, &[]);
    check_undone(
        &live,
        &json!({"l": [{"k": 1, "x": 1}, {"k": 2}, {"k": 3}]}),
        &json!({"l": [{"k": 1, "x": 1}, {"k": 2}, {"k": 3}], "s": [1, 2]}),
        &["/l/[0]/x", "/l/[2]", "/l/[2]/k"],
    );
}

#[test]
fn maps_that_we_created_are_removed_when_they_are_empty() {
    let live = json!({"metadata": {"name": "x"}, "data": {}, "spec": {"theirs": {}}});
    let patch = json!({"metadata": {"annotations": {"a": "1"}}, "data": {"b": "1"}, "more": {"c": "1"},
            "spec": {"theirs": {"d": 1}, "deep": {"er": 1}, "none": {}}});
    let laid = json!({"metadata": {"name": "x", "annotations": {"a": "1"}}, "data": {"b": "1"},
        "more": {"c": "1"}, "spec": {"theirs": {"d": 1}, "deep": {"er": 1}, "none": {}}});
    check_undone(
        &live,
        &patch,
        &laid,
        &[
            "/data/b",
            "/metadata/annotations/a",
            "/more",
            "/more/c",
            "/spec/deep",
            "/spec/deep/er",
            "/spec/none",
            "/spec/theirs/d",
        ],
    );
}

#[test]
fn replaced_values_are_restored() {
    let live = json!({"spec": {"replicas": 3, "l": [1], "text": "x", "gone": {"a": 1}, "containers": [{"name": "a", "image": "1"}]}});
    let patch = json!({"spec": {"replicas": 5, "l": [2], "text": {"x": 1}, "gone": null, "none": null, "containers": [{"name": "a", "image": "2"}]}});
    let laid = json!({"spec": {"replicas": 5, "l": [2], "text": {"x": 1}, "containers": [{"name": "a", "image": "2"}]}});
    check_undone(
        &live,
        &patch,
        &laid,
        &[
            r#"/spec/containers/[{"name":"a"}]/image"#,
            "/spec/gone",
            "/spec/l",
            "/spec/replicas",
            "/spec/text",
            "/spec/text/x",
        ],
    );
}

#[test]
fn only_short_values_are_restored_and_none_of_secrets() {
    let long = "x".repeat(1100);
    let live = json!({"data": {"a": "1", "long": (long.as_str())}});
    let patch = json!({"data": {"a": "2", "long": "2", "new": "2"}});
    let places = ["/data/a", "/data/long", "/data/new"];
    check(
        &live,
        &patch,
        &patch,
        &places,
        &json!({"data": {"a": "1", "long": "2"}}),
    );
    let named =
        |data: &Value| json!({"apiVersion": "v1", "kind": "Secret", "data": (data.clone())});
    let secret = named(live.get("data"));
    let left = named(&json!({"a": "2", "long": "2"}));
    check(&secret, &patch, &named(patch.get("data")), &places, &left);
    // Many short values together are too long as well.
    let numbered = |text: &str| -> Value {
        let fields = (10..30).map(|i| (Key::new(&i.to_string()), Value::from(text)));
        fields.collect::<document::Map>().into()
    };
    let mut layers = [layer(Some(numbered("2")), Patched::default())];
    let object = lay(&numbered(&"x".repeat(1000)), &mut layers, &keys());
    layers[0].wish = Wish::Nothing;
    let left = lay(&object, &mut layers, &keys());
    let back = left.as_map().unwrap().values();
    assert_eq!(back.filter(|value| value.as_str() != Some("2")).count(), 16);
}

#[test]
fn the_previous_value_is_that_of_others() {
    let mut layers = [
        layer(Some(json!({"a": 1})), Patched::default()),
        layer(Some(json!({"a": 2})), Patched::default()),
    ];
    let object = lay(&json!({"a": 0}), &mut layers, &keys());
    assert_eq!(object, json!({"a": 1}));
    layers[0].wish = Wish::Patch(json!({"a": 3}));
    lay(&object, &mut layers, &keys());
    // Others write over it, and we over that.
    assert_eq!(lay(&json!({"a": 7}), &mut layers, &keys()), json!({"a": 3}));
    layers[0].wish = Wish::Nothing;
    let object = lay(&json!({"a": 3}), &mut layers, &keys());
    assert_eq!(object, json!({"a": 2}));
    layers[1].wish = Wish::Nothing;
    assert_eq!(lay(&object, &mut layers, &keys()), json!({"a": 7}));
}

#[test]
fn values_that_others_have_changed_or_added_stay() {
    let mut layers = [layer(
        Some(json!({"a": 1, "b": 1, "m": {"x": 1}, "containers": [{"name": "c", "image": "1"}]})),
        Patched::default(),
    )];
    lay(&json!({}), &mut layers, &keys());
    let changed = json!({"a": 1, "b": 2, "m": {"x": 1, "y": 1}, "containers": [{"name": "c", "image": "1", "x": 1}]});
    layers[0].wish = Wish::Nothing;
    assert_eq!(
        lay(&changed, &mut layers, &keys()),
        json!({"b": 2, "m": {"y": 1}, "containers": [{"name": "c", "x": 1}]})
    );
}

#[test]
fn the_first_layer_has_the_last_word_and_the_next_inherits() {
    let first = json!({"a": 1, "both": 1, "list": [{"k": 1}, {"k": 1}]});
    let second = json!({"b": 2, "both": 2, "list": [{"k": 2}, {"k": 1}, {"k": 2}]});
    let mut layers = [
        layer(Some(first), Patched::default()),
        layer(Some(second), Patched::default()),
    ];
    let object = lay(&json!({}), &mut layers, &keys());
    assert_eq!(
        object,
        json!({"a": 1, "b": 2, "both": 1, "list": [{"k": 1}, {"k": 1}, {"k": 2}]})
    );
    layers[0].wish = Wish::Nothing;
    let object = lay(&object, &mut layers, &keys());
    assert_eq!(
        object,
        json!({"b": 2, "both": 2, "list": [{"k": 2}, {"k": 1}, {"k": 2}]})
    );
    layers[1].wish = Wish::Nothing;
    assert_eq!(lay(&object, &mut layers, &keys()), json!({}));
}

#[test]
fn the_layer_of_an_unknown_patch_stays() {
    let mut layers = [
        layer(Some(json!({"a": 1, "b": 1})), Patched::default()),
        layer(Some(json!({"a": 1})), Patched::default()),
    ];
    let object = lay(&json!({}), &mut layers, &keys());
    layers[0].wish = Wish::Nothing;
    layers[1].wish = Wish::Unknown;
    let object = lay(&object, &mut layers, &keys());
    assert_eq!(object, json!({"a": 1}));
    layers[1].wish = Wish::Nothing;
    assert_eq!(lay(&object, &mut layers, &keys()), json!({}));
}

/// Applies these patches one after the other, and then takes the last one back.
fn applied_in_turn(live: &Value, patches: &[Value]) -> Vec<Value> {
    let mut layers = [layer(None, Patched::default())];
    let mut object = live.clone();
    let mut seen = Vec::new();
    let wishes = patches.iter().cloned().map(Wish::Patch);
    for wish in wishes.chain([Wish::Nothing]) {
        layers[0].wish = wish;
        object = lay(&object, &mut layers, &keys());
        seen.push(object.clone());
    }
    seen
}

#[test]
fn a_field_that_changes_its_type_leaves_nothing_behind() {
    let values = [
        json!(3),
        json!({"c": 1}),
        json!([1]),
        json!({"c": {"e": 1}}),
        json!({}),
    ];
    let theirs = [
        json!({"x": 1}),
        json!({"x": 1, "b": 7}),
        json!({"x": 1, "b": {"u": 1}}),
    ];
    for live in theirs {
        for one in &values {
            for other in &values {
                let patches = [one, other].map(|value| json!({"b": (value.clone())}));
                let seen = applied_in_turn(&live, &patches);
                assert_eq!(seen[2], live, "{one} then {other}: {seen:?}");
            }
        }
    }
}

#[test]
fn elements_by_position_keep_their_positions() {
    let list = |first: Value| json!({"u": [(first), {"b": "t"}]});
    let (one, other) = (list(json!({"n": 1})), list(json!({"m": 1})));
    let live = json!({"x": 1});
    let seen = applied_in_turn(&live, &[one, other.clone()]);
    assert_eq!(seen[1], json!({"x": 1, "u": [{"m": 1}, {"b": "t"}]}));
    assert_eq!(seen[2], live);
    // On a list of others, only our field goes.
    let live = json!({"u": [{"z": 1}]});
    let seen = applied_in_turn(&live, &[list(json!({"n": 1})), other]);
    assert_eq!(seen[1], json!({"u": [{"z": 1, "m": 1}, {"b": "t"}]}));
    assert_eq!(seen[2], live);
}

/// What a user has, and what patches set in turn.
const SHAPES: &str = include_str!("../../tests/shapes.txt");

/// Whatever shape a value had before, the object is as if only the present patch had been set.
#[test]
fn a_patch_may_change_the_shape_of_its_value() {
    let of = |text: &str| json!({"l": (text.parse::<Value>().unwrap()), "other": 1});
    for values in SHAPES.split("\n\n") {
        let values: Vec<&str> = values.lines().collect();
        for user in values.iter().filter(|user| **user != "[]") {
            let live = match *user {
                "null" => json!({"other": 1}),
                user => of(user),
            };
            for first in &values {
                for second in &values {
                    let mut layers = [layer(Some(of(first)), Patched::default())];
                    let object = lay(&live, &mut layers, &keys());
                    layers[0].wish = Wish::Patch(of(second));
                    let object = lay(&object, &mut layers, &keys());
                    let mut fresh = [layer(Some(of(second)), Patched::default())];
                    let expect = lay(&live, &mut fresh, &keys());
                    assert_eq!(object, expect, "{user}: {first}, {second}");
                    layers[0].wish = Wish::Nothing;
                    let object = lay(&object, &mut layers, &keys());
                    assert_eq!(object, live, "{user}: {first}, {second}");
                }
            }
        }
    }
}
