//! A Patcher on Deployments with three containers: it changes only the fields that it yields, and
//! undoes them later, also after a restart.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use cluster_tests::{Cluster, Installed, await_some, stop_deltic};
use serde_json::{Value, json};

/// An Operator that sets image, limit and a variable of the container that a `ConfigMap` names, and
/// an annotation.
const PATCH: &str = r"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: {name: patch}
spec:
  controllers:
  - name: patch
    sources:
    - {apiGroup: '', kind: ConfigMap, labelSelector: {matchLabels: {role: patch}}}
    pipeline:
    - '@project':
        metadata:
          name: $.metadata.name
          namespace: $.metadata.namespace
          annotations: {example.com/level: $.data.level}
        spec:
          template:
            spec:
              containers:
              - name: $.data.container
                image: $.data.image
                resources: {limits: {cpu: $.data.cpu}}
                env: [{name: LEVEL, value: $.data.level}]
    target: {apiGroup: apps, kind: Deployment, type: Patcher}
";

const SOURCES: [&str; 2] = ["configmaps", "deployments.apps"];

fn deployment(namespace: &str, name: &str) -> Value {
    let labels = json!({"app": name});
    let containers = json!([
        {"name": "web", "image": "web:1", "ports": [{"containerPort": 80}]},
        {"name": "log", "image": "log:1", "env": [{"name": "A", "value": "1"}],
         "resources": {"limits": {"memory": "64Mi"}}},
        {"name": "side", "image": "side:1"}
    ]);
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "annotations": {"example.com/mine": "yes"}},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": containers}
        }}
    })
}

fn source(namespace: &str, name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": {"name": name, "namespace": namespace, "labels": {"role": "patch"}}
    })
}

fn full() -> Value {
    json!({"container": "log", "cpu": "500m", "level": "2"})
}

/// The annotations and the spec of a Deployment.
fn content(cluster: &Cluster, namespace: &str, name: &str) -> Value {
    let live = cluster.get(&["deployment", name, "-n", namespace]);
    let mut annotations = live["metadata"]["annotations"].clone();
    let all = annotations.as_object_mut().unwrap();
    // The Deployment controller of Kubernetes sets this one.
    all.remove("deployment.kubernetes.io/revision");
    json!({"annotations": annotations, "spec": live["spec"]})
}

fn container<'a>(content: &'a Value, name: &str) -> &'a Value {
    let containers = content["spec"]["template"]["spec"]["containers"].as_array();
    let found = containers.unwrap().iter().find(|c| c["name"] == name);
    found.unwrap()
}

/// Creates Deployments. Returns their content before they are patched.
fn deployments(cluster: &Cluster, namespace: &str, names: &[&str]) -> Vec<Value> {
    let made = names.iter().map(|name| {
        cluster.apply(&deployment(namespace, name).to_string());
        content(cluster, namespace, name)
    });
    made.collect()
}

fn delete_source(cluster: &Cluster, namespace: &str, name: &str) {
    cluster.kubectl(&["delete", "configmap", name, "-n", namespace]);
}

/// Sets the limit of the container `log`, as a user does.
fn set_cpu(cluster: &Cluster, namespace: &str, name: &str, cpu: &str) {
    cluster.kubectl(&[
        "set",
        "resources",
        "deployment",
        name,
        "-n",
        namespace,
        "-c",
        "log",
        &format!("--limits=cpu={cpu},memory=64Mi"),
    ]);
}

fn like(namespace: &str) -> [Value; 2] {
    [
        deployment(namespace, "like"),
        // An object that is not a source but resembles one.
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": full(),
            "metadata": {"name": "like", "namespace": namespace, "labels": {"role": "other"}}
        }),
    ]
}

#[test]
fn one_container_is_patched_and_restored() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("patch");
    let bystanders = cluster.bystanders("patch", &like(&namespace), 50);
    let names = ["running", "down", "changed"];
    let before = deployments(cluster, &namespace, &names);
    installed.install(PATCH);
    let process = installed.deltic();
    for name in names {
        cluster.apply(&source(&namespace, name, &full()).to_string());
    }
    installed.converge(&SOURCES, "deployments.apps", "Deployment");
    for (name, before) in names.iter().zip(&before) {
        let now = content(cluster, &namespace, name);
        assert_eq!(container(&now, "web"), container(before, "web"));
        assert_eq!(container(&now, "side"), container(before, "side"));
        let log = container(&now, "log");
        assert_eq!(log["image"], "log:1");
        assert_eq!(
            log["resources"]["limits"],
            json!({"cpu": "500m", "memory": "64Mi"})
        );
        let env = json!([{"name": "A", "value": "1"}, {"name": "LEVEL", "value": "2"}]);
        assert_eq!(log["env"], env);
        assert_eq!(now["annotations"]["example.com/level"], "2");
    }
    // Drift is repaired while deltic runs.
    set_cpu(cluster, &namespace, "running", "900m");
    await_some("the limit is put back", || {
        let now = content(cluster, &namespace, "running");
        (container(&now, "log")["resources"]["limits"]["cpu"] == "500m").then_some(())
    });
    // The value that the user wrote is restored in the end.
    let limited = |before: &Value, cpu: &str| {
        let mut expected = before.clone();
        let log = &mut expected["spec"]["template"]["spec"]["containers"][1];
        log["resources"]["limits"]["cpu"] = json!(cpu);
        expected
    };
    delete_source(cluster, &namespace, "running");
    await_some("patched fields have their former values", || {
        (content(cluster, &namespace, "running") == limited(&before[0], "900m")).then_some(())
    });

    // While deltic does not run, its sources are deleted, and a user changes a patched field.
    stop_deltic(process);
    delete_source(cluster, &namespace, "down");
    delete_source(cluster, &namespace, "changed");
    set_cpu(cluster, &namespace, "changed", "700m");
    let process = installed.deltic();
    await_some(
        "fields patched before the restart have their former values",
        || (content(cluster, &namespace, "down") == before[1]).then_some(()),
    );
    await_some(
        "all fields but the one that a user changed are undone",
        || (content(cluster, &namespace, "changed") == limited(&before[2], "700m")).then_some(()),
    );
    stop_deltic(process);
    bystanders.assert_untouched();
}

#[test]
fn a_missing_field_of_a_source_removes_nothing() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("missing");
    let bystanders = cluster.bystanders("patch", &like(&namespace), 50);
    let mut object = deployment(&namespace, "web");
    object["metadata"]["annotations"]["example.com/level"] = json!("mine");
    object["spec"]["template"]["spec"]["containers"][1]["resources"]["limits"]["cpu"] = json!("1");
    cluster.apply(&object.to_string());
    let before = content(cluster, &namespace, "web");
    installed.install(PATCH);
    cluster.apply(&source(&namespace, "web", &json!({"container": "log"})).to_string());
    let process = installed.deltic();
    installed.converge(&SOURCES, "deployments.apps", "Deployment");
    let with_variable = |variable: Value| {
        let mut expected = before.clone();
        let log = &mut expected["spec"]["template"]["spec"]["containers"][1];
        log["env"].as_array_mut().unwrap().push(variable);
        expected
    };
    let without_marks = || {
        let mut now = content(cluster, &namespace, "web");
        let annotations = now["annotations"].as_object_mut().unwrap();
        annotations.retain(|name, _| !name.starts_with("dcontroller.io/"));
        now
    };
    let expected = with_variable(json!({"name": "LEVEL"}));
    await_some("fields that the source lacks are not changed", || {
        (without_marks() == expected).then_some(())
    });

    // A field that is no longer yielded is undone, also across a restart.
    let other = json!({"container": "log", "level": "3", "cpu": "2"});
    cluster.apply(&source(&namespace, "web", &other).to_string());
    installed.converge(&SOURCES, "deployments.apps", "Deployment");
    stop_deltic(process);
    let less = json!({"container": "log", "level": "3"});
    cluster.apply(&source(&namespace, "web", &less).to_string());
    let process = installed.deltic();
    let mut expected = with_variable(json!({"name": "LEVEL", "value": "3"}));
    expected["annotations"]["example.com/level"] = json!("3");
    await_some("only fields that are no longer yielded are undone", || {
        (without_marks() == expected).then_some(())
    });
    stop_deltic(process);
    bystanders.assert_untouched();
}

#[test]
fn replaced_values_are_restored() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("replaced");
    let bystanders = cluster.bystanders("patch", &like(&namespace), 50);
    let before = deployments(cluster, &namespace, &["web"]);
    installed.install(&PATCH.replace(
        "        spec:\n          template",
        "        spec:\n          replicas: 2\n          template",
    ));
    let mut data = full();
    data["image"] = json!("log:2");
    cluster.apply(&source(&namespace, "web", &data).to_string());
    let process = installed.deltic();
    installed.converge(&SOURCES, "deployments.apps", "Deployment");
    let now = content(cluster, &namespace, "web");
    assert_eq!(container(&now, "log")["image"], "log:2");
    assert_eq!(now["spec"]["replicas"], 2);

    stop_deltic(process);
    let process = installed.deltic();
    delete_source(cluster, &namespace, "web");
    await_some("everything has its former value", || {
        (content(cluster, &namespace, "web") == before[0]).then_some(())
    });
    // Other tests leave sources whose Deployments do not exist.
    await_some("nothing is left to do but to wait", || {
        let now = installed.condition("patch")?;
        let waits = now.message.ends_with("waiting for the object to patch");
        (now.reason == "Ready" || waits).then_some(())
    });
    stop_deltic(process);
    bystanders.assert_untouched();
}

/// An Operator that passes config maps through and adds an annotation.
const SEEN: &str = r"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: {name: seen}
spec:
  controllers:
  - name: seen
    sources:
    - {apiGroup: '', kind: ConfigMap, labelSelector: {matchLabels: {role: patch}}}
    pipeline:
    - '@project':
      - {'$.': '$.'}
      - metadata: {annotations: {example.com/seen: 'yes', example.com/team: a}}
    target: {apiGroup: '', kind: ConfigMap, type: Patcher}
";

#[test]
fn fields_that_are_passed_through_stay() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("through");
    let bystanders = cluster.bystanders("seen", &like(&namespace), 50);
    let mut object = source(&namespace, "mine", &json!({"a": "1", "b": "2"}));
    object["metadata"]["labels"]["app"] = json!("x");
    object["metadata"]["annotations"] = json!({"example.com/team": "a"});
    let mut other = object.clone();
    other["metadata"]["name"] = json!("other");
    cluster.apply(&object.to_string());
    cluster.apply(&other.to_string());
    let plain = |name: &str| {
        let live = cluster.get(&["configmap", name, "-n", &namespace]);
        let (labels, annotations) = (
            &live["metadata"]["labels"],
            &live["metadata"]["annotations"],
        );
        json!({"labels": labels, "annotations": annotations, "data": live["data"]})
    };
    let before = plain("mine");
    installed.install(SEEN);
    let process = installed.deltic();
    for name in ["mine", "other"] {
        await_some("it is seen", || {
            (plain(name)["annotations"]["example.com/seen"] == "yes").then_some(())
        });
    }
    // One is no longer selected; for the other, another annotation is yielded.
    cluster.kubectl(&["label", "configmap", "mine", "role-", "-n", &namespace]);
    installed.install(&SEEN.replace("example.com/seen: 'yes', example.com/team: a", "x: 'y'"));
    let mut expected = before;
    expected["labels"].as_object_mut().unwrap().remove("role");
    await_some("only the annotation is gone", || {
        (plain("mine") == expected).then_some(())
    });
    await_some("the user's annotation stays, and ours goes", || {
        let annotations = &plain("other")["annotations"];
        let is = |name: &str, value: &str| annotations[name] == value;
        let gone = annotations.get("example.com/seen").is_none();
        (is("x", "y") && is("example.com/team", "a") && gone).then_some(())
    });
    stop_deltic(process);
    bystanders.assert_untouched();
}

#[test]
fn a_deployment_is_changed_in_place() {
    let installed = Installed::shared();
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("in-place");
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace, "labels": {"mesh": "on", "team": "a"}},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            },
        },
    });
    cluster.apply(&deployment.to_string());
    let get = || cluster.get(&["deployment", "web", "-n", &namespace]);
    let before = get();
    installed.install(include_str!("../../../examples/in-place/operator.yaml"));
    let process = installed.deltic();
    let containers = |live: &Value| live["spec"]["template"]["spec"]["containers"].clone();
    let replicas = |live: &Value| {
        let annotations = &live["metadata"]["annotations"];
        annotations["mesh.example.com/replicas"].clone()
    };
    await_some("it is changed", || (replicas(&get()) == "0").then_some(()));
    let live = get();
    let names = |live: &Value| {
        let containers = containers(live);
        let names = containers.as_array().unwrap().iter();
        names.map(|one| one["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&live), ["web", "proxy"]);
    assert_eq!(
        containers(&live)[0]["env"],
        json!([{"name": "MESH", "value": "on"}])
    );
    // A user changes what the pipeline reads, and takes a label off.
    let user =
        r#"{"metadata": {"labels": {"team": null}}, "spec": {"paused": true, "replicas": 1}}"#;
    cluster.kubectl(&["patch", "deployment", "web", "-n", &namespace, "-p", user]);
    await_some("the annotation follows", || {
        (replicas(&get()) == "1").then_some(())
    });
    installed.await_reason("in-place", "Ready");
    std::thread::sleep(std::time::Duration::from_secs(3));
    let live = get();
    assert_eq!(names(&live), ["web", "proxy"]);
    assert_eq!(live["metadata"]["labels"], json!({"mesh": "on"}));
    let generation = live["metadata"]["generation"].as_u64().unwrap();
    assert!(
        generation < 8,
        "it is written again and again: {generation}"
    );
    cluster.kubectl(&[
        "label",
        "deployment",
        "web",
        "-n",
        &namespace,
        "mesh=off",
        "--overwrite",
    ]);
    await_some("it is as before", || {
        (containers(&get()) == containers(&before) && replicas(&get()).is_null()).then_some(())
    });
    stop_deltic(process);
}
