//! `deltic why` of a running deltic, with the login and the roles of each user: through the cluster's
//! API, and on deltic's own port.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cluster_tests::{Aggregated, Cluster, await_some, await_true, deltic, stop_deltic};
use serde_json::{Value, json};

/// Config maps become entries of a view, and Secrets logins.
const OPERATOR: &str = "
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: {name: served}
spec:
  controllers:
  - name: entries
    sources:
    - {apiGroup: '', kind: ConfigMap, labelSelector: {matchLabels: {role: source}}}
    pipeline:
    - '@select': {'@exists': $.data.k}
    - '@project':
        metadata: {name: $.metadata.name, namespace: $.metadata.namespace}
        k: $.data.k
    target: {kind: Entry}
  - name: logins
    sources:
    - {apiGroup: '', kind: Secret, labelSelector: {matchLabels: {role: source}}}
    pipeline:
    - '@project':
        metadata: {name: $.metadata.name, namespace: $.metadata.namespace}
        url: {'@concat': ['db://root:', $.data.password]}
    target: {kind: Login}
";

fn why(kubeconfig: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(deltic());
    command
        .arg("why")
        .args(args)
        .arg("--kubeconfig")
        .arg(kubeconfig);
    command.output().unwrap()
}

/// The output of a question that is answered.
fn answer(kubeconfig: &Path, args: &[&str]) -> String {
    let output = why(kubeconfig, args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// What is printed about a question that is not answered.
fn refusal(kubeconfig: &Path, args: &[&str]) -> String {
    let output = why(kubeconfig, args);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    assert_eq!(output.stdout, b"");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_running_deltic_explains_what_it_derives() {
    let aggregated = Aggregated::with(OPERATOR);
    aggregated.allow_own_port();
    let cluster = aggregated.cluster();
    let process = aggregated.start(&[]);
    let namespace = cluster.namespace("shop");
    cluster.source(&namespace, "a", "one");
    secret(cluster, &namespace);
    aggregated.await_entries(1);
    let admin = cluster.kubeconfig();
    let own = aggregated.own_kubeconfig();
    await_true("the Secret is read", || {
        let logins = ["get", "login", "-A", "-o", "name"];
        cluster
            .try_kubectl(&logins, "")
            .is_ok_and(|names| names.lines().count() == 1)
    });
    for door in [&admin, &own] {
        answers(door, &namespace);
        let none = refusal(door, &[&format!("entry/{namespace}/none")]);
        let expect =
            format!("no controller of Operator served derives or reads entry/{namespace}/none");
        assert!(none.contains(&expect), "{none}");
        let other = refusal(door, &["entry/a", "--operator", "other"]);
        assert!(
            other.contains("Operator other is not served here"),
            "{other}"
        );
    }
    permissions(&aggregated, &namespace);

    // Nothing of it is a resource.
    let views = cluster.kubectl(&["get", "views", "-A", "-o", "name"]);
    assert_eq!(views.lines().count(), 2, "{views}");
    cluster.kubectl(&["delete", "namespace", &namespace, "--timeout=60s"]);

    stop_deltic(process);
    await_some("its registration is gone", || {
        let gone = refusal(&admin, &["entry/a"]);
        gone.contains("no views of deltic are served here")
            .then_some(())
    });
    let gone = refusal(&own, &["entry/a"]);
    assert!(gone.contains("cannot reach the server"), "{gone}");
}

fn secret(cluster: &Cluster, namespace: &str) {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": {"password": "hunter2"},
        "metadata": {"name": "db", "namespace": namespace, "labels": {"role": "source"}}
    });
    cluster.apply(&secret.to_string());
}

/// The same answers on both doors.
fn answers(door: &Path, namespace: &str) {
    let entry = format!("entry/{namespace}/a");
    let source = format!("configmap/{namespace}/a");
    let expect = format!(
        "{entry}   view of controller entries\n\
         └ @project pipeline[1]\n  \
           @select pipeline[0]\n  \
           {source}\n"
    );
    assert_eq!(answer(door, &[&entry]), expect);
    // As the user types it, and for one Operator.
    let dotted = format!("entry/a.{namespace}");
    assert_eq!(answer(door, &[&dotted, "--operator", "served"]), expect);
    let expect = format!(
        "{source} in controller entries\n  \
           @select   pipeline[0]            1 → 1\n  \
           @project  pipeline[1]            1 → 1\n  \
           derived: {entry}\n"
    );
    assert_eq!(answer(door, &["not", &source]), expect);
    let json: Value = serde_json::from_str(&answer(door, &[&entry, "-o", "json"])).unwrap();
    assert_eq!(json[0]["operator"], "served");
    assert_eq!(json[0]["document"]["k"], "one");
    let drawn = answer(door, &[&entry, "-o", "mermaid"]);
    assert!(drawn.starts_with("flowchart TD\n"), "{drawn}");
    let login = answer(door, &[&format!("login/{namespace}/db"), "-o", "json"]);
    assert!(
        login.contains("***") && !login.contains("hunter2"),
        "{login}"
    );
    assert!(!login.contains("aHVudGVyMg"), "{login}");
}

/// A user needs the permission to ask, and to read what the answer shows.
fn permissions(aggregated: &Aggregated, namespace: &str) {
    let cluster = aggregated.cluster();
    let user = cluster.service_account(namespace, "user").kubeconfig();
    let own = own_door(aggregated, &user);
    let entry = format!("entry/{namespace}/a");
    for door in [&user, &own] {
        let refused = refusal(door, &[&entry, "--operator", "served"]);
        assert!(
            refused.contains("cannot get resource \"entry/why\""),
            "{refused}"
        );
    }
    let role = |rules: Value| {
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "why", "namespace": namespace}, "rules": rules
        });
        cluster.apply(&role.to_string());
    };
    let group = "served.view.dcontroller.io";
    let ask = json!({"apiGroups": [group], "resources": ["*/why", "entry"], "verbs": ["get"]});
    role(json!([ask]));
    let account = format!("--serviceaccount={namespace}:user");
    let bind = [
        "create",
        "-n",
        namespace,
        "rolebinding",
        "why",
        "--role=why",
        &account,
    ];
    cluster.kubectl(&bind);
    for door in [&user, &own] {
        await_true("the source is missing", || {
            let refused = refusal(door, &[&entry]);
            refused.contains("cannot get resource \"configmaps\"")
                && refused.contains(&format!("in the namespace \"{namespace}\""))
        });
        // Without a namespace, it is a question about all of them.
        let refused = refusal(door, &["entry/a"]);
        assert!(refused.contains("at the cluster scope"), "{refused}");
    }
    let read = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]});
    role(json!([ask, read]));
    for door in [&user, &own] {
        await_true("the user may ask", || why(door, &[&entry]).status.success());
        let login = refusal(door, &[&format!("login/{namespace}/db")]);
        assert!(login.contains("cannot get resource \"login\""), "{login}");
    }
}

/// A kubeconfig of a user for deltic's own port.
fn own_door(aggregated: &Aggregated, user: &Path) -> PathBuf {
    let cluster = aggregated.cluster();
    let template = "go-template={{index .data \"ca.crt\" | base64decode}}";
    let secret = [
        "get",
        "secret",
        "-n",
        "deltic",
        "deltic-serving",
        "-o",
        template,
    ];
    let authority = cluster.directory().join("authority.pem");
    std::fs::write(&authority, cluster.kubectl(&secret)).unwrap();
    let server = format!("https://127.0.0.1:{}", aggregated.port);
    let args = [
        ["--server", &server],
        ["--kubeconfig", user.to_str().unwrap()],
        ["--certificate-authority", authority.to_str().unwrap()],
    ];
    let kubeconfig = aggregated
        .installed
        .run(&[&["kubeconfig"][..], &args.concat()].concat());
    let file = cluster.directory().join("views-user.yaml");
    std::fs::write(&file, kubeconfig).unwrap();
    file
}
