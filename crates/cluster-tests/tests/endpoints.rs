//! The example `endpoints` on a cluster: `EndpointSlice`s, which Kubernetes derives from Services
//! and pods, are joined, unwound and gathered into a view; another controller writes that view to
//! `ConfigMap`s.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::path::Path;

use cluster_tests::{Cluster, Installed, await_some, stop_deltic};
use serde_json::{Value, json};

/// The controller that writes the view to the cluster.
const REPORT: &str = r"
  - name: report
    sources:
    - kind: ServiceEndpoints
    pipeline:
    - '@project':
        metadata:
          name: $.metadata.name
          namespace: $.metadata.namespace
          labels: {endpoints: report}
        data:
          service: $.spec.service
          protocol: $.spec.protocol
          addresses: {'@join': [$.spec.addresses, ' ']}
    target: {apiGroup: '', kind: ConfigMap}
";

const SOURCES: [&str; 2] = ["services", "endpointslices.discovery.k8s.io"];

fn operator() -> String {
    let example = "../../examples/endpoints/operator.yaml";
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join(example);
    format!("{}{REPORT}", std::fs::read_to_string(example).unwrap())
}

fn service(cluster: &Cluster, namespace: &str, name: &str) {
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": name, "namespace": namespace, "labels": {"deltic.dev/endpoints": "true"}},
        "spec": {"selector": {"app": name}, "ports": [
            {"name": "http", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}
        ]}
    });
    cluster.apply(&service.to_string());
}

/// The sorted addresses in the report of a port; `None` if there is no report.
fn addresses(cluster: &Cluster, namespace: &str, name: &str) -> Option<Vec<String>> {
    let get = ["-n", namespace, "configmap", name, "--ignore-not-found"];
    let text = cluster.kubectl(&[&["get", "-o", "json"], &get[..]].concat());
    let report: Value = serde_json::from_str(&text).ok()?;
    let addresses = report["data"]["addresses"].as_str()?.split(' ');
    let mut addresses: Vec<String> = addresses.map(str::to_owned).collect();
    addresses.sort();
    Some(addresses)
}

fn await_addresses(cluster: &Cluster, namespace: &str, name: &str, expect: &[&str]) {
    await_some(&format!("{name} has {expect:?}"), || {
        let found = addresses(cluster, namespace, name)?;
        (found == expect).then_some(())
    });
}

/// Waits for the counts in the status: ports, view objects, reports.
fn await_counts(installed: &Installed) {
    installed.converge(&SOURCES, "configmaps", "ConfigMap");
    let rendered = installed.rendered(&SOURCES);
    let of_kind = |kind: &str| {
        rendered
            .iter()
            .filter(|object| object["kind"] == kind)
            .count()
    };
    let expected = [
        ("service-ports", of_kind("ServicePort")),
        ("port-addresses", of_kind("ServiceEndpoints")),
        ("report", of_kind("ServiceEndpoints")),
    ];
    for (controller, count) in expected {
        await_some(&format!("{controller} counts {count} targets"), || {
            let status = installed.controller("endpoints", controller);
            (status["counts"]["targets"] == count && status["counts"]["errors"] == 0).then_some(())
        });
    }
}

#[test]
fn endpoint_slices_are_gathered_into_views() {
    let installed = Installed::new(&operator(), "");
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("shop");
    let like = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"service": "web", "addresses": "10.1.0.1"},
        "metadata": {"name": "web-80", "namespace": namespace, "labels": {"endpoints": "report"}}
    });
    let bystanders = cluster.bystanders("endpoints", &[like], 50);
    for name in ["web", "api"] {
        service(cluster, &namespace, name);
    }
    let run = |service: &str, number: usize, ready: bool| {
        let ip = format!("10.1.0.{number}");
        let name = format!("{service}-{number}");
        cluster.run_pod(&namespace, &name, &[("app", service)], &ip, ready);
    };
    run("web", 1, true);
    run("web", 2, true);
    run("web", 3, false);
    run("api", 4, true);
    let process = installed.deltic();
    await_addresses(cluster, &namespace, "web-80", &["10.1.0.1", "10.1.0.2"]);
    await_addresses(cluster, &namespace, "api-53", &["10.1.0.4"]);
    await_counts(&installed);

    // Scaling up: one pod becomes ready, two are created. Scaling down: one is deleted.
    cluster.set_pod(&namespace, "web-3", "10.1.0.3", true);
    run("web", 5, true);
    run("web", 6, true);
    let all = ["10.1.0.1", "10.1.0.2", "10.1.0.3", "10.1.0.5", "10.1.0.6"];
    await_addresses(cluster, &namespace, "web-80", &all);
    await_addresses(cluster, &namespace, "web-53", &all);
    let gone = [
        "delete",
        "pod",
        "web-1",
        "-n",
        &namespace,
        "--grace-period=0",
        "--force",
    ];
    cluster.kubectl(&gone);
    await_addresses(cluster, &namespace, "web-80", &all[1..]);
    await_counts(&installed);

    // When a Service is deleted, its ports are removed and the others stay.
    cluster.kubectl(&["delete", "service", "web", "-n", &namespace]);
    for name in ["web-80", "web-53"] {
        await_some(&format!("{name} is removed"), || {
            addresses(cluster, &namespace, name).is_none().then_some(())
        });
    }
    await_addresses(cluster, &namespace, "api-80", &["10.1.0.4"]);
    await_counts(&installed);
    installed.await_reason("endpoints", "Ready");
    bystanders.assert_untouched();
    stop_deltic(process);
}
