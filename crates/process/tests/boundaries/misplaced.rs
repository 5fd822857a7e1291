//! Objects that cannot be where they are derived.

use document::{Value, json};
use object::ObjectKey;
use process::config::Config;

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
const MISPLACED: [(&str, &str, &str); 3] = [
    ("a/b", "ns", "bad-name"),
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
    for (name, into, code) in MISPLACED.into_iter().take(2) {
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
