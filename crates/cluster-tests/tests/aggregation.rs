//! Views as part of the cluster's own API, with the kubeconfig, the login and the roles of each user.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::process::Command;

use cluster_tests::{
    Aggregated, Binaries, ClientCertificate, Cluster, VIEWS as GROUP, await_some, await_true,
    free_port, operator_with_view, stop_deltic,
};
use http::Request;
use kube::config::KubeConfigOptions;
use serde_json::{Value, json};

const REGISTRATION: &str = "apiservice/v1alpha1.served.view.dcontroller.io";

#[test]
fn views_are_part_of_the_clusters_api() {
    let aggregated = Aggregated::new();
    let cluster = aggregated.cluster();
    let foreign = foreign_registration(cluster);
    let deltic = aggregated.start(&[]);
    let (mine, other) = (cluster.namespace("mine"), cluster.namespace("other"));
    aggregated.cluster().source(&mine, "a", "one");
    aggregated.cluster().source(&other, "b", "two");
    aggregated.await_entries(2);
    reads_and_writes(&aggregated, &mine);
    roles_decide(&aggregated, &mine, &other);

    // What is deleted by mistake comes back, and an Operator that is gone takes its group along.
    aggregated.install(&operator_with_view("second"));
    let second = "apiservice/v1alpha1.second.view.dcontroller.io";
    await_true("the second group is registered", || {
        aggregated.registered(second)
    });
    cluster.kubectl(&["delete", "operator", "second"]);
    await_true("its registration goes with it", || {
        !aggregated.registered(second)
    });

    // Nobody answers after a clean end, so nothing is registered; others are left alone.
    stop_deltic(deltic);
    assert!(!aggregated.registered(REGISTRATION));
    let now = cluster.get(&["apiservice", "v1alpha1.similar.view.dcontroller.io"]);
    assert_eq!(now["metadata"]["uid"], foreign["metadata"]["uid"]);
    assert_eq!(now["spec"], foreign["spec"]);
    assert_eq!(
        now["metadata"]["annotations"],
        foreign["metadata"]["annotations"]
    );
}

/// Somebody else's registration, with a similar name.
fn foreign_registration(cluster: &Cluster) -> Value {
    cluster.apply(
        &json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": {"name": "v1alpha1.similar.view.dcontroller.io"},
            "spec": {
                "group": "similar.view.dcontroller.io", "version": "v1alpha1",
                "groupPriorityMinimum": 100, "versionPriority": 100, "insecureSkipTLSVerify": true,
                "service": {"namespace": "default", "name": "other"}
            }
        })
        .to_string(),
    );
    cluster.get(&["apiservice", "v1alpha1.similar.view.dcontroller.io"])
}

/// What kubectl does with views, as the administrator of the cluster.
fn reads_and_writes(aggregated: &Aggregated, namespace: &str) {
    let cluster = aggregated.cluster();
    let wait = [
        "wait",
        "--for=condition=Available",
        "--timeout=60s",
        REGISTRATION,
    ];
    cluster.kubectl(&wait);
    let names = cluster.kubectl(&["get", "views", "-A", "-o", "name"]);
    assert_eq!(names, format!("entry.{GROUP}/a\nentry.{GROUP}/b\n"));
    let table = cluster.kubectl(&["get", "entry", "-n", namespace]);
    assert!(table.starts_with("NAME   "), "{table}");
    let resources = format!("--api-group={GROUP}");
    let resources = cluster.kubectl(&["api-resources", &resources, "--no-headers"]);
    assert!(resources.contains("Entry"), "{resources}");
    await_some("the schema is merged into that of the cluster", || {
        let explained = cluster.try_kubectl(&["explain", "entry"], "").ok()?;
        explained.contains("KIND:       Entry").then_some(())
    });

    // A watch through the API server sees the next change.
    let file = cluster.directory().join("admin.kubeconfig");
    let mut command = Command::new(Binaries::get().path("kubectl"));
    command.arg("--kubeconfig").arg(file);
    command.args([
        "get",
        "entry",
        "-n",
        namespace,
        "-w",
        "-o",
        "jsonpath={.k}{\"\\n\"}",
    ]);
    let watch = cluster.process(&mut command);
    await_true("the watch begins", || watch.log() == "one\n");
    aggregated.cluster().source(namespace, "a", "three");
    await_true("the change arrives", || watch.log() == "one\nthree\n");
    let jsonpath = "--for=jsonpath={.k}=three";
    cluster.kubectl(&["wait", "entry/a", "-n", namespace, jsonpath]);

    // Objects of users are theirs; what a controller yields is not.
    let own = json!({
        "apiVersion": format!("{GROUP}/v1alpha1"), "kind": "Entry",
        "metadata": {"name": "own", "namespace": namespace}, "k": "mine"
    });
    let created = cluster.apply(&own.to_string());
    assert_eq!(created, format!("entry.{GROUP}/own serverside-applied\n"));
    cluster.kubectl(&["delete", "entry", "own", "-n", namespace]);
    let patch = [
        "patch",
        "entry",
        "a",
        "-n",
        namespace,
        "--type=merge",
        "-p",
        r#"{"k":"x"}"#,
    ];
    let refused = cluster.try_kubectl(&patch, "").unwrap_err().stderr;
    let expect = "controller c of Operator served derives";
    assert!(refused.contains(expect), "{refused}");
}

/// A role for one object is enough to wait for it, and shows no other.
fn one_name(aggregated: &Aggregated, namespace: &str) {
    let cluster = aggregated.cluster();
    let user = cluster.service_account(namespace, "one").kubeconfig();
    let resource = format!("--resource=entry.{GROUP}");
    let verbs = "--verb=get,list,watch";
    let role = ["create", "-n", namespace, "role", "one", verbs, &resource];
    cluster.kubectl(&[&role[..], &["--resource-name=b"]].concat());
    let account = format!("--serviceaccount={namespace}:one");
    let bind = [
        "create",
        "-n",
        namespace,
        "rolebinding",
        "one",
        "--role=one",
    ];
    cluster.kubectl(&[&bind[..], &[&account]].concat());
    let run = |args: &[&str]| cluster.kubectl_of(&user, args, "");
    let wait = ["wait", "entry/b", "-n", namespace, "--timeout=20s"];
    await_some("the role counts", || {
        run(&[&wait[..], &["--for=jsonpath={.metadata.name}=b"]].concat()).ok()
    });
    assert!(run(&["get", "entry", "-n", namespace]).is_err());
}

/// A user sees what a Role allows, and nothing else.
fn roles_decide(aggregated: &Aggregated, mine: &str, other: &str) {
    let cluster = aggregated.cluster();
    let user = cluster.service_account(mine, "user").kubeconfig();
    let resource = format!("--resource=entry.{GROUP}");
    let role = [
        "create",
        "-n",
        mine,
        "role",
        "reader",
        "--verb=get,list,watch",
        &resource,
    ];
    cluster.kubectl(&role);
    let account = format!("--serviceaccount={mine}:user");
    let bind = [
        "create",
        "-n",
        mine,
        "rolebinding",
        "reader",
        "--role=reader",
        &account,
    ];
    cluster.kubectl(&bind);
    let run = |args: &[&str]| cluster.kubectl_of(&user, args, "");
    let names = await_some("the role counts", || {
        run(&["get", "entry", "-n", mine, "-o", "name"]).ok()
    });
    assert_eq!(names, format!("entry.{GROUP}/a\n"));
    let can = |namespace: &str| {
        run(&[
            "auth",
            "can-i",
            "list",
            &format!("entry.{GROUP}"),
            "-n",
            namespace,
        ])
    };
    assert_eq!(can(mine).unwrap(), "yes\n");
    assert!(can(other).is_err());
    one_name(aggregated, other);
    let denied = format!(
        "User \"system:serviceaccount:{mine}:user\" cannot list resource \"entry\" in API group {GROUP:?}"
    );
    let in_other = format!("in the namespace {other:?}");
    for (args, place) in [
        (&["get", "entry", "-A"][..], "at the cluster scope"),
        (&["get", "entry", "-n", other][..], in_other.as_str()),
    ] {
        let message = run(args).unwrap_err().stderr;
        assert!(message.contains(&format!("{denied} {place}")), "{message}");
    }
    // The API server impersonates, and forwards the result.
    let reader = format!("--as=system:serviceaccount:{mine}:user");
    let names = cluster.kubectl(&["get", "entry", "-n", mine, "-o", "name", &reader]);
    assert_eq!(names, format!("entry.{GROUP}/a\n"));
}

#[tokio::test]
async fn only_the_front_proxy_is_believed() {
    let aggregated = Aggregated::new();
    let cluster = aggregated.cluster();
    let deltic = aggregated.start(&[]);
    aggregated.await_entries(0);
    let forged = [
        ("X-Remote-User", "admin"),
        ("X-Remote-Group", "system:masters"),
    ];
    let list = format!("/apis/{GROUP}/v1alpha1/entry");
    let ask = async |certificate: Option<ClientCertificate>, headers: &[(&str, &str)]| {
        let client = own_port(&aggregated, certificate).await;
        let mut request = Request::get(&list);
        for (key, value) in headers {
            request = request.header(*key, *value);
        }
        match client.request_text(request.body(Vec::new()).unwrap()).await {
            Ok(_) => 200,
            Err(kube::Error::Api(status)) => status.code,
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(ask(None, &forged).await, 401, "no certificate");
    let jane = cluster.user_certificate("jane", None);
    assert_eq!(
        ask(Some(jane), &forged).await,
        403,
        "a user is who the certificate says"
    );
    let admin = cluster.user_certificate("root", Some("system:masters"));
    assert_eq!(
        ask(Some(admin), &[]).await,
        200,
        "users log in with certificates"
    );
    let stranger = cluster.proxy_certificate("stranger");
    assert_eq!(
        ask(Some(stranger), &forged).await,
        401,
        "a name that is not allowed"
    );
    let proxy = cluster.proxy_certificate("front-proxy-client");
    assert_eq!(
        ask(Some(proxy.clone()), &forged).await,
        200,
        "the API server itself"
    );
    let forwarded = [("X-Remote-User", "nobody")];
    assert_eq!(
        ask(Some(proxy.clone()), &forwarded).await,
        403,
        "it forwards a user"
    );
    assert_eq!(ask(Some(proxy), &[]).await, 401, "it forwards nobody");
    stop_deltic(deltic);
}

/// A client of deltic's own port.
async fn own_port(aggregated: &Aggregated, shown: Option<ClientCertificate>) -> kube::Client {
    let cluster = aggregated.cluster();
    let secret = cluster.get(&["secret", "-n", "deltic", "deltic-serving"]);
    let mut user = json!({});
    if let Some(shown) = shown {
        let files = ["shown.crt", "shown.key"].map(|name| cluster.directory().join(name));
        std::fs::write(&files[0], shown.certificate).unwrap();
        std::fs::write(&files[1], shown.key).unwrap();
        user = json!({"client-certificate": files[0], "client-key": files[1]});
    }
    let kubeconfig = json!({
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        "clusters": [{"name": "c", "cluster": {
            "server": format!("https://localhost:{}", aggregated.port),
            "certificate-authority-data": secret["data"]["ca.crt"]
        }}],
        "users": [{"name": "c", "user": user}]
    });
    let kubeconfig = serde_json::from_value(kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    kube::Client::try_from(config.unwrap()).unwrap()
}

/// Kubernetes does not depend on deltic for longer than deltic is away.
#[test]
fn a_restart_is_survived_by_clients_and_controllers() {
    let aggregated = Aggregated::new();
    let cluster = aggregated.cluster();
    let mut deltic = aggregated.start(&[]);
    let namespace = cluster.namespace("kept");
    aggregated.cluster().source(&namespace, "a", "one");
    aggregated.await_entries(1);
    let before = cluster.get(&[REGISTRATION]);
    // A namespace does not wait for views, which are derived from what is elsewhere.
    let shown = cluster.namespace("shown");
    aggregated
        .cluster()
        .source_into(&namespace, "elsewhere", &shown);
    aggregated.await_entries(2);
    cluster.kubectl(&["delete", "namespace", &shown, "--timeout=60s"]);
    aggregated.await_entries(2);
    cluster.kubectl(&["delete", "configmap", "elsewhere", "-n", &namespace]);
    aggregated.await_entries(1);
    let doomed = cluster.namespace("doomed");
    let owner = cluster.get(&["configmap", "a", "-n", &namespace]);
    let dependent = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "dependent", "namespace": namespace, "ownerReferences": [{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": owner["metadata"]["uid"]
        }]}
    });
    cluster.apply(&dependent.to_string());
    deltic.kill();
    let unavailable = [
        "wait",
        "--for=condition=Available=False",
        "--timeout=90s",
        REGISTRATION,
    ];
    cluster.kubectl(&unavailable);
    // The garbage collector works on without the group.
    cluster.kubectl(&["delete", "configmap", "a", "-n", &namespace]);
    await_true("the dependent is collected", || {
        let get = ["get", "configmap", "dependent", "-n", &namespace];
        cluster.try_kubectl(&get, "").is_err()
    });
    // A namespace waits: Kubernetes cannot know whether it has views.
    cluster.kubectl(&["delete", "namespace", &doomed, "--wait=false"]);
    await_some("the namespace says what it waits for", || {
        let get = [
            "get",
            "namespace",
            &doomed,
            "-o",
            "jsonpath={.status.conditions[*].reason}",
        ];
        let reasons = cluster.try_kubectl(&get, "").ok()?;
        reasons.contains("DiscoveryFailed").then_some(())
    });
    let again = aggregated.start(&[]);
    await_true("the namespace is gone", || {
        cluster
            .try_kubectl(&["get", "namespace", &doomed], "")
            .is_err()
    });
    aggregated.await_entries(0);
    let after = cluster.get(&[REGISTRATION]);
    assert_eq!(
        after["metadata"]["uid"], before["metadata"]["uid"],
        "it is the same"
    );
    assert_eq!(after["spec"], before["spec"]);
    stop_deltic(again);
}

/// The addresses in the `EndpointSlice` of the Service.
fn endpoints(cluster: &Cluster) -> Option<String> {
    let addresses = "jsonpath={.endpoints[*].addresses[*]}";
    let get = [
        "get",
        "-n",
        "deltic",
        "endpointslice",
        "deltic-views",
        "-o",
        addresses,
    ];
    cluster.try_kubectl(&get, "").ok()
}

/// The port that the registration names, once it exists: it is written after the endpoints.
fn registered_port(cluster: &Cluster) -> Option<u16> {
    let port = "jsonpath={.spec.service.port}";
    let get = ["get", REGISTRATION, "-o", port];
    cluster.try_kubectl(&get, "").ok()?.parse().ok()
}

/// Replicas come and go, and somebody deletes what the leader has written.
#[test]
fn another_replica_takes_over() {
    let aggregated = Aggregated::new();
    let cluster = aggregated.cluster();
    let namespace = cluster.namespace("kept");
    cluster.source(&namespace, "a", "one");
    let replica = |port: u16, address: &str| {
        let flags = ["--leader-elect", "--aggregate-address", address];
        aggregated.start_at(port, &flags)
    };
    let leads = |port: u16, address: &str| {
        await_true(&format!("{address} is the endpoint"), || {
            endpoints(cluster).as_deref() == Some(address)
        });
        // Each replica has a port of its own here, because all have the same address.
        await_true("its port is registered", || {
            registered_port(cluster) == Some(port)
        });
        aggregated.await_entries(1);
    };
    let ports = [free_port(), free_port(), free_port()];
    let mut first = replica(ports[0], "10.1.0.1");
    leads(ports[0], "10.1.0.1");
    let before = cluster.get(&[REGISTRATION]);
    let second = replica(ports[1], "10.1.0.2");
    await_true("the second replica serves", || {
        second.log().contains("serving views")
    });
    assert_eq!(endpoints(cluster).as_deref(), Some("10.1.0.1"));
    first.kill();
    leads(ports[1], "10.1.0.2");
    let after = cluster.get(&[REGISTRATION]);
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);

    cluster.kubectl(&["delete", "-n", "deltic", "endpointslice", "deltic-views"]);
    leads(ports[1], "10.1.0.2");

    // A replica that ends well is no endpoint any more, and its registration stays.
    stop_deltic(second);
    assert_eq!(endpoints(cluster).as_deref(), Some(""));
    assert!(aggregated.registered(REGISTRATION));
    // The next one has another authority, which the API server has to trust.
    cluster.kubectl(&["delete", "-n", "deltic", "secret", "deltic-serving"]);
    let third = replica(ports[2], "10.1.0.3");
    leads(ports[2], "10.1.0.3");
    let authority = |object: &Value| object["spec"]["caBundle"].clone();
    assert_ne!(authority(&cluster.get(&[REGISTRATION])), authority(&after));
    stop_deltic(third);
}
