//! The matches of names, indexes, slices, wildcards and descendants.

use document::{Root, Value, json};

use super::{check, object, path};

#[test]
fn names_lead_into_maps() {
    check("$.metadata.name", &object(), &json!(["w-1"]));
    check("$['metadata'][\"name\"]", &object(), &json!(["w-1"]));
    check("$ .metadata\n['name']", &object(), &json!(["w-1"]));
    check("$.metadata.nope", &object(), &json!([]));
    check("$.metadata.name.nope", &object(), &json!([]));
    check("$.spec.nothing", &object(), &json!([null]));
    check("$.spec.nothing.deeper", &object(), &json!([]));
}

#[test]
fn dotted_names_may_hold_almost_any_character() {
    check("$.metadata.my-key", &object(), &json!(["v"]));
    for name in [
        "a_b", "1b", "0", "a/b", "a=b", "a,b", "a:b", "é☃", "a@b", "$", "a*", "*a", "a?b", "{a}",
        "a!b", "#", "-", "a<b>", "a&b|c", "a~b", "a\\b", "a`b", "a\u{a0}b",
    ] {
        let document = Value::from(document::Map::from_entries(vec![(
            document::Key::new(name),
            json!(1),
        )]));
        check(&format!("$.{name}"), &document, &json!([1]));
        check(&format!("$..{name}"), &document, &json!([1]));
    }
}

#[test]
fn quoted_names_have_the_escapes_of_json() {
    check(
        "$.metadata.labels['app.kubernetes.io/name']",
        &object(),
        &json!(["shop"]),
    );
    check(r"$['it\'s']", &json!({"it's": 1}), &json!([1]));
    check(r#"$["say \"hi\""]"#, &json!({"say \"hi\"": 1}), &json!([1]));
    check(r#"$["it's"]"#, &json!({"it's": 1}), &json!([1]));
    check(
        r"$['\b\f\n\r\t\/\\']",
        &json!({"\u{8}\u{c}\n\r\t/\\": 1}),
        &json!([1]),
    );
    check(r"$['\u00e9\uD83D\uDE00']", &json!({"é😀": 1}), &json!([1]));
    check("$['']", &json!({"": 1}), &json!([1]));
}

#[test]
fn the_root_has_two_spellings() {
    for text in ["$", "$."] {
        check(text, &json!({"a": 1}), &json!([{"a": 1}]));
        check(text, &Value::NULL, &json!([null]));
        assert!(path(text).is_root());
    }
    assert_eq!(path("$"), path("$."));
    assert_eq!(path("$.").to_string(), "$.");
    assert_ne!(path("$"), path("$$"));
    assert!(!path("$.a").is_root());
}

#[test]
fn a_path_from_the_item_does_not_see_the_document() {
    let (document, item) = (json!({"a": 1}), json!([1, {"b": 2}]));
    for (text, expect) in [
        ("$$", Some(item.clone())),
        ("$$.", Some(item.clone())),
        ("$$[1].b", Some(json!(2))),
        ("$$.a", None),
        ("$$[*]", Some(json!(1))),
        ("$$[?@.b > $.a].b", Some(json!(2))),
    ] {
        let path = path(text);
        assert_eq!(path.root(), Root::Item);
        assert_eq!(path.first(&document, &item).cloned(), expect, "{text}");
    }
    assert_eq!(
        path("$$").first(&document, &Value::NULL),
        Some(&Value::NULL)
    );
    assert_eq!(path("$$.a").first(&document, &Value::NULL), None);
}

#[test]
fn indexes_count_from_both_ends() {
    check("$.spec.ports[0].name", &object(), &json!(["http"]));
    check("$.spec.ports[-1].name", &object(), &json!(["dns"]));
    check("$.spec.matrix[1][0]", &object(), &json!([3]));
    for text in [
        "$.spec.ports[3]",
        "$.spec.ports[-4]",
        "$.metadata[0]",
        "$.spec.ports.name",
        "$.spec.ports.0",
        "$[9007199254740991]",
        "$[-9007199254740991]",
    ] {
        check(text, &object(), &json!([]));
    }
}

#[test]
fn slices_select_elements_in_order() {
    let list = json!([0, 1, 2, 3, 4]);
    for (text, expect) in [
        ("$[1:3]", json!([1, 2])),
        ("$[1:]", json!([1, 2, 3, 4])),
        ("$[:2]", json!([0, 1])),
        ("$[:]", json!([0, 1, 2, 3, 4])),
        ("$[::2]", json!([0, 2, 4])),
        ("$[ 1 : 4 : 2 ]", json!([1, 3])),
        ("$[-2:]", json!([3, 4])),
        ("$[:-3]", json!([0, 1])),
        ("$[2:0:-1]", json!([2, 1])),
        ("$[::-1]", json!([4, 3, 2, 1, 0])),
        ("$[::-2]", json!([4, 2, 0])),
        ("$[10::-3]", json!([4, 1])),
        ("$[::0]", json!([])),
        ("$[3:1]", json!([])),
        ("$[-100:100]", json!([0, 1, 2, 3, 4])),
        ("$[100:-100:-1]", json!([4, 3, 2, 1, 0])),
        (
            "$[-9007199254740991:9007199254740991:9007199254740991]",
            json!([0]),
        ),
    ] {
        check(text, &list, &expect);
    }
    check("$[1:]", &json!({"a": 1}), &json!([]));
    check("$[1:]", &json!([]), &json!([]));
    check("$[::-1]", &json!([]), &json!([]));
}

#[test]
fn wildcards_go_over_lists_and_over_maps_in_key_order() {
    check("$.spec.matrix[*][*]", &object(), &json!([1, 2, 3, 4]));
    check("$.*", &json!({"b": 1, "a": 2}), &json!([2, 1]));
    check("$[*].x", &json!({"b": {"x": 1}, "a": 2}), &json!([1]));
    check("$.*", &json!("text"), &json!([]));
}

#[test]
fn unions_keep_the_order_in_which_they_are_written() {
    check(
        "$['b', 'a', 'c', 'b']",
        &json!({"a": 1, "b": 2}),
        &json!([2, 1, 2]),
    );
    check("$[1,0]", &json!([10, 20]), &json!([20, 10]));
    check("$[0, 1:, *]", &json!([1, 2]), &json!([1, 2, 1, 2]));
    check("$['a', 0, ?@ > 1]", &json!([1, 2]), &json!([1, 2]));
}

#[test]
fn descendants_come_parents_first() {
    check("$.a..x", &json!({"a": {"b": {"x": 9}}}), &json!([9]));
    check("$..x", &json!({"l": [{"x": 1}, {"x": 2}]}), &json!([1, 2]));
    check(
        "$..x",
        &json!({"a": {"x": 2}, "x": {"x": 1}}),
        &json!([{"x": 1}, 2, 1]),
    );
    check("$..[0]", &json!([[1, [2]], 3]), &json!([[1, [2]], 1, 2]));
    check("$..*", &json!([[1], 2]), &json!([[1], 2, 1]));
    check("$..[?@ > 1]", &json!({"a": [1, 2], "b": 3}), &json!([3, 2]));
    check(
        "$..['x', 'y']",
        &json!({"y": 1, "x": {"y": 2}}),
        &json!([{"y": 2}, 1, 2]),
    );
}
