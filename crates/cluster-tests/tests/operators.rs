//! deltic as a process, on operators that users write: it runs as a service account with
//! the rights that `deltic rbac` prints, and ends in the state that `deltic render`
//! computes from a dump of the sources.
#![allow(clippy::unwrap_used)] // A test fails by panicking.
#![allow(clippy::print_stderr)] // A random test prints its seed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cluster_tests::{Cluster, Options, Process, deltic};
use serde_json::{Value, json};

/// How long a cluster may take to converge.
const PATIENCE: Duration = Duration::from_mins(1);

/// A cluster with deltic's definitions and an account for it.
struct Installed {
    cluster: Cluster,
    kubeconfig: PathBuf,
}

fn run(args: &[&str]) -> String {
    let output = Command::new(deltic()).args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{args:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

impl Installed {
    /// Installs an operator and what it needs.
    fn new(operator: &str, more: &str) -> Self {
        let cluster = Cluster::start(&Options {
            audit: true,
            ..Options::default()
        });
        cluster.apply(&run(&["crd"]));
        cluster.kubectl(&[
            "wait",
            "--for=condition=Established",
            "--timeout=60s",
            "crd/operators.dcontroller.io",
        ]);
        if !more.is_empty() {
            cluster.apply(more);
        }
        cluster.kubectl(&["create", "namespace", "deltic"]);
        let kubeconfig = cluster.service_account("deltic", "deltic").kubeconfig();
        let file = cluster.directory().join("operator.yaml");
        std::fs::write(&file, operator).unwrap();
        let file = file.to_str().unwrap();
        let account = ["--service-account", "deltic/deltic"];
        cluster.apply(&run(&["rbac", "-f", file, account[0], account[1]]));
        cluster.apply(operator);
        Self {
            cluster,
            kubeconfig,
        }
    }

    fn deltic(&self) -> Process {
        let mut command = Command::new(deltic());
        command.args(["run", "--cluster", "--health-addr", "127.0.0.1:0"]);
        command.arg("--kubeconfig").arg(&self.kubeconfig);
        self.cluster.process(&mut command)
    }

    fn operator_file(&self) -> PathBuf {
        self.cluster.directory().join("operator.yaml")
    }

    /// The state that is to be reached, by evaluating everything from a dump.
    fn rendered(&self, sources: &[&str]) -> Vec<Value> {
        let dump = self
            .cluster
            .kubectl(&["get", "-A", "-o", "json", &sources.join(",")]);
        let file = self.cluster.directory().join("dump.json");
        std::fs::write(&file, dump).unwrap();
        let operator = self.operator_file();
        let path = |path: &Path| path.to_str().unwrap().to_owned();
        let args = [
            "render",
            "-o",
            "json",
            "-f",
            &path(&operator),
            "-f",
            &path(&file),
        ];
        let text = run(&args);
        let stream = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        let mut all = Vec::new();
        for document in stream {
            let document = document.unwrap();
            match document["items"].as_array() {
                Some(items) => all.extend(items.clone()),
                None => all.push(document),
            }
        }
        all
    }

    /// Waits until the cluster has what is rendered: every object of these kinds has all
    /// that is derived for it, and nothing that we made is left over.
    fn converge(&self, sources: &[&str], resource: &str, kind: &str) {
        let deadline = std::time::Instant::now() + PATIENCE;
        loop {
            let difference = self.difference(sources, resource, kind);
            let Some(difference) = difference else { return };
            assert!(
                std::time::Instant::now() < deadline,
                "not converged: {difference}\n{}",
                self.cluster
                    .kubectl(&["get", "operators.dcontroller.io", "-o", "yaml"])
            );
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    fn difference(&self, sources: &[&str], resource: &str, kind: &str) -> Option<String> {
        let rendered = self.rendered(sources);
        let live = self.cluster.get(&[resource, "-A"]);
        let live = live["items"].as_array().unwrap();
        let name = |object: &Value| {
            let metadata = &object["metadata"];
            format!("{}/{}", metadata["namespace"], metadata["name"])
        };
        let rendered = || rendered.iter().filter(|object| object["kind"] == kind);
        for wanted in rendered() {
            let Some(found) = live.iter().find(|object| name(object) == name(wanted)) else {
                return Some(format!("{} is missing", name(wanted)));
            };
            if let Some(place) = lacks(found, wanted, "") {
                return Some(format!("{}: {place}", name(wanted)));
            }
        }
        let owner = "dcontroller.io/owner";
        let ours = live.iter().filter(|object| {
            let claim = object["metadata"]["annotations"][owner].as_str();
            let claim = claim.and_then(|claim| serde_json::from_str::<Value>(claim).ok());
            // A claim that was copied names another object.
            let metadata = &object["metadata"];
            let text = |field: &str| metadata[field].as_str().unwrap_or_default();
            let end = format!("/{kind}/{}/{}", text("namespace"), text("name"));
            claim.is_some_and(|claim| {
                let target = claim["target"].as_str().unwrap_or_default();
                claim["created"] == true && target.ends_with(&end)
            })
        });
        for object in ours {
            if !rendered().any(|wanted| name(wanted) == name(object)) {
                return Some(format!("{} is left over", name(object)));
            }
        }
        None
    }
}

/// The first place where an object does not have what is wanted.
fn lacks(found: &Value, wanted: &Value, at: &str) -> Option<String> {
    // The server's own, which a dump shows as they were.
    let ignored = [
        ".metadata.resourceVersion",
        ".metadata.managedFields",
        ".metadata.generation",
    ];
    if ignored.contains(&at) || at.starts_with(".status") {
        return None;
    }
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => wanted.iter().find_map(|(key, value)| {
            let at = format!("{at}.{key}");
            lacks(found.get(key).unwrap_or(&Value::Null), value, &at)
        }),
        (found, wanted) if found == wanted => None,
        (found, wanted) => Some(format!("{at} is {found}, not {wanted}")),
    }
}

fn example(name: &str, file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    std::fs::read_to_string(path.join(name).join(file)).unwrap()
}

fn stops(mut process: Process) {
    process.terminate();
    let status = process.wait(Duration::from_secs(30));
    assert!(status.success(), "{status}: {}", process.log_end());
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
    // Without its rule the Deployment is as it was.
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
    stops(process);
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
    stops(process);
}

/// Copies `ConfigMap`s with the label `role: source`.
const COPY: &str = "
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: {name: copy}
spec:
  controllers:
  - name: copy
    sources:
    - {apiGroup: '', kind: ConfigMap, labelSelector: {matchLabels: {role: source}}}
    pipeline:
    - '@project':
        metadata:
          name: {'@concat': [$.metadata.name, '-copy']}
          namespace: $.metadata.namespace
        data: $.data
    target: {apiGroup: '', kind: ConfigMap}
";

fn sources(namespace: &str, numbers: std::ops::Range<usize>, value: &str) -> String {
    let items: Vec<Value> = numbers
        .map(|number| {
            json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": format!("c{number}"), "namespace": namespace, "labels": {"role": "source"}},
                "data": {"k": value}
            })
        })
        .collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

#[test]
fn a_killed_process_leaves_nothing_behind() {
    let seed = std::env::var("SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let mut seed: u64 = seed.unwrap_or(20_261_116);
    eprintln!("SEED={seed}");
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let installed = Installed::new(COPY, "");
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("many");
    let like = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "c1-copy", "namespace": namespace}, "data": {"k": "v"}
    });
    let bystanders = cluster.bystanders("copy", &[like], 50);
    let mut killed_at_work = 0;
    for round in 0..5 {
        cluster.apply(&sources(&namespace, 0..200, &format!("v{round}")));
        let mut process = installed.deltic();
        let pause = 200 + random(2_000);
        std::thread::sleep(Duration::from_millis(pause));
        process.kill();
        if installed
            .difference(&["configmaps"], "configmaps", "ConfigMap")
            .is_some()
        {
            killed_at_work += 1;
        }
        // A quarter of the sources goes while nobody looks.
        let first = random(100);
        let names: Vec<String> = (first..first + 50).map(|n| format!("c{n}")).collect();
        let mut delete = vec![
            "delete",
            "configmap",
            "-n",
            &namespace,
            "--ignore-not-found",
        ];
        delete.extend(names.iter().map(String::as_str));
        cluster.kubectl(&delete);
    }
    assert!(killed_at_work > 0, "no kill hit a process at work");
    let process = installed.deltic();
    installed.converge(&["configmaps"], "configmaps", "ConfigMap");
    bystanders.assert_untouched();
    stops(process);
}

/// The block of the README, command by command; `deltic` asks nobody here.
#[test]
fn the_commands_of_the_readme_do_what_it_says() {
    let cluster = Cluster::start(&Options::default());
    let kubeconfig = cluster.kubeconfig();
    let kubeconfig = kubeconfig.to_str().unwrap();
    let on_cluster = ["--kubeconfig", kubeconfig];
    let installed = run(&["install", "--yes", on_cluster[0], on_cluster[1]]);
    assert!(installed.contains("created"), "{installed}");
    let again = run(&["install", "--yes", on_cluster[0], on_cluster[1]]);
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
    stops(process);
    let removed = run(&["uninstall", "--yes", on_cluster[0], on_cluster[1]]);
    assert!(
        removed.contains("removed") || removed.contains("deleted"),
        "{removed}"
    );
}
