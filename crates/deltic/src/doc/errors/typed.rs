//! Codes of the typed checks.

use crate::doc::codes::Trigger::{Check, File, Operator, Script};
use crate::doc::codes::{CodeDoc, code};

pub(super) const CODES: &[CodeDoc] = &[
    code(
        "now-as-text",
        "A warning: a text that is probably meant as the time.",
        "Write `\"@now\"`.",
        Check(
            &["A"],
            r#"[{"@select": {"@gt": ["@nwo", "$.spec.until"]}}, {"@project": {"metadata": {"name": "$.metadata.name"}}}]"#,
        ),
    ),
    code(
        "built-in-view",
        "A warning: a target without `apiGroup`, which is a view, has the name of a built-in kind, and nobody reads the view.",
        "Add `apiGroup` (the core group is `\"\"`), or give the view another name.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}], "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"}}}], "target": {"kind": "ConfigMap"}}]}}"#,
        ),
    ),
    code(
        "duplicate-operator",
        "A warning: two Operators of the files have the same name.",
        "Rename one of them, or give only one of the files.",
        Script(
            r#"(for kind in A B; do echo '{"apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"}, "spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "", "kind": "Node"}], "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name"}}}], "target": {"kind": "'$kind'"}}]}}'; echo ---; done) | deltic check -"#,
        ),
    ),
    code(
        "unknown-code",
        "A warning: a comment or annotation allows a warning that does not exist.",
        "Correct the code; `deltic doc --list` prints all.",
        Operator(
            r#"{"metadata": {"name": "op", "annotations": {"dcontroller.io/allow": "fan-owt"}}, "spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}], "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"}}}], "target": {"kind": "T"}}]}}"#,
        ),
    ),
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
        "A warning: a path behind a join starts with a name that is none of the joined sources.",
        "Start it with the name of a source.",
        Check(
            &["A", "B"],
            r#"[{"@join": {"@eq": ["$.A.spec.b", "$.B.metadata.name"]}}, {"@project": {"metadata": {"name": "$.C.metadata.name"}}}]"#,
        ),
    ),
    code(
        "unknown-variable",
        "A warning: an expression of a patch uses a variable that may not exist.",
        "Use `resource`, or a key that every document has.",
        Check(
            &["A"],
            r#"[{"@project": {"metadata": {"name": "$.metadata.name"}, "size": 1}}, {"@patch": {"operations": [{"op": "add", "path": "/twice", "value": "${siz * 2}"}]}}]"#,
        ),
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
        "A warning: the result of `@exists` or `@isnil` of a literal is always the same.",
        "Write a path: `$.spec`.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}], "pipeline": [{"@select": {"@exists": "spec"}}, {"@project": {"metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"}}}], "target": {"kind": "T"}}]}}"#,
        ),
    ),
    code(
        "path-as-text",
        "A warning: a text is the path of a field without `$.`, contains one as in a template (`{{ .spec.replicas }}`, `a-${metadata.name}`, `a-$.metadata.name`), or starts with the name of a source or stream, as a path would behind `$.`; or it is a path in the value of a patch, where only `${…}` is evaluated. An error where no text is possible.",
        "Write a path: `$.metadata.name`, behind a join `$.Pod.spec`, in a patch `${Pod.spec}`. If the text is meant, put it into `@literal`; in a patch allow the warning.",
        Check(
            &["A", "B"],
            r#"[{"@join": {"@eq": ["$.A.spec.b", "$.B.metadata.name"]}}, {"@project": {"metadata": {"name": "$.A.metadata.name"}, "b": "B.spec.b"}}]"#,
        ),
    ),
    code(
        "first-match",
        "A warning: a path that may match several values is used where one value is used, which is the first match.",
        "For a list of all matches use `@query`; for one of them an index, or a filter for one key.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}], "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"}, "names": "$.spec.containers[*].name"}}], "target": {"kind": "T"}}]}}"#,
        ),
    ),
    code(
        "swapped-arguments",
        "A warning: the arguments of `@regexp` are in the wrong order.",
        "The pattern comes first: `{\"@regexp\": [<pattern>, <string>]}`.",
        Check(
            &["A"],
            r#"[{"@select": {"@regexp": ["$.metadata.name", "^web-[0-9]+$"]}}]"#,
        ),
    ),
    code(
        "operator-in-map",
        "A warning: a map with several keys has one that starts with `@`, so that it is data and no operator. An error where no map is possible.",
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
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}], "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"}, "spec": {"replicas": 1}}}], "target": {"apiGroup": "apps", "kind": "Deployment"}}]}}"#,
        ),
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
        "only-metadata",
        "A warning: a target of the type Updater, which is the default, gets only metadata, so that all other fields of an object that exists are removed.",
        "Add `type: Patcher` to change objects of others, or allow it if the objects need no content.",
        Operator(
            r#"{"spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "", "kind": "Pod"}], "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"}}}], "target": {"apiGroup": "", "kind": "ConfigMap"}}]}}"#,
        ),
    ),
    code(
        "kubectl-boolean",
        "A warning: a key or text without quotes is a boolean for kubectl, which reads YAML 1.1: `on`, `off`, `yes`, `no`, `y` and `n`.",
        "Put it in quotes.",
        File(
            "apiVersion: dcontroller.io/v1alpha1\nkind: Operator\nmetadata: {name: o}\nspec: {controllers: [{name: c, sources: [{kind: A}], pipeline: [{\"@join\": {on: true}}], target: {kind: B}}]}\n",
        ),
    ),
    code(
        "fan-out",
        "A warning: no condition connects the sources of a join, so that all combinations are derived.",
        "Add a condition on both sources, or allow it if that is meant.",
        Check(
            &["A", "B"],
            r#"[{"@join": {"@and": [{"@exists": "$.A.spec"}, {"@exists": "$.B.spec"}]}}, {"@project": {"metadata": {"name": "$.A.metadata.name"}}}]"#,
        ),
    ),
];
