//! Runs a pod as a process of this machine, in what a kubelet would give it: the arguments and the
//! environment of its container, its projected token, its user, no capabilities, and a root
//! filesystem that cannot be written.
//!
//! Two things differ. The process has the network of this machine, so the port of the probes is
//! chosen by the system. And the program is a debug build with the libraries of this machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use cluster_tests::{Cluster, Process, deltic};
use serde_json::Value;

/// Runs in a user and a mount namespace: `$1` has the files of the token, `$2` is where the pod
/// expects them, and the rest is the command.
const KUBELET: &str = r#"
set -e
mount --rbind / /
mount -o remount,bind,ro /
mount -t tmpfs none "$(readlink -f /var/run)"
mkdir -p "$2"
mount --bind "$1" "$2"
shift 2
exec setpriv --no-new-privs --inh-caps=-all --ambient-caps=-all --bounding-set=-all env -i "$@"
"#;

/// Starts the container of a pod.
pub(crate) fn start(cluster: &Cluster, pod: &Value) -> Process {
    let spec = &pod["spec"];
    let container = &spec["containers"][0];
    let security = &container["securityContext"];
    assert_eq!(security["readOnlyRootFilesystem"], true);
    assert_eq!(security["capabilities"]["drop"][0], "ALL");
    assert_eq!(security["allowPrivilegeEscalation"], false);
    let user = &spec["securityContext"]["runAsUser"];
    assert!(user.as_u64().unwrap() > 0);
    let (token, mounted) = token(cluster, pod);
    let mut environment = environment(pod, container);
    let server = cluster.admin().config().cluster_url;
    let service = [
        ("KUBERNETES_SERVICE_HOST", server.host().unwrap().to_owned()),
        (
            "KUBERNETES_SERVICE_PORT",
            server.port_u16().unwrap().to_string(),
        ),
        ("HOSTNAME", text(&pod["metadata"]["name"]).to_owned()),
    ];
    environment.extend(service.map(|(name, value)| (name.to_owned(), value)));
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--mount", "--keep-caps"])
        .args([format!("--map-user={user}"), format!("--map-group={user}")])
        .args(["sh", "-c", KUBELET, "sh"])
        .arg(token)
        .arg(mounted);
    for (name, value) in &environment {
        command.arg(format!("{name}={value}"));
    }
    command.arg(deltic());
    for arg in container["args"].as_array().unwrap() {
        command.arg(expanded(text(arg), &environment));
    }
    cluster.process(&mut command)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The environment of a container, with the fields of the pod.
fn environment(pod: &Value, container: &Value) -> Vec<(String, String)> {
    let variables = container["env"].as_array().unwrap().iter();
    let value = |variable: &Value| match text(&variable["valueFrom"]["fieldRef"]["fieldPath"]) {
        "" => text(&variable["value"]).to_owned(),
        "metadata.namespace" => text(&pod["metadata"]["namespace"]).to_owned(),
        "status.podIP" => "127.0.0.1".to_owned(),
        other => panic!("the kubelet of this test does not know {other}"),
    };
    variables
        .map(|variable| (text(&variable["name"]).to_owned(), value(variable)))
        .collect()
}

/// An argument with the values of its variables, and with a port that the system chooses.
fn expanded(argument: &str, environment: &[(String, String)]) -> String {
    let argument = environment
        .iter()
        .fold(argument.to_owned(), |text, (name, value)| {
            text.replace(&format!("$({name})"), value)
        });
    argument.replace("--health-addr=:8080", "--health-addr=127.0.0.1:0")
}

/// The files of the projected volume that Kubernetes has added to the pod, and where it is mounted.
fn token(cluster: &Cluster, pod: &Value) -> (PathBuf, PathBuf) {
    let volumes = pod["spec"]["volumes"].as_array().unwrap().iter();
    let mut projected = volumes.filter(|volume| volume["projected"].is_object());
    let volume = projected.next().expect("Kubernetes adds a token");
    let (name, namespace) = (
        text(&pod["metadata"]["name"]),
        text(&pod["metadata"]["namespace"]),
    );
    let directory = cluster.directory().join(format!("pod-{name}"));
    std::fs::create_dir_all(&directory).unwrap();
    for source in volume["projected"]["sources"].as_array().unwrap() {
        project(cluster, pod, source, namespace, &directory);
    }
    let mounts = pod["spec"]["containers"][0]["volumeMounts"]
        .as_array()
        .unwrap();
    let mount = mounts.iter().find(|mount| mount["name"] == volume["name"]);
    (directory, text(&mount.unwrap()["mountPath"]).into())
}

/// Writes the files of one source of a projected volume.
fn project(cluster: &Cluster, pod: &Value, source: &Value, namespace: &str, directory: &Path) {
    let write = |path: &Value, content: &str| {
        std::fs::write(directory.join(text(path)), content).unwrap();
    };
    let token = &source["serviceAccountToken"];
    if token.is_object() {
        let duration = format!("--duration={}s", token["expirationSeconds"]);
        let bound = format!("--bound-object-name={}", text(&pod["metadata"]["name"]));
        let uid = format!("--bound-object-uid={}", text(&pod["metadata"]["uid"]));
        let issued = cluster.kubectl(&[
            "create",
            "token",
            text(&pod["spec"]["serviceAccountName"]),
            "-n",
            namespace,
            "--bound-object-kind=Pod",
            &bound,
            &uid,
            &duration,
        ]);
        write(&token["path"], issued.trim());
    }
    let map = &source["configMap"];
    if map.is_object() {
        let stored = cluster.get(&["configmap", text(&map["name"]), "-n", namespace]);
        for item in map["items"].as_array().unwrap() {
            write(&item["path"], text(&stored["data"][text(&item["key"])]));
        }
    }
    for item in source["downwardAPI"]["items"]
        .as_array()
        .into_iter()
        .flatten()
    {
        assert_eq!(item["fieldRef"]["fieldPath"], "metadata.namespace");
        write(&item["path"], namespace);
    }
}
