//! Trust: no Operator hurts another one, nothing wrong is deleted, no value of a Secret is shown,
//! and nothing is written without end. Operators, users and objects do their worst here.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod bombs;
mod fights;
mod limits;
mod many;
mod recreation;
mod refusals;
mod secrets;
mod unreadable;

use std::time::{Duration, Instant};

use cluster_tests::{Cluster, Copies, Installed, await_true, copy_name};
use serde_json::{Value, json};

fn operator(name: &str, controllers: &[Value]) -> Value {
    json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": name},
        "spec": {"controllers": controllers}
    })
}

fn controller(name: &str, source: &Value, pipeline: &Value, target: &Value) -> Value {
    json!({"name": name, "sources": [source], "pipeline": pipeline, "target": target})
}

/// The source of all config maps of a namespace with the label `role`.
fn config_maps(namespace: &str, role: &str) -> Value {
    json!({
        "apiGroup": "", "kind": "ConfigMap", "namespace": namespace,
        "labelSelector": {"matchLabels": {"role": role}}
    })
}

fn config_map_target() -> Value {
    json!({"apiGroup": "", "kind": "ConfigMap"})
}

/// The name of a derived object: that of its source with a suffix, in the same namespace.
fn derived_name(suffix: &str) -> Value {
    let name = json!({"@concat": ["$.metadata.name", suffix]});
    json!({"name": name, "namespace": "$.metadata.namespace"})
}

fn config_map(namespace: &str, role: &str, name: &str, data: &Value) -> Value {
    let metadata = json!({"name": name, "namespace": namespace, "labels": {"role": role}});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

/// An object; null if it does not exist.
fn find(cluster: &Cluster, namespace: &str, resource: &str, name: &str) -> Value {
    let get = ["get", resource, name, "-n", namespace];
    let found = cluster.kubectl(&[&get[..], &["--ignore-not-found", "-o", "json"]].concat());
    serde_json::from_str(&found).unwrap_or_default()
}

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

/// Changes a source of an Operator that copies. Returns how long it takes until its copy changes.
fn reaction(installed: &Installed, copies: &Copies, value: &str) -> Duration {
    let cluster = &installed.cluster;
    let start = Instant::now();
    cluster.apply(&copies.source(0, value).to_string());
    await_true("the copy follows its source", || {
        let copy = find(cluster, &copies.namespace, "configmap", &copy_name(0));
        copy["data"]["k"] == value
    });
    start.elapsed()
}
