//! Codes that occur only on a cluster.

use crate::doc::codes::Trigger::{File, Manifests, Message, Script};
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
        Script(
            r#"echo '{"apiVersion": "v1", "kind": "Config", "current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}], "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}], "users": [{"name": "a", "user": {}}]}' > config; KUBECONFIG=config deltic why health/shop/web"#,
        ),
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
        "An object is changed back or deleted again and again. It is shown until the object has been left alone for a minute, and for twice the last pause.",
        "See which manager changes it, and list its fields in `target.ignore`.",
        Message(
            "a Patcher sets the replicas of a Deployment that an autoscaler sets, too",
            ".spec.replicas: the value is changed back repeatedly by kube-controller-manager; the next write is in 60 s",
        ),
    ),
    code(
        "refused",
        "The server, a webhook, a policy or a quota refused an object.",
        "See the message of the server. The object is written again when what is derived or what is live changes, and every ten minutes; while a quota is used up, with growing pauses.",
        Message(
            "a Deployment with `replicas: -1`",
            "the server refused the object (422): Deployment.apps \"web\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0",
        ),
    ),
    code(
        "forbidden",
        "deltic lacks a permission.",
        "Grant it; `deltic rbac` prints the rules that an Operator needs.",
        Message(
            "a target ConfigMap in the namespace shop, and a Role there without `create`",
            "missing permission: the account that the Operator writes as may not create configmaps in API group \"\" in namespace shop",
        ),
    ),
    code(
        "deletion-held",
        "More objects would be removed than `maxDeletions` allows.",
        "Check why, then run the command of the message: it sets an annotation to the generation of the Operator; another value has no effect. If the Operator is given with `-f`, raise its limit and start deltic again.",
        Message(
            "`maxDeletions: 10`, and an edit of a `@select` after which 50 objects are no longer derived",
            "its removal is held, because maxDeletions allows fewer removals at once; to allow all that are held: kubectl annotate dop shop dcontroller.io/allow-deletions=3 --overwrite",
        ),
    ),
    code(
        "owner-dropped",
        "A warning: an ownerReference is not that of a source object.",
        "Use the uid of an object that the document is derived from.",
        Message(
            "a `@project` with an ownerReference whose uid is a literal",
            "metadata.ownerReferences[0] is not written: the object is not derived from that owner",
        ),
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
        Message(
            "`deltic run --cluster --namespace shop`, and a target in the namespace lab",
            "not written: with --namespace shop, deltic writes only objects of that namespace",
        ),
    ),
    code(
        "record-too-large",
        "A Patcher would have to record too many fields.",
        "Patch fewer fields.",
        Script(
            r#"echo '{"apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"}, "spec": {"controllers": [{"name": "c", "sources": [{"kind": "A"}], "target": {"apiGroup": "", "kind": "ConfigMap", "type": "Patcher"}}]}}' > o.json; (printf '{"kind": "A", "metadata": {"name": "a"}, "data": {'; seq 4000 | sed 's/.*/"field-&": "x",/'; printf '"z": "x"}} {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}') > a.json; deltic render o.json a.json"#,
        ),
    ),
    code(
        "no-namespace",
        "The namespace of a target does not exist or is being deleted.",
        "Create it; the object is then written at once.",
        Message(
            "a target in a namespace that does not exist",
            "waiting for the namespace",
        ),
    ),
    code(
        "no-kind",
        "The kind of a target does not exist.",
        "Install its CRD; the objects are then written at once.",
        Message(
            "a target of a kind whose CRD is not installed",
            "waiting for the kind: the cluster does not serve it",
        ),
    ),
    code(
        "unavailable",
        "The server cannot be reached, or answers with an error.",
        "It is tried again.",
        Message(
            "an API server that restarts",
            "not written yet, and tried again: etcdserver: leader changed",
        ),
    ),
    code(
        "not-kept",
        "A Patcher would change a value in place whose former value cannot be stored.",
        "Write it to another field, or derive it from other objects.",
        Manifests(
            r#"{"apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"}, "spec": {"controllers": [{"name": "c", "sources": [{"apiGroup": "", "kind": "Secret"}], "pipeline": [{"@project": {"metadata": "$.metadata", "data": {"a": {"@concat": ["$.data.a", "x"]}}}}], "target": {"apiGroup": "", "kind": "Secret", "type": "Patcher"}}]}}
---
{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"}, "data": {"a": "eA=="}}
"#,
            &[],
        ),
    ),
    code(
        "unreadable",
        "An object cannot be read: it is too large, too deep, or not of the expected form.",
        "Correct the object; what is derived from it stays until then.",
        Message(
            "a custom resource whose `spec.tree` has more than 100 levels",
            "left as it is: spec.tree is nested deeper than 100 levels",
        ),
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
