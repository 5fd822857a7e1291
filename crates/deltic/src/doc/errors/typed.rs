//! Codes of the typed checks.

use crate::doc::codes::Trigger::{Check, Elsewhere, Operator};
use crate::doc::codes::{CodeDoc, code};

pub(super) const CODES: &[CodeDoc] = &[
    code(
        "no-such-field",
        "A warning: the kind of the object has no such field.",
        "Correct the name; a key with dots needs brackets: `$.metadata.labels['a.b/c']`.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}], "pipeline": [{"@select": {"@exists": "$.spec.nodName"}}, {"@project": {"metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"}}}], "target": {"kind": "T"}}]}}"#,
        ),
    ),
    code(
        "no-such-kind",
        "The group has no such kind.",
        "Correct the kind; it is singular and starts with a capital letter.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "", "kind": "Pods"}], "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"}}}], "target": {"kind": "T"}}]}}"#,
        ),
    ),
    code(
        "no-such-group",
        "There is no such API group.",
        "Write the group without version; the core group is `\"\"`.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "core", "kind": "Pod"}], "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name"}}}], "target": {"kind": "T"}}]}}"#,
        ),
    ),
    code(
        "no-such-version",
        "A warning: the kind has no such version.",
        "Leave the version out; it is then discovered.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "apps", "version": "v9", "kind": "Deployment"}], "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name"}}}], "target": {"kind": "T"}}]}}"#,
        ),
    ),
    code(
        "unwritten-view",
        "A warning: no controller writes a view that is read.",
        "Set `apiGroup` if a kind of the cluster is meant, or allow it if users create the objects.",
        Check(
            &["A"],
            r#"[{"@project": {"metadata": {"name": "$.metadata.name"}}}]"#,
        ),
    ),
    code(
        "unknown-kind",
        "A warning: deltic does not know the kind.",
        "Give its CustomResourceDefinition with `-f`.",
        Elsewhere("a patch for a kind without schema"),
    ),
    code(
        "unknown-variable",
        "A warning: an expression of a patch uses a variable that may not exist.",
        "Use `resource`, or a key that every document has.",
        Elsewhere("`${name}` in a patch"),
    ),
    code(
        "wrong-type",
        "A value always has a type that is refused here.",
        "Convert it, for example with `@string`.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}], "pipeline": [{"@select": "$.metadata.name"}, {"@project": {"metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"}}}], "target": {"kind": "T"}}]}}"#,
        ),
    ),
    code(
        "never-equal",
        "A warning: a comparison can never be true.",
        "Compare values of the same type; labels and annotations are strings.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}], "pipeline": [{"@select": {"@eq": ["$.metadata.labels.a", 1]}}, {"@project": {"metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"}}}], "target": {"kind": "T"}}]}}"#,
        ),
    ),
    code(
        "exists-literal",
        "A warning: `@exists` of a literal is always true.",
        "Write a path: `$.spec`.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}], "pipeline": [{"@select": {"@exists": "spec"}}, {"@project": {"metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"}}}], "target": {"kind": "T"}}]}}"#,
        ),
    ),
    code(
        "operator-in-map",
        "A warning: a map with several keys has one that starts with `@`, so that it is data and no operator.",
        "Give the operator a map of its own.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}], "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"}, "a": {"@len": [1], "b": 2}}}], "target": {"kind": "T"}}]}}"#,
        ),
    ),
    code(
        "refused-value",
        "The schema of the target refuses a value.",
        "Convert it, for example with `@string`.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}], "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"}, "data": {"n": 1}}}], "target": {"apiGroup": "", "kind": "ConfigMap"}}]}}"#,
        ),
    ),
    code(
        "missing-field",
        "A warning: the schema of the target requires a field that is not yielded.",
        "Add it.",
        Elsewhere("a Service without ports"),
    ),
    code(
        "invalid-name",
        "A name is not valid for the kind.",
        "Use lower-case letters, digits and `-`.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}], "pipeline": [{"@project": {"metadata": {"name": "Not_Valid", "namespace": "a"}}}], "target": {"apiGroup": "", "kind": "ConfigMap"}}]}}"#,
        ),
    ),
    code(
        "whole-object",
        "A warning: a pipeline passes a whole object on to a target of the same kind, so that it writes back what a user has just changed.",
        "Name the fields that you own, or use a Patcher.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}], "pipeline": [], "target": {"apiGroup": "", "kind": "Pod"}}]}}"#,
        ),
    ),
    code(
        "fan-out",
        "A warning: no condition connects the sources of a join, so that all combinations are derived.",
        "Add a condition on both sources, or allow it if that is meant.",
        Elsewhere("a join with a condition on each source alone"),
    ),
];
