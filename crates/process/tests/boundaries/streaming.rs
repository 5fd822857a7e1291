//! Servers that do not support watches that begin with all objects.

use std::time::Duration;

use process::config::Config;
use simulation::api::StreamingLists;
use tokio::time::sleep;

use crate::world::{World, copies, rest};

async fn check(lists: StreamingLists, at_once: bool) {
    let world = World::new();
    world.server.with(|state| state.streaming_lists = lists);
    world.put_pod("a", "1");
    world.apply("o", &copies("o-"));
    let process = world.start(Config::default());
    if at_once {
        sleep(Duration::from_secs(5)).await;
    } else {
        sleep(Duration::from_secs(45)).await;
    }
    assert_eq!(world.config_maps(), ["o-a"], "{lists:?}");
    assert!(world.is_ready("o"), "{lists:?}: {}", world.ready("o"));
    // The watches that follow the lists.
    world.put_pod("b", "1");
    rest().await;
    assert_eq!(world.config_maps(), ["o-a", "o-b"], "{lists:?}");
    // The next Operator does not wait again, also not for other kinds.
    let spec = copies("p-").to_string().replace("Pod", "Secret");
    let spec = document::Value::from_json(spec.as_bytes()).unwrap();
    let secret = object::ObjectKey::new("", "Secret", "ns", "s");
    world.put(&secret, &document::json!({"spec": {"n": "1"}}));
    world.apply("p", &spec);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(world.config_maps(), ["o-a", "o-b", "p-s"], "{lists:?}");
    for (path, most) in [("pods", 1), ("configmaps", 1), ("secrets", 0)] {
        let opened = world.watches("STREAM", &format!("/api/v1/{path}"));
        assert_eq!(opened, most, "{lists:?}: {path}");
    }
    process.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_streaming_lists_is_listed() {
    check(StreamingLists::Refused, true).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_without_the_bookmark_is_listed_after_a_while() {
    check(StreamingLists::NoBookmark, false).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ignores_streaming_lists_is_listed_after_a_while() {
    check(StreamingLists::Ignored, false).await;
}

#[tokio::test(start_paused = true)]
async fn changes_that_keep_coming_do_not_delay_the_fallback_for_ever() {
    let world = World::new();
    let lists = StreamingLists::NoBookmark;
    world.server.with(|state| state.streaming_lists = lists);
    world.put_pod("a", "1");
    world.apply("o", &copies("o-"));
    let process = world.start(Config::default());
    for n in 0..20 {
        sleep(Duration::from_secs(10)).await;
        world.put_pod("a", &n.to_string());
    }
    assert_eq!(world.config_maps(), ["o-a"]);
    process.stop().await;
}
