//! `--operator-selector` divides Operators among processes.

use document::{Value, json};
use object::LabelSelector;
use process::config::Config;
use simulation::api::{Caller, ProcessedWrite};

use crate::world::{Running, World, copies, rest};

/// Starts a process that runs the Operators of a team, which is also the name of the caller.
fn start(world: &World, team: &str) -> Running {
    let selector = LabelSelector::from_query(&format!("team={team}")).unwrap();
    let config = Config {
        operator_selector: Some(selector),
        ..Config::default()
    };
    Running::start(world.server.client(&Caller::new(team)), config)
}

/// Derives objects of the view `V` from pods.
pub(crate) fn producer() -> Value {
    let metadata = json!({"name": "$.metadata.name", "namespace": "$.metadata.namespace"});
    json!({"controllers": [{
        "name": "c",
        "sources": [{"apiGroup": "", "kind": "Pod"}],
        "pipeline": [{"@project": {"metadata": metadata, "n": "$.spec.n"}}],
        "target": {"kind": "V"},
    }]})
}

/// Derives config maps from the view `V` of `producer`.
pub(crate) fn reader() -> Value {
    let metadata = json!({"name": "$.metadata.name", "namespace": "$.metadata.namespace"});
    json!({"controllers": [{
        "name": "c",
        "sources": [{"apiGroup": "producer.view.dcontroller.io", "kind": "V"}],
        "pipeline": [{"@project": {"metadata": metadata, "data": {"n": "$.n"}}}],
        "target": {"apiGroup": "", "kind": "ConfigMap"},
    }]})
}

#[tokio::test(start_paused = true)]
async fn each_process_runs_and_reports_its_own_operators() {
    let world = World::new();
    // Nobody but the process of its team writes an Operator or its objects, which have its name.
    let wrong = |write: &ProcessedWrite<'_>| {
        let is_event = write.key.kind.kind.as_str() == "Event";
        !is_event && !write.key.object_name().starts_with(&*write.caller.name)
    };
    world.forbid(wrong);
    world.put_pod("1", "1");
    for name in ["a", "b", "c"] {
        world.apply(name, &copies(&format!("{name}-")));
        world.label(name, "team", name);
    }
    let (one, two) = (start(&world, "a"), start(&world, "b"));
    rest().await;
    assert_eq!(world.config_maps(), ["a-1", "b-1"]);
    assert!(world.is_ready("a") && world.is_ready("b"));
    assert_eq!(world.status("c"), json!(null));
    one.stop().await;
    two.stop().await;
    assert_eq!(world.violations(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_operator_that_another_process_runs_has_no_views_here() {
    let world = World::new();
    world.put_pod("1", "1");
    for (name, spec) in [("producer", producer()), ("reader", reader())] {
        world.apply(name, &spec);
        world.label(name, "team", "a");
    }
    let one = start(&world, "a");
    rest().await;
    assert_eq!(world.config_maps(), ["1"]);
    assert!(world.is_ready("reader"), "{}", world.ready("reader"));
    // It moves to another process, while this one runs and while it restarts.
    world.label("producer", "team", "b");
    rest().await;
    let expect_waiting = || {
        assert_eq!(world.config_maps(), ["1"], "nothing is deleted");
        let ready = world.ready("reader");
        assert!(ready.starts_with("False/"), "{ready}");
        assert!(ready.contains("--operator-selector"), "{ready}");
    };
    expect_waiting();
    one.stop().await;
    let one = start(&world, "a");
    rest().await;
    expect_waiting();
    // It comes back, with a change.
    world.put_pod("2", "1");
    world.label("producer", "team", "a");
    rest().await;
    assert_eq!(world.config_maps(), ["1", "2"]);
    assert!(world.is_ready("reader"), "{}", world.ready("reader"));
    one.stop().await;
}
