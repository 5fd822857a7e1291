//! Operators that read each other's views: the objects that a reader derived stay while its
//! producer does not run.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use cluster_tests::{Cluster, Installed, await_some, stop_deltic};
use serde_json::{Value, json};

/// An Operator that puts config maps with the label `role: source` into a view. One without
/// `data.k` is an error.
fn producer() -> Value {
    operator(
        "producer",
        &json!({
            "apiGroup": "", "kind": "ConfigMap",
            "labelSelector": {"matchLabels": {"role": "source"}}
        }),
        &json!({
            "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
            "k": {"@concat": ["$.data.k", "!"]}
        }),
        &json!({"kind": "Entry"}),
    )
}

/// An Operator that derives config maps from the objects of that view.
fn reader() -> Value {
    operator(
        "reader",
        &json!({"apiGroup": "producer.view.dcontroller.io", "kind": "Entry"}),
        &json!({
            "metadata": {
                "name": {"@concat": ["$.metadata.name", "-copy"]},
                "namespace": "$.metadata.namespace"
            },
            "data": {"k": "$.k"}
        }),
        &json!({"apiGroup": "", "kind": "ConfigMap"}),
    )
}

fn operator(name: &str, source: &Value, project: &Value, target: &Value) -> Value {
    json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": name},
        "spec": {"controllers": [{
            "name": "c", "sources": [source], "pipeline": [{"@project": project}], "target": target
        }]}
    })
}

fn apply(cluster: &Cluster, namespace: &str, name: &str, data: &Value) {
    let source = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": {"name": name, "namespace": namespace, "labels": {"role": "source"}}
    });
    cluster.apply(&source.to_string());
}

/// The names and uids of the copies.
fn copies(cluster: &Cluster, namespace: &str) -> Vec<(String, String)> {
    let live = cluster.get(&["configmaps", "-n", namespace]);
    let items = live["items"].as_array().unwrap().iter();
    let text = |object: &Value, field: &str| object["metadata"][field].as_str().unwrap().to_owned();
    let all = items.map(|object| (text(object, "name"), text(object, "uid")));
    all.filter(|(name, _)| name.ends_with("-copy")).collect()
}

/// Waits until the status of the reader says that it waits for the view for this reason.
fn await_waiting(installed: &Installed, why: &str) {
    await_some(&format!("the reader waits: {why}"), || {
        let message = installed.await_reason("reader", "NotReady");
        let view = message.contains("view Entry of Operator producer");
        (view && message.contains(why)).then_some(())
    });
}

#[test]
fn derived_objects_stay_while_the_producer_does_not_run() {
    let both = [producer(), reader()].map(|operator| operator.to_string());
    let installed = Installed::new(&both.join("\n---\n"), "");
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("views");
    let data = json!({"k": "v"});
    for name in ["a", "b", "c"] {
        apply(cluster, &namespace, name, &data);
    }
    let process = installed.deltic();
    installed.await_reason("reader", "Ready");
    await_some("three copies", || {
        (copies(cluster, &namespace).len() == 3).then_some(())
    });
    let before = copies(cluster, &namespace);

    // The producer is deleted while the reader runs.
    cluster.kubectl(&["delete", "operator", "producer"]);
    await_waiting(&installed, "there is no such Operator");
    assert_eq!(copies(cluster, &namespace), before);
    stop_deltic(process);

    // The producer is missing, and then invalid, after a restart.
    let process = installed.deltic();
    await_waiting(&installed, "there is no such Operator");
    let mut invalid = producer();
    invalid["spec"]["controllers"][0]["pipeline"] = json!([{"@nothing": 1}]);
    cluster.apply(&invalid.to_string());
    await_waiting(&installed, "is invalid or refused");
    assert_eq!(copies(cluster, &namespace), before);

    // The producer has an object in error.
    apply(cluster, &namespace, "b", &json!({"other": "x"}));
    cluster.kubectl(&["delete", "configmap", "c", "-n", &namespace]);
    cluster.apply(&producer().to_string());
    await_waiting(&installed, "2 objects that are no longer derived stay");
    assert_eq!(copies(cluster, &namespace), before);

    // Without errors, objects that are no longer derived are removed, and nothing else is changed.
    apply(cluster, &namespace, "b", &data);
    await_some("two copies", || {
        (copies(cluster, &namespace) == before[..2]).then_some(())
    });
    installed.await_reason("reader", "Ready");
    stop_deltic(process);
}
