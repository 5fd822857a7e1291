//! Whose objects are, on a real control plane: Operators that are created again, renamed, or that
//! write another kind than before; deletions without a source; orphans.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::process::Command;
use std::time::{Duration, Instant};

use cluster_tests::{Cluster, Installed, Process, await_true, deltic, stop_deltic};
use serde_json::{Value, json};

/// An Operator that derives an object of this kind from every `ConfigMap` with the label
/// `from: <namespace>`.
fn operator(name: &str, namespace: &str, target: &Value) -> Value {
    json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": name},
        "spec": {"controllers": [{
            "name": "copy",
            "sources": [{"apiGroup": "", "kind": "ConfigMap",
                "labelSelector": {"matchLabels": {"from": namespace}}}],
            "pipeline": [{"@project": {
                "metadata": {"name": {"@concat": ["$.metadata.name", "-copy"]},
                    "namespace": "$.metadata.namespace"}
            }}],
            "target": target
        }]}
    })
}

fn config_maps() -> Value {
    json!({"apiGroup": "", "kind": "ConfigMap"})
}

fn deleting(mut operator: Value) -> String {
    operator["spec"]["deletionPolicy"] = json!("Delete");
    operator.to_string()
}

fn source(cluster: &Cluster, namespace: &str, name: &str) {
    let source = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": {"from": namespace}}
    });
    cluster.apply(&source.to_string());
}

/// The group of kinds whose definitions can be removed.
const GROUP: &str = "identity.example.com";

/// A custom resource whose definition can be removed.
fn definition(plural: &str, kind: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}
            }}]
        }
    })
}

/// The names of the derived objects of a kind in a namespace.
fn copies(cluster: &Cluster, namespace: &str, resource: &str) -> Vec<String> {
    let live = cluster.get(&[resource, "-n", namespace]);
    let items = live["items"].as_array().unwrap();
    let names = items.iter().map(|object| &object["metadata"]["name"]);
    let names = names.map(|name| name.as_str().unwrap().to_owned());
    let mut names: Vec<String> = names.filter(|name| name.ends_with("-copy")).collect();
    names.sort();
    names
}

fn await_copies(cluster: &Cluster, namespace: &str, resource: &str, names: &[&str]) {
    await_true(&format!("{resource}: {names:?}"), || {
        copies(cluster, namespace, resource) == names
    });
}

fn claim(cluster: &Cluster, namespace: &str, name: &str) -> Value {
    let object = cluster.get(&["configmap", name, "-n", namespace]);
    let claim = &object["metadata"]["annotations"]["dcontroller.io/owner"];
    serde_json::from_str(claim.as_str().unwrap_or("null")).unwrap()
}

fn exists(cluster: &Cluster, operator: &str) -> bool {
    let args = ["get", "operators.dcontroller.io", operator];
    let found = cluster.kubectl(&[&args[..], &["--ignore-not-found", "-o", "name"]].concat());
    !found.is_empty()
}

/// Runs deltic with all permissions: the tests change the kinds that are written.
fn start(installed: &Installed, flags: &[&str]) -> Process {
    let kubeconfig = installed.cluster.kubeconfig();
    let mut command = installed.command(&kubeconfig, flags);
    installed.cluster.process(&mut command)
}

/// Runs `deltic orphans`, and returns whether it succeeded and its output.
fn orphans(cluster: &Cluster, flags: &[&str]) -> (bool, String) {
    let mut command = Command::new(deltic());
    command.arg("orphans").arg("--kubeconfig");
    let output = command.arg(cluster.kubeconfig()).args(flags).output();
    let output = output.unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.success(), text)
}

#[test]
fn a_new_operator_of_the_same_name_leaves_orphans_that_can_be_deleted() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("again");
    let manifest = operator("again", &namespace, &config_maps()).to_string();
    for name in ["a", "b"] {
        source(cluster, &namespace, name);
    }
    cluster.apply(&manifest);
    let process = start(&installed, &[]);
    await_copies(cluster, &namespace, "configmaps", &["a-copy", "b-copy"]);
    let first = claim(cluster, &namespace, "a-copy")["uid"].clone();
    assert_eq!(first, installed.operator("again")["metadata"]["uid"]);
    stop_deltic(process);
    cluster.kubectl(&["delete", "operators.dcontroller.io", "again"]);
    cluster.kubectl(&["delete", "configmap", "a", "-n", &namespace]);
    cluster.apply(&manifest);
    let process = start(&installed, &[]);
    await_true("one orphan is counted", || {
        installed.operator("again")["status"]["orphans"] == 1
    });
    let second = installed.operator("again")["metadata"]["uid"].clone();
    assert_eq!(claim(cluster, &namespace, "a-copy")["uid"], first);
    await_true("the other object is taken over", || {
        claim(cluster, &namespace, "b-copy")["uid"] == second
    });

    let (good, listed) = orphans(cluster, &["--operator", "again"]);
    let key = format!("/ConfigMap/{namespace}/a-copy");
    assert!(good && listed.contains(&key), "{listed}");
    assert_eq!(listed.lines().count(), 1, "{listed}");
    await_copies(cluster, &namespace, "configmaps", &["a-copy", "b-copy"]);
    let delete = ["--operator", "again", "--delete"];
    // Without a terminal and --yes nothing is deleted.
    assert!(!orphans(cluster, &delete).0);
    await_copies(cluster, &namespace, "configmaps", &["a-copy", "b-copy"]);
    let (good, _) = orphans(cluster, &[&delete[..], &["--yes"]].concat());
    assert!(good);
    await_copies(cluster, &namespace, "configmaps", &["b-copy"]);
    await_true("no orphan is counted", || {
        installed.operator("again")["status"]["orphans"] == 0
    });
    cluster.kubectl(&["delete", "operators.dcontroller.io", "again"]);
    stop_deltic(process);
}

#[test]
fn a_changed_target_kind_is_swept() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("kinds");
    source(cluster, &namespace, "a");
    cluster.apply(&operator("kinds", &namespace, &config_maps()).to_string());
    let process = start(&installed, &[]);
    await_copies(cluster, &namespace, "configmaps", &["a-copy"]);
    stop_deltic(process);
    let secrets = json!({"apiGroup": "", "kind": "Secret"});
    cluster.apply(&operator("kinds", &namespace, &secrets).to_string());
    let process = start(&installed, &[]);
    await_copies(cluster, &namespace, "configmaps", &[]);
    await_copies(cluster, &namespace, "secrets", &["a-copy"]);
    await_true("the former kind is forgotten", || {
        installed.operator("kinds")["status"]["kinds"] == json!([{"group": "", "kind": "Secret"}])
    });
    // With the policy Delete, a former kind is found even if the engine never ran with the edit.
    cluster.apply(&deleting(operator("kinds", &namespace, &secrets)));
    await_true("it has the finalizer", || {
        !installed.operator("kinds")["metadata"]["finalizers"].is_null()
    });
    stop_deltic(process);
    cluster.apply(&deleting(operator("kinds", &namespace, &config_maps())));
    let delete = [
        "delete",
        "operators.dcontroller.io",
        "kinds",
        "--wait=false",
    ];
    cluster.kubectl(&delete);
    let process = start(&installed, &[]);
    await_copies(cluster, &namespace, "secrets", &[]);
    await_true("the Operator is gone", || !exists(cluster, "kinds"));
    stop_deltic(process);
}

#[test]
fn a_renamed_operator_adopts_when_the_other_is_gone() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("renamed");
    source(cluster, &namespace, "a");
    cluster.apply(&operator("before", &namespace, &config_maps()).to_string());
    let process = start(&installed, &[]);
    await_copies(cluster, &namespace, "configmaps", &["a-copy"]);
    cluster.apply(&operator("after", &namespace, &config_maps()).to_string());
    let message = installed.await_reason("after", "ReconciliationFailed");
    assert!(
        message.contains("before") && message.contains("after"),
        "{message}"
    );
    assert_eq!(claim(cluster, &namespace, "a-copy")["operator"], "before");
    cluster.kubectl(&["delete", "operators.dcontroller.io", "before"]);
    installed.await_reason("after", "Ready");
    let claim = claim(cluster, &namespace, "a-copy");
    assert_eq!(
        (&claim["operator"], &claim["created"]),
        (&json!("after"), &json!(false))
    );
    cluster.kubectl(&["delete", "operators.dcontroller.io", "after"]);
    stop_deltic(process);
}

/// Creates a kind, and waits until it is served.
fn define(cluster: &Cluster, plural: &str, kind: &str) {
    cluster.apply(&definition(plural, kind).to_string());
    let resource = format!("{plural}.{GROUP}");
    await_true("it is served", || {
        cluster.try_kubectl(&["get", &resource], "").is_ok()
    });
}

/// An Operator that copies the objects of a kind, and an object `a` of that kind.
fn reader(cluster: &Cluster, name: &str, namespace: &str, kind: &str) -> Value {
    let object = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": kind,
        "metadata": {"name": "a", "namespace": namespace}
    });
    cluster.apply(&object.to_string());
    let mut reads = operator(name, namespace, &config_maps());
    reads["spec"]["controllers"][0]["sources"] = json!([{"apiGroup": GROUP, "kind": kind}]);
    reads
}

/// The server closes the watches of a kind about a second after its definition is gone, and the
/// status follows within two.
#[test]
fn ready_says_soon_that_the_kind_of_a_source_is_gone() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("kindless");
    define(cluster, "notes", "Note");
    let reads = reader(cluster, "kindless", &namespace, "Note");
    cluster.apply(&reads.to_string());
    let process = start(&installed, &[]);
    installed.await_reason("kindless", "Ready");
    let resource = format!("notes.{GROUP}");
    cluster.kubectl(&["delete", "customresourcedefinition", &resource]);
    let gone = Instant::now();
    let message = installed.await_reason("kindless", "NotReady");
    let took = gone.elapsed();
    assert!(message.contains("Note"), "{message}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    cluster.kubectl(&["delete", "operators.dcontroller.io", "kindless"]);
    stop_deltic(process);
}

#[test]
fn a_deletion_needs_neither_its_source_nor_its_target_kind() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("gone");
    let full = |plural: &str| format!("{plural}.{GROUP}");
    define(cluster, "tasks", "Task");
    define(cluster, "plans", "Plan");
    // One Operator reads the kind that goes, the other writes it.
    let reads = reader(cluster, "reads", &namespace, "Task");
    cluster.apply(&deleting(reads));
    source(cluster, &namespace, "b");
    let plans = json!({"apiGroup": GROUP, "kind": "Plan"});
    cluster.apply(&deleting(operator("writes", &namespace, &plans)));
    let process = start(&installed, &[]);
    await_copies(cluster, &namespace, "configmaps", &["a-copy"]);
    await_copies(cluster, &namespace, &full("plans"), &["b-copy"]);
    for plural in ["tasks", "plans"] {
        cluster.kubectl(&["delete", "customresourcedefinition", &full(plural)]);
    }
    for name in ["reads", "writes"] {
        cluster.kubectl(&["delete", "operators.dcontroller.io", name, "--wait=false"]);
    }
    await_copies(cluster, &namespace, "configmaps", &[]);
    for name in ["reads", "writes"] {
        await_true("the Operator is gone", || !exists(cluster, name));
    }
    stop_deltic(process);
}

#[test]
fn an_api_that_does_not_answer_is_not_gone() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("away");
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": "v1.away.example.com"},
        "spec": {
            "group": "away.example.com", "version": "v1", "insecureSkipTLSVerify": true,
            "groupPriorityMinimum": 100, "versionPriority": 100,
            "service": {"name": "nothing", "namespace": namespace}
        }
    });
    cluster.apply(&service.to_string());
    let target = json!({"apiGroup": "away.example.com", "kind": "Thing"});
    cluster.apply(&deleting(operator("away", &namespace, &target)));
    let process = start(&installed, &[]);
    installed.await_reason("away", "NotReady");
    await_true("it has the finalizer", || {
        !installed.operator("away")["metadata"]["finalizers"].is_null()
    });
    let delete = ["delete", "operators.dcontroller.io", "away", "--wait=false"];
    cluster.kubectl(&delete);
    let message = installed.await_reason("away", "Deleting");
    assert!(message.contains("deleted"), "{message}");
    std::thread::sleep(Duration::from_secs(10));
    assert!(exists(cluster, "away"));
    cluster.kubectl(&["delete", "apiservice", "v1.away.example.com"]);
    await_true("the Operator is gone", || !exists(cluster, "away"));
    stop_deltic(process);
}

#[test]
fn files_remember_their_kinds_on_the_lease_of_their_instance() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("files");
    source(cluster, &namespace, "a");
    let file = cluster.directory().join("files.yaml");
    let path = file.to_str().unwrap();
    let flags = |instance: &'static str| {
        let flags = [
            "-f",
            path,
            "--lease-namespace",
            &namespace,
            "--instance",
            instance,
        ];
        flags.map(str::to_owned)
    };
    let run = |instance: &'static str| {
        let flags = flags(instance);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        start(&installed, &flags)
    };
    let write = |target: &Value| {
        std::fs::write(&file, operator("files", &namespace, target).to_string()).unwrap();
    };
    write(&config_maps());
    let first = run("one");
    await_copies(cluster, &namespace, "configmaps", &["a-copy"]);
    assert_eq!(claim(cluster, &namespace, "a-copy")["uid"], "instance:one");
    // A second process of the instance stands by, and another instance leaves the object alone.
    let second = run("one");
    let other = run("two");
    await_true("it stands by", || second.log().contains("standing by"));
    await_true("it is a conflict", || other.log().contains("Failing"));
    stop_deltic(other);
    stop_deltic(second);
    stop_deltic(first);
    assert_eq!(claim(cluster, &namespace, "a-copy")["uid"], "instance:one");
    write(&json!({"apiGroup": "", "kind": "Secret"}));
    let process = run("one");
    await_copies(cluster, &namespace, "secrets", &["a-copy"]);
    await_copies(cluster, &namespace, "configmaps", &[]);
    stop_deltic(process);
}
