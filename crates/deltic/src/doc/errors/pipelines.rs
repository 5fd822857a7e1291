//! Codes of pipelines.

use crate::doc::codes::Trigger::{Check, Operator, Script};
use crate::doc::codes::{CodeDoc, code};

pub(super) const CODES: &[CodeDoc] = &[
    code(
        "unknown-stage",
        "An element of the pipeline is not a stage.",
        "A stage is a map with one key; `deltic doc --list` names the stages.",
        Check(&["A"], r#"[{"@selct": true}]"#),
    ),
    code(
        "too-many-stages",
        "A pipeline has more than 1000 stages in all of its branches. `@inputs` and `@output` count, too.",
        "Merge stages: one `@project` can do the work of several. Or divide the pipeline by a view.",
        Script(
            r#"(printf '{"apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"}, "spec": {"controllers": [{"name": "c", "sources": [{"kind": "A"}], "target": {"kind": "Out"}, "pipeline": ['; seq 1000 | sed 's/.*/{"@select": true},/'; printf '{"@select": true}]}]}}') | deltic check -"#,
        ),
    ),
    code(
        "join-not-first",
        "`@join` is not the first stage.",
        "Move it to the start; use branches for several joins.",
        Check(&["A"], r#"[{"@select": true}, {"@join": true}]"#),
    ),
    code(
        "join-missing",
        "There are several sources and no `@join`.",
        "Begin the pipeline with a `@join`.",
        Check(&["A", "B"], r#"[{"@select": true}]"#),
    ),
    code(
        "duplicate-source",
        "Two sources have the same name.",
        "Name one of them with `as`.",
        Check(&["A", "A"], r#"[{"@join": true}]"#),
    ),
    code(
        "too-many-sources",
        "A join has too many sources.",
        "Join some of them in a view first.",
        Script(
            r#"(printf '{"apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"}, "spec": {"controllers": [{"name": "c", "pipeline": [{"@join": true}], "target": {"kind": "Out"}, "sources": ['; seq 65 | sed 's/.*/{"kind": "A", "as": "A&"},/'; printf '{"kind": "B"}]}]}}') | deltic check -"#,
        ),
    ),
    code(
        "no-source",
        "A controller has only Periodic sources, which deliver no objects.",
        "Add a source that is not Periodic.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"kind": "A", "type": "Periodic"}], "target": {"kind": "B"}}]}}"#,
        ),
    ),
    code(
        "unknown-name",
        "`soft` or `@inputs` names something that does not exist.",
        "Use the kind or the `as` of a source, or the output of a branch.",
        Check(&["A", "B"], r#"[{"@join": {"on": true, "soft": ["C"]}}]"#),
    ),
    code(
        "all-soft",
        "All sources of a join are soft.",
        "Leave one out of `soft`.",
        Check(
            &["A", "B"],
            r#"[{"@join": {"on": true, "soft": ["A", "B"]}}]"#,
        ),
    ),
    code(
        "volatile-key",
        "A join condition or a group key uses `@now` or `@rnd`.",
        "Compute the value in a `@project` before it.",
        Check(&["A"], r#"[{"@gather": ["@now", "$.a"]}]"#),
    ),
    code(
        "bad-argument",
        "A stage or operator does not take this argument.",
        "The message says what it takes.",
        Check(&["A"], r#"[{"@gather": "$.a"}]"#),
    ),
    code(
        "plural-path",
        "A path that must match one field may match several.",
        "Write it without wildcard, filter, slice and `..`.",
        Check(&["A"], r#"[{"@unwind": "$.a[*]"}]"#),
    ),
    code(
        "empty-project",
        "The list of a `@project` is empty.",
        "Add an item, or remove the stage.",
        Check(&["A"], r#"[{"@project": []}]"#),
    ),
    code(
        "bad-branch",
        "A branch does not start with `@inputs` or does not end with `@output`.",
        "Add them.",
        Check(&["A"], r#"[[{"@inputs": ["A"]}, {"@select": true}]]"#),
    ),
    code(
        "unused-stream",
        "Nothing reads the output of a branch.",
        "Read it in another branch, or name a target.",
        Check(
            &["A"],
            r#"[[{"@inputs": ["A"]}, {"@output": "Out"}], [{"@inputs": ["A"]}, {"@output": "x"}]]"#,
        ),
    ),
    code(
        "target-without-branch",
        "No branch feeds a target.",
        "Name it in an `@output`.",
        Check(
            &["A"],
            r#"[[{"@inputs": ["A"]}, {"@output": "x"}], [{"@inputs": ["x"]}, {"@output": "y"}], [{"@inputs": ["y"]}, {"@output": "x"}]]"#,
        ),
    ),
    code(
        "branches-missing",
        "There are several targets and no branches.",
        "Write branches with `@inputs` and `@output`.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"kind": "A"}], "targets": [{"kind": "B"}, {"kind": "C"}], "pipeline": []}]}}"#,
        ),
    ),
    code(
        "source-as-output",
        "The output of a branch has the name of a source.",
        "Choose another name.",
        Check(
            &["A"],
            r#"[[{"@inputs": ["A"]}, {"@output": "A"}], [{"@inputs": ["A"]}, {"@output": "Out"}]]"#,
        ),
    ),
    code(
        "branch-cycle",
        "Branches read each other in a cycle.",
        "Read a source instead.",
        Check(
            &["A"],
            r#"[[{"@inputs": ["A"]}, {"@output": "Out"}], [{"@inputs": ["y"]}, {"@output": "x"}], [{"@inputs": ["x"]}, {"@output": "y"}]]"#,
        ),
    ),
];
