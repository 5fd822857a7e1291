//! Views that deltic serves on a port of its own, read and written with kubectl.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cluster_tests::{
    Process, Served, TokenKey, await_some, metric, operator_with_view, stop_deltic,
};
use serde_json::{Value, json};

/// A deltic that serves the view.
struct Views(Served);

impl Views {
    fn start() -> Self {
        Self(Served::start(&operator_with_view("served"), ""))
    }

    /// A kubeconfig for the views, with this token.
    fn kubeconfig_of(&self, name: &str, token: &str) -> PathBuf {
        let admin = std::fs::read_to_string(self.0.kubeconfig()).unwrap();
        let file = self.0.file(&format!("views-{name}.yaml"), &admin);
        let token = format!("--token={token}");
        let set = ["config", "set-credentials", "deltic-views", &token];
        self.0
            .installed
            .cluster
            .kubectl_of(&file, &set, "")
            .unwrap();
        file
    }

    /// Runs kubectl on the views; panics if it fails.
    fn kubectl(&self, kubeconfig: &Path, args: &[&str]) -> String {
        let output = self.0.installed.cluster.kubectl_of(kubeconfig, args, "");
        output.unwrap_or_else(|failed| panic!("kubectl {}: {}", args.join(" "), failed.stderr))
    }

    /// The message of a kubectl command that fails.
    fn refused(&self, kubeconfig: &Path, args: &[&str]) -> String {
        let output = self.0.installed.cluster.kubectl_of(kubeconfig, args, "");
        output.expect_err(&args.join(" ")).stderr
    }
}

#[test]
fn views_are_read_and_written_with_kubectl() {
    let served = Views::start();
    let cluster = &served.0.installed.cluster;
    let namespace = cluster.namespace("served");
    cluster.source(&namespace, "a", "one");
    cluster.source(&namespace, "b", "two");
    let admin = served.0.kubeconfig();
    await_some("the view is filled", || {
        let names = cluster.kubectl_of(&admin, &["get", "entry", "-A", "-o", "name"], "");
        let names = names.ok()?;
        (names.lines().count() == 2).then_some(())
    });
    let group = "entry.served.view.dcontroller.io";
    let names = served.kubectl(&admin, &["get", "views", "-A", "-o", "name"]);
    assert_eq!(names, format!("{group}/a\n{group}/b\n"));
    let table = served.kubectl(&admin, &["get", "entry", "-n", &namespace]);
    assert!(
        table.starts_with("NAME   K     AGE\na      one   "),
        "{table}"
    );
    let get = ["get", "entry", "a", "-n", &namespace, "-o", "jsonpath={.k}"];
    assert_eq!(served.kubectl(&admin, &get), "one");
    let explain = served.kubectl(&admin, &["explain", "entry"]);
    assert!(explain.contains("KIND:       Entry"), "{explain}");

    // Labels are free, what the controller yields is not.
    let label = ["label", "entry", "a", "mine=yes", "-n", &namespace];
    served.kubectl(&admin, &label);
    let merge = [
        "patch",
        "entry",
        "a",
        "-n",
        &namespace,
        "--type=merge",
        "-p",
    ];
    let patch = [&merge[..], &[r#"{"k":"x"}"#]].concat();
    let message = served.refused(&admin, &patch);
    assert!(
        message.contains("controller c of Operator served derives"),
        "{message}"
    );
    refusal_is_recorded(&served.0.process, &namespace);

    // Objects of users are theirs.
    let own = json!({
        "apiVersion": "served.view.dcontroller.io/v1alpha1", "kind": "Entry",
        "metadata": {"name": "own", "namespace": namespace}, "k": "mine"
    });
    let apply = |kind: &str| {
        let args = ["apply", kind, "-f", "-"];
        let output = cluster.kubectl_of(&admin, &args, &own.to_string());
        output.unwrap_or_else(|failed| panic!("{}", failed.stderr))
    };
    assert_eq!(
        apply("--server-side"),
        format!("{group}/own serverside-applied\n")
    );
    assert_eq!(
        apply("--server-side"),
        format!("{group}/own serverside-applied\n")
    );
    let delete = ["delete", "entry", "own", "-n", &namespace];
    served.kubectl(&admin, &delete);

    // A watch ends when the object changes as it waits for.
    cluster.source(&namespace, "a", "three");
    let wait = [
        "wait",
        "entry/a",
        "-n",
        &namespace,
        "--for=jsonpath={.k}=three",
    ];
    served.kubectl(&admin, &wait);
    stop_deltic(served.0.process);
}

/// The audit log and the metrics show the refused patch of `a`, and not what was in it.
fn refusal_is_recorded(process: &Process, namespace: &str) {
    let line = await_some("the write is in the audit log", || {
        let log = process.log();
        let lines = log.lines().map(str::to_owned);
        let mut lines = lines.filter(|line| line.contains("a write to views"));
        lines.find(|line| line.contains("403"))
    });
    let fields: Value = serde_json::from_str(&line).unwrap();
    for (field, expect) in [
        ("user", json!("admin")),
        ("verb", json!("patch")),
        ("group", json!("served.view.dcontroller.io")),
        ("resource", json!("entry")),
        ("namespace", json!(namespace)),
        ("name", json!("a")),
        ("code", json!(403)),
    ] {
        assert_eq!(fields[field], expect, "{line}");
    }
    let labels = "verb=\"PATCH\",group=\"served.view.dcontroller.io\"";
    let patches = metric(process, "apiserver_request_total", labels);
    assert!(patches >= 2.0, "{patches}");
}

#[test]
fn tokens_that_the_cluster_does_not_accept_are_refused() {
    let served = Views::start();
    let cluster = &served.0.installed.cluster;
    let namespace = cluster.namespace("tokens");
    cluster.kubectl(&["create", "-n", &namespace, "serviceaccount", "user"]);
    let sign = |key: &TokenKey, ago| cluster.signed_token(&namespace, "user", key, ago);
    let good = sign(&TokenKey::Own, Duration::ZERO);
    let list = [
        "get",
        "--raw",
        "/apis/served.view.dcontroller.io/v1alpha1/entry",
    ];
    let message = served.refused(&served.kubeconfig_of("good", &good), &list);
    let user = format!("User \"system:serviceaccount:{namespace}:user\" cannot list");
    assert!(message.contains(&user), "{message}");
    let (head, signature) = good.rsplit_once('.').unwrap();
    let other = sign(&TokenKey::Own, Duration::from_mins(1));
    let (changed, _) = other.rsplit_once('.').unwrap();
    assert_ne!(head, changed);
    for (name, token) in [
        ("expired", sign(&TokenKey::Own, Duration::from_hours(2))),
        ("foreign", sign(&TokenKey::Foreign, Duration::ZERO)),
        ("forged", format!("{changed}.{signature}")),
        ("unsigned", "eyJhbGciOiJub25lIn0.e30.".to_owned()),
        ("nonsense", "x".to_owned()),
    ] {
        let message = served.refused(&served.kubeconfig_of(name, &token), &list);
        assert!(message.contains("Unauthorized"), "{name}: {message}");
    }
    // The token of an account that is deleted soon ends, too.
    cluster.kubectl(&["delete", "-n", &namespace, "serviceaccount", "user"]);
    await_some("the account is not known any more", || {
        let message = served.refused(&served.kubeconfig_of("good", &good), &list);
        message.contains("Unauthorized").then_some(())
    });
    stop_deltic(served.0.process);
}

#[test]
fn the_cluster_decides_who_reads_what() {
    let served = Views::start();
    let cluster = &served.0.installed.cluster;
    let (mine, other) = (cluster.namespace("mine"), cluster.namespace("other"));
    cluster.source(&mine, "a", "one");
    cluster.source(&other, "b", "two");
    cluster.kubectl(&["create", "-n", &mine, "serviceaccount", "user"]);
    let resource = "entry.served.view.dcontroller.io";
    let role = [
        "create",
        "-n",
        &mine,
        "role",
        "reader",
        "--verb=get,list,watch",
    ];
    let resources = format!("--resource={resource}");
    // kubectl asks the cluster which resource that is, and the cluster does not know it.
    let _ = cluster.try_kubectl(&[&role[..], &[&resources]].concat(), "");
    cluster.apply(
        &json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "reader", "namespace": mine},
            "rules": [{
                "apiGroups": ["served.view.dcontroller.io"], "resources": ["entry"],
                "verbs": ["get", "list", "watch"]
            }]
        })
        .to_string(),
    );
    let account = format!("--serviceaccount={mine}:user");
    let bind = [
        "create",
        "-n",
        &mine,
        "rolebinding",
        "reader",
        "--role=reader",
        &account,
    ];
    cluster.kubectl(&bind);
    let token = cluster.kubectl(&["create", "-n", &mine, "token", "user"]);
    let user = served.kubeconfig_of("user", token.trim());
    await_some("the user sees the view", || {
        let get = ["get", "entry", "-n", &mine, "-o", "name"];
        let names = cluster.kubectl_of(&user, &get, "").ok()?;
        (names.lines().count() == 1).then_some(())
    });
    let denied = format!(
        "User \"system:serviceaccount:{mine}:user\" cannot list resource \"entry\" in API group \
         \"served.view.dcontroller.io\""
    );
    for (args, place) in [
        (
            vec!["get", "entry", "-A"],
            "at the cluster scope".to_owned(),
        ),
        (
            vec!["get", "entry", "-n", &other],
            format!("in the namespace {other:?}"),
        ),
    ] {
        let message = served.refused(&user, &args);
        let expect = format!("{denied} {place}");
        assert!(message.contains(&expect), "{message}");
    }
    stop_deltic(served.0.process);
}
