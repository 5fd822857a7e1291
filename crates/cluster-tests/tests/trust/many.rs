//! Many Operators with one kind of targets, in a process that may open few files.

use std::process::Command;

use cluster_tests::{Cluster, Installed, await_some, metric, stop_deltic};
use serde_json::json;

use crate::{config_map, config_map_target, config_maps, controller, derived_name, operator};

const OPERATORS: usize = 50;
const FILES: usize = 256;

/// The command of a process that may not open more files than this.
fn limited(command: &Command, files: usize) -> Command {
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -n {files} && exec \"$0\" \"$@\"")]);
    limited.arg(command.get_program()).args(command.get_args());
    limited
}

/// How many watches of config maps the API server serves.
fn watches(cluster: &Cluster) -> usize {
    let metrics = cluster.kubectl(&["get", "--raw", "/metrics"]);
    let lines = metrics.lines();
    let lines = lines.filter(|line| {
        line.starts_with("apiserver_longrunning_requests{")
            && line.contains("resource=\"configmaps\"")
            && line.contains("verb=\"WATCH\"")
    });
    let counts = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
    counts.sum()
}

/// The derived objects with this value, and the Operators that are Ready.
fn done(cluster: &Cluster, namespace: &str, value: &str) -> (usize, usize) {
    let objects = cluster.get(&["configmaps", "-n", namespace]);
    let objects = objects["items"].as_array().unwrap().iter();
    let written = objects.filter(|object| {
        let derived = object["metadata"]["labels"]["dcontroller.io/operator"].is_string();
        derived && object["data"]["k"] == value
    });
    let operators = cluster.get(&["operators.dcontroller.io"]);
    let operators = operators["items"].as_array().unwrap().iter();
    let ready =
        operators.filter(|operator| operator["status"]["conditions"][0]["status"] == "True");
    (written.count(), ready.count())
}

#[test]
fn fifty_operators_share_their_watches_and_connections() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("many");
    let all = (0..OPERATORS).map(|number| {
        let name = format!("many-{number}");
        let pipeline = json!([{"@project": {
            "metadata": derived_name(&format!("-{name}")), "data": "$.data"
        }}]);
        let source = config_maps(&namespace, "source");
        let controller = controller("c", &source, &pipeline, &config_map_target());
        operator(&name, &[controller]).to_string()
    });
    installed.install(&all.collect::<Vec<_>>().join("\n---\n"));
    let source = |value: &str| config_map(&namespace, "source", "a", &json!({"k": value}));
    cluster.apply(&source("one").to_string());
    let like = config_map(&namespace, "other", "a-many-0", &json!({"k": "v"}));
    let bystanders = cluster.bystanders("many-0", &[like], 20);
    let before = watches(cluster);
    let proxy = cluster.proxy();
    let account = cluster.service_account("deltic", "deltic");
    let kubeconfig = account.through(&proxy).kubeconfig();
    let command = installed.command(&kubeconfig, &[]);
    let process = cluster.process(&mut limited(&command, FILES));
    let all = (OPERATORS, OPERATORS);
    for value in ["one", "two"] {
        cluster.apply(&source(value).to_string());
        let mut last = (0, 0);
        await_some("all are written and Ready", || {
            last = done(cluster, &namespace, value);
            (last == all).then_some(())
        });
    }
    // One of the sources, and one of the targets.
    let opened = watches(cluster).saturating_sub(before);
    assert!((1..=2).contains(&opened), "{opened} watches");
    // Operators that start later join a watch with one more list.
    let lists = metric(&process, "deltic_lists_total", "kind=\"ConfigMap\"");
    assert!((1.0..=10.0).contains(&lists), "{lists} lists");
    let connections = proxy.connections();
    let most = 2 * OPERATORS;
    assert!(
        (1..=most).contains(&connections),
        "{connections} connections"
    );
    let log = process.log();
    let warned = log.lines().any(|line| line.contains("too many open files"));
    assert!(!warned, "{log}");
    bystanders.assert_untouched();
    stop_deltic(process);
}
