//! Error messages.

use document::patch::{Operation, Patch, ReadCause};
use document::{Kind, Value, json};

#[test]
fn operations_are_read_with_suggestions() {
    let read = |text: &str| Operation::read(&text.parse().unwrap()).map_err(|e| e.to_string());
    for (text, message) in [
        (
            r#"{"op": "upsert", "path": ""}"#,
            "unknown operation `upsert`, expected one of \
            add, replace, remove, test, copy, move, merge",
        ),
        (
            r#"{"op": "Replcae", "path": ""}"#,
            "unknown operation `Replcae`, did you mean `replace`?",
        ),
        (
            r#"{"op": 1, "path": ""}"#,
            "`op` is an integer, expected a string",
        ),
        (r#"{"path": ""}"#, "no field `op`"),
        (r#"{"op": "remove"}"#, "no field `path`"),
        (
            r#"{"op": "remove", "path": null}"#,
            "`path` is null, expected a string",
        ),
        (
            r#"{"op": "add", "path": "", "vaule": 1}"#,
            "no field `value`, found `vaule`",
        ),
        (r#"{"op": "move", "path": ""}"#, "no field `from`"),
        (
            r#"{"op": "merge", "path": "", "value": 1}"#,
            "`value` is an integer, expected a map to merge",
        ),
        (
            r#"{"op": "copy", "path": "", "from": "a"}"#,
            "`from` is not a path: found `a`, expected `/`, at offset 0 of the path",
        ),
        ("[]", "the operation is a list, expected a map"),
    ] {
        assert_eq!(read(text), Err(message.to_owned()), "{text}");
    }
    let add = read(r#"{"op": "add", "path": "/a", "value": null, "more": 1}"#).unwrap();
    assert_eq!(add.name(), "add");
    assert_eq!(add.path().to_string(), "/a");
    assert_eq!(add.value(), Some(&Value::NULL));
}

#[test]
fn a_patch_that_cannot_be_read_names_the_operation_and_the_field() {
    let error = Patch::read(&json!([
        {"op": "remove", "path": "/a"},
        {"op": "remove", "path": "/a[?(@.b!='c')]"}
    ]));
    let error = error.unwrap_err();
    assert_eq!(error.operation, Some(1));
    assert_eq!(error.code(), "patch-path");
    assert_eq!(error.cause.field(), Some("path"));
    assert_eq!(
        error.to_string(),
        "operation 1: `path` is not a path: found `!`, expected `==`, the only comparison of a \
         filter, at offset 8 of the path"
    );
    let error = Patch::read(&json!({})).unwrap_err();
    assert_eq!(error.cause, ReadCause::NotList { found: Kind::Map });
    assert_eq!(
        error.to_string(),
        "the patch is a map, expected a list of operations"
    );
}

#[test]
fn errors_name_operation_path_and_place_and_no_values() {
    let document = json!({"l": [{"n": "a", "v": "secret"}, {"n": "a", "v": "hidden"}]});
    let message = |patch: &Value| {
        let error = Patch::read(patch).unwrap().apply(&document).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        message(&json!([
            {"op": "test", "path": "/l/0/v", "value": "secret"},
            {"op": "test", "path": "/l[?(@.n=='a')]/v", "value": "secret"}
        ])),
        "operation 1, `test` at `/l[?(@.n=='a')]/v`: the value is not the expected one, \
         at `/l/1/v`"
    );
    assert_eq!(
        message(&json!([{"op": "add", "path": "/l/0/v/x", "value": 1}])),
        "operation 0, `add` at `/l/0/v/x`: found a string, expected a map or a list, at `/l/0/v`"
    );
    assert_eq!(
        message(&json!([{"op": "move", "from": "/l[*]", "path": "/x"}])),
        "operation 0, `move` at `/l[*]`: `from` matches 2 places, expected exactly one"
    );
}
