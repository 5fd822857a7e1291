//! Codes of commands.

use crate::doc::codes::Trigger::{Script, Stream, Usage};
use crate::doc::codes::{CodeDoc, code};

pub(super) const CODES: &[CodeDoc] = &[
    code(
        "usage",
        "The arguments do not fit together.",
        "See `--help`.",
        Usage(&["eval", "1", "-f", "-", "-f", "-"]),
    ),
    code(
        "no-name",
        "An object has no kind or no name.",
        "Add them. `deltic replay` reads watch events, `deltic render` objects.",
        Stream(&["render", "operator.yaml", "-"], r#"{"kind": "A"}"#),
    ),
    code(
        "no-test",
        "`deltic test` found no test, or `--run` selects none.",
        "Tests are in files `*.test.yaml`. `--run` is compared with `FILE: NAME`.",
        Usage(&["test", "/dev/null"]),
    ),
    code(
        "exists",
        "`deltic init` would overwrite a file.",
        "Choose another name, or remove the file.",
        Script("deltic init a; deltic init a"),
    ),
    code(
        "write",
        "A file cannot be written.",
        "Check the directory and its permissions.",
        Script("touch a; deltic init a/b"),
    ),
    code(
        "no-patch",
        "A patch file has no rules.",
        "Add a list of rules.",
        Stream(&["patch", "-f", "empty.yaml", "-"], "{}"),
    ),
    code(
        "no-match",
        "A warning: no object matches the target of a rule.",
        "Check the group, kind and name.",
        Stream(
            &["patch", "-f", "-", "operator.yaml"],
            r#"[{"target": {"kind": "Nothing"}, "operations": []}]"#,
        ),
    ),
    code(
        "bad-json",
        "A line or document of a stream is not JSON.",
        "Print JSON, one document after the other.",
        Stream(&["replay", "-f", "operator.yaml"], "type: ADDED"),
    ),
    code(
        "bad-line",
        "A line of `--jsonl` lacks a field.",
        "See `--help` for the form of the lines.",
        Stream(&["eval", "--jsonl"], "{}"),
    ),
    code(
        "bad-event",
        "A document of `deltic replay` is not a watch event.",
        "Print events with `kubectl get … --watch --output-watch-events -o json`.",
        Stream(&["replay", "-f", "operator.yaml"], r#"{"kind": "A"}"#),
    ),
    code(
        "watch-error",
        "A watch ended with an error.",
        "Watch again.",
        Stream(
            &["replay", "-f", "operator.yaml"],
            r#"{"type": "ERROR", "object": {"kind": "Status", "message": "too old"}}"#,
        ),
    ),
    code(
        "bad-tick",
        "A TICK line of `deltic replay` cannot be used.",
        "Give each a later time, on a line of its own, and `--now` if events come first.",
        Stream(
            &[
                "replay",
                "-f",
                "operator.yaml",
                "--now",
                "2026-01-02T00:00:00Z",
            ],
            r#"{"type": "TICK", "time": "2026-01-01T00:00:00Z"}"#,
        ),
    ),
];
