//! Operators of one identity share the watches of their targets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use document::{Value, json};
use kube::client::Body;
use process::config::Config;
use simulation::api::Caller;
use simulation::faults::Fault;
use simulation::fields::{merge_patch, set};
use tokio::time::sleep;

use crate::world::{Running, World, config_map, copies, rest};

const CONFIG_MAPS: &str = "/api/v1/configmaps";
const PODS: &str = "/api/v1/pods";
const LABEL: [&str; 3] = ["metadata", "labels", "dcontroller.io/operator"];

/// Starts this many Operators at once. Returns how many watches of targets were opened.
async fn watches_of(operators: usize) -> u64 {
    let world = World::new();
    world.put_pod("a", "1");
    for i in 0..operators {
        world.apply(&format!("o{i}"), &copies(&format!("o{i}-")));
    }
    let process = world.start(Config::default());
    rest().await;
    assert_eq!(world.config_maps().len(), operators);
    assert!(world.is_ready("o0"), "{}", world.ready("o0"));
    process.stop().await;
    world.watches("STREAM", CONFIG_MAPS)
}

#[tokio::test(start_paused = true)]
async fn many_operators_with_one_target_kind_open_one_watch() {
    assert_eq!(watches_of(1).await, 1);
    assert_eq!(watches_of(100).await, 1);
}

#[tokio::test(start_paused = true)]
async fn operators_that_start_one_after_the_other_share_lists() {
    let world = World::new();
    world.put_pod("a", "1");
    let process = world.start(Config::default());
    for i in 0..100 {
        world.apply(&format!("o{i}"), &copies(&format!("o{i}-")));
        sleep(Duration::from_millis(50)).await;
    }
    rest().await;
    assert_eq!(world.config_maps().len(), 100);
    for path in [CONFIG_MAPS, PODS] {
        let opened = world.watches("STREAM", path);
        assert!(opened < 15, "{path} was opened {opened} times");
    }
    process.stop().await;
}

#[tokio::test(start_paused = true)]
async fn each_operator_sees_the_changes_of_its_own_targets() {
    let world = World::new();
    world.put_pod("a", "1");
    for name in ["x", "y"] {
        world.apply(name, &copies(&format!("{name}-")));
    }
    let process = world.start(Config::default());
    rest().await;
    assert_eq!(world.config_maps(), ["x-a", "y-a"]);
    world.server.delete(&config_map("x-a"));
    let changed = json!({"n": "wrong"});
    let (server, vandal) = (&world.server, "vandal");
    server.set(&config_map("y-a"), vandal, &["data"], changed);
    rest().await;
    assert_eq!(world.config_maps(), ["x-a", "y-a"]);
    let label = |name: &str| {
        let object = server.get(&config_map(name)).unwrap();
        let object = simulation::fields::at(&object, &LABEL).clone();
        object.as_str().map(str::to_owned)
    };
    let data = server.get(&config_map("y-a")).unwrap();
    assert_eq!(data.get("data"), &json!({"n": "1"}));
    // The label of another Operator, of one that does not exist, and none at all.
    for other in [json!("y"), json!("z"), json!(null)] {
        server.set(&config_map("x-a"), vandal, &LABEL, other);
        rest().await;
        assert_eq!(label("x-a").as_deref(), Some("x"));
    }
    // So many repairs count as a fight, which is over when nobody changes the object any more.
    sleep(Duration::from_mins(5)).await;
    assert!(world.is_ready("x"), "{}", world.ready("x"));
    assert!(world.is_ready("y"), "{}", world.ready("y"));
    process.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_sweeps_the_leftovers_of_each_operator() {
    let world = World::new();
    for name in ["a", "b"] {
        world.put_pod(name, "1");
    }
    for name in ["x", "y"] {
        world.apply(name, &copies(&format!("{name}-")));
    }
    let process = world.start(Config::default());
    rest().await;
    process.stop().await;
    world.server.delete(&crate::world::pod("a"));
    let process = world.start(Config::default());
    rest().await;
    assert_eq!(world.config_maps(), ["x-b", "y-b"]);
    process.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_operator_whose_writes_hang_leaves_connections_to_others() {
    let world = World::new();
    for i in 0..1000 {
        world.put_pod(&format!("p{i}"), "1");
    }
    let create = "POST /api/v1/namespaces/ns/secrets";
    let fault = |fault| {
        world
            .server
            .with(|state| state.faults.always(create, fault));
    };
    fault(Fault::Silence);
    let spec = copies("s-").to_string().replace("ConfigMap", "Secret");
    let spec = Value::from_json(spec.as_bytes()).unwrap();
    let options = json!({"options": {"concurrency": 10_000}});
    let controller = merge_patch(spec.get("controllers").at(0), &options);
    world.apply("hangs", &json!({"controllers": [controller]}));
    let process = world.start(Config::default());
    sleep(Duration::from_secs(5)).await;
    world.apply("o", &copies("o-"));
    sleep(Duration::from_secs(5)).await;
    assert_eq!(world.config_maps().len(), 1000);
    fault(Fault::None);
    sleep(Duration::from_mins(5)).await;
    assert_eq!(world.names("", "Secret").len(), 1000);
    process.stop().await;
}

#[tokio::test(start_paused = true)]
async fn too_many_open_files_are_called_by_their_name() {
    let world = World::new();
    world.put_pod("a", "1");
    let controller = copies("o-").get("controllers").at(0).clone();
    let target = json!({"apiGroup": "example.com", "kind": "Plain"});
    let controller = set(&controller, &["target"], target);
    world.apply("o", &json!({"controllers": [controller]}));
    let inner = world.server.client(&Caller::new("deltic"));
    let fails = Arc::new(AtomicBool::new(true));
    let failing = fails.clone();
    // All requests about the target kind fail, its discovery included.
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (inner, failing) = (inner.clone(), failing.clone());
        async move {
            let path = request.uri().path();
            let target = path == "/apis" || path.contains("/example.com/");
            if target && failing.load(Ordering::SeqCst) {
                return Err(tower::BoxError::from(std::io::Error::from_raw_os_error(24)));
            }
            inner.send(request).await.map_err(tower::BoxError::from)
        }
    });
    let client = kube::Client::new(service, "default");
    let process = Running::start(client, Config::default());
    sleep(Duration::from_mins(2)).await;
    let status = world.status("o").to_string();
    assert!(status.contains("too many open files"), "{status}");
    assert!(!status.contains("not serve"), "{status}");
    fails.store(false, Ordering::SeqCst);
    sleep(Duration::from_mins(2)).await;
    assert_eq!(world.names("example.com", "Plain"), ["o-a"]);
    assert!(world.is_ready("o"), "{}", world.ready("o"));
    process.stop().await;
}
