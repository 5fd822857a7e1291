//! One Operator on a real cluster: derived objects exist, and nothing else is changed.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::sync::Arc;
use std::time::Duration;

use cluster::client::{Clients, Rate};
use cluster::lease::Leadership;
use cluster_tests::{Cluster, eventually};
use engine::native::ViewStore;
use engine::status::{Ready, ReportedError};
use engine::{Context, Engine, EngineEvents, Running};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use metrics::Metrics;
use object::{GroupKind, ObjectName};
use serde_json::json;

struct Quiet;

impl EngineEvents for Quiet {
    fn adopted(&self, _kind: &GroupKind, _name: Option<&ObjectName>, _controller: &str) {}
    fn reported(&self, _controller: &str, _error: &ReportedError) {}
}

/// An Operator that copies `ConfigMap`s with the label `role: source` through a view.
fn operator(namespace: &str) -> operator::Operator {
    let spec = document::json!({
        "apiVersion": "dcontroller.io/v1alpha1",
        "kind": "Operator",
        "metadata": {"name": namespace},
        "spec": {"controllers": [
            {
                "name": "read",
                "sources": [{
                    "apiGroup": "", "kind": "ConfigMap", "namespace": namespace,
                    "labelSelector": {"matchLabels": {"role": "source"}}
                }],
                "pipeline": [{"@project": {
                    "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
                    "data": "$.data"
                }}],
                "target": {"kind": "Copy"}
            },
            {
                "name": "write",
                "sources": [{"kind": "Copy"}],
                "pipeline": [{"@project": {
                    "metadata": {
                        "name": {"@concat": ["$.metadata.name", "-copy"]},
                        "namespace": "$.metadata.namespace"
                    },
                    "data": "$.data"
                }}],
                "target": {"apiGroup": "", "kind": "ConfigMap"}
            }
        ]}
    });
    let (operator, problems) = operator::read(&spec, &expr::Functions::builtin());
    operator.unwrap_or_else(|| panic!("{problems:?}"))
}

fn start(cluster: &Cluster, namespace: &str) -> (Running, Metrics) {
    let metrics = Metrics::default();
    let clients = Clients::new(cluster.client(), Rate::default(), Leadership::always());
    let context = Context::new(clients, &ViewStore::default(), metrics.clone());
    let running = Engine::start(context, operator(namespace), Arc::new(Quiet));
    (running, metrics)
}

async fn create(configs: &Api<ConfigMap>, name: &str, value: &str) {
    let object = json!({
        "metadata": {"name": name, "labels": {"role": "source"}}, "data": {"k": value}
    });
    let object = serde_json::from_value(object).unwrap();
    configs
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
}

/// The copies with their content and version.
async fn copies(configs: &Api<ConfigMap>) -> Vec<(String, String, String)> {
    let list = configs.list(&ListParams::default()).await.unwrap();
    let copies = list.items.into_iter().filter_map(|object| {
        let name = object.metadata.name?;
        let value = object.data?.get("k")?.clone();
        name.ends_with("-copy")
            .then_some((name, value, object.metadata.resource_version?))
    });
    copies.collect()
}

async fn ready(running: &Running) {
    let mut status = running.status();
    let all = status.wait_for(|status| {
        !status.controllers.is_empty() && status.controllers.iter().all(|c| c.ready == Ready::True)
    });
    let within = Duration::from_secs(20);
    let done = tokio::time::timeout(within, all).await.is_ok();
    assert!(done, "not ready: {:?}", running.status().borrow().clone());
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_derived_repaired_and_cleaned_up_after_a_restart() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace("engine");
    let configs: Api<ConfigMap> = Api::namespaced(cluster.client(), &namespace);
    for number in 0..40 {
        create(&configs, &format!("c{number}"), "one").await;
    }
    create(&configs, "stranger-copy", "mine").await;
    let (running, metrics) = start(cluster, &namespace);
    ready(&running).await;
    let all = async || (copies(&configs).await.len() == 41 + 1).then_some(());
    eventually("all copies", all).await;

    // A change of a source, and a change from outside.
    let patch = |value: &str| Patch::Merge(json!({"data": {"k": value}}));
    let params = PatchParams::default();
    configs.patch("c1", &params, &patch("two")).await.unwrap();
    configs
        .patch("c2-copy", &params, &patch("bent"))
        .await
        .unwrap();
    configs
        .delete("c3", &DeleteParams::default())
        .await
        .unwrap();
    eventually("the changes", async || {
        let copies = copies(&configs).await;
        let value = |name: &str| copies.iter().find(|c| c.0 == name).map(|c| c.1.as_str());
        let right = value("c1-copy") == Some("two")
            && value("c2-copy") == Some("one")
            && value("c3-copy").is_none();
        right.then_some(())
    })
    .await;
    running.stop().await;
    let numbers = metrics.encode();
    for metric in [
        format!(
            "deltic_writes_total{{operator=\"{namespace}\",controller=\"write\",verb=\"create\""
        ),
        format!(
            "deltic_writes_total{{operator=\"{namespace}\",controller=\"write\",verb=\"delete\""
        ),
        format!(
            "deltic_source_synced{{operator=\"{namespace}\",controller=\"read\",source=\"ConfigMap\"}} 1"
        ),
        format!(
            "deltic_target_objects{{operator=\"{namespace}\",controller=\"write\",target=\"ConfigMap\"}}"
        ),
        format!("controller_runtime_active_workers{{controller=\"{namespace}/write\"}} 0"),
        format!("workqueue_adds_total{{name=\"{namespace}\"}}"),
    ] {
        assert!(numbers.contains(&metric), "{metric} in {numbers}");
    }

    // While it does not run, one source is deleted and another is created.
    configs
        .delete("c4", &DeleteParams::default())
        .await
        .unwrap();
    create(&configs, "late", "new").await;
    let before = copies(&configs).await;
    let (running, _) = start(cluster, &namespace);
    ready(&running).await;
    eventually("the late copy and no stale one", async || {
        let copies = copies(&configs).await;
        let has = |name: &str| copies.iter().any(|c| c.0 == name);
        (has("late-copy") && !has("c4-copy")).then_some(())
    })
    .await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    // Copies that were up to date were not written.
    let after = copies(&configs).await;
    for copy in &before {
        if copy.0 != "c4-copy" {
            assert!(after.contains(copy), "{copy:?}");
        }
    }
    let stranger = after.iter().find(|c| c.0 == "stranger-copy").unwrap();
    assert_eq!(stranger.1, "mine");
    running.stop().await;
}
