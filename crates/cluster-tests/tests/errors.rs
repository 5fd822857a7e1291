//! Errors with a real control plane: where those at run time are in the file of their Operator, and
//! what `deltic check` finds with the custom kinds of the cluster.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::process::Command;

use cluster_tests::{Cluster, Installed, await_true, stop_deltic};
use serde_json::json;

/// `data.k` of a `ConfigMap` is not always a number.
const OPERATOR: &str = r#"# The first line is a comment.
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: {name: places}
spec:
  controllers:
  - name: add
    sources:
    - {apiGroup: "", kind: ConfigMap, labelSelector: {matchLabels: {from: places}}}
    pipeline:
    - "@project":
        metadata:
          name: {"@concat": [$.metadata.name, -sum]}
          namespace: $.metadata.namespace
        data:
          sum: {"@string": {"@add": [$.data.k, 1]}}
    target: {apiGroup: "", kind: ConfigMap}
"#;

fn source(cluster: &Cluster, namespace: &str, value: &str) {
    let source = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": value},
        "metadata": {"name": "a", "namespace": namespace, "labels": {"from": "places"}}
    });
    cluster.apply(&source.to_string());
}

#[test]
fn an_error_of_a_file_is_logged_with_its_line_and_column() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("places");
    let file = cluster.directory().join("places.yaml");
    std::fs::write(&file, OPERATOR).unwrap();
    let path = file.to_str().unwrap();
    cluster.apply(&installed.rights(OPERATOR, &[]));
    source(cluster, &namespace, "secret-text");
    let mut lines = OPERATOR.lines().enumerate();
    let (line, column) = lines
        .find_map(|(line, text)| Some((line + 1, text.find("[$.data.k")? + 1)))
        .unwrap();
    let process = installed.deltic_with(&["-f", path, "--lease-namespace", &namespace]);
    let message = "the string is not a number";
    await_true("the error is logged", || process.log().contains(message));
    let log = process.log();
    let error = log.lines().find(|line| line.contains(message)).unwrap();
    let place = format!("({path}:{line}:{column})");
    assert!(error.contains(&place), "no {place} in {error}");
    assert!(!log.contains("secret-text"), "{log}");
    // The error is of this object only, and ends with it.
    source(cluster, &namespace, "4");
    await_true("the sum is derived", || {
        let sums = cluster.get(&["configmaps", "-n", &namespace]);
        let mut sums = sums["items"].as_array().unwrap().iter();
        sums.any(|object| object["data"]["sum"] == "5")
    });
    stop_deltic(process);
}

#[test]
fn check_knows_the_custom_kinds_of_a_cluster() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let spec = json!({"type": "object", "properties": {"schedule": {"type": "string"}}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "backups.check.example.com"},
        "spec": {
            "group": "check.example.com", "scope": "Namespaced",
            "names": {"kind": "Backup", "plural": "backups", "singular": "backup"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
            }]
        }
    });
    cluster.apply(&definition.to_string());
    let operator = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"},
        "spec": {"controllers": [{
            "name": "c",
            "sources": [{"apiGroup": "check.example.com", "kind": "Backup"}],
            "pipeline": [{"@project": {
                "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
                "schedule": "$.spec.shedule"
            }}],
            "target": {"kind": "Out"}
        }]}
    });
    let file = cluster.directory().join("check.json");
    std::fs::write(&file, operator.to_string()).unwrap();
    let check = |args: &[&str]| {
        let mut command = Command::new(cluster_tests::deltic());
        command.args(["check", "--strict", file.to_str().unwrap()]);
        command.args(args).env("KUBECONFIG", cluster.kubeconfig());
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), text)
    };
    assert_eq!(check(&[]).0, Some(0), "without a schema anything goes");
    let (code, text) = check(&["--cluster"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("$.spec has no field shedule"), "{text}");
    assert!(text.contains("did you mean schedule?"), "{text}");
}
