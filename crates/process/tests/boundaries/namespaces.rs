//! `--namespace` is a boundary.

use document::{Value, json};
use object::ObjectKey;
use process::config::Config;
use simulation::api::ProcessedWrite;
use simulation::fields::{merge_patch, set};

use crate::world::{World, rest};

fn pod(namespace: &str, name: &str) -> ObjectKey {
    ObjectKey::new("", "Pod", namespace, name)
}

fn zone(name: &str) -> ObjectKey {
    ObjectKey::new("example.com", "Zone", "", name)
}

/// An Operator that derives an object of this kind from each pod.
fn derives(metadata: Value, target: Value) -> Value {
    json!({"controllers": [{
        "name": "c",
        "sources": [{"apiGroup": "", "kind": "Pod"}],
        "pipeline": [{"@project": {"metadata": metadata}}],
        "target": target,
    }]})
}

/// Derives a config map beside each pod.
fn config_maps() -> Value {
    let metadata = json!({"name": "$.metadata.name", "namespace": "$.metadata.namespace"});
    derives(metadata, json!({"apiGroup": "", "kind": "ConfigMap"}))
}

/// Derives a config map in the namespace `far` from each pod.
fn far_config_maps() -> Value {
    let metadata = json!({"name": "$.metadata.name", "namespace": "far"});
    derives(metadata, json!({"apiGroup": "", "kind": "ConfigMap"}))
}

/// Derives a cluster-scoped object from each pod.
fn zones() -> Value {
    let metadata = json!({"name": "$.metadata.name"});
    derives(metadata, json!({"apiGroup": "example.com", "kind": "Zone"}))
}

/// A cluster with a pod in each of two namespaces.
fn world() -> World {
    let world = World::new();
    for (namespace, name) in [("ns", "a"), ("far", "b")] {
        world.put(&pod(namespace, name), &json!({"spec": {}}));
    }
    world
}

/// Whether a write is outside of the namespace that the caller has as its name. Operators, for
/// their status and finalizers, and Events are not.
fn is_outside(write: &ProcessedWrite<'_>) -> bool {
    let kind = write.key.kind.kind.as_str();
    let namespace = write.key.namespace();
    !matches!(kind, "Operator" | "Event") && namespace != &*write.caller.name
}

#[tokio::test(start_paused = true)]
async fn two_processes_leave_each_others_objects_alone() {
    let world = world();
    world.forbid(is_outside);
    world.apply("o", &config_maps());
    let (near, far) = (world.start_in("ns"), world.start_in("far"));
    rest().await;
    assert_eq!(world.config_maps(), ["b", "a"]);
    near.stop().await;
    far.stop().await;
    // Both objects are left over; each process removes its own.
    for (namespace, name) in [("ns", "a"), ("far", "b")] {
        world.server.delete(&pod(namespace, name));
    }
    let near = world.start_in("ns");
    rest().await;
    assert_eq!(world.config_maps(), ["b"]);
    let far = world.start_in("far");
    rest().await;
    assert_eq!(world.config_maps(), [""; 0]);
    near.stop().await;
    far.stop().await;
    assert_eq!(world.violations(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn cluster_scoped_objects_are_not_written() {
    let world = world();
    world.apply("o", &zones());
    let all = world.start(Config::default());
    rest().await;
    let zones_before = [world.server.get(&zone("a")), world.server.get(&zone("b"))];
    assert!(zones_before.iter().all(Option::is_some));
    all.stop().await;

    // Each process derives only one of the two, and does not remove the other.
    world.forbid(is_outside);
    let (near, far) = (world.start_in("ns"), world.start_in("far"));
    rest().await;
    let status = world.status("o").to_string();
    assert!(status.contains("outside-namespace"), "{status}");
    assert!(!world.is_ready("o"), "{}", world.ready("o"));
    world.server.delete(&pod("ns", "a"));
    rest().await;
    near.stop().await;
    far.stop().await;
    let zones_after = [world.server.get(&zone("a")), world.server.get(&zone("b"))];
    assert_eq!(zones_before, zones_after);
    assert_eq!(world.violations(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn cluster_scoped_objects_are_read() {
    let world = world();
    world.put(&zone("z"), &json!({"spec": {}}));
    let mut spec = config_maps().to_string();
    spec = spec.replace(r#""kind":"Pod""#, r#""kind":"Zone""#);
    spec = spec.replacen(r#""apiGroup":"""#, r#""apiGroup":"example.com""#, 1);
    spec = spec.replace(r#""$.metadata.namespace""#, r#""ns""#);
    world.apply("o", &Value::from_json(spec.as_bytes()).unwrap());
    let near = world.start_in("ns");
    rest().await;
    assert_eq!(world.config_maps(), ["z"], "{}", world.status("o"));
    near.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_source_in_another_namespace_is_an_error() {
    let world = world();
    let at = |namespace: &str| {
        let source = json!([{"apiGroup": "", "kind": "Pod", "namespace": namespace}]);
        let controller = config_maps().get("controllers").at(0).clone();
        let controller = set(&controller, &["sources"], source);
        json!({"controllers": [controller]})
    };
    world.apply("o", &at("far"));
    let near = world.start_in("ns");
    rest().await;
    assert_eq!(world.config_maps(), [""; 0]);
    let ready = world.ready("o");
    let place = "outside-namespace at spec.controllers[0].sources[0].namespace: ";
    assert!(ready.starts_with("False/Invalid"), "{ready}");
    assert!(ready.contains(place), "{ready}");
    world.apply("o", &at("ns"));
    rest().await;
    assert_eq!(world.config_maps(), ["a"]);
    near.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_target_outside_is_an_error_before_any_request() {
    let world = world();
    world.forbid(is_outside);
    world.apply("o", &far_config_maps());
    let near = world.start_in("ns");
    rest().await;
    let sent = world.server.with(|state| state.trace.take_sent());
    let about = sent
        .iter()
        .filter(|sent| sent.path.contains("/namespaces/far/"));
    assert_eq!(about.count(), 0, "{sent:?}");
    assert_eq!(world.config_maps(), [""; 0]);
    let status = world.status("o").to_string();
    assert!(status.contains("outside-namespace"), "{status}");
    // The error goes with its cause.
    world.apply("o", &config_maps());
    rest().await;
    assert_eq!(world.config_maps(), ["a"]);
    assert!(world.is_ready("o"), "{}", world.ready("o"));
    near.stop().await;
    assert_eq!(world.violations(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn deleting_an_operator_does_not_wait_for_what_is_outside() {
    let world = world();
    let delete = |spec: Value| merge_patch(&spec, &json!({"deletionPolicy": "Delete"}));
    world.apply("o", &delete(config_maps()));
    let all = world.start(Config::default());
    rest().await;
    all.stop().await;
    assert_eq!(world.config_maps(), ["b", "a"]);
    world.apply("o", &delete(far_config_maps()));
    world.forbid(is_outside);
    let near = world.start_in("ns");
    rest().await;
    // The object inside stays, because its pod yields an error.
    assert_eq!(world.config_maps(), ["b", "a"]);
    world.retire("o");
    rest().await;
    assert!(!world.exists("o"));
    assert_eq!(world.config_maps(), ["b"]);
    near.stop().await;
    assert_eq!(world.violations(), [""; 0]);
}

/// Derives a Secret beside each pod.
fn secrets() -> Value {
    let metadata = json!({"name": "$.metadata.name", "namespace": "$.metadata.namespace"});
    derives(metadata, json!({"apiGroup": "", "kind": "Secret"}))
}

#[tokio::test(start_paused = true)]
async fn a_former_kind_is_remembered_while_objects_may_be_outside() {
    let world = world();
    world.apply("o", &config_maps());
    let all = world.start(Config::default());
    rest().await;
    all.stop().await;
    assert_eq!(world.config_maps(), ["b", "a"]);
    let near = world.start_in("ns");
    world.apply("o", &secrets());
    rest().await;
    assert_eq!(world.config_maps(), ["b"]);
    let kinds = |world: &World| world.status("o").get("kinds").clone();
    let maps = json!({"group": "", "kind": "ConfigMap", "sweptNamespaces": ["ns"]});
    let secrets = json!({"group": "", "kind": "Secret"});
    assert_eq!(kinds(&world), json!([(maps), (secrets.clone())]));
    near.stop().await;

    // This process does not look for the kind again.
    world.server.with(|state| state.trace.take_sent());
    let near = world.start_in("ns");
    rest().await;
    let sent = world.server.with(|state| state.trace.take_sent());
    let listed = sent.iter().any(|sent| sent.path.contains("configmaps"));
    assert!(!listed, "{sent:?}");
    assert!(world.is_ready("o"), "{}", world.ready("o"));
    near.stop().await;

    let all = world.start(Config::default());
    rest().await;
    assert_eq!(world.config_maps(), [""; 0]);
    assert_eq!(kinds(&world), json!([(secrets)]));
    all.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_former_kind_that_is_written_again_is_looked_for_again() {
    let world = world();
    let delete = |spec: Value| merge_patch(&spec, &json!({"deletionPolicy": "Delete"}));
    world.apply("o", &delete(config_maps()));
    let near = world.start_in("ns");
    for spec in [secrets(), config_maps(), secrets()] {
        rest().await;
        world.apply("o", &delete(spec));
    }
    rest().await;
    assert_eq!(world.config_maps(), [""; 0]);
    assert_eq!(world.names("", "Secret"), ["a"]);
    let swept = json!({"group": "", "kind": "ConfigMap", "sweptNamespaces": ["ns"]});
    let written = json!({"group": "", "kind": "Secret"});
    let all = json!([(swept), (written)]);
    assert_eq!(*world.status("o").get("kinds"), all);
    // A deletion waits for none of them.
    world.retire("o");
    rest().await;
    assert!(!world.exists("o"));
    near.stop().await;
}
