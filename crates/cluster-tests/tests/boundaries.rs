//! Two processes with `--namespace` on a real cluster: neither touches what is outside.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use cluster_tests::{Cluster, DELTIC, Installed, await_some, stop_deltic};
use serde_json::{Value, json};

/// An Operator that derives an object from each config map with the label `role: source`.
fn operator(name: &str, team: &str, project: &Value, target: &Value) -> Value {
    json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
        "metadata": {"name": name, "labels": {"team": team}},
        "spec": {"controllers": [{
            "name": "c",
            "sources": [{
                "apiGroup": "", "kind": "ConfigMap",
                "labelSelector": {"matchLabels": {"role": "source"}}
            }],
            "pipeline": [{"@project": project}],
            "target": target
        }]}
    })
}

fn copies(name: &str, team: &str) -> Value {
    let metadata = json!({
        "name": {"@concat": ["$.metadata.name", "-", name]},
        "namespace": "$.metadata.namespace"
    });
    let project = json!({"metadata": metadata, "data": "$.data"});
    let target = json!({"apiGroup": "", "kind": "ConfigMap"});
    operator(name, team, &project, &target)
}

/// A cluster-scoped object for each source.
fn classes() -> Value {
    let project = json!({"metadata": {"name": "$.metadata.name"}, "value": 7});
    let target = json!({"apiGroup": "scheduling.k8s.io", "kind": "PriorityClass"});
    operator("classes", "all", &project, &target)
}

fn source(namespace: &str, name: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"},
        "metadata": {"name": name, "namespace": namespace, "labels": {"role": "source"}}
    })
    .to_string()
}

/// The uid and version of an object; `None` if it does not exist.
fn found(cluster: &Cluster, object: &[&str]) -> Option<String> {
    let output = "jsonpath={.metadata.uid}/{.metadata.resourceVersion}";
    let get = [&["get"], object, &["--ignore-not-found", "-o", output]].concat();
    let text = cluster.kubectl(&get);
    (!text.is_empty()).then_some(text)
}

#[test]
fn a_process_touches_nothing_outside_of_its_namespace() {
    let both = [copies("o", "all"), classes()].map(|operator| operator.to_string());
    let installed = Installed::new(&both.join("\n---\n"), "");
    let cluster = &installed.cluster;
    let (one, two) = (cluster.namespace("one"), cluster.namespace("two"));
    cluster.apply(&source(&one, "a"));
    cluster.apply(&source(&two, "b"));
    let object =
        |namespace: &str, name: &str| found(cluster, &["configmap", name, "-n", namespace]);
    let class = |name: &str| found(cluster, &["priorityclass", name]);

    // A process without a boundary derives everything.
    let process = installed.deltic();
    await_some("all is derived", || {
        class("a").and(class("b"))?;
        object(&one, "a-o").and(object(&two, "b-o"))
    });
    installed.await_reason("classes", "Ready");
    stop_deltic(process);
    let classes = [class("a"), class("b")];
    let far = object(&two, "b-o").unwrap();

    // Both sources go. A process of one namespace removes what is left there, and nothing else.
    cluster.kubectl(&["delete", "configmap", "a", "-n", &one]);
    cluster.kubectl(&["delete", "configmap", "b", "-n", &two]);
    let mut audit = cluster.audit_tail();
    let process = installed.deltic_with(&["--namespace", &one]);
    await_some("the object of the namespace is gone", || {
        object(&one, "a-o").is_none().then_some(())
    });
    // A cluster-scoped object is an error, and is not written.
    cluster.apply(&source(&one, "c"));
    await_some("the object of the new source", || object(&one, "c-o"));
    let message = installed.await_reason("classes", "ReconciliationFailed");
    assert!(message.contains("outside-namespace"), "{message}");
    stop_deltic(process);
    assert_eq!(object(&two, "b-o").unwrap(), far);
    assert_eq!([class("a"), class("b")], classes);
    assert_eq!(class("c"), None);
    let writes = audit.read();
    let ours = writes.iter().filter(|write| write.user == DELTIC);
    let outside = ours.filter(|write| {
        let excepted = ["operators", "events"].contains(&write.resource.as_str());
        !excepted && write.namespace != one
    });
    let outside: Vec<_> = outside.map(|write| &write.uri).collect();
    assert!(outside.is_empty(), "{outside:?}");
}

#[test]
fn a_selector_divides_operators_among_processes() {
    let both = [copies("a", "a"), copies("b", "b")].map(|operator| operator.to_string());
    let installed = Installed::new(&both.join("\n---\n"), "");
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("teams");
    cluster.apply(&source(&namespace, "s"));
    let object = |name: &str| found(cluster, &["configmap", name, "-n", &namespace]);
    let process = installed.deltic_with(&["--operator-selector", "team=a"]);
    await_some("the object of team a", || object("s-a"));
    installed.await_reason("a", "Ready");
    assert_eq!(installed.operator("b")["status"], Value::Null);
    assert_eq!(object("s-b"), None);
    // It moves, and comes back.
    let label = |team: &str| {
        let team = format!("team={team}");
        cluster.kubectl(&["label", "operator", "b", &team, "--overwrite"]);
    };
    label("a");
    await_some("the object of the other Operator", || object("s-b"));
    label("b");
    cluster.kubectl(&["delete", "configmap", "s-b", "-n", &namespace]);
    cluster.apply(&source(&namespace, "t"));
    await_some("the next object of team a", || object("t-a"));
    assert_eq!((object("s-b"), object("t-b")), (None, None));
    stop_deltic(process);
}
