//! Codes of Operators.

use crate::doc::codes::Trigger::{Check, File, Operator, Stream};
use crate::doc::codes::{CodeDoc, code};

pub(super) const CODES: &[CodeDoc] = &[
    code(
        "no-operator",
        "There is no Operator where one is expected.",
        "An Operator has `apiVersion: dcontroller.io/v1alpha1` and `kind: Operator`.",
        File("kind: Pod\nmetadata: {name: a}\n"),
    ),
    code(
        "several-operators",
        "A command that runs one Operator got several.",
        "Run the command once for each.",
        Stream(&["render", "operator.yaml", "other.yaml"], ""),
    ),
    code(
        "bad-api-version",
        "The apiVersion of an Operator is unknown.",
        "Write `dcontroller.io/v1alpha1`.",
        File(
            "apiVersion: dcontroller.io/v2\nkind: Operator\nmetadata: {name: a}\nspec: {controllers: []}\n",
        ),
    ),
    code(
        "bad-name",
        "The name of an Operator is missing or not a DNS label, the namespace of a source or the `serviceAccount` is no name of one, or the kind of a view is not the name of a kind. At run time: a derived object has a name or namespace that no object can have: with spaces, control characters, characters outside of ASCII, one of `/ % ? # \\`, or `.` or `..` alone.",
        "Use lower-case letters, digits and `-`, at most 63 characters; for a kind letters and digits.",
        Operator(r#"{"metadata": {"name": "Not_OK"}}"#),
    ),
    code(
        "unknown-field",
        "A field does not exist.",
        "Correct the name; the nearest one is suggested.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sorces": [{"kind": "Pod"}], "target": {"kind": "Out"}}]}}"#,
        ),
    ),
    code(
        "bad-field",
        "A field is missing or has the wrong form.",
        "The message says what is expected.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"kind": 1}], "target": {"kind": "Out"}}]}}"#,
        ),
    ),
    code(
        "duplicate-controller",
        "Two controllers have the same name.",
        "Rename one of them.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"kind": "A"}], "target": {"kind": "B"}}, {"name": "c", "sources": [{"kind": "A"}], "target": {"kind": "C"}}]}}"#,
        ),
    ),
    code(
        "duplicate-target",
        "Two targets of a controller have the same kind.",
        "Remove one of them.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"kind": "A"}], "targets": [{"kind": "B"}, {"kind": "B"}], "pipeline": [[{"@inputs": ["A"]}, {"@output": "B"}]]}]}}"#,
        ),
    ),
    code(
        "foreign-view",
        "A target is in the views of another Operator.",
        "Write into a view of your own; the other Operator can read it.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"kind": "A"}], "target": {"apiGroup": "other.view.dcontroller.io", "kind": "B"}}]}}"#,
        ),
    ),
    code(
        "bad-selector",
        "A label selector has the wrong form. In an expression, a warning.",
        "Use matchLabels and matchExpressions.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"kind": "A", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}], "target": {"kind": "B"}}]}}"#,
        ),
    ),
    code(
        "bad-predicate",
        "A predicate is unknown or has the wrong form.",
        "The predicates are GenerationChanged, ResourceVersionChanged, LabelChanged and AnnotationChanged, combined with And, Or and Not.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"kind": "A", "predicate": "Changed"}], "target": {"kind": "B"}}]}}"#,
        ),
    ),
    code(
        "bad-duration",
        "A duration cannot be read.",
        "Write a number with a unit, such as `30s`, `1h30m` or `2d`.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"kind": "A"}, {"kind": "A", "type": "Periodic", "parameters": {"period": "often"}}], "target": {"kind": "B"}}]}}"#,
        ),
    ),
    code(
        "join-without-key",
        "A warning: a join has no equality between its sources, so that all combinations are examined.",
        "Add an `@eq` of a field of each source, if there is one.",
        Check(
            &["A", "B"],
            r#"[{"@join": {"@gt": ["$.A.n", "$.B.n"]}}, {"@project": {"metadata": {"name": "$.A.metadata.name"}}}]"#,
        ),
    ),
    code(
        "secret-data",
        "A warning: data of Secrets flows into another kind.",
        "Write into a Secret, or project only the fields that are not secret.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "", "kind": "Secret"}], "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name"}, "data": "$.data"}}], "target": {"apiGroup": "", "kind": "ConfigMap"}}]}}"#,
        ),
    ),
    code(
        "time-stands-still",
        "A warning: `@now` is used where no deadline and no Periodic source moves it on.",
        "Compare with `@lt @lte @gt @gte`, which sets a deadline, or add a Periodic source.",
        Check(
            &["A"],
            r#"[{"@project": {"metadata": {"name": "$.metadata.name"}, "age": {"@timeSub": ["@now", "$.metadata.creationTimestamp"]}}}]"#,
        ),
    ),
];
