//! Setting a value at a path.

use document::path::MAX_PADDING;
use document::{Path, SetError, Value, json};

fn set(text: &str, target: &Value, value: Value) -> Result<Value, SetError> {
    let path = Path::parse(text).expect("a good path");
    path.set(target, value, target)
}

/// Checks that setting 1 at `text` in `target` results in `expect`.
#[track_caller]
fn check(text: &str, target: &Value, expect: &Value) {
    let before = target.to_string();
    assert_eq!(set(text, target, json!(1)).as_ref(), Ok(expect), "{text}");
    assert_eq!(target.to_string(), before, "{text}");
}

/// Checks that setting a value at `text` in `target` fails.
#[track_caller]
fn check_error(text: &str, target: &Value, code: &str, message: &str) {
    let error = set(text, target, json!(1)).expect_err(text);
    assert_eq!(error.code(), code, "{text}: {error}");
    assert!(error.to_string().contains(message), "{text}: {error}");
}

#[test]
fn names_create_maps() {
    check("$.a.b.c", &json!({}), &json!({"a": {"b": {"c": 1}}}));
    check(
        "$.a.b",
        &json!({"a": {"x": 2}}),
        &json!({"a": {"x": 2, "b": 1}}),
    );
    check(
        "$.a.b",
        &json!({"a": {"b": {"x": 2}}}),
        &json!({"a": {"b": 1}}),
    );
    check("$.a", &Value::NULL, &json!({"a": 1}));
    check("$.a.b", &json!({"a": null}), &json!({"a": {"b": 1}}));
    check(
        "$['x.y/z'].my-key",
        &json!({}),
        &json!({"x.y/z": {"my-key": 1}}),
    );
}

#[test]
fn indexes_create_lists_padded_with_null() {
    check("$.a[0]", &json!({}), &json!({"a": [1]}));
    check("$.a[1]", &json!({}), &json!({"a": [null, 1]}));
    check("$.a[2]", &json!({"a": [5]}), &json!({"a": [5, null, 1]}));
    check("$.a[0]", &json!({"a": [5, 6]}), &json!({"a": [1, 6]}));
    check("$[1].b[1]", &json!([5]), &json!([5, {"b": [null, 1]}]));
    check(
        "$.a[1].b",
        &json!({"a": [5, null]}),
        &json!({"a": [5, {"b": 1}]}),
    );
}

#[test]
fn a_negative_index_sets_an_element_that_exists() {
    check("$.a[-1]", &json!({"a": [5, 6]}), &json!({"a": [5, 1]}));
    check(
        "$.a[-2].b",
        &json!({"a": [{}, 6]}),
        &json!({"a": [{"b": 1}, 6]}),
    );
    check_error(
        "$.a[-1]",
        &json!({}),
        "set-no-element",
        "`$.a` has 0 elements, none at index -1",
    );
    check_error(
        "$.a[-3]",
        &json!({"a": [5, 6]}),
        "set-no-element",
        "`$.a` has 2 elements",
    );
}

#[test]
fn padding_is_bounded() {
    let far = format!("$.a[{MAX_PADDING}]");
    let made = set(&far, &json!({}), json!(1)).unwrap();
    assert_eq!(made.get("a").at(MAX_PADDING), &json!(1));
    assert_eq!(made.get("a").at(MAX_PADDING - 1), &Value::NULL);
    let further = set(&format!("$.a[{}]", 2 * MAX_PADDING), &made, json!(2)).unwrap();
    assert_eq!(further.get("a").at(2 * MAX_PADDING), &json!(2));
    check_error(
        &format!("$.a[{}]", MAX_PADDING + 1),
        &json!({}),
        "set-too-far",
        "index 10001 is more than 10000 beyond its end",
    );
    check_error(
        "$[9007199254740991]",
        &json!([1]),
        "set-too-far",
        "`$` has 1 elements",
    );
}

#[test]
fn the_root_is_replaced() {
    check("$", &json!({"a": 5}), &json!(1));
    check("$.", &json!({"a": 5}), &json!(1));
}

#[test]
fn an_item_path_starts_from_the_target() {
    let path = Path::parse("$$.l[?@.n == $.want].v").unwrap();
    let item = json!({"l": [{"n": 1}, {"n": 2}]});
    let document = json!({"want": 2});
    assert_eq!(
        path.set(&item, json!(9), &document),
        Ok(json!({"l": [{"n": 1}, {"n": 2, "v": 9}]}))
    );
}

#[test]
fn filters_and_wildcards_set_every_match() {
    let target = json!({"l": [{"n": "p"}, {"n": "q"}, {"n": "p", "v": 7}]});
    check(
        "$.l[?(@.n=='p')].v",
        &target,
        &json!({"l": [{"n": "p", "v": 1}, {"n": "q"}, {"n": "p", "v": 1}]}),
    );
    check(
        "$.l[?(@.n=='q')]",
        &target,
        &json!({"l": [{"n": "p"}, 1, {"n": "p", "v": 7}]}),
    );
    check("$.l[*]", &target, &json!({"l": [1, 1, 1]}));
    check(
        "$.m.*",
        &json!({"m": {"a": 5, "b": 6}}),
        &json!({"m": {"a": 1, "b": 1}}),
    );
    check(
        "$.m[?@ > 5]",
        &json!({"m": {"a": 5, "b": 6}}),
        &json!({"m": {"a": 5, "b": 1}}),
    );
    check(
        "$.*[*]",
        &json!({"m": [5], "n": []}),
        &json!({"m": [1], "n": []}),
    );
}

#[test]
fn slices_and_unions_set_every_match_and_create_nothing() {
    check("$[1:]", &json!([5, 6, 7]), &json!([5, 1, 1]));
    check("$[0, -1, 9, 0]", &json!([5, 6, 7]), &json!([1, 6, 1]));
    check(
        "$['a', 'c'].x",
        &json!({"a": null, "b": 5}),
        &json!({"a": {"x": 1}, "b": 5}),
    );
    check_error("$['a', 'b']", &json!({}), "set-no-match", "matches nothing");
    check_error("$[1:]", &json!([5]), "set-no-match", "matches nothing");
}

#[test]
fn no_match_at_all_is_an_error() {
    for text in ["$.a[*].b", "$.a[?(@.n=='x')].b", "$.a.*", "$.a.b[*]"] {
        check_error(text, &json!({}), "set-no-match", "matches nothing");
    }
    check_error("$.a[*]", &json!({"a": []}), "set-no-match", "`$.a[*]`");
    check_error(
        "$.a[?@.b]",
        &json!({"a": [{}]}),
        "set-no-match",
        "matches nothing",
    );
    check_error(
        "$.a[*][*]",
        &json!({"a": [[], null, {}]}),
        "set-no-match",
        "matches nothing",
    );
}

#[test]
fn a_branch_without_a_match_is_left_as_it_is() {
    let target = json!({"pods": [
        {"env": [{"n": "A"}, {"n": "B"}]},
        {"env": []},
        {"x": 5}
    ]});
    check(
        "$.pods[*].env[?(@.n=='A')].v",
        &target,
        &json!({"pods": [
            {"env": [{"n": "A", "v": 1}, {"n": "B"}]},
            {"env": []},
            {"x": 5}
        ]}),
    );
    check(
        "$.pods[*].list[1].l[*]",
        &json!({"pods": [{}, {"list": [0, {"l": [0]}]}]}),
        &json!({"pods": [{}, {"list": [0, {"l": [1]}]}]}),
    );
}

#[test]
fn setting_through_another_type_is_an_error() {
    check_error(
        "$.a.b",
        &json!({"a": 5}),
        "set-not-map",
        "cannot set `$.a.b`: `$.a` is an integer",
    );
    check_error(
        "$.a.b.c",
        &json!({"a": "s"}),
        "set-not-map",
        "`$.a` is a string, expected a map",
    );
    check_error(
        "$.a.b",
        &json!({"a": [5]}),
        "set-not-map",
        "`$.a` is a list",
    );
    check_error(
        "$.a[0].b",
        &json!({"a": [true]}),
        "set-not-map",
        "`$.a[0]` is a boolean",
    );
    check_error("$.a", &json!(5), "set-not-map", "`$` is an integer");
    check_error("$$.a", &json!(5), "set-not-map", "`$$` is an integer");
    check_error(
        "$.a[0]",
        &json!({"a": {}}),
        "set-not-list",
        "`$.a` is a map, expected a list",
    );
    check_error(
        "$.a[0]",
        &json!({"a": 1.5}),
        "set-not-list",
        "`$.a` is a float",
    );
    check_error(
        "$.a[*]",
        &json!({"a": "s"}),
        "set-scalar",
        "`$.a` is a string",
    );
    check_error(
        "$.a[?@.b]",
        &json!({"a": 5}),
        "set-scalar",
        "expected a list or a map",
    );
    check_error(
        "$[*].b",
        &json!([{}, 5]),
        "set-not-map",
        "`$[*]` is an integer",
    );
}

#[test]
fn a_path_with_descendants_cannot_be_set() {
    check_error(
        "$..a",
        &json!({"a": 1}),
        "set-descendants",
        "can be read, not set",
    );
    check_error("$.x[*]..a", &json!({}), "set-descendants", "`$.x[*]..a`");
    assert!(Path::parse("$..a").unwrap().check_settable().is_err());
    assert!(Path::parse("$.a[*]").unwrap().check_settable().is_ok());
}

#[test]
fn a_search_that_is_given_up_sets_nothing() {
    let mut tree = json!({"x": 1});
    for _ in 0..40 {
        tree = Value::list(vec![tree.clone(), tree]);
    }
    check_error(
        "$[?@..nope]",
        &tree,
        "set-too-many-matches",
        "more than 100000 matches",
    );
}

#[test]
fn what_is_not_on_the_way_is_shared() {
    let target = json!({"a": {"b": 5, "c": [1, 2]}, "d": {"e": 1}});
    let changed = set("$.a.b", &target, json!(6)).unwrap();
    assert!(changed.get("d").same(target.get("d")));
    assert!(changed.get("a").get("c").same(target.get("a").get("c")));
    let list = json!([{"n": 1}, {"n": 2}]);
    let changed = set("$[?@.n == 2].v", &list, json!(6)).unwrap();
    assert!(changed.at(0).same(list.at(0)));
}

#[test]
fn messages_hold_no_values() {
    let secret = json!({"a": "hunter2", "l": ["hunter2"]});
    for text in [
        "$.a.b",
        "$.a[0]",
        "$.a[*]",
        "$.l[-2]",
        "$.l[0].x",
        "$.l[?@.x]",
    ] {
        let error = set(text, &secret, json!("hunter2")).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
}
