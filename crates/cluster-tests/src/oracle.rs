//! The oracle: computes the state that the cluster should have, from a dump of the sources by
//! kubectl with `deltic render`, and compares it with the targets in both directions.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::installed::{Installed, run_deltic, text};

/// How long a cluster may take to converge.
const PATIENCE: Duration = Duration::from_mins(1);

impl Installed {
    /// The state that the cluster should have, computed from a dump.
    pub fn rendered(&self, sources: &[&str]) -> Vec<Value> {
        let dump = self
            .cluster
            .kubectl(&["get", "-A", "-o", "json", &sources.join(",")]);
        let file = self.cluster.directory().join("dump.json");
        std::fs::write(&file, dump).expect("the test's directory can be written");
        let operator = self.operator_file();
        let (operator, objects) = (text(&operator), text(&file));
        let rendered = run_deltic(&["render", "-o", "json", "-f", operator, "-f", objects]);
        let stream = serde_json::Deserializer::from_str(&rendered).into_iter::<Value>();
        let mut all = Vec::new();
        for document in stream {
            let document = document.expect("deltic prints JSON");
            match document["items"].as_array() {
                Some(items) => all.extend(items.clone()),
                None => all.push(document),
            }
        }
        all
    }

    /// Waits until the cluster has the rendered state: every rendered object exists with all
    /// derived fields, and no other object of ours is left.
    pub fn converge(&self, sources: &[&str], resource: &str, kind: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let difference = self.difference(sources, resource, kind);
            let Some(difference) = difference else { return };
            assert!(
                Instant::now() < deadline,
                "not converged: {difference}\n{}",
                self.cluster
                    .kubectl(&["get", "operators.dcontroller.io", "-o", "yaml"])
            );
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    /// The first difference between the rendered state and the live objects of a kind.
    pub fn difference(&self, sources: &[&str], resource: &str, kind: &str) -> Option<String> {
        let rendered = self.rendered(sources).into_iter();
        let rendered = rendered.filter(|object| object["kind"] == kind);
        let rendered: BTreeMap<String, Value> = by_name(rendered);
        let live = self.cluster.get(&[resource, "-A"]);
        let live = live["items"].as_array().expect("a list has items");
        let live: BTreeMap<String, Value> = by_name(live.iter().cloned());
        for (name, wanted) in &rendered {
            let Some(found) = live.get(name) else {
                return Some(format!("{name} is missing"));
            };
            if let Some(place) = lacks(found, wanted, "") {
                return Some(format!("{name}: {place}"));
            }
        }
        let file = self.operator_file();
        let read = [
            "create",
            "--dry-run=client",
            "-o",
            "name",
            "-f",
            text(&file),
        ];
        let operators = self.cluster.kubectl(&read);
        let operators: Vec<&str> = operators
            .lines()
            .filter_map(|line| Some(line.split_once('/')?.1))
            .collect();
        let mut left = live
            .iter()
            .filter(|(name, object)| !rendered.contains_key(*name) && made(object, &operators));
        left.next().map(|(name, _)| format!("{name} is left over"))
    }
}

fn by_name(objects: impl Iterator<Item = Value>) -> BTreeMap<String, Value> {
    let named = objects.map(|object| {
        let metadata = &object["metadata"];
        (
            format!("{}/{}", metadata["namespace"], metadata["name"]),
            object,
        )
    });
    named.collect()
}

/// Whether one of these Operators created an object.
fn made(object: &Value, operators: &[&str]) -> bool {
    let metadata = &object["metadata"];
    let claim = metadata["annotations"]["dcontroller.io/owner"].as_str();
    let claim = claim.and_then(|claim| serde_json::from_str::<Value>(claim).ok());
    let text = |field: &str| metadata[field].as_str().unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or_default();
    // A copied claim names another object.
    let end = format!("/{kind}/{}/{}", text("namespace"), text("name"));
    claim.is_some_and(|claim| {
        let target = claim["target"].as_str().unwrap_or_default();
        let operator = claim["operator"].as_str().unwrap_or_default();
        claim["created"] == true && target.ends_with(&end) && operators.contains(&operator)
    })
}

/// The first path at which an object lacks a wanted value.
fn lacks(found: &Value, wanted: &Value, at: &str) -> Option<String> {
    // Fields that the server sets.
    let ignored = [
        ".metadata.resourceVersion",
        ".metadata.managedFields",
        ".metadata.generation",
    ];
    if ignored.contains(&at) || at.starts_with(".status") {
        return None;
    }
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => wanted.iter().find_map(|(key, value)| {
            let at = format!("{at}.{key}");
            lacks(found.get(key).unwrap_or(&Value::Null), value, &at)
        }),
        (found, wanted) if found == wanted => None,
        (found, wanted) => Some(format!("{at} is {found}, not {wanted}")),
    }
}
