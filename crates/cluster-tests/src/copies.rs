//! The Operator of tests that are not about a specific one: it copies `ConfigMap`s with a label,
//! each to another `ConfigMap` in the same namespace.

use serde_json::{Value, json};

use crate::bystanders::Bystanders;
use crate::installed::Installed;

/// The Operator that copies, and its namespace.
#[derive(Clone, Debug)]
pub struct Copies {
    /// The name of the Operator.
    pub operator: String,
    /// The namespace of sources and copies.
    pub namespace: String,
}

impl Copies {
    /// Creates a namespace, installs the Operator with these options (such as `{}`), and creates
    /// bystanders.
    pub fn install(installed: &Installed, operator: &str, options: &Value) -> (Self, Bystanders) {
        let copies = Self {
            operator: operator.to_owned(),
            namespace: installed.cluster.namespace(operator),
        };
        installed.install(&copies.manifest(options).to_string());
        let like = copies.copy(1, "v");
        let bystanders = installed.cluster.bystanders(operator, &[like], 50);
        (copies, bystanders)
    }

    /// The Operator.
    pub fn manifest(&self, options: &Value) -> Value {
        json!({
            "apiVersion": "dcontroller.io/v1alpha1",
            "kind": "Operator",
            "metadata": {"name": self.operator},
            "spec": {"controllers": [{
                "name": "copy",
                "sources": [{
                    "apiGroup": "", "kind": "ConfigMap", "namespace": self.namespace,
                    "labelSelector": {"matchLabels": {"role": "source"}}
                }],
                "pipeline": [{"@project": {
                    "metadata": {
                        "name": {"@concat": ["$.metadata.name", "-copy"]},
                        "namespace": "$.metadata.namespace"
                    },
                    "data": "$.data"
                }}],
                "target": {"apiGroup": "", "kind": "ConfigMap"},
                "options": options
            }]}
        })
    }

    /// A source object.
    pub fn source(&self, number: usize, value: &str) -> Value {
        let mut object = self.object(&format!("c{number}"), value);
        object["metadata"]["labels"] = json!({"role": "source"});
        object
    }

    /// Sources with these numbers.
    pub fn sources(&self, numbers: impl IntoIterator<Item = usize>, value: &str) -> Vec<Value> {
        let numbers = numbers.into_iter();
        numbers.map(|number| self.source(number, value)).collect()
    }

    /// The derived fields of the copy of a source.
    pub fn copy(&self, number: usize, value: &str) -> Value {
        self.object(&copy_name(number), value)
    }

    fn object(&self, name: &str, value: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.namespace},
            "data": {"k": value}
        })
    }

    /// The copies on the cluster.
    pub fn live(&self, installed: &Installed) -> Vec<Value> {
        let label = format!("dcontroller.io/operator={}", self.operator);
        let list = installed
            .cluster
            .get(&["configmaps", "-n", &self.namespace, "-l", &label]);
        let items = list["items"].as_array().expect("a list has items").iter();
        let name = |item: &Value| item["metadata"]["name"].as_str().map(str::to_owned);
        // Bystanders may have the label, too, but their names have another suffix.
        let copies = items.filter(|item| name(item).is_some_and(|name| name.ends_with("-copy")));
        copies.cloned().collect()
    }

    /// Waits until the cluster has the state that the oracle computes.
    pub fn converge(&self, installed: &Installed) {
        installed.converge(&["configmaps"], "configmaps", "ConfigMap");
    }

    /// The first difference from that state.
    pub fn difference(&self, installed: &Installed) -> Option<String> {
        installed.difference(&["configmaps"], "configmaps", "ConfigMap")
    }
}

/// The name of the copy of a source.
pub fn copy_name(number: usize) -> String {
    format!("c{number}-copy")
}
