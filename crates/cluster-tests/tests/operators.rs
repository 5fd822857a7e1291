//! deltic as a process, with the Operators of the examples: it runs as a service account with the
//! roles that `deltic rbac` prints, and reaches the state that `deltic render` computes from a dump
//! of the sources.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cluster_tests::{Cluster, Installed, Options, deltic, run_deltic, stop_deltic};
use serde_json::json;

/// How long a cluster may take to converge.
const PATIENCE: Duration = Duration::from_mins(1);

fn example(name: &str, file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    std::fs::read_to_string(path.join(name).join(file)).unwrap()
}

#[test]
fn deployments_are_restarted_when_their_config_changes() {
    let rule = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "restartrules.rules.deltic.dev"},
        "spec": {
            "group": "rules.deltic.dev",
            "names": {"kind": "RestartRule", "plural": "restartrules", "singular": "restartrule"},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true
                }}
            }]
        }
    });
    let installed = Installed::new(
        &example("config-restart", "operator.yaml"),
        &rule.to_string(),
    );
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("shop");
    let labels = json!({"app": "web"});
    let containers = json!([
        {"name": "web", "image": "web:1"}, {"name": "log", "image": "log:1"}, {"name": "x", "image": "x:1"}
    ]);
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": namespace}, "data": {"a": "1"}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": namespace},
         "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": containers}}}},
        {"apiVersion": "rules.deltic.dev/v1", "kind": "RestartRule", "metadata": {"name": "web", "namespace": namespace},
         "spec": {"configMap": "web", "deployment": "web"}}
    ]});
    cluster.apply(&objects.to_string());
    let sources = [
        "restartrules.rules.deltic.dev",
        "configmaps",
        "deployments.apps",
    ];
    let process = installed.deltic();
    installed.converge(&sources, "deployments.apps", "Deployment");
    let version = || {
        let deployment = cluster.get(&["deployment", "web", "-n", &namespace]);
        let spec = &deployment["spec"]["template"];
        assert_eq!(spec["spec"]["containers"].as_array().unwrap().len(), 3);
        let annotations = &spec["metadata"]["annotations"];
        annotations["rules.deltic.dev/config-version"].clone()
    };
    let first = version();
    let change = json!({"data": {"a": "2"}}).to_string();
    cluster.kubectl(&[
        "patch",
        "configmap",
        "web",
        "-n",
        &namespace,
        "--type=merge",
        "-p",
        &change,
    ]);
    installed.converge(&sources, "deployments.apps", "Deployment");
    assert_ne!(version(), first);
    // Without its rule the Deployment has its former state.
    cluster.kubectl(&["delete", "restartrule", "web", "-n", &namespace]);
    let deadline = std::time::Instant::now() + PATIENCE;
    while !version().is_null() {
        assert!(
            std::time::Instant::now() < deadline,
            "{}",
            process.log_end()
        );
        std::thread::sleep(Duration::from_millis(200));
    }
    stop_deltic(process);
}

#[test]
fn pods_are_summed_up_on_their_service() {
    let installed = Installed::new(&example("pod-health", "operator.yaml"), "");
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("shop");
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": namespace},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    });
    cluster.apply(&service.to_string());
    for (name, ip, ready) in [("a", "10.0.0.1", true), ("b", "10.0.0.2", false)] {
        cluster.run_pod(&namespace, name, &[("app", "web")], ip, ready);
    }
    let process = installed.deltic();
    let sources = ["pods", "services"];
    installed.converge(&sources, "services", "Service");
    let ready = || {
        let service = cluster.get(&["service", "web", "-n", &namespace]);
        service["metadata"]["annotations"]["deltic.dev/pods-ready"].clone()
    };
    assert_eq!(ready(), "1/2");
    cluster.set_pod(&namespace, "b", "10.0.0.2", true);
    installed.converge(&sources, "services", "Service");
    assert_eq!(ready(), "2/2");
    stop_deltic(process);
}

/// Runs the commands of the README one by one, with `--yes`.
#[test]
fn the_commands_of_the_readme_work() {
    let cluster = Cluster::start(&Options::default());
    let kubeconfig = cluster.kubeconfig();
    let kubeconfig = kubeconfig.to_str().unwrap();
    let on_cluster = ["--kubeconfig", kubeconfig];
    let installed = run_deltic(&["install", "--yes", on_cluster[0], on_cluster[1]]);
    assert!(installed.contains("created"), "{installed}");
    let again = run_deltic(&["install", "--yes", on_cluster[0], on_cluster[1]]);
    assert!(again.contains("unchanged"), "{again}");
    cluster.apply(&example("pod-health", "operator.yaml"));
    let mut command = Command::new(deltic());
    command.args(["run", "--cluster"]).args(on_cluster);
    let process = cluster.process(&mut command);
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let table = cluster.kubectl(&["get", "operators"]);
        if table.contains("pod-health") && table.contains("True") && table.contains("Ready") {
            break;
        }
        assert!(
            std::time::Instant::now() < deadline,
            "{table}\n{}",
            process.log_end()
        );
        std::thread::sleep(Duration::from_millis(200));
    }
    stop_deltic(process);
    let removed = run_deltic(&["uninstall", "--yes", on_cluster[0], on_cluster[1]]);
    assert!(
        removed.contains("removed") || removed.contains("deleted"),
        "{removed}"
    );
}
