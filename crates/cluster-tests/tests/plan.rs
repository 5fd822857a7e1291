//! `deltic plan` on a real control plane: it lists exactly what deltic then writes, and writes
//! nothing itself.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use cluster_tests::{AuditEntry, Cluster, DELTIC, Installed, await_true, deltic, stop_deltic};
use serde_json::{Value, json};

/// A user that may read what the Operator reads and writes, and nothing else.
fn reader(cluster: &Cluster) -> PathBuf {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "planner"},
        "rules": [
            {"apiGroups": ["", "apps"], "resources": ["configmaps", "namespaces", "deployments"],
             "verbs": ["get", "list", "watch"]},
            {"apiGroups": ["dcontroller.io"], "resources": ["operators"], "verbs": ["list"]}
        ]
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "planner"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "planner"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "planner"}]
    });
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [role, binding]});
    cluster.apply(&list.to_string());
    cluster.service_account("default", "planner").kubeconfig()
}

/// The user of the plans in the audit log.
const PLANNER: &str = "system:serviceaccount:default:planner";

/// The end of `deltic plan`: its exit code, its output, and its messages.
struct Planned {
    code: i32,
    output: String,
    messages: String,
}

impl Planned {
    fn run(kubeconfig: &PathBuf, cluster: &Cluster, operator: &Value, flags: &[&str]) -> Self {
        let file = cluster.directory().join("planned.yaml");
        std::fs::write(&file, operator.to_string()).unwrap();
        let mut command = Command::new(deltic());
        command.args(["plan", "-f"]).arg(&file);
        command.arg("--kubeconfig").arg(kubeconfig).args(flags);
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code().unwrap(),
            output: text(&output.stdout),
            messages: text(&output.stderr),
        }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.output)
            .unwrap_or_else(|error| panic!("{error}: {}{}", self.output, self.messages))
    }

    /// The planned writes: `delete b-copy`.
    fn changes(&self) -> BTreeSet<String> {
        let plan = self.json();
        let changes = plan["changes"].as_array().unwrap().iter();
        let text = |change: &Value, field: &str| change[field].as_str().unwrap().to_owned();
        changes
            .map(|change| format!("{} {}", text(change, "action"), text(change, "name")))
            .collect()
    }
}

/// Copies every `ConfigMap` of a namespace with this label.
fn operator(name: &str, namespace: &str, label: &str, extra: &str) -> Value {
    json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": name},
        "spec": {"deletionPolicy": "Delete", "controllers": [{
            "name": "copy",
            "sources": [{"apiGroup": "", "kind": "ConfigMap", "namespace": namespace,
                "labelSelector": {"matchLabels": {"copy": label}}}],
            "pipeline": [{"@project": {
                "metadata": {"name": {"@concat": ["$.metadata.name", "-copy"]},
                    "namespace": "$.metadata.namespace"},
                "data": {"from": "$.metadata.name", "extra": extra}
            }}],
            "target": {"apiGroup": "", "kind": "ConfigMap"}
        }, {
            // Reads what the first one writes to the cluster.
            "name": "count",
            "sources": [{"apiGroup": "", "kind": "ConfigMap", "namespace": namespace,
                "labelSelector": {"matchLabels": {"dcontroller.io/operator": name}}}],
            "pipeline": [
                {"@select": {"@exists": "$.data.from"}},
                {"@gather": ["$.metadata.namespace", "$.data.from"]},
                {"@project": {
                    "metadata": {"name": "all-copies", "namespace": "$.metadata.namespace"},
                    "data": {"count": {"@string": {"@len": "$.data.from"}}}
                }}
            ],
            "target": {"apiGroup": "", "kind": "ConfigMap"}
        }]}
    })
}

fn config_map(cluster: &Cluster, namespace: &str, name: &str, labels: &Value) {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": labels}
    });
    cluster.apply(&object.to_string());
}

/// What the writes of deltic to `ConfigMap`s did in the end: `delete b-copy`.
fn written(entries: &[AuditEntry]) -> BTreeSet<String> {
    let writes = entries
        .iter()
        .filter(|entry| entry.user == DELTIC && entry.resource == "configmaps" && entry.code < 300);
    let mut verbs: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in writes {
        verbs.entry(&entry.name).or_default().push(&entry.verb);
    }
    let effects = verbs.into_iter().map(|(name, verbs)| {
        let effect = match (verbs.first(), verbs.last()) {
            (_, Some(&"delete")) => "delete",
            (Some(&"create"), _) => "create",
            _ => "change",
        };
        format!("{effect} {name}")
    });
    effects.collect()
}

/// A plan in the same words.
fn as_written(changes: &BTreeSet<String>) -> BTreeSet<String> {
    let changes = changes.iter();
    changes
        .map(|change| change.replace("overwrite", "change"))
        .collect()
}

#[test]
fn deltic_writes_what_was_planned_and_the_plan_writes_nothing() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("plan");
    let kubeconfig = reader(cluster);
    for name in ["a", "b", "c"] {
        config_map(cluster, &namespace, name, &json!({"copy": "yes"}));
    }
    config_map(cluster, &namespace, "c-copy", &json!({}));
    let mut audit = cluster.audit_tail();
    let plan = |operator: &Value, flags: &[&str]| {
        Planned::run(
            &kubeconfig,
            cluster,
            operator,
            &[&["-o", "json"], flags].concat(),
        )
    };

    // Creation, with an object that exists already.
    let first = operator("planned", &namespace, "yes", "x");
    let planned = plan(&first, &[]);
    assert_eq!(planned.code, 1, "{}", planned.messages);
    let expect = [
        "create a-copy",
        "create all-copies",
        "create b-copy",
        "overwrite c-copy",
    ];
    assert_eq!(planned.changes(), expect.map(str::to_owned).into());
    installed.install(&first.to_string());
    let process = installed.deltic();
    let settled = |what: &str, done: &dyn Fn() -> bool| {
        await_true(what, done);
        await_true("ready", || {
            let status = installed.operator("planned");
            let conditions = status["status"]["conditions"].as_array().cloned();
            let mut conditions = conditions.into_iter().flatten();
            conditions.any(|one| {
                one["type"] == "Ready"
                    && one["status"] == "True"
                    && one["observedGeneration"] == status["metadata"]["generation"]
            })
        });
    };
    let count = || {
        let all = cluster.get(&["configmap", "-n", &namespace]);
        let mut items = all["items"].as_array().unwrap().iter();
        let all = items
            .find(|one| one["metadata"]["name"] == "all-copies")
            .cloned();
        all.and_then(|all| Some(all["data"]["count"].as_str()?.to_owned()))
    };
    settled("three copies", &|| count().as_deref() == Some("3"));
    assert_eq!(written(&audit.read()), as_written(&planned.changes()));

    // Nothing to do.
    let again = plan(&first, &[]);
    assert_eq!(
        (again.code, again.changes().len()),
        (0, 0),
        "{}",
        again.output
    );

    // Another Operator that yields the same objects: these are left to their owner.
    let rival = plan(&operator("rival", &namespace, "yes", "y"), &[]);
    assert_eq!(
        (rival.code, rival.changes().len()),
        (2, 0),
        "{}",
        rival.output
    );
    let errors = rival.json()["errors"].to_string();
    assert!(errors.contains("claimed by Operator planned"), "{errors}");

    // An edit: other data, and fewer sources.
    cluster.kubectl(&[
        "label",
        "configmap",
        "a",
        "-n",
        &namespace,
        "copy=still",
        "--overwrite",
    ]);
    settled("two copies", &|| count().as_deref() == Some("2"));
    audit.read();
    let second = operator("planned", &namespace, "still", "y");
    let planned = plan(&second, &[]);
    let changes = planned.changes();
    assert!(changes.contains("create a-copy"), "{changes:?}");
    assert!(changes.contains("delete b-copy"), "{changes:?}");
    cluster.apply(&second.to_string());
    settled("one copy", &|| count().as_deref() == Some("1"));
    assert_eq!(written(&audit.read()), as_written(&changes));

    // The deletion of the Operator.
    let planned = plan(&second, &["--delete"]);
    let changes = planned.changes();
    assert!(changes.contains("delete a-copy"), "{changes:?}");
    cluster.kubectl(&["delete", "operators.dcontroller.io", "planned"]);
    stop_deltic(process);
    assert_eq!(written(&audit.read()), as_written(&changes));

    let entries = cluster.audit();
    let by_plan: Vec<_> = entries
        .iter()
        .filter(|entry| entry.user == PLANNER)
        .collect();
    assert_eq!(by_plan, Vec::<&AuditEntry>::new());
}

#[test]
fn a_plan_names_held_deletions_and_masks_secrets_and_says_what_it_cannot_read() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("plan-held");
    for name in ["a", "b"] {
        config_map(cluster, &namespace, name, &json!({"copy": "yes"}));
    }
    let mut first = operator("held", &namespace, "yes", "x");
    let mut controllers = first["spec"]["controllers"].as_array().unwrap().clone();
    controllers.truncate(1);
    first["spec"]["controllers"] = controllers.into();
    installed.install(&first.to_string());
    let process = installed.deltic();
    let names = || cluster.kubectl(&["get", "cm", "-n", &namespace, "-o", "name"]);
    await_true("copies", || names().contains("b-copy"));
    stop_deltic(process);
    let admin = cluster.kubeconfig();
    let mut second = operator("held", &namespace, "no", "x");
    second["spec"]["controllers"] = json!([second["spec"]["controllers"][0]]);
    second["spec"]["maxDeletions"] = json!(1);
    let planned = Planned::run(&admin, cluster, &second, &["-o", "name"]);
    assert_eq!(planned.code, 1, "{}", planned.messages);
    assert!(
        planned.output.contains("held by maxDeletions"),
        "{}",
        planned.output
    );

    // A user without permissions gets no plan that looks complete.
    cluster.service_account("default", "nobody");
    let nobody = cluster.service_account("default", "nobody").kubeconfig();
    let planned = Planned::run(&nobody, cluster, &second, &[]);
    assert_eq!(planned.code, 2, "{}", planned.output);
    assert!(planned.messages.contains("cannot"), "{}", planned.messages);

    // The defaults of the server show only if it tries the writes.
    let deployment = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "deploys"},
        "spec": {"controllers": [{
            "name": "deploy",
            "sources": [{"apiGroup": "", "kind": "ConfigMap", "namespace": namespace,
                "labelSelector": {"matchLabels": {"copy": "yes"}}}],
            "pipeline": [{"@project": {
                "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
                "spec": {
                    "selector": {"matchLabels": {"app": "$.metadata.name"}},
                    "template": {
                        "metadata": {"labels": {"app": "$.metadata.name"}},
                        "spec": {"containers": [{"name": "main", "image": "example.org/a:1"}]}
                    }
                }
            }}],
            "target": {"apiGroup": "apps", "kind": "Deployment"}
        }]}
    });
    let plain = Planned::run(&admin, cluster, &deployment, &[]);
    assert_eq!(plain.code, 1, "{}", plain.messages);
    assert!(!plain.output.contains("RollingUpdate"), "{}", plain.output);
    let tried = Planned::run(&admin, cluster, &deployment, &["--dry-run", "server"]);
    assert_eq!(tried.code, 1, "{}", tried.messages);
    assert!(tried.output.contains("RollingUpdate"), "{}", tried.output);
    assert!(
        tried.output.ends_with("plan: 2 to create\n"),
        "{}",
        tried.output
    );
    let there = cluster.kubectl(&["get", "deployments", "-n", &namespace, "-o", "name"]);
    assert_eq!(there, "");
}
