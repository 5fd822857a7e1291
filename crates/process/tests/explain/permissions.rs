//! Only who may read the sources gets an answer.

use crate::world::{World, rest};
use crate::{pod, two_zones, zones};

const EAST: &str = "namespaces/shop/configmap/east/why";

#[tokio::test(start_paused = true)]
async fn every_object_in_an_answer_must_be_readable() {
    let world = World::new(&[("zones", zones())], &two_zones());
    rest().await;
    let ask = "get */why shop";
    let map = "get configmaps shop";
    let view = "get zoned ";
    let zones = "get zones *";
    for (rules, missing) in [
        (
            vec![],
            r#"cannot get resource "configmap/why" in API group "zones.view"#,
        ),
        (
            vec![ask],
            r#"cannot get resource "configmaps" in API group "" in the namespace "shop""#,
        ),
        (
            vec![ask, map],
            r#"cannot get resource "pods" in API group "" in the namespace "shop""#,
        ),
        (
            vec![ask, map, "get pods shop"],
            r#"cannot get resource "zones" in API group "example.com""#,
        ),
        (
            vec![ask, map, "get pods shop", zones],
            r#"cannot get resource "zoned" in API group "zones.view"#,
        ),
    ] {
        world.rules.set(&rules);
        let (code, message) = world.error("zones", EAST).await;
        assert_eq!(code, 403, "{rules:?}: {message}");
        assert!(message.contains(missing), "{rules:?}: {message}");
        assert!(
            !message.contains("pod/") && !message.contains("\"a\""),
            "{message}"
        );
    }
    // `list` is as good as `get`.
    for pods in ["get pods shop", "list pods shop", "list pods *"] {
        world.rules.set(&[ask, map, view, zones, pods]);
        assert_eq!(world.get("zones", EAST).await.0, 200, "{pods}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_may_not_read_an_object_does_not_learn_whether_it_exists() {
    let world = World::new(&[("zones", zones())], &two_zones());
    rest().await;
    world.rules.set(&["get */why *"]);
    let there = world
        .error("zones", "namespaces/shop/pod/a/why?not=true")
        .await;
    let none = world
        .error("zones", "namespaces/shop/pod/none/why?not=true")
        .await;
    assert_eq!(there.0, 403);
    assert_eq!(there, none);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_names_no_namespace_that_was_not_asked_about() {
    let mut objects = two_zones();
    objects.push(pod("hidden", "x", "east", true));
    let world = World::new(&[("zones", zones())], &objects);
    rest().await;
    world.rules.set(&[
        "get */why shop",
        "* configmaps shop",
        "* zoned *",
        "* zones *",
        "* pods shop",
    ]);
    let (code, message) = world.error("zones", EAST).await;
    assert_eq!(code, 403);
    assert!(
        message.contains(r#"cannot get resource "pods""#),
        "{message}"
    );
    assert!(!message.contains("hidden"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn keys_of_other_objects_are_for_those_who_may_list_them() {
    let world = World::new(&[("zones", zones())], &two_zones());
    rest().await;
    let lost = "namespaces/shop/pod/lost/why?not=true";
    world.rules.set(&["get */why shop", "get pods shop"]);
    let text = world.explanation("zones", lost).await.text();
    assert!(
        text.contains("no partner in Zone: the key is \"eats\""),
        "{text}"
    );
    assert!(!text.contains("east") && !text.contains("among"), "{text}");
    world
        .rules
        .set(&["get */why shop", "list pods *", "list zones *"]);
    let text = world.explanation("zones", lost).await.text();
    assert!(text.contains("(nearest: \"east\")"), "{text}");
}
