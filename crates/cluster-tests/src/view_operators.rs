//! Operators with a view, for tests and measurements, and a custom resource like one of these views.

use serde_json::{Value, json};

use crate::cluster::Cluster;

/// The group of the views of the Operator `served`.
pub const VIEWS: &str = "served.view.dcontroller.io";
/// The group of the custom resource like one of these views. It is as long as that of the views, so
/// that tables have the same widths.
pub const TWIN: &str = "served.twin.dcontroller.io";

/// An Operator that puts config maps with the label `role: source` into the view `Entry`, in their
/// namespace or in that of their field `into`.
pub fn operator_with_view(name: &str) -> String {
    let project = json!({
        "metadata": {"name": "$.metadata.name", "namespace": {
            "@definedOr": ["$.data.into", "$.metadata.namespace"]
        }},
        "k": "$.data.k"
    });
    operator(name, "Entry", &project)
}

/// The Operator `served` with the view `Health`, whose fields are those of [`health_twin`]. It
/// derives nothing as long as there are no config maps with the label `role: source`: all objects
/// are those of users.
pub fn health_operator() -> String {
    let project = json!({
        "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
        "healthy": {"@eq": ["$.data.phase", "Running"]},
        "phase": "$.data.phase",
        "ready": {"@len": "$.metadata.name"}
    });
    operator("served", "Health", &project)
}

fn operator(name: &str, view: &str, project: &Value) -> String {
    json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": name},
        "spec": {"controllers": [{
            "name": "c",
            "sources": [{
                "apiGroup": "", "kind": "ConfigMap",
                "labelSelector": {"matchLabels": {"role": "source"}}
            }],
            "pipeline": [{"@project": project}],
            "target": {"kind": view}
        }]}
    })
    .to_string()
}

/// The definition of a custom resource with the kind, the fields and the columns of the view of
/// [`health_operator`].
pub fn health_twin() -> String {
    let column =
        |name: &str, kind: &str, path: &str| json!({"name": name, "type": kind, "jsonPath": path});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("health.{TWIN}")},
        "spec": {
            "group": TWIN, "scope": "Namespaced",
            "names": {
                "kind": "Health", "listKind": "HealthList", "plural": "health",
                "singular": "health", "categories": ["views"]
            },
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    "description": "Health is a view: deltic derives its objects.",
                    "properties": {
                        "healthy": {"type": "boolean"},
                        "phase": {"type": "string"},
                        "ready": {"type": "integer"}
                    }
                }},
                "additionalPrinterColumns": [
                    column("Healthy", "boolean", ".healthy"),
                    column("Phase", "string", ".phase"),
                    column("Ready", "integer", ".ready"),
                    column("Age", "date", ".metadata.creationTimestamp")
                ]
            }]
        }
    })
    .to_string()
}

impl Cluster {
    /// Creates or changes the source of an entry of [`operator_with_view`].
    pub fn source(&self, namespace: &str, name: &str, value: &str) {
        self.apply_source(namespace, name, &json!({"k": value}));
    }

    /// Creates the source of an entry in another namespace.
    pub fn source_into(&self, namespace: &str, name: &str, into: &str) {
        self.apply_source(namespace, name, &json!({"k": "x", "into": into}));
    }

    fn apply_source(&self, namespace: &str, name: &str, data: &Value) {
        let source = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": data,
            "metadata": {"name": name, "namespace": namespace, "labels": {"role": "source"}}
        });
        self.apply(&source.to_string());
    }
}
