//! Codes of stages and objects at run time.

use crate::doc::codes::Trigger::{Manifests, Message, Objects, Render};
use crate::doc::codes::{CodeDoc, code};

pub(super) const CODES: &[CodeDoc] = &[
    code(
        "no-object",
        "The result of a `@project` or `@patch` is not a map.",
        "Yield a map.",
        Render(
            r#"[{"@project": "$.metadata.name"}]"#,
            r#"{"kind": "A", "metadata": {"name": "a"}}"#,
        ),
    ),
    code(
        "no-list",
        "`@unwind` found a value that is not a list.",
        "Check the path.",
        Render(
            r#"[{"@unwind": "$.metadata"}]"#,
            r#"{"kind": "A", "metadata": {"name": "a"}}"#,
        ),
    ),
    code(
        "unwind-without-name",
        "A document without `metadata.name` is unwound.",
        "Keep the name in the `@project` before it.",
        Render(
            r#"[{"@project": {"l": [1]}}, {"@unwind": "$.l"}]"#,
            r#"{"kind": "A", "metadata": {"name": "a"}}"#,
        ),
    ),
    code(
        "output-no-object",
        "The output is not a map.",
        "End the pipeline with a `@project`.",
        Message(
            "none of the stages yields anything but maps; a program that makes documents itself gets it for a string",
            "the output must be an object, found a string",
        ),
    ),
    code(
        "output-no-metadata",
        "The output has no metadata.",
        "Add `metadata: {name: …}` to the last `@project`.",
        Render(
            r#"[{"@project": {"a": 1}}]"#,
            r#"{"kind": "A", "metadata": {"name": "a"}}"#,
        ),
    ),
    code(
        "output-no-name",
        "The output has no name.",
        "Add `metadata: {name: …}` to the last `@project`.",
        Render(
            r#"[{"@project": {"metadata": {"x": 1}}}]"#,
            r#"{"kind": "A", "metadata": {"name": "a"}}"#,
        ),
    ),
    code(
        "output-bad-namespace",
        "The namespace of the output is not a string.",
        "Leave it out for a kind without namespaces.",
        Render(
            r#"[{"@project": {"metadata": {"name": "a", "namespace": 1}}}]"#,
            r#"{"kind": "A", "metadata": {"name": "a"}}"#,
        ),
    ),
    code(
        "conflict",
        "An object is derived twice, or belongs to somebody else.",
        "Give the objects different names, or group the documents with `@gather`. On a cluster, the message names the Operator or field manager that has the object or field: let only one of them write it, or see `target.existing` and `target.force`.",
        Objects(
            r#"[{"@project": {"metadata": {"name": "same"}, "of": "$.metadata.name"}}]"#,
            r#"{"apiVersion": "o.view.dcontroller.io/v1alpha1", "kind": "A", "metadata": {"name": "a"}} {"apiVersion": "o.view.dcontroller.io/v1alpha1", "kind": "A", "metadata": {"name": "b"}}"#,
            &[],
        ),
    ),
    code(
        "cycle",
        "Controllers read what they write, and do not settle.",
        "Select the documents that are done, so that the cycle ends.",
        Manifests(
            r#"{"apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"}, "spec": {"controllers": [{"name": "c", "sources": [{"kind": "A"}], "pipeline": [{"@project": {"metadata": {"name": {"@concat": ["$.metadata.name", "x"]}}}}], "target": {"kind": "A"}}]}}
---
{"kind": "A", "metadata": {"name": "a"}}
"#,
            &[],
        ),
    ),
    code(
        "patch-no-place",
        "There is nothing at the path of a `@patch`.",
        "Check the path, or select the documents before.",
        Render(
            r#"[{"@patch": {"at": "$.spec", "operations": [{"op": "add", "path": "/a", "value": 1}]}}]"#,
            r#"{"kind": "A", "metadata": {"name": "a"}}"#,
        ),
    ),
    code(
        "budget-documents",
        "The sources of a controller hold too many objects.",
        "Raise `--max-documents`, or select objects with a labelSelector.",
        Objects(
            r#"[{"@project": {"metadata": {"name": "$.metadata.name"}}}]"#,
            r#"{"apiVersion": "o.view.dcontroller.io/v1alpha1", "kind": "A", "metadata": {"name": "a"}} {"apiVersion": "o.view.dcontroller.io/v1alpha1", "kind": "A", "metadata": {"name": "b"}}"#,
            &["--max-documents", "1"],
        ),
    ),
    code(
        "budget-bytes",
        "The objects of a controller's sources take too much memory.",
        "Raise `--max-bytes`, or select objects with a labelSelector.",
        Objects(
            r#"[{"@project": {"metadata": {"name": "$.metadata.name"}}}]"#,
            r#"{"apiVersion": "o.view.dcontroller.io/v1alpha1", "kind": "A", "metadata": {"name": "a"}} {"apiVersion": "o.view.dcontroller.io/v1alpha1", "kind": "A", "metadata": {"name": "b"}}"#,
            &["--max-bytes", "1"],
        ),
    ),
    code(
        "budget-candidates",
        "The joins of one step examine too many combinations.",
        "Join by an `@eq`, or raise `--max-candidates`.",
        Manifests(
            r#"{"apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"}, "spec": {"controllers": [{"name": "c", "sources": [{"kind": "A"}, {"kind": "B"}], "pipeline": [{"@join": {"@gt": ["$.A.x", "$.B.x"]}}, {"@project": {"metadata": "$.A.metadata"}}], "target": {"kind": "Out"}}]}}
---
{"kind": "A", "metadata": {"name": "a"}, "x": 2}
---
{"kind": "B", "metadata": {"name": "b"}, "x": 1}
"#,
            &["--max-candidates", "0"],
        ),
    ),
    code(
        "budget-outputs",
        "The joins of one step yield too many documents.",
        "Join by a more selective condition, or raise `--max-outputs`.",
        Manifests(
            r#"{"apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"}, "spec": {"controllers": [{"name": "c", "sources": [{"kind": "A"}, {"kind": "B"}], "pipeline": [{"@join": {"@eq": ["$.A.x", "$.B.x"]}}, {"@project": {"metadata": "$.A.metadata"}}], "target": {"kind": "Out"}}]}}
---
{"kind": "A", "metadata": {"name": "a"}, "x": 1}
---
{"kind": "B", "metadata": {"name": "b"}, "x": 1}
"#,
            &["--max-outputs", "0"],
        ),
    ),
    code(
        "budget-unwound",
        "`@unwind` yields too much in one step.",
        "Project the fields that are needed before.",
        Objects(
            r#"[{"@unwind": "$.x"}]"#,
            r#"{"kind": "A", "metadata": {"name": "a"}, "x": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]}"#,
            &["--max-bytes", "900"],
        ),
    ),
    code(
        "budget-time",
        "A step takes too long.",
        "Simplify the pipeline, or raise `--max-step-time`.",
        Message(
            "a batch that takes longer than `deltic run --max-step-time` allows",
            "one step takes too long",
        ),
    ),
];
