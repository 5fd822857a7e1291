//! Budgets and deletions: an Operator over its budget stops and its neighbours go on; many
//! deletions are held; derived objects are deleted with their Operator or stay, as its policy says.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::time::{Duration, Instant};

use cluster_tests::{Cluster, Installed, await_some, run_deltic, stop_deltic};
use serde_json::{Value, json};

/// An Operator that copies `ConfigMap`s with the label `copy: <its name>`.
fn copy(name: &str, options: &Value) -> Value {
    let target = json!({"@concat": ["$.metadata.name", "-copy"]});
    json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": name},
        "spec": {"controllers": [{
            "name": "copy",
            "sources": [{"apiGroup": "", "kind": "ConfigMap", "labelSelector": {"matchLabels": {"copy": name}}}],
            "pipeline": [{"@project": {
                "metadata": {"name": target, "namespace": "$.metadata.namespace"}, "data": "$.data"
            }}],
            "target": {"apiGroup": "", "kind": "ConfigMap"},
            "options": options
        }]}
    })
}

fn source(namespace: &str, operator: &str, name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": value},
        "metadata": {"name": name, "namespace": namespace, "labels": {"copy": operator}}
    })
}

fn sources(namespace: &str, operator: &str, count: usize) -> String {
    let items = (0..count).map(|i| source(namespace, operator, &format!("c{i}"), "v"));
    let items: Vec<Value> = items.collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// An object that is not a source but resembles derived objects.
fn like(namespace: &str) -> Value {
    let mut like = source(namespace, "none", "c1-copy", "v");
    like["metadata"]["labels"] = json!({"copy": "other"});
    like
}

/// The names and versions of the copies in a namespace.
fn copies(cluster: &Cluster, namespace: &str) -> Vec<(String, String)> {
    let live = cluster.get(&["configmaps", "-n", namespace]);
    let names = live["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|object| {
            let name = object["metadata"]["name"].as_str()?;
            let version = object["metadata"]["resourceVersion"].as_str()?;
            let copy = name.ends_with("-copy");
            copy.then(|| (name.to_owned(), version.to_owned()))
        });
    names.collect()
}

fn await_copies(cluster: &Cluster, namespace: &str, count: usize) {
    await_some(&format!("{count} copies"), || {
        (copies(cluster, namespace).len() == count).then_some(())
    });
}

/// Changes a source of the neighbour. Returns how long it takes until its copy changes.
fn reaction(cluster: &Cluster, namespace: &str, value: &str) -> Duration {
    let start = Instant::now();
    cluster.apply(&source(namespace, "neighbour", "c0", value).to_string());
    await_some("the neighbour's copy follows", || {
        let get = [
            "get",
            "configmap",
            "c0-copy",
            "-n",
            namespace,
            "--ignore-not-found",
        ];
        let now = cluster.kubectl(&[&get[..], &["-o", "jsonpath={.data.k}"]].concat());
        (now == value).then_some(())
    });
    start.elapsed()
}

#[test]
fn a_cross_join_does_not_disturb_its_neighbour() {
    const MANY: usize = 10_000;
    // Its own cluster, because so many objects would delay other tests.
    let installed = Installed::new(&copy("neighbour", &json!({})).to_string(), "");
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("cross");
    let bystanders = cluster.bystanders("cross", &[like(&namespace)], 50);
    let sides = ["a", "b"].iter().flat_map(|side| {
        let name = move |i| format!("{side}{i}");
        let labels = json!({"side": side});
        let namespace = &namespace;
        (0..MANY).map(move |i| {
            json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": name(i), "namespace": namespace, "labels": labels}
            })
        })
    });
    cluster.apply_many(&sides.collect::<Vec<_>>());
    let side = |side: &str| json!({"apiGroup": "", "kind": "ConfigMap", "as": side, "labelSelector": {"matchLabels": {"side": side}}});
    let cross = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "cross"},
        "spec": {"controllers": [{
            "name": "cross", "sources": [side("a"), side("b")],
            "pipeline": [{"@join": true}, {"@project": {"metadata": {
                "name": {"@concat": ["$.a.metadata.name", "-", "$.b.metadata.name", "-copy"]},
                "namespace": "$.a.metadata.namespace"
            }}}],
            "target": {"apiGroup": "", "kind": "ConfigMap"}
        }]}
    });
    let process = installed.deltic();
    let usual = (0..10).map(|i| reaction(cluster, &namespace, &format!("before {i}")));
    let usual = usual.max().unwrap();
    installed.install(&cross.to_string());
    // At least 20 changes, and until the other Operator has stopped.
    let mut slowest = Duration::ZERO;
    let mut changes = 0;
    let exceeded = loop {
        slowest = slowest.max(reaction(cluster, &namespace, &format!("during {changes}")));
        changes += 1;
        let condition = installed.condition("cross");
        let condition = condition.filter(|condition| condition.reason == "BudgetExceeded");
        if let Some(condition) = condition.filter(|_| changes >= 20) {
            break condition;
        }
        assert!(
            changes < 1_000,
            "it goes on: {:?}",
            installed.condition("cross")
        );
    };
    assert_eq!(exceeded.status, "False");
    assert!(
        slowest < 3 * usual + Duration::from_secs(2),
        "{slowest:?}, else {usual:?}"
    );
    installed.await_reason("neighbour", "Ready");
    assert!(
        process.resident_memory() < 1 << 30,
        "{}",
        process.resident_memory()
    );
    stop_deltic(process);
    assert_eq!(
        copies(cluster, &namespace).len(),
        1,
        "nothing of the join was written"
    );
    bystanders.assert_untouched();
}

#[test]
fn outputs_and_time_are_budgets() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("budgets");
    let bystanders = cluster.bystanders("many", &[like(&namespace)], 50);
    cluster.apply(&sources(&namespace, "many", 60));
    // About 20 seconds of work on a fast machine.
    let slow = (0..1_000).map(|i| source(&namespace, "slow", &format!("slow{i}"), "v"));
    let slow: Vec<Value> = slow.collect();
    cluster.apply_many(&slow);
    let mut slow = copy("slow", &json!({}));
    let million = json!({"@len": {"@map": [{"@len": {"@range": 1_000}}, {"@range": 1_000}]}});
    slow["spec"]["controllers"][0]["pipeline"][0]["@project"]["data"] =
        json!({"n": {"@string": million}});
    for operator in [
        copy("many", &json!({})),
        slow,
        copy("neighbour", &json!({})),
    ] {
        installed.install(&operator.to_string());
    }
    let process = installed.deltic_with(&["--max-outputs", "50", "--max-step-time", "1"]);
    let message = installed.await_reason("many", "BudgetExceeded");
    assert!(
        message.contains("more than 50 objects are derived"),
        "{message}"
    );
    let counts = &installed.controller("many", "copy")["counts"];
    assert_eq!(counts["targets"], 0, "{counts}");
    let message = installed.await_reason("slow", "BudgetExceeded");
    assert!(message.contains("longer than 1 s"), "{message}");
    reaction(cluster, &namespace, "goes on");
    installed.await_reason("neighbour", "Ready");
    assert_eq!(copies(cluster, &namespace).len(), 1);
    stop_deltic(process);
    bystanders.assert_untouched();
}

#[test]
fn many_deletions_are_held_until_they_are_allowed() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("held");
    let bystanders = cluster.bystanders("held", &[like(&namespace)], 50);
    cluster.apply(&sources(&namespace, "held", 10));
    installed.install(&copy("held", &json!({"maxDeletions": 3})).to_string());
    let process = installed.deltic();
    await_copies(cluster, &namespace, 10);
    stop_deltic(process);
    let gone: Vec<String> = (0..5).map(|i| format!("c{i}")).collect();
    let mut delete = vec!["delete", "configmap", "-n", &namespace];
    delete.extend(gone.iter().map(String::as_str));
    cluster.kubectl(&delete);

    let process = installed.deltic();
    let message = installed.await_reason("held", "ReconciliationFailed");
    assert!(message.contains("deletion-held"), "{message}");
    // The message ends with the command that allows them.
    let (_, command) = message.rsplit_once(": kubectl ").unwrap();
    let command: Vec<String> = command.split(' ').map(str::to_owned).collect();
    await_some("all five are held", || {
        (installed.controller("held", "copy")["counts"]["errors"] == 5).then_some(())
    });
    assert_eq!(copies(cluster, &namespace).len(), 10);
    cluster.kubectl(&command.iter().map(String::as_str).collect::<Vec<_>>());
    await_copies(cluster, &namespace, 5);
    installed.await_reason("held", "Ready");
    installed.converge(&["configmaps"], "configmaps", "ConfigMap");

    // Objects of a renamed controller have the limit of the spec, and the annotation for the
    // previous generation does not count.
    let mut renamed = copy("held", &json!({}));
    renamed["spec"]["maxDeletions"] = json!("50%");
    let controller = &mut renamed["spec"]["controllers"][0];
    controller["name"] = json!("renamed");
    controller["pipeline"][0]["@project"]["metadata"]["name"] =
        json!({"@concat": ["$.metadata.name", "-renamed-copy"]});
    installed.install(&renamed.to_string());
    await_copies(cluster, &namespace, 10);
    await_some("all that the old controller left is held", || {
        let held = &installed.controller("held", "copy")["counts"]["held"];
        (*held == 5).then_some(())
    });
    assert_eq!(copies(cluster, &namespace).len(), 10);
    let generation = installed.operator("held")["metadata"]["generation"].clone();
    let allow = format!("dcontroller.io/allow-deletions={generation}");
    let annotate = [
        "annotate",
        "--overwrite",
        "operators.dcontroller.io",
        "held",
    ];
    cluster.kubectl(&[&annotate[..], &[&allow]].concat());
    await_copies(cluster, &namespace, 5);
    installed.await_reason("held", "Ready");
    stop_deltic(process);
    bystanders.assert_untouched();
}

#[test]
fn derived_objects_are_deleted_with_their_operator_or_stay() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let (deleting, leaving) = (cluster.namespace("delete"), cluster.namespace("orphan"));
    let bystanders = cluster.bystanders("leaves", &[like(&deleting), like(&leaving)], 50);
    let mut deletes = copy("deletes", &json!({}));
    deletes["spec"]["deletionPolicy"] = json!("Delete");
    let leaves = copy("leaves", &json!({}));
    cluster.apply(&sources(&deleting, "deletes", 10));
    cluster.apply(&sources(&leaving, "leaves", 10));
    // An object that existed before must not be deleted.
    let mut existing = like(&deleting);
    existing["metadata"]["name"] = json!("c0-copy");
    cluster.apply(&existing.to_string());
    installed.install(&deletes.to_string());
    installed.install(&leaves.to_string());
    let process = installed.deltic();
    await_copies(cluster, &deleting, 10);
    await_copies(cluster, &leaving, 10);
    installed.await_reason("deletes", "Ready");
    installed.await_reason("leaves", "Ready");
    let finalizers = |name: &str| installed.operator(name)["metadata"]["finalizers"].clone();
    assert!(finalizers("deletes").is_array());
    assert!(finalizers("leaves").is_null());

    let before = copies(cluster, &leaving);
    for name in ["deletes", "leaves"] {
        let delete = ["delete", "operators.dcontroller.io", name, "--timeout=60s"];
        cluster.kubectl(&delete);
    }
    // The finalizer was removed last.
    let left: Vec<String> = copies(cluster, &deleting)
        .into_iter()
        .map(|c| c.0)
        .collect();
    assert_eq!(left, ["c0-copy"]);
    assert_eq!(copies(cluster, &leaving), before);

    // Created again, it takes over what it derives, and leaves the rest alone.
    cluster.kubectl(&["delete", "configmap", "-n", &leaving, "c1", "c2"]);
    cluster.apply(&leaves.to_string());
    await_some("two orphans", || {
        (installed.operator("leaves")["status"]["orphans"] == 2).then_some(())
    });
    installed.await_reason("leaves", "Ready");
    let after = copies(cluster, &leaving);
    let untouched = after.iter().filter(|copy| before.contains(copy));
    let untouched: Vec<&str> = untouched.map(|(name, _)| name.as_str()).collect();
    assert_eq!((after.len(), untouched), (10, vec!["c1-copy", "c2-copy"]));

    // The same while deltic does not run.
    cluster.apply(&deletes.to_string());
    await_copies(cluster, &deleting, 10);
    installed.await_reason("deletes", "Ready");
    stop_deltic(process);
    for name in ["deletes", "leaves"] {
        let delete = ["delete", "operators.dcontroller.io", name, "--wait=false"];
        cluster.kubectl(&delete);
    }
    let process = installed.deltic();
    let gone = ["wait", "--for=delete", "operators.dcontroller.io/deletes"];
    cluster.kubectl(&[&gone[..], &["--timeout=60s"]].concat());
    assert_eq!(copies(cluster, &deleting).len(), 1);
    assert_eq!(copies(cluster, &leaving), after);
    stop_deltic(process);
    bystanders.assert_untouched();
}

#[test]
fn without_its_definition_nothing_is_deleted() {
    let operator = copy("orphans", &json!({})).to_string();
    let installed = Installed::new(&operator, "");
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("orphans");
    let bystanders = cluster.bystanders("orphans", &[like(&namespace)], 50);
    cluster.apply(&sources(&namespace, "orphans", 10));
    let process = installed.deltic();
    await_copies(cluster, &namespace, 10);
    installed.await_reason("orphans", "Ready");
    let before = copies(cluster, &namespace);
    let kubeconfig = cluster.kubeconfig();
    let on_cluster = ["--yes", "--kubeconfig", kubeconfig.to_str().unwrap()];
    run_deltic(&[&["uninstall"], &on_cluster[..]].concat());
    await_some("deltic misses the definition", || {
        process
            .log()
            .contains("cannot watch Operators")
            .then_some(())
    });
    let source_gone = ["delete", "configmap", "-n", &namespace, "c1"];
    cluster.kubectl(&source_gone);

    // With the definition and the Operator, everything goes on.
    run_deltic(&[&["install"], &on_cluster[..]].concat());
    assert_eq!(copies(cluster, &namespace), before);
    installed.install(&operator);
    await_some("one orphan", || {
        (installed.operator("orphans")["status"]["orphans"] == 1).then_some(())
    });
    installed.await_reason("orphans", "Ready");
    let after = copies(cluster, &namespace);
    let untouched = after.iter().filter(|copy| before.contains(copy));
    let untouched: Vec<&str> = untouched.map(|(name, _)| name.as_str()).collect();
    assert_eq!((after.len(), untouched), (10, vec!["c1-copy"]));
    stop_deltic(process);
    bystanders.assert_untouched();
}
