//! `deltic top --once` and `deltic graph --live` on a running deltic.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::process::{Command, Output};

use cluster_tests::{Installed, await_some, deltic, health_port, stop_deltic};
use serde_json::{Value, json};

/// Objects in a view and on the cluster; a `ConfigMap` without `data.k` is an error.
const OPERATOR: &str = "
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: {name: shop}
spec:
  controllers:
  - name: entries
    sources:
    - {apiGroup: '', kind: ConfigMap, labelSelector: {matchLabels: {role: source}}}
    pipeline:
    - '@project':
        metadata: {name: $.metadata.name, namespace: $.metadata.namespace}
        spec: {k: {'@concat': [$.data.k, '!']}}
    target: {kind: Entry}
  - name: copies
    sources:
    - {kind: Entry}
    pipeline:
    - '@project':
        metadata:
          name: {'@concat': [$.metadata.name, '-copy']}
          namespace: $.metadata.namespace
        data: {k: $.spec.k}
    target: {apiGroup: '', kind: ConfigMap}
";

fn sources(namespace: &str) -> String {
    let items = (0..5).map(|number| {
        let data = if number == 4 { json!({}) } else { json!({"k": "v"}) };
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": data,
            "metadata": {"name": format!("c{number}"), "namespace": namespace, "labels": {"role": "source"}}
        })
    });
    let items: Vec<Value> = items.collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

fn run(args: &[&str]) -> Output {
    Command::new(deltic()).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_running_deltic_is_shown() {
    let installed = Installed::new(OPERATOR, "");
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("shop");
    cluster.apply(&sources(&namespace));
    let process = installed.deltic();
    installed.await_reason("shop", "ReconciliationFailed");
    let address = await_some("the port of the metrics", || health_port(&process));
    let address = format!("127.0.0.1:{address}");
    let admin = cluster.kubeconfig();
    let observed = [
        "--kubeconfig",
        admin.to_str().unwrap(),
        "--metrics-addr",
        &address,
    ];
    let with = |args: &[&str]| run(&[args, &observed].concat());

    // The controllers with their objects, from metrics; the error in full, from the status.
    let shop = await_some("the numbers", || {
        let output = with(&["top", "--once", "-o", "json"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let top: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(top["metrics"]["error"], Value::Null);
        assert_eq!(top["status"]["error"], Value::Null);
        let shop = top["operators"][0].clone();
        let done =
            shop["controllers"][1]["targets"] == json!([{"kind": "ConfigMap", "objects": 4}]);
        done.then_some(shop)
    });
    assert_eq!(shop["ready"]["reason"], "ReconciliationFailed");
    let entries = &shop["controllers"][0];
    let source = json!([{"name": "ConfigMap", "objects": 5, "synced": true}]);
    assert_eq!(entries["sources"], source);
    assert_eq!(entries["targets"], json!([{"kind": "Entry", "objects": 4}]));
    assert_eq!(entries["numbers"]["errors"], 1);
    let error = entries["lastErrors"][0].as_str().unwrap();
    assert!(error.contains(&format!("{namespace}/c4")), "{error}");
    let latency = shop["numbers"]["latencySeconds"].as_f64();
    assert!(latency.is_some_and(|latency| latency > 0.0), "{shop}");

    let output = with(&["graph", "--live"]);
    let graph = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for part in [
        "<b>ConfigMap</b><br/><i>core</i><br/><b>5 objects</b>",
        "<b>Entry</b><br/><i>view of shop</i><br/><b>4 objects</b>",
        "changes/s, 1 error</b>\"]]:::failing",
        "<b>ConfigMap ↺</b><br/><i>core</i><br/><b>4 objects</b>",
    ] {
        assert!(graph.contains(part), "{part}\n{graph}");
    }

    // A user without permissions sees the metrics.
    let nobody = cluster.service_account(&namespace, "nobody").kubeconfig();
    let output = run(&[
        "top",
        "--once",
        "--kubeconfig",
        nobody.to_str().unwrap(),
        "--metrics-addr",
        &address,
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("shop"));
    let why = text(&output.stderr);
    assert!(
        why.contains("no status: ") && why.contains("forbidden"),
        "{why}"
    );

    // Without metrics there is the status, and at last nothing.
    stop_deltic(process);
    let output = with(&["top", "--once"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("ReconciliationFailed"));
    let why = text(&output.stderr);
    assert!(
        why.contains("no metrics from ") && why.contains("refused"),
        "{why}"
    );
    let output = run(&[
        "top",
        "--once",
        "--kubeconfig",
        "/missing",
        "--metrics-addr",
        &address,
    ]);
    assert_eq!(output.status.code(), Some(1));
}
