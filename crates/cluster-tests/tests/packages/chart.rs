//! The chart, and helm.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use cluster_tests::{helm, root};
use serde_json::{Value, json};

use crate::NAMESPACE;

/// The chart of the project, with a directory for values and helm's own files.
pub(crate) struct Chart {
    directory: PathBuf,
}

impl Chart {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("helm-{number}"));
        std::fs::create_dir_all(&directory).unwrap();
        Self { directory }
    }

    /// Runs helm without the chart, and returns its output.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        self.try_run(args)
            .unwrap_or_else(|error| panic!("helm {args:?}: {error}"))
    }

    fn try_run(&self, args: &[&str]) -> Result<String, String> {
        let mut command = Command::new(helm());
        // Its files are in a directory of the test, and it uses no cluster unless it is named.
        for variable in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(variable, self.directory.join(variable));
        }
        command.env("KUBECONFIG", "/dev/null");
        let output = command.args(args).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        Err(text(&output.stdout) + &text(&output.stderr))
    }

    /// Runs a command of helm on the chart, with values.
    pub(crate) fn helm(&self, args: &[&str], values: &str) -> String {
        self.try_helm(args, values)
            .unwrap_or_else(|error| panic!("helm {args:?} with {values}: {error}"))
    }

    pub(crate) fn try_helm(&self, args: &[&str], values: &str) -> Result<String, String> {
        let file = self.directory.join("values.yaml");
        std::fs::write(&file, values).unwrap();
        let chart = root().join("charts/deltic");
        let of = [chart.to_str().unwrap(), "--values", file.to_str().unwrap()];
        self.try_run(&[args, &of].concat())
    }

    /// The manifests of the release `deltic`.
    pub(crate) fn template(&self, values: &str) -> String {
        self.template_in(NAMESPACE, values)
    }

    pub(crate) fn template_in(&self, namespace: &str, values: &str) -> String {
        self.helm(&["template", "deltic", "--namespace", namespace], values)
    }
}

/// The objects of manifests.
pub(crate) fn objects(yaml: &str) -> Vec<Value> {
    let manifests = manifest::parse_bytes("chart.yaml", yaml.as_bytes().to_vec());
    let manifests = manifests.unwrap_or_else(|error| panic!("{error:?}\n{yaml}"));
    let objects = manifests.iter().map(|manifest| manifest.value.to_string());
    objects
        .map(|json| serde_json::from_str(&json).unwrap())
        .filter(|object: &Value| !object.is_null())
        .collect()
}

/// The manifests of the chart as plain ones: with the namespace, which helm does not print, without
/// the definition of Operators, which deltic has anyway, and without what only helm reads.
pub(crate) fn render(template: &str) -> String {
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": {
            "app.kubernetes.io/name": "deltic",
            "pod-security.kubernetes.io/enforce": "restricted",
        }}
    });
    let mut all = vec![namespace];
    all.extend(
        objects(template)
            .into_iter()
            .filter(|object| !defines_operators(object)),
    );
    let mut text =
        "# Made from charts/deltic with its default values, by the test `packages`.\n".to_owned();
    for mut object in all {
        without(&mut object, "app.kubernetes.io/managed-by");
        without(&mut object, "helm.sh/resource-policy");
        if object["metadata"]["annotations"] == json!({}) {
            object["metadata"]
                .as_object_mut()
                .unwrap()
                .remove("annotations");
        }
        let document: document::Value = object.to_string().parse().unwrap();
        text.push_str("---\n");
        text.push_str(&manifest::to_yaml(&document));
    }
    text
}

pub(crate) fn defines_operators(object: &Value) -> bool {
    object["kind"] == "CustomResourceDefinition"
}

/// Removes a key at every level.
fn without(value: &mut Value, key: &str) {
    match value {
        Value::Object(map) => {
            map.remove(key);
            map.values_mut().for_each(|value| without(value, key));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| without(value, key)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A definition of a kind of the Prometheus operator that accepts every field.
pub(crate) fn monitoring_definition(kind: &str) -> String {
    let (singular, group) = (kind.to_lowercase(), "monitoring.coreos.com");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{singular}s.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": kind, "singular": singular, "plural": format!("{singular}s")},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}
            }}]
        }
    })
    .to_string()
}
