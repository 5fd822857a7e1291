//! Lists of custom resources are merged by the keys in their schema.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use cluster_tests::{Installed, eventually, stop_deltic};
use serde_json::json;

/// An Operator that sets the size of the part that a `ConfigMap` names.
const OPERATOR: &str = r#"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata:
  name: sizes
spec:
  controllers:
  - name: size
    sources:
    - apiGroup: ""
      kind: ConfigMap
      labelSelector: {matchLabels: {role: source}}
    pipeline:
    - "@project":
        metadata: {name: $.metadata.name, namespace: $.metadata.namespace}
        spec:
          parts:
          - name: $.data.part
            size: $.data.size
    target: {apiGroup: example.com, kind: Widget, type: Patcher}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_part_is_patched_at_any_position_and_restored() {
    let part = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "size": {"type": "string"}, "color": {"type": "string"}
    }});
    let parts = json!({"type": "array", "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"], "items": part});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"parts": parts}}
                }}
            }}]
        }
    });
    let installed = Installed::new(OPERATOR, &definition.to_string());
    let cluster = &installed.cluster;
    cluster.kubectl(&[
        "wait",
        "--for=condition=Established",
        "--timeout=60s",
        "crd/widgets.example.com",
    ]);
    let namespace = cluster.namespace("shop");
    let parts = json!([{"name": "a", "color": "red"}, {"name": "b", "color": "blue"}]);
    let widget = json!({
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "w", "namespace": namespace}, "spec": {"parts": parts}
    });
    cluster.apply(&widget.to_string());
    let source = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "w", "namespace": namespace, "labels": {"role": "source"}},
        "data": {"part": "b", "size": "2"}
    });
    cluster.apply(&source.to_string());
    let process = installed.deltic();
    let now = || {
        let widget = cluster.get(&["widgets.example.com", "w", "-n", &namespace]);
        widget["spec"]["parts"].clone()
    };
    let patched = json!([
        {"name": "a", "color": "red"}, {"name": "b", "color": "blue", "size": "2"}
    ]);
    eventually("the part is patched", async || {
        let now = now();
        // Merging by position would change the first.
        assert_eq!(now[0], patched[0]);
        (now == patched).then_some(())
    })
    .await;
    cluster.kubectl(&["delete", "configmap", "w", "-n", &namespace]);
    eventually("the part has its former size", async || {
        (now() == parts).then_some(())
    })
    .await;
    stop_deltic(process);
}
