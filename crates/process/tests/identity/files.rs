//! Operators that are given as files.

use document::{Value, json};
use expr::Functions;
use object::ObjectKey;
use object::marks::KINDS;
use operator::Operator;
use process::config::Config;
use process::instance::{Memory, lease_name};
use simulation::api::Caller;
use simulation::faults::Fault;

use crate::world::{World, copies_to, rest, widget};

fn read(name: &str, spec: &Value) -> Operator {
    let manifest = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
        "metadata": {"name": name}, "spec": (spec.clone()),
    });
    let (operator, problems) = operator::read(&manifest, &Functions::builtin());
    operator.unwrap_or_else(|| panic!("{problems:?}"))
}

/// The configuration of an instance with these Operators.
async fn config(world: &World, instance: &str, files: &[(&str, &Value)]) -> Config {
    let client = world.server.client(&Caller::new("memory"));
    let memory = Memory::new(client, "ns", &lease_name(instance));
    let opened = memory.open().await;
    let files = files.iter().map(|(name, spec)| read(name, spec));
    Config {
        files: files.collect(),
        instance: instance.to_owned(),
        memory: opened.is_ok().then_some(memory),
        ..Config::default()
    }
}

fn recorded(world: &World, instance: &str) -> String {
    let key = ObjectKey::new("coordination.k8s.io", "Lease", "ns", &lease_name(instance));
    let lease = world.server.get(&key).unwrap();
    let kinds = lease.get("metadata").get("annotations").get(KINDS).clone();
    kinds.as_str().unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn another_instance_neither_sweeps_nor_takes_over() {
    let spec = copies_to("", "ConfigMap");
    let mut world = World::new(&["o0", "o1"]);
    world.start_with(config(&world, "one", &[("a", &spec)]).await);
    rest().await;
    world.stop().await;
    let claims = world.claims("", "ConfigMap");
    let uids = claims.values().map(|claim| claim.clone().unwrap().uid);
    assert!(
        uids.into_iter()
            .all(|uid| uid.as_deref() == Some("instance:one"))
    );
    world.server.delete(&widget("o0"));
    world.start_with(config(&world, "two", &[("a", &spec)]).await);
    rest().await;
    world.stop().await;
    assert_eq!(world.claims("", "ConfigMap"), claims);
    world.start_with(config(&world, "one", &[("a", &spec)]).await);
    rest().await;
    assert_eq!(world.names("", "ConfigMap"), ["o1"]);
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_kinds_of_files_are_remembered_on_a_lease() {
    let mut world = World::new(&["o0", "o1"]);
    let maps = copies_to("", "ConfigMap");
    world.start_with(config(&world, "one", &[("a", &maps)]).await);
    rest().await;
    world.stop().await;
    assert_eq!(
        recorded(&world, "one"),
        r#"{"a":[{"group":"","kind":"ConfigMap"}]}"#
    );
    let secrets = copies_to("", "Secret");
    world.start_with(config(&world, "one", &[("a", &secrets)]).await);
    rest().await;
    assert_eq!(world.names("", "ConfigMap"), [""; 0]);
    assert_eq!(world.names("", "Secret"), ["o0", "o1"]);
    assert_eq!(
        recorded(&world, "one"),
        r#"{"a":[{"group":"","kind":"Secret"}]}"#
    );
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn without_the_right_to_the_lease_it_runs_without_memory() {
    let mut world = World::new(&["o0"]);
    world
        .server
        .with(|state| state.faults.always("/leases", Fault::Forbidden));
    let config = config(&world, "one", &[("a", &copies_to("", "ConfigMap"))]).await;
    assert!(config.memory.is_none());
    world.start_with(config);
    rest().await;
    assert_eq!(world.names("", "ConfigMap"), ["o0"]);
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_renamed_operator_of_the_same_instance_goes_on() {
    let spec = copies_to("", "ConfigMap");
    let mut world = World::new(&["o0"]);
    world.start_with(config(&world, "one", &[("a", &spec)]).await);
    rest().await;
    world.stop().await;
    let owner = |world: &World| world.claims("", "ConfigMap")["o0"].clone().unwrap();
    // Another instance does not know whether it exists.
    world.start_with(config(&world, "two", &[("b", &spec)]).await);
    rest().await;
    world.stop().await;
    assert_eq!(owner(&world).operator, "a");
    world.start_with(config(&world, "one", &[("b", &spec)]).await);
    rest().await;
    world.stop().await;
    assert_eq!(
        (owner(&world).operator.as_str(), owner(&world).created),
        ("b", false)
    );
}
