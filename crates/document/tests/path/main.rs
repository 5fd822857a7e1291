//! Parsing and searching of paths.

mod bounds;
mod errors;
mod filters;
mod search;
mod segments;

use document::{Path, Value, json};

fn path(text: &str) -> Path {
    Path::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// All matches of `text` in `document`, as JSON.
#[track_caller]
fn check(text: &str, document: &Value, expect: &Value) {
    let path = path(text);
    let all = path.all(document, &Value::NULL).expect("few matches");
    let found: Value = all.iter().map(|value| (*value).clone()).collect();
    assert_eq!(&found, expect, "{text}");
    assert_eq!(
        path.first(document, &Value::NULL),
        all.first().copied(),
        "{text}"
    );
    assert_eq!(
        path.find_first(document, &Value::NULL).result,
        Ok(all.first().copied()),
        "{text}"
    );
    assert_eq!(Path::parse(&path.to_string()).as_ref(), Ok(&path), "{text}");
}

/// Checks that `text` is not a path, because of an error at `offset`.
#[track_caller]
fn check_error(text: &str, offset: usize, message: &str) {
    let error = Path::parse(text).expect_err(text);
    assert!(error.message.contains(message), "{text}: {error}");
    assert_eq!(error.offset, offset, "{text}: {error}");
}

fn object() -> Value {
    json!({
        "metadata": {
            "name": "w-1",
            "my-key": "v",
            "labels": {"app": "web", "app.kubernetes.io/name": "shop"}
        },
        "spec": {
            "limit": 100,
            "nothing": null,
            "ports": [
                {"name": "http", "port": 80, "protocol": "TCP"},
                {"name": "https", "port": 443, "protocol": "TCP", "alias": "https"},
                {"name": "dns", "port": 53, "protocol": "UDP", "nothing": null}
            ],
            "matrix": [[1, 2], [3, 4]]
        }
    })
}
