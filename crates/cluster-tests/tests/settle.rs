//! Objects that are up to date are not written: even if the server changes documents when it stores
//! them (defaults, quantities, empty values and nulls), deltic writes each once and then no more,
//! also after a restart.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::collections::BTreeMap;
use std::time::Duration;

use cluster_tests::{AuditEntry, Cluster, Installed, await_some, stop_deltic};
use serde_json::{Value, json};

/// How long no write may follow.
const QUIET: Duration = Duration::from_mins(1);
/// After how long without a write everything counts as settled.
const SETTLED: Duration = Duration::from_secs(4);

/// A kind with defaults at several depths.
fn widgets() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.settle.deltic.dev"},
        "spec": {
            "group": "settle.deltic.dev",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "default": {}, "properties": {
                        "size": {"type": "integer", "default": 3},
                        "mode": {"type": "string", "default": "fast"},
                        "note": {"type": "string", "nullable": true},
                        "port": {"x-kubernetes-int-or-string": true},
                        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                        "parts": {"type": "array", "items": {"type": "object", "properties": {
                            "name": {"type": "string"},
                            "weight": {"type": "integer", "default": 1}
                        }}}
                    }},
                    "status": {"type": "object", "properties": {
                        "phase": {"type": "string"},
                        "retries": {"type": "integer", "default": 0}
                    }}
                }}}
            }]
        }
    })
}

fn pod(labels: &Value, restart: Option<&str>) -> Value {
    let mut pod = json!({
        "metadata": {"labels": labels, "annotations": {}, "creationTimestamp": null},
        "spec": {
            "nodeSelector": {}, "tolerations": [], "hostAliases": null, "securityContext": {},
            "volumes": [
                {"name": "scratch", "emptyDir": {"sizeLimit": "1024Mi"}},
                {"name": "plain", "emptyDir": {}},
                {"name": "config", "configMap": {"name": "none", "optional": true}}
            ],
            "containers": [
                {
                    "name": "web", "image": "web:1", "args": [], "env": [
                        {"name": "EMPTY", "value": ""},
                        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}
                    ],
                    "ports": [{"containerPort": 8080, "name": "http"}, {"containerPort": 53, "protocol": "UDP"}],
                    "resources": {
                        "requests": {"cpu": "0.5", "memory": "1024Mi", "ephemeral-storage": "1e3"},
                        "limits": {"cpu": "1000m", "memory": "2048Mi", "ephemeral-storage": "2000"}
                    },
                    "livenessProbe": {"httpGet": {"path": "/", "port": "http"}},
                    "readinessProbe": {"tcpSocket": {"port": 8080}},
                    "volumeMounts": [{"name": "scratch", "mountPath": "/s"}],
                    "securityContext": {"capabilities": {}}
                },
                {"name": "side", "image": "side", "command": null, "resources": {}, "volumeMounts": []}
            ]
        }
    });
    if let Some(restart) = restart {
        pod["spec"]["restartPolicy"] = json!(restart);
    }
    pod
}

/// Documents without metadata, as pipelines yield them: resource, group, document.
fn documents() -> Vec<(&'static str, &'static str, Value)> {
    let labels = json!({"settle": "pod"});
    let selector = json!({"matchLabels": labels});
    vec![
        (
            "deployments",
            "apps",
            json!({"kind": "Deployment", "spec": {
                "replicas": 0, "selector": selector, "template": pod(&labels, None),
                "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}
            }}),
        ),
        (
            "services",
            "",
            json!({"kind": "Service", "spec": {
                "selector": labels, "externalIPs": [], "loadBalancerSourceRanges": null,
                "ports": [{"port": 80, "name": "a", "targetPort": "http"}, {"port": 53, "name": "b", "protocol": "UDP"}]
            }}),
        ),
        (
            "jobs",
            "batch",
            json!({"kind": "Job", "spec": {
                "suspend": true, "ttlSecondsAfterFinished": null, "template": pod(&labels, Some("Never"))
            }}),
        ),
        (
            "cronjobs",
            "batch",
            json!({"kind": "CronJob", "spec": {
                "schedule": "0 0 1 1 *", "timeZone": null,
                "jobTemplate": {"metadata": {}, "spec": {"template": pod(&labels, Some("OnFailure"))}}
            }}),
        ),
        (
            "persistentvolumeclaims",
            "",
            json!({"kind": "PersistentVolumeClaim", "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}
            }}),
        ),
        (
            "horizontalpodautoscalers",
            "autoscaling",
            json!({"kind": "HorizontalPodAutoscaler", "spec": {
                "maxReplicas": 5, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"},
                "metrics": [
                    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "1500m"}}},
                    {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1024Mi"}}}
                ],
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}}
            }}),
        ),
        (
            "ingresses",
            "networking.k8s.io",
            json!({"kind": "Ingress", "spec": {
                "tls": [], "defaultBackend": {"service": {"name": "web", "port": {"name": "http"}}},
                "rules": [{"host": "a.example", "http": {"paths": [
                    {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}
                ]}}]
            }}),
        ),
        (
            "statefulsets",
            "apps",
            json!({"kind": "StatefulSet", "spec": {
                "replicas": 0, "selector": selector, "template": pod(&labels, None),
                "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
                    "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "0.5Gi"}}
                }}]
            }}),
        ),
        (
            "networkpolicies",
            "networking.k8s.io",
            json!({"kind": "NetworkPolicy", "spec": {
                "podSelector": {},
                "ingress": [{"from": [], "ports": [{"port": "http"}, {"port": 53, "protocol": "UDP"}]}]
            }}),
        ),
        (
            "secrets",
            "",
            json!({"kind": "Secret", "stringData": {"user": "admin", "empty": ""}}),
        ),
        (
            "widgets",
            "settle.deltic.dev",
            json!({"kind": "Widget", "spec": {
            "note": null, "size": null, "port": "http", "labels": {}, "parts": [{"name": "a"}, {"name": "b", "weight": 2}]
        }, "status": {"phase": "Done"}}),
        ),
    ]
}

/// A controller that derives a document for each source.
fn controller(how: &str, (resource, group, document): &(&str, &str, Value)) -> Value {
    let mut projected = document.clone();
    let fields = projected.as_object_mut().unwrap();
    let kind = fields.remove("kind").unwrap();
    let name = json!({"@concat": ["$.metadata.name", format!("-{}", how.to_lowercase())]});
    let metadata =
        json!({"name": name, "namespace": "$.metadata.namespace", "labels": {"settle": "target"}});
    fields.insert("metadata".to_owned(), metadata);
    json!({
        "name": format!("{resource}-{}", how.to_lowercase()),
        "sources": [{"apiGroup": "", "kind": "ConfigMap", "labelSelector": {"matchLabels": {"settle": "source"}}}],
        "pipeline": [{"@project": projected}],
        "target": {"apiGroup": group, "kind": kind, "type": how}
    })
}

/// The documents that Patchers set on existing objects: quantities, empty values, defaults.
fn patches() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        (
            "deployments",
            "apps",
            json!({"kind": "Deployment", "spec": {"template": {"spec": {"containers": [{
                "name": "side", "resources": {"limits": {"cpu": "1000m", "memory": "0.5Gi"}}, "env": [],
                "ports": [{"containerPort": 9000}]
            }]}}}}),
        ),
        (
            "services",
            "",
            json!({"kind": "Service", "metadata": {}, "spec": {
                "ports": [{"port": 80, "name": "a", "targetPort": 8081}], "sessionAffinity": "None"
            }}),
        ),
        (
            "widgets",
            "settle.deltic.dev",
            json!({"kind": "Widget", "spec": {"labels": {"a": "b"}, "mode": "fast"}}),
        ),
    ]
}

fn operator() -> String {
    let documents = documents();
    let mut controllers: Vec<Value> = Vec::new();
    controllers.extend(
        documents
            .iter()
            .map(|document| controller("Updater", document)),
    );
    let applied = documents.iter().filter(|(resource, ..)| {
        [
            "deployments",
            "services",
            "persistentvolumeclaims",
            "horizontalpodautoscalers",
            "widgets",
        ]
        .contains(resource)
    });
    controllers.extend(applied.map(|document| controller("Applier", document)));
    controllers.extend(patches().iter().map(|patch| controller("Patcher", patch)));
    json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "settle"},
        "spec": {"controllers": controllers}
    })
    .to_string()
}

fn source(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": {"settle": "source"}}
    })
}

/// A complete object of one of the kinds.
fn object(namespace: &str, name: &str, (_, group, document): &(&str, &str, Value)) -> Value {
    let mut object = document.clone();
    let version = if *group == "autoscaling" { "v2" } else { "v1" };
    object["apiVersion"] = match *group {
        "" => json!(version),
        group => json!(format!("{group}/{version}")),
    };
    object["metadata"] =
        json!({"name": name, "namespace": namespace, "labels": {"settle": "target"}});
    object
}

fn list(items: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// The objects that the Patchers patch.
fn patched(namespace: &str, source: &str) -> Vec<Value> {
    let documents = documents();
    let patched = patches();
    let patched = patched.iter().map(|(resource, ..)| {
        let document = documents
            .iter()
            .find(|(other, ..)| other == resource)
            .unwrap();
        object(namespace, &format!("{source}-patcher"), document)
    });
    patched.collect()
}

/// The versions of all targets of these sources, by kind and name.
fn versions(cluster: &Cluster, namespace: &str, sources: &[&str]) -> BTreeMap<String, String> {
    let kinds: Vec<&str> = documents().iter().map(|(resource, ..)| *resource).collect();
    let live = cluster.get(&["-n", namespace, "-l", "settle=target", &kinds.join(",")]);
    let live = live["items"].as_array().unwrap().iter();
    live.filter_map(|object| {
        let name = object["metadata"]["name"].as_str()?;
        let version = object["metadata"]["resourceVersion"].as_str()?;
        let (source, how) = name.split_once('-')?;
        let derived = ["updater", "applier", "patcher"].contains(&how);
        let of = derived && sources.contains(&source);
        of.then(|| (format!("{} {name}", object["kind"]), version.to_owned()))
    })
    .collect()
}

fn count_by_object(writes: &[AuditEntry]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for write in writes {
        *counts
            .entry(format!("{} {}", write.resource, write.name))
            .or_default() += 1;
    }
    counts
}

#[test]
fn documents_that_the_server_normalises_are_written_once() {
    let installed = Installed::new(&operator(), &widgets().to_string());
    let cluster = &installed.cluster;
    let namespace = cluster.namespace("settle");
    // Except autoscalers, because their controller writes their status late.
    let like: Vec<Value> = documents()
        .iter()
        .filter(|(resource, ..)| *resource != "horizontalpodautoscalers")
        .map(|document| object(&namespace, "one", document))
        .collect();
    let bystanders = cluster.bystanders("settle", &like, 50);
    let sources = ["one", "two"];
    for name in sources {
        cluster.apply(&list(&patched(&namespace, name)));
        cluster.apply(&source(&namespace, name).to_string());
    }
    let targets = documents().len() + 5 + patches().len();

    let process = installed.deltic();
    installed.await_reason("settle", "Ready");
    installed.await_silence(SETTLED);
    let derived = versions(cluster, &namespace, &sources).len();
    assert_eq!(derived, sources.len() * targets);
    let quiet = installed.writes().len();
    std::thread::sleep(QUIET);
    let writes = installed.writes();
    assert!(writes.len() == quiet, "{:#?}", &writes[quiet..]);
    let before = versions(cluster, &namespace, &sources);
    stop_deltic(process);

    let stopped = installed.writes().len();
    let process = installed.deltic();
    // A new source shows when deltic works again.
    cluster.apply(&list(&patched(&namespace, "new")));
    cluster.apply(&source(&namespace, "new").to_string());
    await_some("the new source has its targets", || {
        (versions(cluster, &namespace, &["new"]).len() == targets).then_some(())
    });
    installed.await_silence(SETTLED);
    let writes = installed.writes();
    for (object, count) in count_by_object(&writes[stopped..]) {
        let ours = sources
            .iter()
            .any(|source| object.contains(&format!(" {source}-")));
        assert!(!ours || count <= 1, "{object} was written {count} times");
    }
    assert_eq!(versions(cluster, &namespace, &sources), before);
    installed.await_reason("settle", "Ready");
    bystanders.assert_untouched();
    stop_deltic(process);
}
