//! A patch on a Deployment: `cargo run -p document --example patch`.

// An example shows what it does.
#![allow(clippy::print_stdout)]

use document::json;
use document::patch::{Patch, PatchPath};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let deployment = json!({
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"template": {"spec": {"containers": [
            {"name": "app", "image": "app:1", "env": [{"name": "ZONE", "value": "a"}]},
            {"name": "proxy", "image": "proxy:1"}
        ]}}}
    });
    // A name from elsewhere is escaped, whatever characters it has.
    let app = PatchPath::escape_filter("app");
    let containers = "/spec/template/spec/containers";
    let patch = Patch::read(&json!([
        {"op": "test", "path": "/kind", "value": "Deployment"},
        {"op": "replace", "path": (format!("{containers}[?(@.name=='{app}')]/image")), "value": "app:2"},
        {"op": "add", "path": (format!("{containers}[*]/volumeMounts/-")),
            "value": {"name": "tmp", "mountPath": "/tmp"}},
        {"op": "add", "path": "/spec/template/spec/volumes/-", "value": {"name": "tmp", "emptyDir": {}}},
        {"op": "merge", "path": "/metadata/labels", "value": {"tier": "web"}}
    ]))?;
    let patched = patch.apply(&deployment)?;
    println!("{patched}");
    assert_eq!(
        patched.get("metadata").get("labels"),
        &json!({"tier": "web"})
    );

    let missing = Patch::read(&json!([
        {"op": "remove", "path": (format!("{containers}[?(@.name=='cache')]"))}
    ]))?;
    assert_eq!(missing.apply(&deployment)?, deployment, "no match: skipped");
    match missing.strict(true).apply(&deployment) {
        Ok(_) => println!("there was a match"),
        Err(error) => println!("{}: {error}", error.code()),
    }
    Ok(())
}
