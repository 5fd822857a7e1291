//! Targets that never settle: because of their own controller, because of another one, or because
//! somebody deletes them.

use std::time::Duration;

use cluster_tests::{Cluster, Copies, Installed, await_true, copy_name, stop_deltic};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams};
use serde_json::{Value, json};

use crate::{config_map, config_map_target, config_maps, controller, find, operator, uid};

/// Adds one to `data.n` of each config map that it reads, for ever.
fn grower(namespace: &str) -> Value {
    let pipeline = json!([{"@project": {
        "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
        "data": {"n": {"@string": {"@add": [{"@int": "$.data.n"}, 1]}}}
    }}]);
    let source = config_maps(namespace, "grows");
    let controller = controller("c", &source, &pipeline, &config_map_target());
    operator("grows", &[controller])
}

#[test]
fn an_object_that_feeds_itself_is_held() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("grows");
    let object = config_map(&namespace, "grows", "a", &json!({"n": "0"}));
    cluster.apply(&object.to_string());
    installed.install(&grower(&namespace).to_string());
    let mut like = object;
    like["metadata"]["labels"] = json!({"role": "other"});
    let bystanders = cluster.bystanders("grows", &[like], 20);
    let mut audit = cluster.audit_tail();
    let process = installed.deltic();
    let message = installed.await_reason("grows", "ReconciliationFailed");
    assert!(message.contains("cycle at target"), "{message}");
    installed.await_silence(Duration::from_secs(5));
    let entries = audit.read();
    let ours = entries
        .iter()
        .filter(|entry| entry.is_deltic_in(&namespace));
    let written = ours.count();
    assert!((64..=70).contains(&written), "{written} writes");
    let message = installed.await_reason("grows", "ReconciliationFailed");
    assert!(message.contains("cycle at target"), "{message}");
    bystanders.assert_untouched();
    stop_deltic(process);
}

/// Copies Deployments onto themselves, with their status and an annotation.
fn annotator(namespace: &str) -> Value {
    let source = json!({
        "apiGroup": "apps", "kind": "Deployment", "namespace": namespace,
        "labelSelector": {"matchLabels": {"role": "source"}}
    });
    let pipeline = json!([{"@project": [
        {"$.": "$."}, {"metadata": {"annotations": {"example.com/seen": "yes"}}}
    ]}]);
    let target = json!({"apiGroup": "apps", "kind": "Deployment", "type": "Patcher"});
    operator("annotates", &[controller("c", &source, &pipeline, &target)])
}

fn deployment(namespace: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace, "labels": {"role": "source"}},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]}
            }
        }
    })
}

#[test]
fn a_status_that_passes_through_a_patcher_is_not_written_again() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("annotates");
    cluster.apply(&deployment(&namespace).to_string());
    let web = || find(cluster, &namespace, "deployment", "web");
    // Its controller answers each change in the status, which the Patcher reads.
    let observed = |object: &Value| {
        let generation = &object["metadata"]["generation"];
        !generation.is_null() && object["status"]["observedGeneration"] == *generation
    };
    await_true("the Deployment has a status", || observed(&web()));
    installed.install(&annotator(&namespace).to_string());
    let mut like = deployment(&namespace);
    like["metadata"]["labels"] = json!({"role": "other"});
    like["spec"]["replicas"] = json!(0);
    let bystanders = cluster.bystanders("annotates", &[like], 12);
    let mut audit = cluster.audit_tail();
    let process = installed.deltic();
    await_true("the annotation is there", || {
        web()["metadata"]["annotations"]["example.com/seen"] == "yes"
    });
    // Both the annotation and the new number of replicas raise the generation.
    cluster.kubectl(&[
        "scale",
        "deployment",
        "web",
        "-n",
        &namespace,
        "--replicas=2",
    ]);
    await_true("the status follows", || {
        let web = web();
        web["status"]["replicas"] == 2 && observed(&web)
    });
    installed.await_reason("annotates", "Ready");
    installed.await_silence(Duration::from_secs(5));
    let mut patches = audit.read();
    patches.retain(|entry| entry.is_deltic_in(&namespace));
    assert!((1..=2).contains(&patches.len()), "{patches:?}");
    assert_eq!(web()["spec"]["replicas"], 2);
    installed.await_reason("annotates", "Ready");
    bystanders.assert_untouched();
    stop_deltic(process);
}

#[test]
fn a_target_that_waits_for_a_finalizer_is_not_ready() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let (copies, bystanders) = Copies::install(&installed, "terminating", &json!({}));
    cluster.apply_many(&copies.sources(0..2, "v"));
    let process = installed.deltic();
    installed.await_reason("terminating", "Ready");
    let (name, namespace) = (copy_name(0), copies.namespace.as_str());
    let copy = || find(cluster, namespace, "configmap", &name);
    let before = copy();
    let patch = |finalizers: &str| {
        let patch = format!(r#"{{"metadata": {{"finalizers": {finalizers}}}}}"#);
        let object = ["patch", "configmap", &name, "-n", namespace];
        cluster.kubectl(&[&object[..], &["--type=merge", "-p", &patch]].concat());
    };
    patch(r#"["example.com/wait"]"#);
    cluster.kubectl(&[
        "delete",
        "configmap",
        &name,
        "-n",
        namespace,
        "--wait=false",
    ]);
    let message = installed.await_reason("terminating", "Syncing");
    let expect = "1 of 2 objects are as derived: 1 is being deleted by others";
    assert!(message.contains(expect), "{message}");
    assert_eq!(uid(&copy()), uid(&before));
    patch("null");
    await_true("it is created again", || {
        let now = copy();
        !now.is_null() && uid(&now) != uid(&before)
    });
    installed.await_reason("terminating", "Ready");
    bystanders.assert_untouched();
    stop_deltic(process);
}

/// Deletes a config map every 100 ms for 30 s. Returns how often it was there.
fn keep_deleting(cluster: &Cluster, namespace: &str, name: &str) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(async {
        let configs: Api<ConfigMap> = Api::namespaced(cluster.client(), namespace);
        let mut every = tokio::time::interval(Duration::from_millis(100));
        let mut deleted = 0;
        for _ in 0..300 {
            every.tick().await;
            match configs.delete(name, &DeleteParams::default()).await {
                Ok(_) => deleted += 1,
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => panic!("{error}"),
            }
        }
        deleted
    })
}

#[test]
fn a_rival_that_deletes_is_reported_and_met_with_pauses() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let (copies, bystanders) = Copies::install(&installed, "deleted", &json!({}));
    cluster.apply_many(&copies.sources(0..2, "one"));
    let process = installed.deltic();
    installed.await_reason("deleted", "Ready");
    let mut audit = cluster.audit_tail();
    let deleted = keep_deleting(cluster, &copies.namespace, &copy_name(0));
    let entries = audit.read();
    let ours = entries.iter();
    let ours = ours.filter(|entry| entry.is_deltic_in(&copies.namespace));
    let creates = ours.filter(|entry| entry.verb == "create").count();
    assert!((4..=9).contains(&creates), "{creates} times");
    assert!(deleted >= creates, "{deleted} deletions, {creates} times");
    let message = installed.await_reason("deleted", "ReconciliationFailed");
    assert!(message.contains("fighting"), "{message}");
    assert!(message.contains("is deleted repeatedly"), "{message}");
    let events = cluster.get(&["events.events.k8s.io", "-n", "default"]);
    let mut events = events["items"].as_array().unwrap().iter();
    assert!(
        events.any(|event| {
            event["regarding"]["name"] == "deleted" && event["reason"] == "Fighting"
        })
    );
    // The other copy is not concerned.
    cluster.apply(&copies.source(1, "two").to_string());
    await_true("another copy follows", || {
        let copy = find(cluster, &copies.namespace, "configmap", &copy_name(1));
        copy["data"]["k"] == "two"
    });
    bystanders.assert_untouched();
    stop_deltic(process);
}
