//! `copy` and `move`.

use super::{check, relocate};

#[test]
fn from_must_match_one_place() {
    let document = r#"{"l": [{"k": "a"}, {"k": "b"}, {"k": "b"}]}"#;
    for name in ["copy", "move"] {
        check(
            document,
            &relocate(name, "/l[?(@.k=='b')]", "/x"),
            Err("patch-from-matches"),
        );
        check(
            document,
            &relocate(name, "/l[?(@.k=='c')]", "/x"),
            Err("patch-from-matches"),
        );
    }
    check(
        document,
        &relocate("move", "/l[?(@.k=='a')]", "/x"),
        Ok(r#"{"l": [{"k": "b"}, {"k": "b"}], "x": {"k": "a"}}"#),
    );
    check(
        document,
        &relocate("copy", "/l[?(@.k=='a')]/k", "/l[*]/c"),
        Ok(r#"{"l": [{"k": "a", "c": "a"}, {"k": "b", "c": "a"}, {"k": "b", "c": "a"}]}"#),
    );
}

#[test]
fn a_move_leads_to_the_elements_that_matched_before() {
    let document = r#"[{"n": "a"}, {"n": "b"}, {"n": "c"}]"#;
    check(
        document,
        &relocate("move", "/[?(@.n=='a')]", "/[?(@.n=='c')]/x"),
        Ok(r#"[{"n": "b"}, {"n": "c", "x": {"n": "a"}}]"#),
    );
    check(
        document,
        &relocate("move", "/[?(@.n=='c')]", "/[?(@.n=='a')]/x"),
        Ok(r#"[{"n": "a", "x": {"n": "c"}}, {"n": "b"}]"#),
    );
    // Before the element itself: where an `add` would put it.
    check(
        document,
        &relocate("move", "/0", "/[?(@.n=='c')]"),
        Ok(r#"[{"n": "b"}, {"n": "a"}, {"n": "c"}]"#),
    );
    // A field that the filter reads is moved away.
    check(
        document,
        &relocate("move", "/[?(@.n=='b')]/n", "/[?(@.n=='b')]/name"),
        Ok(r#"[{"n": "a"}, {"name": "b"}, {"n": "c"}]"#),
    );
    check(
        r#"[{"n": "a", "l": [1, 2, 3]}]"#,
        &relocate("move", "/0/l/0", "/[?(@.n=='a')]/l/2"),
        Ok(r#"[{"n": "a", "l": [2, 3, 1]}]"#),
    );
}

#[test]
fn positions_in_a_plain_move_are_those_after_the_removal() {
    check("[1, 2, 3]", &relocate("move", "/0", "/2"), Ok("[2, 3, 1]"));
    check("[1, 2, 3]", &relocate("move", "/0", "/-"), Ok("[2, 3, 1]"));
    check("[1, 2, 3]", &relocate("move", "/2", "/0"), Ok("[3, 1, 2]"));
    check(
        "[1, 2, 3]",
        &relocate("move", "/0", "/3"),
        Err("patch-out-of-bounds"),
    );
    check(
        "[1, {}, 3]",
        &relocate("move", "/0", "/0/x"),
        Err("patch-into-itself"),
    );
    check(
        "[1, {}, 3]",
        &relocate("move", "/2", "/1/x"),
        Ok(r#"[1, {"x": 3}]"#),
    );
    check(
        "[1, 2, {}]",
        &relocate("move", "/0", "/1/x"),
        Ok(r#"[2, {"x": 1}]"#),
    );
    check("[1, 2]", &relocate("move", "/1", "/1"), Ok("[1, 2]"));
}

#[test]
fn nothing_is_moved_into_itself() {
    check(
        r#"{"a": {"b": 1}}"#,
        &relocate("move", "/a", "/a/b"),
        Err("patch-into-itself"),
    );
    check(
        r#"{"a": {"b": 1}}"#,
        &relocate("move", "", "/a"),
        Err("patch-into-itself"),
    );
    check(
        r#"{"a": 1, "ab": {}}"#,
        &relocate("move", "/a", "/ab/c"),
        Ok(r#"{"ab": {"c": 1}}"#),
    );
    check("[[]]", &relocate("move", "/0", "[0]/0"), Err("patch-path"));
    check(
        "[[]]",
        &relocate("move", "/0", "/[0]/0"),
        Err("patch-into-itself"),
    );
    check(
        r#"[{"n": "a"}]"#,
        &relocate("move", "/0", "/[?(@.n=='a')]/x"),
        Err("patch-into-itself"),
    );
    check(
        r#"[{"n": "a"}]"#,
        &relocate("move", "/0", "/[?(@.n=='a')]"),
        Ok(r#"[{"n": "a"}]"#),
    );
}
