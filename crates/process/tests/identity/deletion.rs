//! `deletionPolicy: Delete`: nothing is left, and the Operator goes.

use document::{Value, json};
use simulation::faults::Fault;
use simulation::fields::{set, unset};

use crate::world::{World, config_map, copies_to, deleting, operator, rest};

#[tokio::test(start_paused = true)]
async fn a_deletion_finds_objects_of_a_former_kind() {
    let mut world = World::running(&deleting(&copies_to("", "ConfigMap"))).await;
    world.stop().await;
    world.apply("a", &deleting(&copies_to("", "Secret")));
    world.server.delete(&operator("a"));
    assert!(world.exists(&operator("a")));
    world.start();
    rest().await;
    assert_eq!(world.names("", "ConfigMap"), [""; 0]);
    assert!(!world.exists(&operator("a")));
}

#[tokio::test(start_paused = true)]
async fn a_deletion_needs_no_source() {
    for restarts in [false, true] {
        let mut world = World::running(&deleting(&copies_to("", "ConfigMap"))).await;
        if restarts {
            world.stop().await;
        }
        world.drop_kind("example.com", "Widget");
        if restarts {
            world.start();
        }
        rest().await;
        assert_eq!(world.names("", "ConfigMap"), ["o0", "o1", "o2"]);
        world.server.delete(&operator("a"));
        rest().await;
        assert_eq!(world.names("", "ConfigMap"), [""; 0]);
        assert!(!world.exists(&operator("a")), "{}", world.status("a"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_kind_that_is_gone_holds_up_no_deletion() {
    for restarts in [false, true] {
        let spec = deleting(&copies_to("example.com", "Thing"));
        let mut world = World::running(&spec).await;
        if restarts {
            world.stop().await;
        }
        world.drop_kind("example.com", "Thing");
        if restarts {
            world.start();
        }
        rest().await;
        world.server.delete(&operator("a"));
        rest().await;
        assert!(!world.exists(&operator("a")), "{}", world.status("a"));
    }
}

/// Something else delays the deletion until the kind is back.
#[tokio::test(start_paused = true)]
async fn a_target_kind_that_comes_back_is_cleared_too() {
    let controller = |kind: &Value, name: &str| {
        let controller = kind.get("controllers").at(0);
        set(controller, &["name"], json!(name))
    };
    let things = controller(&copies_to("example.com", "Thing"), "things");
    let maps = controller(&copies_to("", "ConfigMap"), "maps");
    let spec = deleting(&json!({"controllers": [things, maps]}));
    let mut world = World::running(&spec).await;
    let things = world.objects("example.com", "Thing");
    world.stop().await;
    world.drop_kind("example.com", "Thing");
    let delete = |world: &World, fault| {
        let path = "DELETE /api/v1/namespaces";
        world.server.with(|state| state.faults.always(path, fault));
    };
    delete(&world, Fault::Answer(503));
    world.start();
    rest().await;
    world.server.delete(&operator("a"));
    rest().await;
    assert!(world.exists(&operator("a")));
    world.serve_all();
    for (key, thing) in &things {
        world.server.put(key, "someone", thing);
    }
    for _ in 0..5 {
        rest().await;
    }
    assert_eq!(world.names("example.com", "Thing"), [""; 0]);
    assert!(world.exists(&operator("a")));
    delete(&world, Fault::None);
    // The longest pause after a failure is five minutes.
    for _ in 0..20 {
        rest().await;
    }
    assert!(!world.exists(&operator("a")), "{}", world.status("a"));
}

/// Deletes the Operator, and perhaps restarts deltic. The object `o1` must hold it up.
async fn expect_deleting(world: &mut World, restarts: bool) {
    world.server.delete(&operator("a"));
    rest().await;
    if restarts {
        world.stop().await;
        world.start();
        rest().await;
    }
    assert_eq!(world.names("", "ConfigMap"), ["o1"]);
    assert_eq!(world.ready("a"), "False/Deleting");
}

/// A user has set a finalizer on a derived object: it is left, too, and so after a restart.
#[tokio::test(start_paused = true)]
async fn a_deletion_waits_for_the_finalizers_of_derived_objects() {
    for restarts in [false, true] {
        let mut world = World::running(&deleting(&copies_to("", "ConfigMap"))).await;
        let finalizers = ["metadata", "finalizers"];
        world.server.change(&config_map("o1"), "user", |old| {
            set(old, &finalizers, json!(["example.com/x"]))
        });
        expect_deleting(&mut world, restarts).await;
        let status = world.status("a").to_string();
        let expect = "derived objects are being deleted: 1 ConfigMap left; ConfigMap ns/o1 waits \
                      for its finalizers: example.com/x\"";
        assert!(status.contains(expect), "{status}");
        world
            .server
            .change(&config_map("o1"), "user", |old| unset(old, &finalizers));
        rest().await;
        assert_eq!(world.names("", "ConfigMap"), [""; 0]);
        assert!(!world.exists(&operator("a")), "{}", world.status("a"));
    }
}

/// The answer of the server to a request without permission, and in its place that of RBAC, both as
/// in JSON.
const FORBIDDEN: &str =
    r#"User \"deltic\" cannot do resource \"things\" in API group \"\" at the cluster scope"#;
const MAY_NOT_DELETE: &str = r#""configmaps \"o1\" is forbidden: User \"u\" cannot delete resource \"configmaps\" in API group \"\" in the namespace \"ns\"""#;

/// Sets the fault of deletions of the config map `o1`.
fn on_deletion(world: &World, fault: Fault) {
    world.server.with(|state| {
        let path = "DELETE /api/v1/namespaces/ns/configmaps/o1";
        state.faults.always(path, fault);
        state.sent_as = vec![(FORBIDDEN, MAY_NOT_DELETE.to_owned())];
    });
}

/// The permission was taken away while the Operator ran. It is named after a restart, too, when only
/// the claims say which controller derived the objects.
#[tokio::test(start_paused = true)]
async fn a_deletion_names_the_permission_that_it_lacks() {
    for restarts in [false, true] {
        let mut world = World::running(&deleting(&copies_to("", "ConfigMap"))).await;
        on_deletion(&world, Fault::Forbidden);
        expect_deleting(&mut world, restarts).await;
        let expect = "derived objects are being deleted: 1 ConfigMap left; the newest error: \
                      /ConfigMap/ns/o1: missing permission: the account that the Operator writes \
                      as may not delete configmaps in API group \"\" in namespace ns";
        assert_eq!(world.message("a"), expect);
        on_deletion(&world, Fault::None);
        // The longest pause after a failure is five minutes.
        for _ in 0..20 {
            rest().await;
        }
        assert!(!world.exists(&operator("a")), "{}", world.status("a"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_unavailable_target_kind_is_not_gone() {
    let spec = deleting(&copies_to("example.com", "Thing"));
    let mut world = World::running(&spec).await;
    world.stop().await;
    let discovery = |world: &World, fault| {
        let path = "GET /apis/example.com/v1";
        world.server.with(|state| state.faults.always(path, fault));
    };
    // As for an aggregated API whose server does not answer.
    discovery(&world, Fault::Answer(503));
    world.server.delete(&operator("a"));
    world.start();
    rest().await;
    rest().await;
    assert!(world.exists(&operator("a")));
    let status = world.status("a").to_string();
    assert!(status.contains("discovery of Thing"), "{status}");
    discovery(&world, Fault::None);
    rest().await;
    rest().await;
    assert_eq!(world.names("example.com", "Thing"), [""; 0]);
    assert!(!world.exists(&operator("a")));
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_comes_back_is_written_again() {
    let mut world = World::running(&copies_to("example.com", "Thing")).await;
    world.drop_kind("example.com", "Thing");
    rest().await;
    assert_eq!(world.ready("a"), "False/NotReady");
    world.serve_all();
    rest().await;
    assert_eq!(world.names("example.com", "Thing"), ["o0", "o1", "o2"]);
    world.is_ready("a");
    world.stop().await;
}
