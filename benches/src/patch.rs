//! Patches beside the `json-patch` crate: the same changes to the same Deployments.
//!
//! Ours finds the places by filters and leaves its input as it is. The crate is given
//! pointers that were written for each object beforehand, and changes documents in place:
//! [`copy`] lets it work on a clone, so that its input stays too, [`in_place`] does not.

use document::{Value, json};
use json_patch::PatchOperation;
use seeded::Random;
use serde_json::Value as Json;

/// How many containers a Deployment has.
pub const CONTAINERS: usize = 20;

/// One Deployment, for both sides.
#[derive(Clone, Debug)]
pub struct Case {
    /// For us.
    pub document: Value,
    /// For the crate.
    pub json: Json,
    /// The patch with pointers written for this object.
    pub pointers: Vec<PatchOperation>,
}

/// The patch, for every object: two operations with one filter each. The first matches
/// one container, the second one to four.
///
/// # Panics
///
/// If it is no patch, which the tests would see.
pub fn patch() -> document::patch::Patch {
    let read = document::patch::Patch::read(&json!([
        {
            "op": "replace",
            "path": "/spec/template/spec/containers[?(@.name=='app')]/image",
            "value": IMAGE
        },
        {
            "op": "add",
            "path": "/spec/template/spec/containers[?(@.imagePullPolicy=='Always')]/env/-",
            "value": {"name": "ZONE", "value": ZONE}
        }
    ]));
    read.expect("the patch is one")
}

const IMAGE: &str = "registry.example.com/web/app:2.0.1";
const ZONE: &str = "europe-west-1";

impl Case {
    /// The Deployment of this number: containers and their fields vary, and so do the
    /// places that match.
    pub fn new(number: usize) -> Self {
        let mut random = Random::of(&[0x70_a7c4, number as u64]);
        let app = random.below(CONTAINERS);
        let mut always: Vec<_> = (0..=random.below(4))
            .map(|_| random.below(CONTAINERS))
            .collect();
        always.sort_unstable();
        always.dedup();
        let containers: Vec<_> = (0..CONTAINERS)
            .map(|at| {
                let name = if at == app {
                    "app".to_owned()
                } else {
                    format!("side-{at}")
                };
                container(&mut random, &name, always.contains(&at))
            })
            .collect();
        let json = deployment(number, &Json::from(containers));
        let document = json.to_string().parse().unwrap_or_default();
        Self {
            document,
            pointers: pointers(app, &always),
            json,
        }
    }
}

/// What the filters of [`patch`] find, written out.
fn pointers(app: usize, always: &[usize]) -> Vec<PatchOperation> {
    let containers = "/spec/template/spec/containers";
    let image = serde_json::json!({
        "op": "replace", "path": format!("{containers}/{app}/image"), "value": IMAGE
    });
    let env = always.iter().map(|at| {
        serde_json::json!({
            "op": "add",
            "path": format!("{containers}/{at}/env/-"),
            "value": {"name": "ZONE", "value": ZONE}
        })
    });
    let operations = std::iter::once(image).chain(env);
    let read = |operation| serde_json::from_value(operation).unwrap_or_default();
    operations.map(read).collect()
}

fn container(random: &mut Random, name: &str, always: bool) -> Json {
    let env: Vec<_> = (0..=random.below(3))
        .map(|at| serde_json::json!({"name": format!("KEY_{at}"), "value": random.below(1000).to_string()}))
        .collect();
    serde_json::json!({
        "name": name,
        "image": format!("registry.example.com/web/{name}:1.{}.0", random.below(50)),
        "imagePullPolicy": if always { "Always" } else { "IfNotPresent" },
        "args": ["--port", (8000 + random.below(1000)).to_string()],
        "env": env,
        "ports": [{"containerPort": 8000 + random.below(1000), "protocol": "TCP"}],
        "resources": {"limits": {"cpu": format!("{}m", 100 + random.below(900)), "memory": "256Mi"}},
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}]
    })
}

fn deployment(number: usize, containers: &Json) -> Json {
    let name = format!("web-{number}");
    serde_json::json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": format!("team-{}", number % 20),
            "labels": {"app": name, "tier": "web"}
        },
        "spec": {
            "replicas": 1 + number % 5,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "containers": containers,
                    "volumes": [{"name": "tmp", "emptyDir": {}}]
                }
            }
        }
    })
}

/// Ours: a new document, the input stays as it is.
pub fn ours(patch: &document::patch::Patch, case: &Case) -> Option<Value> {
    patch.apply(&case.document).ok()
}

/// The crate on a clone: a new document, the input stays as it is. A clone can be thrown
/// away, so it need not be able to take a failed patch back.
pub fn copy(case: &Case) -> Option<Json> {
    let mut json = case.json.clone();
    json_patch::patch_unsafe(&mut json, &case.pointers).ok()?;
    Some(json)
}

/// The crate in place: the document is changed, or left as it is if the patch fails.
pub fn in_place(case: &Case, json: &mut Json) -> bool {
    json_patch::patch(json, &case.pointers).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_give_equal_documents() {
        let patch = patch();
        for number in 0..200 {
            let case = Case::new(number);
            let result = ours(&patch, &case).map(|value| value.to_string());
            let copy = copy(&case).unwrap_or_default();
            assert_eq!(
                result,
                copy.to_string().parse().ok().map(|v: Value| v.to_string())
            );
            let mut json = case.json.clone();
            assert!(in_place(&case, &mut json));
            assert_eq!(json, copy);
            assert_ne!(json, case.json);
        }
    }
}
