//! Lists of custom resources are merged by the keys in their schema.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use cluster_tests::{Cluster, Installed, eventually, stop_deltic};
use serde_json::{Value, json};

/// The second one looks like a group of Kubernetes itself.
const GROUPS: [&str; 2] = ["example.com", "parts.storage.k8s.io"];

/// A controller that sets the size of the part that a `ConfigMap` names.
fn sizes(group: &str) -> Value {
    let metadata = json!({"name": "$.metadata.name", "namespace": "$.metadata.namespace"});
    let parts = json!([{"name": "$.data.part", "size": "$.data.size"}]);
    json!({
        "name": format!("sizes-of-{}", group.replace('.', "-")),
        "sources": [{
            "apiGroup": "", "kind": "ConfigMap",
            "labelSelector": {"matchLabels": {"role": "source"}}
        }],
        "pipeline": [{"@project": {"metadata": metadata, "spec": {"parts": parts}}}],
        "target": {"apiGroup": group, "kind": "Widget", "type": "Patcher"}
    })
}

/// A custom resource with a list whose elements have names.
fn definition(group: &str) -> Value {
    let part = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "size": {"type": "string"}, "color": {"type": "string"}
    }});
    let parts = json!({"type": "array", "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"], "items": part});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("widgets.{group}"),
            // Groups under `k8s.io` need it.
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}
        },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"parts": parts}}
                }}
            }}]
        }
    })
}

/// Creates a Widget with these parts.
fn create(cluster: &Cluster, group: &str, namespace: &str, (name, parts): (&str, &Value)) {
    let widget = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Widget",
        "metadata": {"name": name, "namespace": namespace}, "spec": {"parts": parts}
    });
    cluster.apply(&widget.to_string());
}

/// The parts of a Widget.
fn parts_of(cluster: &Cluster, group: &str, namespace: &str, name: &str) -> Value {
    let widget = cluster.get(&[&format!("widgets.{group}"), name, "-n", namespace]);
    widget["spec"]["parts"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_is_patched_at_any_position_and_restored() {
    let operator = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
        "metadata": {"name": "sizes"}, "spec": {"controllers": GROUPS.map(sizes)}
    });
    let definitions = GROUPS.map(|group| definition(group).to_string());
    let installed = Installed::new(&operator.to_string(), &definitions.join("\n---\n"));
    let cluster = &installed.cluster;
    for group in GROUPS {
        let definition = format!("crd/widgets.{group}");
        let wait = ["wait", "--for=condition=Established", "--timeout=60s"];
        cluster.kubectl(&[&wait[..], &[&definition]].concat());
    }
    let namespace = cluster.namespace("shop");
    let parts = json!([{"name": "a", "color": "red"}, {"name": "b", "color": "blue"}]);
    for group in GROUPS {
        create(cluster, group, &namespace, ("w", &parts));
    }
    let source = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "w", "namespace": namespace, "labels": {"role": "source"}},
        "data": {"part": "b", "size": "2"}
    });
    cluster.apply(&source.to_string());
    let process = installed.deltic();
    let patched = json!([
        {"name": "a", "color": "red"}, {"name": "b", "color": "blue", "size": "2"}
    ]);
    for group in GROUPS {
        eventually("the part is patched", async || {
            let now = parts_of(cluster, group, &namespace, "w");
            // Merging by position would change the first.
            assert_eq!(now[0], patched[0], "{group}");
            (now == patched).then_some(())
        })
        .await;
    }
    cluster.kubectl(&["delete", "configmap", "w", "-n", &namespace]);
    for group in GROUPS {
        eventually("the part has its former size", async || {
            (parts_of(cluster, group, &namespace, "w") == parts).then_some(())
        })
        .await;
    }
    stop_deltic(process);
}
