//! Refusals of the server that are longer than a status.

use cluster_tests::{Installed, await_true, stop_deltic};
use serde_json::{Value, json};

use crate::{config_map, config_maps, controller, find, operator};

#[test]
fn the_reason_behind_a_long_patch_is_shown() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("long");
    let source = config_maps(&namespace, "source");
    // A number where the server wants a text. Its answer quotes the object, and says so at the end.
    let pipeline = json!([{"@project": {
        "metadata": {"name": "target", "namespace": "$.metadata.namespace"},
        "data": {"n": {"@cond": [{"@eq": ["$.data.n", "text"]}, "$.data.n", {"@int": "$.data.n"}]}}
    }}]);
    let target = json!({"apiGroup": "", "kind": "ConfigMap", "type": "Patcher"});
    let controller = controller("c", &source, &pipeline, &target);
    installed.install(&operator("long", &[controller]).to_string());
    let long = "x".repeat(5_000);
    let target = config_map(&namespace, "other", "target", &json!({"long": long}));
    cluster.apply(&target.to_string());
    let mut like = target;
    like["data"] = json!({"k": "v"});
    let bystanders = cluster.bystanders("long", &[like], 20);
    let put = |n: &str| {
        let source = config_map(&namespace, "source", "a", &json!({"n": n}));
        cluster.apply(&source.to_string());
    };
    put("5");
    let patch = ["patch", "configmap", "target", "-n", &namespace];
    let patch = [&patch[..], &["--type=merge", "-p", r#"{"data":{"n":5}}"#]].concat();
    let answer = cluster.try_kubectl(&patch, "").unwrap_err().stderr;
    assert!(answer.len() > 5_000, "{answer}");
    let reason = &answer.trim_end()[answer.trim_end().len() - 60..];

    let process = installed.deltic();
    installed.await_reason("long", "ReconciliationFailed");
    await_true("the error is listed", || {
        let errors = &installed.controller("long", "c")["lastErrors"];
        errors.as_array().is_some_and(|errors| !errors.is_empty())
    });
    let errors = installed.controller("long", "c")["lastErrors"].clone();
    let [Value::String(error)] = errors.as_array().unwrap().as_slice() else {
        panic!("{errors}");
    };
    assert!(error.ends_with(reason), "no {reason:?} in {error}");
    assert!(error.contains("ConfigMap"), "{error}");
    put("text");
    installed.await_reason("long", "Ready");
    let target = find(cluster, &namespace, "configmap", "target");
    assert_eq!(target["data"]["n"], "text");
    bystanders.assert_untouched();
    stop_deltic(process);
}
