//! Values of users that the Patcher of a deleted Operator has restored.

use document::{Value, json};
use object::ObjectKey;
use simulation::fields::at;

use super::patches::deployment;
use super::{World, seconds};

/// Scales the Deployment while there is a `ConfigMap`.
fn scales(target: &Value) -> Value {
    let document = json!({
        "metadata": {"name": "web", "namespace": "ns"},
        "spec": {"replicas": 5},
    });
    json!({"deletionPolicy": "Delete", "controllers": [{
        "name": "scale", "sources": [{"apiGroup": "", "kind": "ConfigMap"}],
        "pipeline": [{"@project": document}], "target": (target.clone()),
    }]})
}

fn target(kind: &str, force: bool) -> Value {
    scales(&json!({"apiGroup": "apps", "kind": "Deployment", "type": (kind), "force": force}))
}

#[tokio::test(start_paused = true)]
async fn a_restored_value_is_a_users_and_the_conflict_says_so() {
    let mut world = World::new();
    let theirs = json!({"spec": {"replicas": 3}});
    world.server.put(&deployment(), "user", &theirs);
    let source = ObjectKey::new("", "ConfigMap", "ns", "source");
    world.server.put(&source, "user", &json!({}));
    let replicas = |world: &World| at(&world.web(), &["spec", "replicas"]).clone();
    world.operator("p", target("Patcher", false));
    world.start();
    seconds(30).await;
    assert_eq!(replicas(&world), json!(5));
    world.delete_operator("p");
    seconds(30).await;
    assert_eq!(replicas(&world), json!(3));

    world.operator("o", target("Applier", false));
    seconds(30).await;
    assert_eq!(replicas(&world), json!(3), "it is the user's");
    let status = world.status("o").to_string();
    for part in [
        ".spec.replicas is owned by deltic/p/scale of Operator p, which does not exist",
        "it counts as a user's",
        "target.force: true",
    ] {
        assert!(status.contains(part), "{status}");
    }

    world.operator("o", target("Applier", true));
    seconds(30).await;
    assert_eq!(replicas(&world), json!(5));
    world.expect("o", "True/Ready");
    world.stop().await;
}
