//! Bystanders: objects that look like ours but are not. deltic must not change them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::cluster::Cluster;
use crate::kubectl::Kubectl;
use crate::wait::wait_until;

/// Objects of someone else, and their original state.
#[derive(Debug)]
pub struct Bystanders {
    kubectl: Kubectl,
    /// The original state of each, by kind and name.
    before: BTreeMap<String, String>,
    manifests: String,
}

impl Cluster {
    /// Creates `count` bystanders with names and labels close to those of `like`, which are objects
    /// as `operator` derives them. In turn they share only labels and a name prefix, have the
    /// Operator's label, have a claim that was copied from another object, have labels of Helm,
    /// have a finalizer, or have a record of set fields.
    pub fn bystanders(&self, operator: &str, like: &[Value], count: usize) -> Bystanders {
        let items: Vec<Value> = (0..count)
            .map(|i| bystander(operator, &like[i % like.len()], i, i / like.len()))
            .collect();
        let manifests = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
        self.try_kubectl(&["create", "-f", "-"], &manifests)
            .unwrap_or_else(|failed| panic!("bystanders: {}", failed.stderr));
        let mut bystanders = Bystanders {
            kubectl: self.kubectl_program(),
            before: BTreeMap::new(),
            manifests,
        };
        bystanders.settle();
        assert_eq!(
            bystanders.before.len(),
            count,
            "bystanders need unique names"
        );
        bystanders
    }
}

impl Bystanders {
    /// Waits until the controllers of Kubernetes no longer change them.
    fn settle(&mut self) {
        let mut seen = self.read();
        let settled = wait_until(Duration::from_mins(1), || {
            std::thread::sleep(Duration::from_secs(1));
            let last = std::mem::replace(&mut seen, self.read());
            last == seen
        });
        assert!(settled, "the bystanders keep changing by themselves");
        self.before = seen;
    }

    /// Panics unless all of them are byte for byte unchanged.
    pub fn assert_untouched(&self) {
        let touched = self.touched();
        assert!(
            touched.is_empty(),
            "bystanders were touched:\n{}",
            touched.join("\n")
        );
    }

    /// The bystanders that changed: kind, name, original and current state of each.
    pub fn touched(&self) -> Vec<String> {
        let now = self.read();
        self.before
            .iter()
            .filter(|(key, before)| now.get(*key) != Some(before))
            .map(|(key, before)| {
                let now = now.get(key).map_or("gone", String::as_str);
                format!("{key}\n  was {before}\n  is  {now}")
            })
            .collect()
    }

    fn read(&self) -> BTreeMap<String, String> {
        let get = [
            "get",
            "-f",
            "-",
            "-o",
            "json",
            "--show-managed-fields",
            "--ignore-not-found",
        ];
        let text = self.kubectl.run(&get, &self.manifests);
        let text = text.unwrap_or_else(|failed| panic!("bystanders: {}", failed.stderr));
        let list: Value = serde_json::from_str(&text).unwrap_or_default();
        // kubectl prints a single object without a list.
        let items = match list["items"].as_array() {
            Some(items) => items.clone(),
            None => vec![list],
        };
        items
            .iter()
            .filter(|item| item["metadata"]["name"].is_string())
            .map(|item| {
                let part = |field: &str| item["metadata"][field].as_str().unwrap_or_default();
                let kind = item["kind"].as_str().unwrap_or_default();
                (
                    format!("{kind} {}/{}", part("namespace"), part("name")),
                    item.to_string(),
                )
            })
            .collect()
    }
}

/// A bystander close to `like`.
fn bystander(operator: &str, like: &Value, number: usize, variant: usize) -> Value {
    let name = like["metadata"]["name"].as_str().unwrap_or("object");
    let mut metadata = Map::new();
    for field in ["namespace", "labels", "annotations"] {
        if !like["metadata"][field].is_null() {
            metadata.insert(field.to_owned(), like["metadata"][field].clone());
        }
    }
    metadata.insert("name".to_owned(), json!(format!("{name}-{number}")));
    let mut metadata = Value::Object(metadata);
    let group = like["apiVersion"].as_str().unwrap_or_default();
    let group = group.split_once('/').map_or("", |(group, _)| group);
    let claim = json!({
        "operator": operator,
        "controller": "bystander",
        "origin": [],
        "target": format!(
            "{group}/{}/{}/{name}",
            like["kind"].as_str().unwrap_or_default(),
            like["metadata"]["namespace"].as_str().unwrap_or_default()
        ),
        "created": true
    });
    match variant % 6 {
        0 => {}
        1 => metadata["labels"]["dcontroller.io/operator"] = json!(operator),
        2 => {
            metadata["labels"]["dcontroller.io/operator"] = json!(operator);
            metadata["annotations"]["dcontroller.io/owner"] = json!(claim.to_string());
        }
        3 => {
            metadata["labels"]["app.kubernetes.io/managed-by"] = json!("Helm");
            metadata["annotations"]["meta.helm.sh/release-name"] = json!("bystander");
        }
        4 => metadata["finalizers"] = json!(["deltic.dev/bystander"]),
        _ => metadata["annotations"]["dcontroller.io/set.bystander"] = json!("[\"$.data\"]"),
    }
    let mut object = like.clone();
    object["metadata"] = metadata;
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    // A cluster IP that the server assigned to one Service cannot be used for another.
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("clusterIP");
        spec.remove("clusterIPs");
    }
    object
}
