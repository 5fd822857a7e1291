//! The server's answers quote what they refuse, which may be a value of a Secret.

use cluster_tests::{Installed, await_true, metrics, stop_deltic};
use serde_json::{Value, json};

use crate::{config_map_target, controller, derived_name, operator};

/// A value that is no label, and whose words occur nowhere else.
const PASSWORD: &str = "hunter2 correct horse";

/// Writes the value of a Secret into a label: directly, and through a view of another Operator.
fn operators(namespace: &str) -> String {
    let secrets = json!({
        "apiGroup": "", "kind": "Secret", "namespace": namespace,
        "labelSelector": {"matchLabels": {"role": "password"}}
    });
    let view = json!({"apiGroup": "vault.view.dcontroller.io", "kind": "Login"});
    let labelled = |suffix: &str, value: &str| {
        let mut metadata = derived_name(suffix);
        metadata["labels"] = json!({"login": value});
        json!([{"@project": {"metadata": metadata}}])
    };
    let login = json!([{"@project": {
        "metadata": derived_name(""), "login": "$.data.password"
    }}]);
    let target = config_map_target();
    let controllers = [
        (
            "vault",
            controller("c", &secrets, &login, &json!({"kind": "Login"})),
        ),
        (
            "leaks",
            controller(
                "c",
                &secrets,
                &labelled("-leak", "$.data.password"),
                &target,
            ),
        ),
        (
            "passes-on",
            controller("c", &view, &labelled("-passed", "$.login"), &target),
        ),
    ];
    let all = controllers.map(|(name, controller)| operator(name, &[controller]).to_string());
    all.join("\n---\n")
}

/// Whether there is an Event about an Operator.
fn has_event(installed: &Installed, operator: &str) -> bool {
    let events = installed
        .cluster
        .get(&["events.events.k8s.io", "-n", "default"]);
    let mut events = events["items"].as_array().unwrap().iter();
    events.any(|event| event["regarding"]["name"] == operator)
}

#[test]
fn a_refusal_that_quotes_a_secret_is_shown_without_it() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("leaks");
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": {"password": PASSWORD},
        "metadata": {"name": "s", "namespace": namespace, "labels": {"role": "password"}}
    });
    cluster.apply(&secret.to_string());
    // The server does quote the value.
    let refused = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "x", "namespace": namespace, "labels": {"login": PASSWORD}}
    });
    let answer = cluster.try_kubectl(&["create", "-f", "-"], &refused.to_string());
    assert!(answer.unwrap_err().stderr.contains(PASSWORD));

    installed.install(&operators(&namespace));
    let mut like = refused;
    like["metadata"]["labels"] = Value::Null;
    let bystanders = cluster.bystanders("leaks", &[like], 20);
    let process = installed.deltic_with(&["--log-level", "debug"]);
    for name in ["leaks", "passes-on"] {
        let message = installed.await_reason(name, "ReconciliationFailed");
        assert!(message.contains("metadata.labels"), "{message}");
        await_true("an Event", || has_event(&installed, name));
    }
    await_true("both are logged", || {
        let log = process.log();
        ["leaks", "passes-on"].iter().all(|name| {
            let operator = format!("\"{name}\"");
            let mut lines = log.lines();
            lines.any(|line| line.contains(&operator) && line.contains("metadata.labels"))
        })
    });
    let shown = [
        (
            "status",
            cluster.kubectl(&["get", "operators", "-o", "yaml"]),
        ),
        (
            "Events",
            cluster.kubectl(&["get", "events", "-A", "-o", "yaml"]),
        ),
        ("log", process.log()),
        ("metrics", metrics(&process)),
    ];
    let encoded = cluster.kubectl(&[
        "get",
        "secret",
        "s",
        "-n",
        &namespace,
        "-o",
        "jsonpath={.data.password}",
    ]);
    assert!(!encoded.is_empty());
    for (place, text) in shown {
        for secret in ["hunter2", "correct horse", &encoded] {
            assert!(!text.contains(secret), "{secret} is in the {place}: {text}");
        }
    }
    bystanders.assert_untouched();
    stop_deltic(process);
}
