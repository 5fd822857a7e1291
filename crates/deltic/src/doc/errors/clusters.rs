//! Codes that occur only on a cluster.

use crate::doc::codes::Trigger::{Elsewhere, File, Script};
use crate::doc::codes::{CodeDoc, code};

pub(super) const CODES: &[CodeDoc] = &[
    code(
        "no-cluster",
        "There is no connection to a cluster.",
        "Check KUBECONFIG and `--context`.",
        Script("KUBECONFIG=none deltic run --cluster"),
    ),
    code(
        "no-answer",
        "A running deltic does not answer a question of `deltic why`.",
        "See the message: views are not served, deltic is not reached, or the Operator is not complete yet.",
        Elsewhere("`deltic why health/shop/web` while no deltic serves views"),
    ),
    code(
        "unreachable",
        "Neither the metrics of a running deltic nor the status of its Operators can be read.",
        "Run deltic with `--health-addr` and name its address with `--metrics-addr`; `kubectl port-forward` reaches a pod.",
        Script("KUBECONFIG=none deltic top --once --metrics-addr 127.0.0.1:1"),
    ),
    code(
        "no-operators",
        "The Operators of a cluster cannot be read.",
        "See the message; `deltic graph --live` takes files, too.",
        Script("KUBECONFIG=none deltic graph --live"),
    ),
    code(
        "fighting",
        "An object is changed back again and again.",
        "See which manager changes it, and list its fields in `target.ignore`.",
        Elsewhere("two controllers with different opinions"),
    ),
    code(
        "refused",
        "The server or a webhook refused an object.",
        "See the message of the server.",
        Elsewhere("an object that the schema refuses"),
    ),
    code(
        "forbidden",
        "deltic lacks a permission.",
        "Grant it; `deltic rbac` prints the rules that an Operator needs.",
        Elsewhere("a kind that is not in the ClusterRole"),
    ),
    code(
        "deletion-held",
        "More objects would be removed than `maxDeletions` allows.",
        "Check why, then set the annotation that the message shows.",
        Elsewhere("an edit that removes many objects"),
    ),
    code(
        "owner-dropped",
        "A warning: an ownerReference is not that of a source object.",
        "Use the uid of an object that the document is derived from.",
        Elsewhere("an ownerReference with a made-up uid"),
    ),
    code(
        "wrong-scope",
        "A namespace on a kind without namespaces, or none on one with them.",
        "Correct `metadata.namespace`.",
        File(
            r#"{"apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"}, "spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "apps", "kind": "Deployment"}], "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"}}}], "target": {"apiGroup": "", "kind": "Namespace"}}]}}"#,
        ),
    ),
    code(
        "outside-namespace",
        "A target is outside the namespace of `--namespace`.",
        "Run deltic without it, or write into that namespace.",
        Elsewhere("`--namespace a` and a target in b"),
    ),
    code(
        "record-too-large",
        "A Patcher would have to record too many fields.",
        "Patch fewer fields.",
        Elsewhere("a patch of thousands of fields"),
    ),
    code(
        "no-namespace",
        "The namespace of a target does not exist or is being deleted.",
        "Create it; the object is then written at once.",
        Elsewhere("a target in a namespace that does not exist"),
    ),
    code(
        "no-kind",
        "The kind of a target does not exist.",
        "Install its CRD; the objects are then written at once.",
        Elsewhere("a target of a kind without its CRD"),
    ),
    code(
        "unavailable",
        "The server cannot be reached, or answers with an error.",
        "It is tried again.",
        Elsewhere("an API server that restarts"),
    ),
    code(
        "not-kept",
        "A Patcher undoes a change whose former value it did not keep.",
        "Set the field yourself.",
        Elsewhere("a patch of a Secret that is undone"),
    ),
    code(
        "unreadable",
        "An object cannot be read: it is too large, too deep, or not of the expected form.",
        "Correct the object; what is derived from it stays until then.",
        Elsewhere("an object over 100 levels deep"),
    ),
    code(
        "health-addr",
        "The address for probes cannot be used.",
        "Choose another one with `--health-addr`.",
        Script(
            r#"echo '{"apiVersion": "v1", "kind": "Config", "current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}], "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}], "users": [{"name": "a", "user": {}}]}' > config; KUBECONFIG=config deltic run --cluster --health-addr 192.0.2.1:80"#,
        ),
    ),
];
