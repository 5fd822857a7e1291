//! An object whose namespace is missing, on a real cluster.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use cluster_tests::{Installed, eventually, stop_deltic};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use serde_json::json;

/// An Operator that copies `ConfigMap`s to the namespace that they name.
const OPERATOR: &str = r#"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata:
  name: copies
spec:
  controllers:
  - name: copy
    sources:
    - apiGroup: ""
      kind: ConfigMap
      labelSelector: {matchLabels: {role: source}}
    pipeline:
    - "@project":
        metadata: {name: $.metadata.name, namespace: $.data.into}
        data: $.data
    target: {apiGroup: "", kind: ConfigMap}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_created_as_soon_as_its_namespace_exists() {
    let installed = Installed::new(OPERATOR, "");
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("shop");
    let source = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": namespace, "labels": {"role": "source"}},
        "data": {"into": "late"}
    });
    cluster.apply(&source.to_string());
    let process = installed.deltic();
    eventually("the status names the namespace", async || {
        let operator = cluster.get(&["operators.dcontroller.io", "copies"]);
        let status = operator["status"].to_string();
        status.contains("waiting for the namespace").then_some(())
    })
    .await;
    cluster.kubectl(&["create", "namespace", "late"]);
    // Within a minute; without the event of the namespace it would take ten.
    let copies: Api<ConfigMap> = Api::namespaced(cluster.client(), "late");
    eventually("the copy", async || copies.get_opt("a").await.unwrap()).await;
    stop_deltic(process);
}
