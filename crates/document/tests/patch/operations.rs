//! The effects of operations.

use document::patch::{Cause, Operation, Patch, PatchPath};
use document::{Chunks, Kind, Value, json};

use crate::{check, check_strict, op, relocate};

#[test]
fn opaque_bytes_are_carried_along() {
    let bytes = Value::bytes(b"\xff\xfe");
    let secret = json!({"data": {"key": (bytes.clone())}, "l": [(bytes.clone())]});
    let patch = Patch::read(&json!([
        {"op": "copy", "from": "/data/key", "path": "/l/0"},
        {"op": "add", "path": "/data/other", "value": "x"}
    ]));
    let expect = json!({
        "data": {"key": (bytes.clone()), "other": "x"},
        "l": [(bytes.clone()), (bytes.clone())]
    });
    assert_eq!(patch.unwrap().apply(&secret), Ok(expect));
}

#[test]
fn numbers_and_dashes_are_keys_in_maps_and_positions_in_lists() {
    check(
        r#"{"m": {"-": 1}}"#,
        &op("replace", "/m/-", "2"),
        Ok(r#"{"m": {"-": 2}}"#),
    );
    check(
        r#"{"m": {}}"#,
        &op("add", "/m/0", "2"),
        Ok(r#"{"m": {"0": 2}}"#),
    );
    check(
        r#"{"m": {}}"#,
        &op("add", "/m[0]", "2"),
        Err("patch-wrong-type"),
    );
    check("[1]", &op("add", "/01", "2"), Err("patch-not-a-position"));
    check("[1]", &op("add", "/a", "2"), Err("patch-not-a-position"));
    check("[1]", &op("add", "/-1", "2"), Err("patch-not-a-position"));
    check(
        "[1]",
        &op("add", "/99999999999999999999999", "2"),
        Err("patch-out-of-bounds"),
    );
    check(
        "[1]",
        &op("add", "/18446744073709551615", "2"),
        Err("patch-out-of-bounds"),
    );
    check(
        "[1]",
        &op("remove", "/18446744073709551615", "2"),
        Err("patch-out-of-bounds"),
    );
}

#[test]
fn add_makes_missing_maps_and_the_list_that_it_appends_to() {
    check(
        "{}",
        &op("add", "/a/b/c", "1"),
        Ok(r#"{"a": {"b": {"c": 1}}}"#),
    );
    check("{}", &op("add", "/a/b/-", "1"), Ok(r#"{"a": {"b": [1]}}"#));
    check("{}", &op("add", "/a/01", "1"), Ok(r#"{"a": {"01": 1}}"#));
    check("[{}]", &op("add", "/0/a/-", "1"), Ok(r#"[{"a": [1]}]"#));
    check("{}", &op("add", "/a/0", "1"), Err("patch-no-list"));
    check("{}", &op("add", "/a[0]", "1"), Err("patch-no-list"));
    check("{}", &op("add", "/a/0/b", "1"), Err("patch-no-list"));
    check("{}", &op("add", "/a/-/b", "1"), Err("patch-no-list"));
    check(
        r#"{"a": []}"#,
        &op("add", "/a/-/b", "1"),
        Err("patch-out-of-bounds"),
    );
    check(
        r#"{"a": null}"#,
        &op("add", "/a/b", "1"),
        Err("patch-wrong-type"),
    );
    check(
        r#"{"a": "s"}"#,
        &op("add", "/a/b/c", "1"),
        Err("patch-wrong-type"),
    );
}

#[test]
fn only_add_and_merge_make_parents() {
    check("{}", &op("replace", "/a/b", "1"), Err("patch-not-found"));
    check("{}", &op("replace", "/a/-", "1"), Err("patch-not-found"));
    check("{}", &op("remove", "/a/b", "1"), Err("patch-not-found"));
    check("{}", &op("test", "/a/b", "1"), Err("patch-not-found"));
    check(
        r#"{"x": 1}"#,
        &relocate("copy", "/x", "/a/b"),
        Err("patch-not-found"),
    );
    check(
        r#"{"x": 1}"#,
        &relocate("move", "/x", "/a/-"),
        Err("patch-not-found"),
    );
    check(
        r#"{"x": 1}"#,
        &relocate("copy", "/y/z", "/a"),
        Err("patch-not-found"),
    );
}

#[test]
fn a_list_is_never_filled_up() {
    check("[1]", &op("add", "/1", "2"), Ok("[1, 2]"));
    check("[1]", &op("add", "/2", "2"), Err("patch-out-of-bounds"));
    check("[1]", &op("add", "/1/a", "2"), Err("patch-out-of-bounds"));
    check("[1]", &op("replace", "/1", "2"), Err("patch-out-of-bounds"));
    check("[1]", &op("remove", "/1", "2"), Err("patch-out-of-bounds"));
    check("[1]", &op("test", "/1", "2"), Err("patch-out-of-bounds"));
    check("[1]", &op("test", "/-", "2"), Err("patch-out-of-bounds"));
    check(
        "[1]",
        &relocate("copy", "/1", "/0"),
        Err("patch-out-of-bounds"),
    );
    check(
        "[1]",
        &relocate("copy", "/-", "/0"),
        Err("patch-out-of-bounds"),
    );
}

#[test]
fn a_filter_without_a_match_is_skipped_and_makes_nothing() {
    let document = r#"{"l": [{"n": "a"}], "e": []}"#;
    for path in [
        "/l[?(@.n=='b')]/x",
        "/l[?(@.n=='b')]/x/y/-",
        "/l[?(@.n=='a')]/missing[?(@.k=='v')]/x",
        "/e[*]/x",
        "/missing[?(@.n=='a')]/x",
        "/missing/deep[*]",
    ] {
        for name in ["add", "replace", "remove", "test"] {
            check(document, &op(name, path, "1"), Ok(document));
            check_strict(document, &op(name, path, "1"), Err("patch-no-match"));
        }
        check(document, &op("merge", path, "{}"), Ok(document));
        check_strict(document, &op("merge", path, "{}"), Err("patch-no-match"));
        check(document, &relocate("copy", "/l", path), Ok(document));
        check(document, &relocate("move", "/l", path), Ok(document));
        check_strict(
            document,
            &relocate("move", "/l", path),
            Err("patch-no-match"),
        );
    }
}

#[test]
fn a_strict_patch_needs_one_match_not_one_in_every_list() {
    let document = r#"[{"l": []}, {"l": [{"k": "v"}]}]"#;
    let patch = op("add", "/[*]/l[?(@.k=='v')]/x", "1");
    check_strict(
        document,
        &patch,
        Ok(r#"[{"l": []}, {"l": [{"k": "v", "x": 1}]}]"#),
    );
}

#[test]
fn a_filter_on_something_else_than_a_list_is_an_error() {
    for document in [
        r#"{"l": {}}"#,
        r#"{"l": "s"}"#,
        r#"{"l": null}"#,
        r#"{"l": 1}"#,
    ] {
        check(
            document,
            &op("remove", "/l[?(@.a=='b')]", "1"),
            Err("patch-wrong-type"),
        );
        check(
            document,
            &op("remove", "/l[*]/x", "1"),
            Err("patch-wrong-type"),
        );
        check(
            document,
            &op("remove", "/l[0]/x", "1"),
            Err("patch-wrong-type"),
        );
    }
}

#[test]
fn all_matches_are_changed() {
    let document = r#"[{"k": "a", "v": 1}, {"k": "b", "v": 2}, {"k": "a", "v": 3}]"#;
    check(
        document,
        &op("replace", "/[?(@.k=='a')]/v", "9"),
        Ok(r#"[{"k": "a", "v": 9}, {"k": "b", "v": 2}, {"k": "a", "v": 9}]"#),
    );
    check(
        document,
        &op("remove", "/[?(@.k=='a')]", "0"),
        Ok(r#"[{"k": "b", "v": 2}]"#),
    );
    check(document, &op("remove", "/[*]", "0"), Ok("[]"));
    check(document, &op("replace", "/[*]", "0"), Ok("[0, 0, 0]"));
    check(
        document,
        &op("add", "/[?(@.k=='a')]", "0"),
        Ok(r#"[0, {"k": "a", "v": 1}, {"k": "b", "v": 2}, 0, {"k": "a", "v": 3}]"#),
    );
    check(
        document,
        &op("merge", "/[?(@.k=='a')]", r#"{"k": "z"}"#),
        Ok(r#"[{"k": "z", "v": 1}, {"k": "b", "v": 2}, {"k": "z", "v": 3}]"#),
    );
    check(
        "[[1], [2], []]",
        &op("add", "/[*]/0", "0"),
        Ok("[[0, 1], [0, 2], [0]]"),
    );
    check(
        "[[1], [2], []]",
        &op("add", "/[*]/-", "0"),
        Ok("[[1, 0], [2, 0], [0]]"),
    );
}

#[test]
fn one_match_in_error_leaves_all_untouched() {
    let document = r#"[{"v": 1}, {}]"#;
    check(
        document,
        &op("replace", "/[*]/v", "2"),
        Err("patch-not-found"),
    );
    check(document, &op("test", "/[*]/v", "1"), Err("patch-not-found"));
    check(
        "[[1], 2]",
        &op("add", "/[*]/-", "0"),
        Err("patch-wrong-type"),
    );
}

#[test]
fn a_test_must_hold_for_all_matches() {
    check(
        r#"[{"v": 1}, {"v": 1.0}]"#,
        &op("test", "/[*]/v", "1"),
        Ok(r#"[{"v": 1}, {"v": 1}]"#),
    );
    check(
        r#"[{"v": 1}, {"v": 2}]"#,
        &op("test", "/[*]/v", "1"),
        Err("patch-test-failed"),
    );
    check(
        r#"{"a": null}"#,
        &op("test", "/a", "null"),
        Ok(r#"{"a": null}"#),
    );
    check(
        r#"{"a": "1"}"#,
        &op("test", "/a", "1"),
        Err("patch-test-failed"),
    );
}

#[test]
fn the_document_itself_can_be_changed() {
    check("1", &op("add", "", "2"), Ok("2"));
    check("1", &op("replace", "", "[2]"), Ok("[2]"));
    check("1", &op("test", "", "1.0"), Ok("1"));
    check("1", &op("test", "", "2"), Err("patch-test-failed"));
    check(
        r#"{"a": 1}"#,
        &op("merge", "", r#"{"b": 2}"#),
        Ok(r#"{"a": 1, "b": 2}"#),
    );
    check(
        r#"{"a": 1}"#,
        &relocate("copy", "", "/b"),
        Ok(r#"{"a": 1, "b": {"a": 1}}"#),
    );
    check(r#"{"a": [2]}"#, &relocate("copy", "/a", ""), Ok("[2]"));
    check(r#"{"a": [2]}"#, &relocate("move", "/a", ""), Ok("[2]"));
    check("1", &op("remove", "", "0"), Err("patch-root"));
    check("1", &relocate("move", "", ""), Err("patch-root"));
}

#[test]
fn merge_keeps_siblings_stores_null_and_replaces_lists() {
    let document = r#"{"a": {"x": 1, "y": {"z": 2}, "l": [1, 2]}}"#;
    check(
        document,
        &op("merge", "/a", r#"{"x": null, "y": {"w": 3}, "l": [3]}"#),
        Ok(r#"{"a": {"x": null, "y": {"z": 2, "w": 3}, "l": [3]}}"#),
    );
    check(
        "{}",
        &op("merge", "/a/b", r#"{"c": null}"#),
        Ok(r#"{"a": {"b": {"c": null}}}"#),
    );
    check(
        "{}",
        &op("merge", "/a/0", r#"{"c": null}"#),
        Err("patch-no-list"),
    );
    check(
        "[{}]",
        &op("merge", "/0/a/b", r#"{"c": 1}"#),
        Ok(r#"[{"a": {"b": {"c": 1}}}]"#),
    );
}

#[test]
fn merge_needs_a_map_on_both_sides() {
    check(
        r#"{"a": 1}"#,
        &op("merge", "/a", "{}"),
        Err("patch-wrong-type"),
    );
    check(
        r#"{"a": null}"#,
        &op("merge", "/a", "{}"),
        Err("patch-wrong-type"),
    );
    check(
        r#"{"a": []}"#,
        &op("merge", "/a", "{}"),
        Err("patch-wrong-type"),
    );
    check(r#"{"a": {}}"#, &op("merge", "/a", "[]"), Err("patch-type"));
    check("[{}]", &op("merge", "/1", "{}"), Err("patch-out-of-bounds"));
    check("[{}]", &op("merge", "/-", "{}"), Err("patch-merge-end"));
    check("{}", &op("merge", "/a/-", "{}"), Err("patch-merge-end"));
    let path = PatchPath::parse("/a").unwrap();
    let value = json!([]);
    let error = Patch::new(vec![Operation::Merge { path, value }]).apply(&json!({"a": {}}));
    assert_eq!(
        error.unwrap_err().cause,
        Cause::MergeValue { found: Kind::List }
    );
}

#[test]
fn operations_see_what_those_before_them_did() {
    let patch = r#"[
        {"op": "add", "path": "/l/-", "value": {"n": "a"}},
        {"op": "add", "path": "/l[?(@.n=='a')]/v", "value": 1},
        {"op": "test", "path": "/l/0/v", "value": 1},
        {"op": "move", "from": "/l/0/v", "path": "/v"},
        {"op": "remove", "path": "/l"}
    ]"#;
    check("{}", patch, Ok(r#"{"v": 1}"#));
}

#[test]
fn what_is_not_touched_is_shared() {
    let pod = json!({"metadata": {"name": "web"}, "spec": {"a": [1], "b": {"c": [2]}}});
    let patch = Patch::read(&json!([{"op": "add", "path": "/spec/b/d", "value": 3}])).unwrap();
    let result = patch.apply(&pod).unwrap();
    assert!(result.get("metadata").same(pod.get("metadata")));
    assert!(result.get("spec").get("a").same(pod.get("spec").get("a")));
    let c = |value: &Value| value.get("spec").get("b").get("c").clone();
    assert!(c(&result).same(&c(&pod)));
}

#[test]
fn chunked_lists_are_lists() {
    let chunk = |from: i32| Chunks::chunk((from..from + 2).map(|i| json!({"i": i})));
    let list = Value::chunked(Chunks::new([chunk(0), chunk(2)]));
    let patch = Patch::read(&json!([
        {"op": "remove", "path": "/[?(@.i=='1')]"},
        {"op": "add", "path": "/2/x", "value": true},
        {"op": "add", "path": "/-", "value": 9}
    ]));
    let expect = json!([{"i": 0}, {"i": 2}, {"i": 3, "x": true}, 9]);
    assert_eq!(patch.unwrap().apply(&list), Ok(expect));
}
