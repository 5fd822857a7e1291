//! Objects that cannot be where they are derived.

use document::{Value, json};
use object::ObjectKey;
use process::config::Config;
use simulation::faults::Fault;
use simulation::fields::merge_patch;
use simulation::scene::operator;

use crate::world::{World, pod, rest};

/// Each pod says where its config map is.
fn placed() -> Value {
    json!({"deletionPolicy": "Delete", "controllers": [{
        "name": "c",
        "sources": [{"apiGroup": "", "kind": "Pod"}],
        "pipeline": [{"@project": {"metadata": {"name": "$.spec.name", "namespace": "$.spec.into"}}}],
        "target": {"apiGroup": "", "kind": "ConfigMap"},
    }]})
}

fn put(world: &World, name: &str, into: &str) {
    world.put(&pod("p"), &json!({"spec": {"name": name, "into": into}}));
}

fn is_there(world: &World, name: &str) -> bool {
    let key = ObjectKey::new("", "ConfigMap", "ns", name);
    world.server.get(&key).is_some()
}

/// Names and namespaces, and the codes of their errors.
const MISPLACED: [(&str, &str, &str); 4] = [
    ("a/b", "ns", "bad-name"),
    ("BAD_Name!", "ns", "bad-name"),
    ("x", "", "wrong-scope"),
    ("x", "far", "outside-namespace"),
];

#[tokio::test(start_paused = true)]
async fn the_object_that_was_derived_before_stays() {
    for (name, into, code) in MISPLACED {
        let world = World::new();
        world.apply("o", &placed());
        put(&world, "x", "ns");
        let process = world.start_in("ns");
        rest().await;
        assert!(is_there(&world, "x") && world.is_ready("o"), "{code}");
        put(&world, name, into);
        rest().await;
        assert!(is_there(&world, "x"), "{code}: deleted");
        assert!(world.status("o").to_string().contains(code));
        assert!(!world.is_ready("o"), "{code}");
        // The next process knows only its claim.
        process.stop().await;
        let process = world.start_in("ns");
        rest().await;
        assert!(is_there(&world, "x"), "{code}: deleted after a restart");
        put(&world, "y", "ns");
        rest().await;
        assert!(is_there(&world, "y") && !is_there(&world, "x"), "{code}");
        assert!(world.is_ready("o"), "{code}: {}", world.ready("o"));
        process.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_object_that_stayed_goes_with_its_origin() {
    for (name, into, code) in MISPLACED {
        let world = World::new();
        world.apply("o", &placed());
        put(&world, "x", "ns");
        let process = world.start_in("ns");
        rest().await;
        put(&world, name, into);
        rest().await;
        world.server.delete(&pod("p"));
        rest().await;
        assert!(!is_there(&world, "x"), "{code}");
        assert!(world.is_ready("o"), "{code}: {}", world.ready("o"));
        process.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_was_never_there_holds_up_nothing() {
    for (name, into, code) in MISPLACED.into_iter().take(3) {
        let world = World::new();
        world.apply("o", &placed());
        put(&world, name, into);
        let process = world.start(Config::default());
        rest().await;
        assert!(!world.is_ready("o"), "{code}");
        put(&world, "y", "ns");
        rest().await;
        assert!(is_there(&world, "y"), "{code}");
        assert!(world.is_ready("o"), "{code}: {}", world.ready("o"));
        put(&world, name, into);
        rest().await;
        world.retire("o");
        rest().await;
        assert!(!world.exists("o") && !is_there(&world, "y"), "{code}");
        process.stop().await;
    }
}

/// Changes pods without an event: a list shows it.
async fn relist(world: &World, change: impl FnOnce()) {
    // Before the change for the watches that run, and after it for new ones.
    world.server.with(|state| state.expire("Pod"));
    change();
    world.server.with(|state| state.expire("Pod"));
    rest().await;
}

fn put_each(world: &World, into: &str) {
    for name in ["x", "y", "z"] {
        world.put(&pod(name), &json!({"spec": {"name": name, "into": into}}));
    }
}

/// An Operator that may remove one object at once, and what it has derived from three pods.
fn limited() -> World {
    let world = World::new();
    let spec = merge_patch(&placed(), &json!({"maxDeletions": 1}));
    world.apply("o", &spec);
    put_each(&world, "ns");
    world
}

#[tokio::test(start_paused = true)]
async fn a_list_without_their_origins_does_not_remove_more_than_allowed() {
    let world = limited();
    let process = world.start_in("ns");
    rest().await;
    put_each(&world, "");
    rest().await;
    assert_eq!(world.config_maps(), ["x", "y", "z"]);
    relist(&world, || {
        for name in ["x", "y", "z"] {
            world.server.delete(&pod(name));
        }
    })
    .await;
    assert_eq!(world.config_maps(), ["x", "y", "z"]);
    let status = world.status("o").to_string();
    assert!(status.contains("deletion-held"), "{status}");
    process.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_with_misplaced_objects_removes_nothing() {
    for into in ["", "far"] {
        let world = limited();
        let process = world.start_in("ns");
        rest().await;
        relist(&world, || put_each(&world, into)).await;
        assert_eq!(world.config_maps(), ["x", "y", "z"]);
        let status = world.status("o").to_string();
        assert!(!status.contains("deletion-held"), "{status}");
        let path = ["metadata", "annotations", "dcontroller.io/allow-deletions"];
        world.server.set(&operator("o"), "user", &path, "1".into());
        rest().await;
        assert_eq!(world.config_maps(), ["x", "y", "z"]);
        process.stop().await;
    }
}

/// One branch derives a config map, if the pod says so, and the other one a cluster-scoped object.
fn branches() -> Value {
    json!({"controllers": [{
        "name": "c",
        "sources": [{"apiGroup": "", "kind": "Pod"}],
        "pipeline": [
            [
                {"@inputs": ["Pod"]},
                {"@select": {"@not": {"@isnil": "$.spec.name"}}},
                {"@project": {"metadata": {"name": "$.spec.name", "namespace": "ns"}}},
                {"@output": "ConfigMap"},
            ],
            [
                {"@inputs": ["Pod"]},
                {"@project": {"metadata": {"name": "$.metadata.name"}}},
                {"@output": "Zone"},
            ],
        ],
        "targets": [
            {"apiGroup": "", "kind": "ConfigMap"},
            {"apiGroup": "example.com", "kind": "Zone"},
        ],
    }]})
}

#[tokio::test(start_paused = true)]
async fn other_branches_of_the_same_origin_go_on() {
    let world = World::new();
    world.apply("o", &branches());
    put(&world, "x", "");
    let process = world.start_in("ns");
    rest().await;
    assert_eq!(world.config_maps(), ["x"]);
    assert!(world.status("o").to_string().contains("outside-namespace"));
    put(&world, "y", "");
    rest().await;
    assert_eq!(world.config_maps(), ["y"]);
    process.stop().await;
    // What was derived before is of the other branch.
    put(&world, "z", "");
    let process = world.start_in("ns");
    rest().await;
    assert_eq!(world.config_maps(), ["z"]);
    world
        .server
        .put(&pod("p"), "user", &json!({"spec": {"name": null}}));
    rest().await;
    assert_eq!(world.config_maps(), [""; 0]);
    process.stop().await;
}

/// One config map for each namespace that pods name.
fn grouped() -> Value {
    json!({"controllers": [{
        "name": "c",
        "sources": [{"apiGroup": "", "kind": "Pod"}],
        "pipeline": [
            {"@gather": ["$.spec.name", "$.spec.into"]},
            {"@project": {"metadata": {
                "name": "$.spec.name",
                "namespace": "$.spec.into[0]",
            }}},
        ],
        "target": {"apiGroup": "", "kind": "ConfigMap"},
    }]})
}

#[tokio::test(start_paused = true)]
async fn a_misplaced_object_does_not_stop_the_sweep_of_groups() {
    let world = World::new();
    world.apply("o", &grouped());
    put_each(&world, "ns");
    let process = world.start_in("ns");
    rest().await;
    assert_eq!(world.config_maps(), ["x", "y", "z"]);
    process.stop().await;
    // The group y yields an object that cannot be there, and the group z is gone.
    world.put(&pod("y"), &json!({"spec": {"name": "y", "into": "far"}}));
    world.server.delete(&pod("z"));
    let process = world.start_in("ns");
    rest().await;
    assert_eq!(world.config_maps(), ["x", "y"]);
    process.stop().await;
}

/// Each pod says where its thing is.
fn things() -> Value {
    let target = json!({"target": {"apiGroup": "example.com", "kind": "Thing"}});
    let controller = merge_patch(placed().get("controllers").at(0), &target);
    json!({"controllers": [controller]})
}

fn discovery(world: &World, fault: Fault) {
    world.server.with(|state| {
        state.faults.always("GET /apis/example.com/v1", fault);
        state.cut_watches();
    });
}

#[tokio::test(start_paused = true)]
async fn the_scope_of_a_kind_is_remembered_while_it_is_not_served() {
    for code in [404, 503] {
        let world = World::new();
        world.apply("o", &things());
        put(&world, "x", "ns");
        let process = world.start(Config::default());
        rest().await;
        let there = || world.names("example.com", "Thing");
        assert_eq!(there(), ["x"]);
        discovery(&world, Fault::Answer(code));
        rest().await;
        put(&world, "x", "");
        rest().await;
        discovery(&world, Fault::None);
        rest().await;
        rest().await;
        assert_eq!(there(), ["x"], "{code}");
        let status = world.status("o").to_string();
        assert!(status.contains("wrong-scope"), "{code}: {status}");
        process.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_origin_yields_before_the_scope_is_known_deletes_nothing() {
    let world = World::new();
    world.apply("o", &things());
    put(&world, "x", "ns");
    let process = world.start(Config::default());
    rest().await;
    process.stop().await;
    discovery(&world, Fault::Answer(503));
    let process = world.start(Config::default());
    rest().await;
    put(&world, "x", "");
    rest().await;
    discovery(&world, Fault::None);
    rest().await;
    rest().await;
    assert_eq!(world.names("example.com", "Thing"), ["x"]);
    let status = world.status("o").to_string();
    assert!(status.contains("wrong-scope"), "{status}");
    put(&world, "y", "ns");
    rest().await;
    assert_eq!(world.names("example.com", "Thing"), ["y"]);
    assert!(world.is_ready("o"), "{}", world.ready("o"));
    process.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_served_later_has_a_scope() {
    let world = World::new();
    world.drop_kind("example.com", "Thing");
    world.apply("o", &things());
    put(&world, "x", "");
    let process = world.start(Config::default());
    rest().await;
    let status = world.status("o").to_string();
    assert!(status.contains("no-kind"), "{status}");
    world.serve_all();
    rest().await;
    rest().await;
    let status = world.status("o").to_string();
    assert!(status.contains("wrong-scope"), "{status}");
    assert!(!status.contains("no-kind"), "{status}");
    put(&world, "x", "ns");
    rest().await;
    assert_eq!(world.names("example.com", "Thing"), ["x"]);
    assert!(world.is_ready("o"), "{}", world.ready("o"));
    process.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_object_stays_when_its_controller_gets_another_name() {
    for (name, into, code) in MISPLACED {
        let world = World::new();
        world.apply("o", &placed());
        put(&world, "x", "ns");
        world.put(&pod("q"), &json!({"spec": {"name": "q", "into": "ns"}}));
        let process = world.start_in("ns");
        rest().await;
        put(&world, name, into);
        rest().await;
        let controller = merge_patch(placed().get("controllers").at(0), &json!({"name": "d"}));
        world.apply("o", &json!({"controllers": [controller]}));
        world.server.delete(&pod("q"));
        rest().await;
        assert_eq!(world.config_maps(), ["x"], "{code}");
        put(&world, "y", "ns");
        rest().await;
        assert_eq!(world.config_maps(), ["y"], "{code}");
        assert!(world.is_ready("o"), "{code}: {}", world.ready("o"));
        process.stop().await;
    }
}

/// Puts pods into the view `V`, and also Secrets, whose values are in the names then.
fn view(with_secrets: bool) -> Value {
    let controller = |name: &str, source: &str, place: Value| {
        json!({
            "name": name,
            "sources": [{"apiGroup": "", "kind": source}],
            "pipeline": [{"@project": {"metadata": {"name": place}, "spec": "$.spec"}}],
            "target": {"kind": "V"},
        })
    };
    let pods = controller("pods", "Pod", json!("$.metadata.name"));
    let secrets = controller("secrets", "Secret", json!("$.data.name"));
    let both = [pods, secrets];
    let count = if with_secrets { 2 } else { 1 };
    let controllers: Value = both[..count].iter().cloned().collect();
    json!({"controllers": controllers})
}

#[tokio::test(start_paused = true)]
async fn the_object_stays_when_its_origin_becomes_a_secret() {
    let world = World::new();
    let source = json!([{"apiGroup": "v.view.dcontroller.io", "kind": "V"}]);
    let controller = placed().get("controllers").at(0).clone();
    let controller = merge_patch(&controller, &json!({"sources": source}));
    world.apply("o", &json!({"controllers": [controller]}));
    world.apply("v", &view(false));
    put(&world, "x", "ns");
    let process = world.start(Config::default());
    rest().await;
    put(&world, "x", "");
    rest().await;
    world.apply("v", &view(true));
    rest().await;
    put(&world, "z", "");
    rest().await;
    assert_eq!(world.config_maps(), ["x"]);
    process.stop().await;
    let process = world.start(Config::default());
    rest().await;
    assert_eq!(world.config_maps(), ["x"]);
    put(&world, "y", "ns");
    rest().await;
    assert_eq!(world.config_maps(), ["y"]);
    process.stop().await;
}
