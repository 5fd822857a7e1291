//! What the cluster is to be, computed apart: a dump of the sources by kubectl, `deltic
//! render`, and a comparison with the targets, both ways.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::installed::{Installed, run_deltic, text};

/// How long a cluster may take to converge.
const PATIENCE: Duration = Duration::from_mins(1);

impl Installed {
    /// The state that is to be reached, by evaluating everything from a dump.
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

    /// Waits until the cluster has what is rendered: every object of these kinds has all
    /// that is derived for it, and nothing that we made is left over.
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

    /// The first difference between what is rendered and the live objects of a kind.
    pub fn difference(&self, sources: &[&str], resource: &str, kind: &str) -> Option<String> {
        let rendered = self.rendered(sources);
        let live = self.cluster.get(&[resource, "-A"]);
        let live = live["items"].as_array().expect("a list has items");
        let name = |object: &Value| {
            let metadata = &object["metadata"];
            format!("{}/{}", metadata["namespace"], metadata["name"])
        };
        let rendered = || rendered.iter().filter(|object| object["kind"] == kind);
        for wanted in rendered() {
            let Some(found) = live.iter().find(|object| name(object) == name(wanted)) else {
                return Some(format!("{} is missing", name(wanted)));
            };
            if let Some(place) = lacks(found, wanted, "") {
                return Some(format!("{}: {place}", name(wanted)));
            }
        }
        // The operator that made an object, if the claim on it is no copy of another's.
        let made_by = |object: &Value| {
            let metadata = &object["metadata"];
            let claim = metadata["annotations"]["dcontroller.io/owner"].as_str()?;
            let claim = serde_json::from_str::<Value>(claim).ok()?;
            let text = |field: &str| metadata[field].as_str().unwrap_or_default();
            let end = format!("/{kind}/{}/{}", text("namespace"), text("name"));
            let ours = claim["created"] == true && claim["target"].as_str()?.ends_with(&end);
            ours.then(|| claim["operator"].clone())
        };
        let mut operator = None;
        for (object, by) in live.iter().filter_map(|o| Some((o, made_by(o)?))) {
            if !rendered().any(|wanted| name(wanted) == name(object))
                && by == **operator.get_or_insert_with(|| self.operator_name())
            {
                return Some(format!("{} is left over", name(object)));
            }
        }
        None
    }

    /// The name of the operator in [`Installed::operator_file`].
    fn operator_name(&self) -> String {
        let file = self.operator_file();
        let read = [
            "create",
            "--dry-run=client",
            "-o",
            "name",
            "-f",
            text(&file),
        ];
        let name = self.cluster.kubectl(&read);
        let name = name.trim().rsplit('/').next();
        name.unwrap_or_default().to_owned()
    }
}

/// The first place where an object does not have what is wanted.
fn lacks(found: &Value, wanted: &Value, at: &str) -> Option<String> {
    // The server's own, which a dump shows as they were.
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
