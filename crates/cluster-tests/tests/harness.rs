//! Tests of the control plane for tests.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::process::Command;
use std::time::Duration;

use cluster_tests::{Binaries, Cluster, Network, Options, eventually};
use futures::StreamExt;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams, WatchEvent, WatchParams};
use serde_json::json;

/// The version that `hack/cluster-binaries` builds.
const VERSION: &str = "v1.36.3";

fn config_map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

fn configs(cluster: &Cluster, namespace: &str) -> Api<ConfigMap> {
    Api::namespaced(cluster.client(), namespace)
}

#[tokio::test]
async fn the_server_is_the_one_that_was_built() {
    let version = Cluster::shared()
        .client()
        .apiserver_version()
        .await
        .unwrap();
    let binary = Command::new(Binaries::get().path("kube-apiserver"))
        .arg("--version")
        .output()
        .unwrap();
    let printed = String::from_utf8(binary.stdout).unwrap();
    assert_eq!(
        printed.trim(),
        format!("Kubernetes {}", version.git_version)
    );
    // Binaries of the user may have another version.
    if std::env::var_os("KUBEBUILDER_ASSETS").is_none() {
        assert_eq!(version.git_version, VERSION);
    }
}

#[test]
fn kubectl_can_use_it_and_reports_failures() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace("kubectl");
    cluster.apply(&format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: {namespace}}}\ndata: {{x: z}}"
    ));
    let found = cluster.get(&["configmap", "a", "-n", &namespace]);
    assert_eq!(found["data"]["x"], "z");
    let failed = cluster.try_kubectl(&["get", "configmap", "b", "-n", &namespace], "");
    assert!(failed.unwrap_err().stderr.contains("NotFound"));
}

#[tokio::test]
async fn controllers_work() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace("controllers");
    let labels = json!({"app": "web"});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "none"}]}
            }
        }
    });
    cluster.apply(&deployment.to_string());
    let sets: Api<ReplicaSet> = Api::namespaced(cluster.client(), &namespace);
    let pods: Api<Pod> = Api::namespaced(cluster.client(), &namespace);
    let all = ListParams::default();
    eventually("the Deployment gets a ReplicaSet with 2 pods", async || {
        let sets = sets.list(&all).await.unwrap().items.len();
        let pods = pods.list(&all).await.unwrap().items.len();
        (sets == 1 && pods == 2).then_some(())
    })
    .await;

    let deployments: Api<Deployment> = Api::namespaced(cluster.client(), &namespace);
    let background = DeleteParams::background();
    deployments.delete("web", &background).await.unwrap();
    eventually("owned objects are garbage-collected", async || {
        let sets = sets.list(&all).await.unwrap().items;
        let pods = pods.list(&all).await.unwrap().items;
        (sets.is_empty() && pods.is_empty()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_pod_that_runs_becomes_an_endpoint() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace("endpoints");
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    });
    cluster.apply(&service.to_string());
    cluster.run_pod(&namespace, "web-0", &[("app", "web")], "10.0.0.7", true);
    let slices: Api<EndpointSlice> = Api::namespaced(cluster.client(), &namespace);
    let ready = async |expect: bool| {
        eventually("the endpoint is as the pod", async || {
            let slices = slices.list(&ListParams::default()).await.unwrap();
            let mut endpoints = slices
                .items
                .into_iter()
                .flat_map(|slice| slice.endpoints.unwrap_or_default());
            endpoints.find(|endpoint| {
                let ready = endpoint.conditions.as_ref().and_then(|c| c.ready);
                endpoint.addresses == ["10.0.0.7"] && ready == Some(expect)
            })
        })
        .await
    };
    ready(true).await;
    cluster.set_pod(&namespace, "web-0", "10.0.0.7", false);
    ready(false).await;
}

#[tokio::test]
async fn writes_are_in_the_audit_log_and_reads_are_not() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace("audit");
    let configs = configs(cluster, &namespace);
    let made = config_map("a");
    configs.create(&PostParams::default(), &made).await.unwrap();
    let again = configs.create(&PostParams::default(), &made).await;
    assert!(again.is_err());
    configs.get("a").await.unwrap();
    configs.delete("a", &DeleteParams::default()).await.unwrap();
    let lines: Vec<_> = cluster
        .audit()
        .into_iter()
        .filter(|entry| entry.namespace == namespace && entry.user == "admin")
        .filter(|entry| entry.resource == "configmaps")
        .map(|entry| (entry.verb, entry.name, entry.code))
        .collect();
    let line = |verb: &str, name: &str, code| (verb.to_owned(), name.to_owned(), code);
    // The log has no name for a create.
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!((lines[0].0.as_str(), lines[0].2), ("create", 201));
    assert_eq!((lines[1].0.as_str(), lines[1].2), ("create", 409));
    assert_eq!(lines[2], line("delete", "a", 200));
}

#[tokio::test]
async fn a_service_account_may_do_what_it_was_granted_and_nothing_else() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace("accounts");
    let account = cluster.service_account(&namespace, "reader");
    let subject = format!("--serviceaccount={namespace}:reader");
    cluster.kubectl(&[
        "create",
        "-n",
        &namespace,
        "role",
        "reader",
        "--verb=get,list",
        "--resource=configmaps",
    ]);
    cluster.kubectl(&[
        "create",
        "-n",
        &namespace,
        "rolebinding",
        "reader",
        "--role=reader",
        &subject,
    ]);
    let configs: Api<ConfigMap> = Api::namespaced(account.client(), &namespace);
    let code = |error: kube::Error| match error {
        kube::Error::Api(status) => status.code,
        other => panic!("{other}"),
    };
    eventually("the grant is known", async || {
        configs.list(&ListParams::default()).await.ok()
    })
    .await;
    let refused = configs
        .create(&PostParams::default(), &config_map("a"))
        .await;
    assert_eq!(code(refused.unwrap_err()), 403);
    let elsewhere: Api<ConfigMap> = Api::namespaced(account.client(), "default");
    let refused = elsewhere.list(&ListParams::default()).await;
    assert_eq!(code(refused.unwrap_err()), 403);
    // The same identity in a kubeconfig file.
    let kubeconfig = account.kubeconfig();
    let who = Command::new(Binaries::get().path("kubectl"))
        .args(["auth", "whoami", "-o", "json", "--kubeconfig"])
        .arg(kubeconfig)
        .output()
        .unwrap();
    let who: serde_json::Value = serde_json::from_slice(&who.stdout).unwrap();
    assert_eq!(
        who["status"]["userInfo"]["username"],
        format!("system:serviceaccount:{namespace}:reader")
    );
}

#[tokio::test]
async fn a_restart_keeps_the_data_and_a_compaction_forgets_the_history() {
    let mut cluster = Cluster::start(&Options::default());
    let namespace = cluster.namespace("restart");
    let made = configs(&cluster, &namespace)
        .create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap();
    for name in ["b", "c"] {
        let configs = configs(&cluster, &namespace);
        let new = config_map(name);
        configs.create(&PostParams::default(), &new).await.unwrap();
    }
    let revision = cluster.compact();
    assert!(revision > 1);

    cluster.kill_api_server();
    assert!(configs(&cluster, &namespace).get("a").await.is_err());
    cluster.start_api_server();

    let configs = configs(&cluster, &namespace);
    let found = configs.get("a").await.unwrap();
    assert_eq!(found, made);
    let version = made.metadata.resource_version.unwrap();
    let mut watch = configs
        .watch(&WatchParams::default(), &version)
        .await
        .unwrap()
        .boxed();
    let status = match watch.next().await {
        Some(Ok(WatchEvent::Error(status)) | Err(kube::Error::Api(status))) => status,
        other => panic!("a watch from before the compaction goes on: {other:?}"),
    };
    assert_eq!(status.code, 410, "{status:?}");
}

#[tokio::test]
async fn a_network_can_be_cut_and_can_hang() {
    let cluster = Cluster::shared();
    let proxy = cluster.proxy();
    let access = cluster.admin().through(&proxy);
    let works = async |client: &kube::Client| {
        let request = client.apiserver_version();
        match tokio::time::timeout(Duration::from_secs(2), request).await {
            Err(_) => "hangs",
            Ok(Err(_)) => "fails",
            Ok(Ok(_)) => "works",
        }
    };
    let client = access.client();
    assert_eq!(works(&client).await, "works");
    proxy.set(Network::Cut);
    assert_eq!(works(&client).await, "fails");
    proxy.set(Network::Up);
    assert_eq!(works(&client).await, "works");
    proxy.set(Network::Hangs);
    assert_eq!(works(&client).await, "hangs");
    proxy.set(Network::Up);
    assert_eq!(works(&client).await, "works");
    let before = proxy.connections();
    proxy.reset();
    eventually("a new connection is made", async || {
        (works(&client).await == "works" && proxy.connections() > before).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_touched_bystander_is_noticed() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace("bystanders");
    let like = [
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "web", "namespace": namespace, "labels": {"app": "web"}}
        }),
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "web", "namespace": namespace},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}], "clusterIP": "10.96.7.7"}
        }),
    ];
    let bystanders = cluster.bystanders("shop", &like, 50);
    bystanders.assert_untouched();
    cluster.kubectl(&["label", "-n", &namespace, "configmap", "web-0", "x=y"]);
    let touched = bystanders.touched();
    assert_eq!(touched.len(), 1, "{touched:?}");
    let name = format!("ConfigMap {namespace}/web-0\n");
    assert!(touched[0].starts_with(&name), "{touched:?}");
}

#[test]
fn a_process_is_started_stopped_and_read() {
    let cluster = Cluster::shared();
    let script = "trap 'echo asked; exit 3' TERM; echo started; while :; do sleep 0.05; done";
    let mut process = cluster.process(Command::new("sh").args(["-c", script]));
    while !process.log().contains("started") {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(process.resident_memory() > 100_000);
    process.terminate();
    assert_eq!(process.wait(Duration::from_secs(10)).code(), Some(3));
    assert!(process.log().contains("asked"));

    let mut process = cluster.process(Command::new("sleep").arg("600"));
    assert!(process.ended().is_none());
    process.kill();
    assert_eq!(process.ended().unwrap().code(), None);
}
