//! Limits.

use document::patch::{Cause, MAX_GROWTH, MAX_LENGTH, MAX_MATCHES, Operation, Patch, PatchPath};
use document::{MAX_DEPTH, Value, json};

#[test]
fn paths_are_bounded() {
    let long = format!("/{}", "a".repeat(MAX_LENGTH));
    assert!(PatchPath::parse(&long).is_err());
    assert!(PatchPath::parse(&long[..MAX_LENGTH]).is_ok());
    assert!(PatchPath::parse(&"/a".repeat(50)).is_ok());
    assert!(PatchPath::parse(&"/a".repeat(101)).is_err());
    assert!(PatchPath::parse(&format!("/{}", "[0]".repeat(101))).is_err());

    let path = PatchPath::parse("/[*]").unwrap();
    let list = |length| Value::from(vec![Value::NULL; length]);
    assert_eq!(path.resolve(&list(MAX_MATCHES)).unwrap().len(), MAX_MATCHES);
    let failure = path.resolve(&list(MAX_MATCHES + 1)).unwrap_err();
    assert_eq!(failure.cause, Cause::TooManyMatches);
}

#[test]
fn many_places_of_one_list_take_linear_time() {
    let count = MAX_MATCHES;
    let items = (0..2 * count).map(|i| json!({"k": (i % 2)}));
    let document = items.collect::<Value>();
    let patch = Patch::read(&json!([
        {"op": "add", "path": "/[?(@.k=='0')]", "value": null},
        {"op": "remove", "path": "/[?(@.k=='1')]"}
    ]));
    let result = patch.unwrap().apply(&document).unwrap();
    assert_eq!(result.as_list().unwrap().len(), 2 * count);
    assert_eq!(result.at(0), &Value::NULL);
    assert_eq!(result.at(1), &json!({"k": 0}));
}

#[test]
fn the_nesting_of_the_result_is_bounded() {
    let deep = (0..MAX_DEPTH - 1).fold(json!([]), |inner, _| json!([inner]));
    let add = |path: &str, value: &Value| {
        let value = value.clone();
        let path = PatchPath::parse(path).unwrap();
        let patch = Patch::new(vec![Operation::Add { path, value }]);
        patch.apply(&json!({})).map_err(|error| error.code())
    };
    assert!(add("", &deep).is_ok());
    assert_eq!(add("/a", &deep), Err("patch-too-deep"));
    assert!(add("/a", deep.at(0)).is_ok());
    assert_eq!(add("/a/b", deep.at(0)), Err("patch-too-deep"));

    let copies = vec![json!({"op": "copy", "from": "", "path": "/a"}); MAX_DEPTH + 1];
    let error = Patch::read(&copies.into())
        .unwrap()
        .apply(&json!({}))
        .unwrap_err();
    assert_eq!(error.code(), "patch-too-deep");
}

#[test]
fn copies_of_copies_are_bounded() {
    let copies = (0..60).map(|i| json!({"op": "copy", "from": "", "path": (format!("/k{i}"))}));
    let patch = Patch::read(&copies.collect()).unwrap();
    let error = patch.apply(&json!({"a": "text"})).unwrap_err();
    assert_eq!(error.code(), "patch-too-large");

    let text = "x".repeat(1 << 20);
    let patch = Patch::read(&json!([{"op": "add", "path": "/[*]/x", "value": text}])).unwrap();
    assert!(patch.apply(&vec![json!({}); 10].into()).is_ok());
    let error = patch.apply(&vec![json!({}); 1000].into()).unwrap_err();
    assert_eq!(error.code(), "patch-too-large");
}

#[test]
fn what_comes_with_the_patch_is_no_copy() {
    let text = "x".repeat(MAX_GROWTH + 1);
    let patch = |path: &str| {
        let operations = json!([{"op": "add", "path": path, "value": (&text)}]);
        let document = json!([{}, {}]);
        let result = Patch::read(&operations).unwrap().apply(&document);
        result.map(drop).map_err(|error| error.code())
    };
    assert_eq!(patch("/0/a"), Ok(()));
    assert_eq!(patch("/[*]/a"), Err("patch-too-large"));
}
