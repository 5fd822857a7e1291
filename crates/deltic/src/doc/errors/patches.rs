//! Codes of patches.

use crate::doc::codes::Trigger::{Check, Patch, Render, Script};
use crate::doc::codes::{CodeDoc, code};

pub(super) const CODES: &[CodeDoc] = &[
    code(
        "bad-template",
        "A place that needs exactly one `${…}` has text around it, or none.",
        "Write `${…}` alone.",
        Check(
            &["A"],
            r#"[{"@patch": {"forEach": "a${x}", "operations": []}}]"#,
        ),
    ),
    code(
        "patch-type",
        "An operation is not a map.",
        "The message says what is expected.",
        Patch("[1]", "{}"),
    ),
    code(
        "patch-missing-field",
        "An operation lacks a field.",
        "Add it.",
        Patch(r#"[{"op": "add", "path": "/a"}]"#, "{}"),
    ),
    code(
        "patch-unknown-operation",
        "There is no such operation.",
        "The operations are add, replace, remove, test, copy, move and merge.",
        Patch(r#"[{"op": "set", "path": "/a"}]"#, "{}"),
    ),
    code(
        "patch-path",
        "A path of a patch cannot be parsed.",
        "A path starts with `/`, and filters look like `[?(@.name=='a')]`.",
        Patch(r#"[{"op": "remove", "path": "/a[?(x"}]"#, "{}"),
    ),
    code(
        "patch-no-match",
        "A filter matches nothing, and `strict` is set.",
        "Check the filter, or remove `strict`.",
        Render(
            r#"[{"@patch": {"strict": true, "operations": [{"op": "remove", "path": "/spec/list[?(@.a=='b')]"}]}}]"#,
            r#"{"apiVersion": "o.view.dcontroller.io/v1alpha1", "kind": "A", "metadata": {"name": "a"}, "spec": {"list": []}}"#,
        ),
    ),
    code(
        "patch-not-found",
        "There is nothing at the path.",
        "Check the path. `add` creates what is missing; `where: has(resource.spec.paused)` removes a field only where it exists.",
        Patch(r#"[{"op": "replace", "path": "/a", "value": 1}]"#, "{}"),
    ),
    code(
        "patch-out-of-bounds",
        "An index is out of range.",
        "Use `-` to append.",
        Patch(
            r#"[{"op": "add", "path": "/a/5", "value": 1}]"#,
            r#"{"a": []}"#,
        ),
    ),
    code(
        "patch-no-list",
        "A filter or position is used on a value that is not a list.",
        "Check the path.",
        Patch(r#"[{"op": "add", "path": "/a/0", "value": 1}]"#, "{}"),
    ),
    code(
        "patch-not-a-position",
        "A list needs a position.",
        "Use a number, `-`, or a filter.",
        Patch(
            r#"[{"op": "add", "path": "/a/b", "value": 1}]"#,
            r#"{"a": []}"#,
        ),
    ),
    code(
        "patch-wrong-type",
        "A path leads through a text, number or boolean.",
        "Check the path.",
        Patch(
            r#"[{"op": "add", "path": "/a/b", "value": 1}]"#,
            r#"{"a": 1}"#,
        ),
    ),
    code(
        "patch-test-failed",
        "A `test` does not hold.",
        "Use `where` if the patch is to be skipped then.",
        Patch(
            r#"[{"op": "test", "path": "/a", "value": 1}]"#,
            r#"{"a": 2}"#,
        ),
    ),
    code(
        "patch-from-matches",
        "`from` must match exactly one place.",
        "Check the filter.",
        Patch(
            r#"[{"op": "copy", "from": "/a[*]", "path": "/b"}]"#,
            r#"{"a": [1, 2]}"#,
        ),
    ),
    code(
        "patch-into-itself",
        "A value is moved into itself.",
        "Copy it instead.",
        Patch(
            r#"[{"op": "move", "from": "/a", "path": "/a/b"}]"#,
            r#"{"a": {}}"#,
        ),
    ),
    code(
        "patch-root",
        "The whole document cannot be removed or moved.",
        "Remove the fields in it.",
        Patch(r#"[{"op": "remove", "path": ""}]"#, r#"{"a": 1}"#),
    ),
    code(
        "patch-merge-value",
        "The value of a `merge` is not a map.",
        "Use `replace`.",
        Patch(
            r#"[{"op": "merge", "path": "/a", "value": "${1}"}]"#,
            r#"{"a": {}}"#,
        ),
    ),
    code(
        "patch-merge-end",
        "A `merge` ends at the position behind a list.",
        "Use `add` to append.",
        Patch(
            r#"[{"op": "merge", "path": "/a/-", "value": {}}]"#,
            r#"{"a": []}"#,
        ),
    ),
    code(
        "patch-too-many-matches",
        "A path of a patch has too many matches.",
        "Select fewer elements.",
        Script(
            r#"(printf '{"patch": [{"op": "remove", "path": "/a[*]"}], "doc": {"a": ['; yes 1, | head -n 100001 | tr -d '\n'; echo '1]}}') | deltic patch --jsonl"#,
        ),
    ),
];
