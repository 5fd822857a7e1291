//! Permissions: deltic needs only the roles that `deltic rbac` prints, names missing permissions,
//! and separates Operators from each other and from the kinds that the administrator denies.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use cluster_tests::{Cluster, DELTIC, Installed, await_some, stop_deltic};
use serde_json::{Value, json};

/// An Operator that copies a field of the objects of one kind into objects of another.
struct Copies<'a> {
    name: &'a str,
    from: &'a str,
    to: (&'a str, &'a str),
    account: Option<(&'a str, &'a str)>,
}

impl Copies<'_> {
    fn print(&self) -> String {
        let target_name = json!({"@concat": ["$.metadata.name", "-", self.name]});
        let (group, kind) = self.to;
        let mut projected = json!({
            "metadata": {"name": target_name, "namespace": "$.metadata.namespace"}
        });
        // Objects of other kinds have no `data`.
        if group.is_empty() {
            projected["data"] = json!({"k": "$.data.k"});
        }
        let mut spec = json!({"controllers": [{
            "name": "copy",
            "sources": [{
                "apiGroup": "", "kind": self.from, "labelSelector": {"matchLabels": {"copy": "yes"}}
            }],
            "pipeline": [{"@project": projected}],
            "target": {"apiGroup": group, "kind": kind}
        }]});
        if let Some((namespace, name)) = self.account {
            spec["serviceAccount"] = json!({"namespace": namespace, "name": name});
        }
        json!({
            "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
            "metadata": {"name": self.name}, "spec": spec
        })
        .to_string()
    }
}

fn source(namespace: &str, kind: &str, name: &str, value: &str) -> Value {
    let mut object = json!({
        "apiVersion": "v1", "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": {"copy": "yes"}}
    });
    let field = if kind == "Secret" {
        "stringData"
    } else {
        "data"
    };
    object[field] = json!({"k": value});
    object
}

/// An object that is not a source of any Operator here.
fn like(namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"},
        "metadata": {"name": "one", "namespace": namespace, "labels": {"copy": "no"}}
    })
}

/// The value in a copy; `None` if there is no copy.
fn copied(cluster: &Cluster, namespace: &str, kind: &str, name: &str) -> Option<String> {
    let get = ["get", kind, name, "-n", namespace, "--ignore-not-found"];
    let text = cluster.kubectl(&[&get[..], &["-o", "jsonpath={.data.k}"]].concat());
    (!text.is_empty()).then_some(text)
}

fn await_copy(cluster: &Cluster, namespace: &str, name: &str, value: &str) {
    await_some(&format!("{name} holds {value}"), || {
        let now = copied(cluster, namespace, "configmap", name)?;
        (now == value).then_some(())
    });
}

/// Removes verbs on a resource from a role.
fn take_away(cluster: &Cluster, role: &str, resource: &str, verbs: &[&str]) {
    let mut rules = cluster.get(&["clusterrole", role])["rules"].clone();
    let mut taken = 0;
    for rule in rules.as_array_mut().unwrap() {
        if !rule["resources"]
            .as_array()
            .unwrap()
            .contains(&json!(resource))
        {
            continue;
        }
        let all = rule["verbs"].as_array_mut().unwrap();
        let before = all.len();
        all.retain(|verb| !verbs.iter().any(|other| verb == other));
        taken += before - all.len();
    }
    assert_eq!(taken, verbs.len(), "{rules}");
    let rules = rules.as_array_mut().unwrap();
    rules.retain(|rule| !rule["verbs"].as_array().unwrap().is_empty());
    let patch = json!({"rules": rules}).to_string();
    cluster.kubectl(&["patch", "clusterrole", role, "--type=merge", "-p", &patch]);
}

fn may(cluster: &Cluster, verb: &str, resource: &str) -> bool {
    let ask = ["auth", "can-i", verb, resource, "-A", "--as", DELTIC];
    cluster.try_kubectl(&ask, "").is_ok()
}

/// Checks that the status names a missing permission, and that everything goes on once it is
/// granted.
fn check_missing(resource: &str, verbs: &[&str], reason: &str, named: &[&str]) {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("rights");
    let bystanders = cluster.bystanders("rights", &[like(&namespace)], 50);
    let operator = Copies {
        name: "rights",
        from: "ConfigMap",
        to: ("", "Secret"),
        account: None,
    };
    let operator = operator.print();
    cluster.apply(&source(&namespace, "ConfigMap", "one", "v").to_string());
    installed.install(&operator);
    // The account has these permissions and no others.
    assert!(may(cluster, "watch", "configmaps") && may(cluster, "create", "secrets"));
    assert!(!may(cluster, "create", "configmaps") && !may(cluster, "list", "pods"));
    assert!(!may(cluster, "*", "*"));
    take_away(cluster, "deltic-rights", resource, verbs);

    let process = installed.deltic();
    let message = await_some("the status names the permission", || {
        let condition = installed.condition("rights")?;
        let all = named.iter().all(|part| condition.message.contains(part));
        (condition.reason == reason && all).then_some(condition.message)
    });
    assert!(!message.contains("\"v\""), "{message}");
    cluster.apply(&installed.rights(&operator, &[]));
    await_some("the copy exists", || {
        copied(cluster, &namespace, "secret", "one-rights")
    });
    installed.await_reason("rights", "Ready");
    installed.converge(&["configmaps"], "secrets", "Secret");
    stop_deltic(process);
    bystanders.assert_untouched();
}

#[test]
fn a_missing_permission_to_read_a_source_is_named() {
    let named = [
        "source ConfigMap",
        "watch",
        "\"configmaps\"",
        "API group \"\"",
    ];
    check_missing("configmaps", &["list", "watch"], "NotReady", &named);
}

#[test]
fn a_missing_permission_to_write_a_target_is_named() {
    let named = ["create secrets", "API group \"\"", "in namespace rights-"];
    check_missing("secrets", &["create"], "ReconciliationFailed", &named);
}

#[test]
fn a_missing_permission_to_watch_a_target_is_named() {
    let named = ["target Secret", "watch", "\"secrets\"", "API group \"\""];
    check_missing("secrets", &["list", "watch"], "NotReady", &named);
}

#[test]
fn an_account_reads_and_writes_with_its_own_permissions_only() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("accounts");
    let bystanders = cluster.bystanders("closed", &[like(&namespace)], 50);
    cluster.service_account(&namespace, "tenant");
    let to = ("", "ConfigMap");
    let open = Copies {
        name: "open",
        from: "Secret",
        to,
        account: None,
    };
    let closed = Copies {
        name: "closed",
        account: Some((&namespace, "tenant")),
        ..open
    };
    cluster.apply(&source(&namespace, "Secret", "one", "hidden").to_string());
    installed.install(&open.print());
    installed.install(&closed.print());
    take_away(
        cluster,
        "deltic-closed-account",
        "secrets",
        &["list", "watch"],
    );

    // Both read the same kind. The account without permission gets no object, through any watch.
    let process = installed.deltic();
    await_copy(cluster, &namespace, "one-open", "hidden");
    let message = await_some("the status names account and permission", || {
        let condition = installed.condition("closed")?;
        let forbidden = condition.message.contains("\"secrets\"");
        (condition.reason == "NotReady" && forbidden).then_some(condition.message)
    });
    let account = format!("system:serviceaccount:{namespace}:tenant");
    assert!(message.contains(&account), "{message}");
    cluster.apply(&source(&namespace, "Secret", "one", "changed").to_string());
    await_copy(cluster, &namespace, "one-open", "changed");
    assert_eq!(copied(cluster, &namespace, "configmap", "one-closed"), None);
    let controller = installed.controller("closed", "copy");
    assert_eq!(controller["counts"]["objects"], 0, "{controller}");

    // With the permission it gets its copy, written by the account.
    cluster.apply(&installed.rights(&closed.print(), &[]));
    await_copy(cluster, &namespace, "one-closed", "changed");
    let writes = installed.writes();
    let of = |name: &str| {
        let writes = writes.iter().filter(|write| write.resource == "configmaps");
        let writes = writes.filter(|write| write.name == name);
        writes
            .map(|write| write.impersonated.clone())
            .collect::<Vec<_>>()
    };
    let (by_itself, by_account) = (of("one-open"), of("one-closed"));
    assert!(by_itself.len() >= 2 && by_itself.iter().all(Option::is_none));
    assert!(!by_account.is_empty());
    assert!(
        by_account
            .iter()
            .all(|user| user.as_ref() == Some(&account))
    );
    stop_deltic(process);
    bystanders.assert_untouched();
}

/// An Operator that puts Secrets into a view, and one with an account that reads the view.
fn through_a_view(namespace: &str) -> [Value; 2] {
    let operator = |name: &str, source: Value, project: Value, target: Value| {
        json!({
            "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": name},
            "spec": {"controllers": [{
                "name": "c", "sources": [source], "pipeline": [{"@project": project}],
                "target": target
            }]}
        })
    };
    let metadata = json!({"name": "$.metadata.name", "namespace": "$.metadata.namespace"});
    let secrets = json!({
        "apiGroup": "", "kind": "Secret", "labelSelector": {"matchLabels": {"copy": "yes"}}
    });
    let project = json!({"metadata": metadata, "k": "$.data.k"});
    let producer = operator("producer", secrets, project, json!({"kind": "Entry"}));
    let view = json!({"apiGroup": "producer.view.dcontroller.io", "kind": "Entry"});
    let project = json!({"metadata": metadata, "data": {"k": "$.k"}});
    let target = json!({"apiGroup": "", "kind": "ConfigMap"});
    let mut reader = operator("reader", view, project, target);
    reader["spec"]["serviceAccount"] = json!({"namespace": namespace, "name": "tenant"});
    [producer, reader]
}

#[test]
fn an_account_reads_a_view_only_with_the_permission() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("entries");
    cluster.service_account(&namespace, "tenant");
    cluster.apply(&source(&namespace, "Secret", "one", "hidden").to_string());
    let [producer, reader] = through_a_view(&namespace).map(|operator| operator.to_string());
    installed.install(&producer);
    installed.install(&reader);
    let revoke = || {
        take_away(
            cluster,
            "deltic-reader-account",
            "entry",
            &["list", "watch"],
        );
    };
    revoke();
    let process = installed.deltic();
    let refused = || {
        let message = await_some("the status names the rule", || {
            let condition = installed.condition("reader")?;
            let rule = "list and watch entry in group producer.view.dcontroller.io";
            let named = condition.message.contains(rule);
            (condition.reason == "NotReady" && named).then_some(condition.message)
        });
        let account = format!("system:serviceaccount:{namespace}:tenant");
        assert!(message.contains(&account), "{message}");
    };
    refused();
    installed.await_reason("producer", "Ready");
    assert_eq!(copied(cluster, &namespace, "configmap", "one"), None);

    // Granted, and taken away again: what was derived stays as it is.
    cluster.apply(&installed.rights(&reader, &[]));
    await_copy(cluster, &namespace, "one", "hidden");
    installed.await_reason("reader", "Ready");
    revoke();
    refused();
    cluster.apply(&source(&namespace, "Secret", "one", "changed").to_string());
    cluster.apply(&source(&namespace, "Secret", "two", "other").to_string());
    installed.await_reason("producer", "Ready");
    await_copy(cluster, &namespace, "one", "hidden");
    assert_eq!(copied(cluster, &namespace, "configmap", "two"), None);
    stop_deltic(process);
}

#[test]
fn an_operator_without_an_account_is_refused_where_one_is_required() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("required");
    let bystanders = cluster.bystanders("without", &[like(&namespace)], 50);
    cluster.service_account(&namespace, "tenant");
    let without = Copies {
        name: "without",
        from: "ConfigMap",
        to: ("", "ConfigMap"),
        account: None,
    };
    let with = Copies {
        name: "with",
        account: Some((&namespace, "tenant")),
        ..without
    };
    installed.install(&without.print());
    installed.install(&with.print());
    cluster.apply(&source(&namespace, "ConfigMap", "one", "v").to_string());
    let process = installed.deltic_with(&["--require-service-account"]);
    let message = installed.await_reason("without", "Invalid");
    assert!(message.contains("service-account-required"), "{message}");
    assert!(message.contains("set spec.serviceAccount"), "{message}");
    await_copy(cluster, &namespace, "one-with", "v");
    assert_eq!(
        copied(cluster, &namespace, "configmap", "one-without"),
        None
    );
    stop_deltic(process);
    bystanders.assert_untouched();
}

#[test]
fn targets_are_denied_and_allowed_by_group_and_kind() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("targets");
    let bystanders = cluster.bystanders("allowed", &[like(&namespace)], 50);
    let copy = |name: &'static str, to: (&'static str, &'static str)| Copies {
        name,
        from: "ConfigMap",
        to,
        account: None,
    };
    let rbac = "rbac.authorization.k8s.io";
    let webhooks = "ValidatingWebhookConfiguration";
    let denied = [
        ("secrets", "", "Secret"),
        ("operators", "dcontroller.io", "Operator"),
        ("hooks", "admissionregistration.k8s.io", webhooks),
        ("crds", "apiextensions.k8s.io", "CustomResourceDefinition"),
        ("apis", "apiregistration.k8s.io", "APIService"),
        ("roles", rbac, "ClusterRole"),
        ("csrs", "certificates.k8s.io", "CertificateSigningRequest"),
    ];
    let denied = denied.map(|(name, group, kind)| copy(name, (group, kind)));
    for operator in &denied {
        installed.install(&operator.print());
    }
    installed.install(&copy("role", (rbac, "Role")).print());
    installed.install(&copy("allowed", ("", "ConfigMap")).print());
    cluster.apply(&source(&namespace, "ConfigMap", "one", "v").to_string());
    let allow = format!("{rbac}/Role");
    let process = installed.deltic_with(&["--deny-target", "/Secret", "--allow-target", &allow]);
    await_copy(cluster, &namespace, "one-allowed", "v");
    await_some("the Role exists", || {
        let get = ["get", "role", "one-role", "-n", &namespace];
        cluster.try_kubectl(&get, "").ok()
    });
    for operator in &denied {
        let message = installed.await_reason(operator.name, "Invalid");
        let (group, kind) = operator.to;
        let target = format!("{group}/{kind} may not be a target here");
        assert!(message.contains(&target), "{message}");
        assert!(message.contains("spec.controllers[0].target"), "{message}");
    }
    let allowed = ["operators", "configmaps", "roles"];
    for write in installed.writes() {
        assert!(
            allowed.contains(&write.resource.as_str()) || write.namespace != namespace,
            "{write:?}"
        );
    }
    stop_deltic(process);
    bystanders.assert_untouched();
}

/// An Operator whose objects are owned by the config maps that they are derived from.
fn owned(name: &str, kind: &str, way: &str) -> String {
    let owner = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "$.metadata.name",
        "uid": "$.metadata.uid", "blockOwnerDeletion": true
    });
    let metadata = json!({
        "name": "$.metadata.name", "namespace": "$.metadata.namespace", "ownerReferences": [owner]
    });
    let source = json!({
        "apiGroup": "", "kind": "ConfigMap", "labelSelector": {"matchLabels": {"owns": "yes"}}
    });
    json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": name},
        "spec": {"controllers": [{
            "name": "own", "sources": [source], "pipeline": [{"@project": {"metadata": metadata}}],
            "target": {"apiGroup": "", "kind": kind, "type": way}
        }]}
    })
    .to_string()
}

#[test]
fn the_printed_permissions_suffice_to_change_owners() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("owners");
    cluster.kubectl(&["create", "configmap", "one", "-n", &namespace]);
    cluster.kubectl(&["label", "configmap", "one", "owns=yes", "-n", &namespace]);
    cluster.kubectl(&["create", "serviceaccount", "one", "-n", &namespace]);
    let operators = [
        ("creates", "Secret", "Updater"),
        ("patches", "ServiceAccount", "Patcher"),
    ];
    for (name, kind, way) in operators {
        installed.install(&owned(name, kind, way));
    }
    let process = installed.deltic();
    for (name, kind, _) in operators {
        installed.await_reason(name, "Ready");
        let object = cluster.get(&[kind, "one", "-n", &namespace]);
        let owner = &object["metadata"]["ownerReferences"][0];
        assert_eq!(owner["blockOwnerDeletion"], true, "{object}");
    }
    stop_deltic(process);
}

#[test]
fn only_one_namespace_is_read_and_written() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let (inside, outside) = (cluster.namespace("inside"), cluster.namespace("outside"));
    let bystanders = cluster.bystanders("scoped", &[like(&inside), like(&outside)], 50);
    let operator = Copies {
        name: "scoped",
        from: "ConfigMap",
        to: ("", "ConfigMap"),
        account: None,
    };
    let operator = operator.print();
    let scope = ["--namespace", inside.as_str()];
    cluster.apply(&installed.rights(&operator, &scope));
    cluster.apply(&operator);
    assert!(!may(cluster, "list", "configmaps"));
    for namespace in [&inside, &outside] {
        cluster.apply(&source(namespace, "ConfigMap", "one", "v").to_string());
    }
    let process = installed.deltic_with(&scope);
    await_copy(cluster, &inside, "one-scoped", "v");
    installed.await_reason("scoped", "Ready");
    // Objects created later inside are copied, those outside never.
    cluster.apply(&source(&outside, "ConfigMap", "two", "v").to_string());
    cluster.apply(&source(&inside, "ConfigMap", "two", "v").to_string());
    await_copy(cluster, &inside, "two-scoped", "v");
    for name in ["one-scoped", "two-scoped"] {
        assert_eq!(copied(cluster, &outside, "configmap", name), None);
    }
    stop_deltic(process);
    bystanders.assert_untouched();
}
