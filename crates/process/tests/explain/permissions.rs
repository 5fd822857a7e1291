//! Only who may read the sources gets an answer.

use document::{Value, json};
use object::ObjectKey;

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

/// Config maps with the password of a Secret become views; directly, or by way of another view.
fn passwords() -> Value {
    let join = |secret: &str| {
        let condition =
            json!({"@eq": ["$.ConfigMap.data.guess", (format!("$.{secret}.data.password"))]});
        json!([{"@join": (condition)}, {"@project": {"metadata": "$.ConfigMap.metadata"}}])
    };
    json!({"controllers": [{
        "name": "direct",
        "sources": [{"apiGroup": "", "kind": "ConfigMap"}, {"apiGroup": "", "kind": "Secret"}],
        "pipeline": (join("Secret")),
        "target": {"kind": "Valid"},
    }, {
        "name": "copy",
        "sources": [{"apiGroup": "", "kind": "Secret"}],
        "pipeline": [{"@project": {"metadata": "$.metadata", "data": "$.data"}}],
        "target": {"kind": "Copy"},
    }, {
        "name": "indirect",
        "sources": [{"apiGroup": "", "kind": "ConfigMap"}, {"kind": "Copy"}],
        "pipeline": (join("Copy")),
        "target": {"kind": "AlsoValid"},
    }]})
}

#[tokio::test(start_paused = true)]
async fn the_value_of_a_secret_cannot_be_guessed() {
    let guess = |name: &str, guess: &str| {
        let key = ObjectKey::new("", "ConfigMap", "shop", name);
        (key, json!({"data": {"guess": (guess)}}))
    };
    let secret = ObjectKey::new("", "Secret", "hidden", "db");
    let objects = [
        (secret, json!({"data": {"password": "aHVudGVyMg=="}})),
        guess("right", "hunter2"),
        guess("wrong", "hunter3"),
    ];
    let world = World::new(&[("passwords", passwords())], &objects);
    rest().await;
    let asks = ["get */why shop", "* configmaps shop"];
    for may in [vec![], vec!["* secrets shop"], vec!["list secrets *"]] {
        world.rules.set(&[&asks[..], &may].concat());
        for question in ["?not=true", ""] {
            let path = |name: &str| format!("namespaces/shop/configmap/{name}/why{question}");
            let right = world.error("passwords", &path("right")).await;
            let wrong = world.error("passwords", &path("wrong")).await;
            assert_eq!(right.0, 403, "{may:?}: {right:?}");
            assert_eq!(right, wrong, "{may:?}");
        }
    }
    // Who may list the Secrets, and what is derived from them, gets an answer.
    let may = [
        "list secrets *",
        "list copy *",
        "list valid *",
        "list alsovalid *",
    ];
    world.rules.set(&[&asks[..], &may].concat());
    for name in ["right", "wrong"] {
        let path = format!("namespaces/shop/configmap/{name}/why?not=true");
        assert_eq!(world.get("passwords", &path).await.0, 200, "{name}");
    }
    // An own Secret can be asked about: its partners are no Secrets.
    world.rules.set(&[
        "get */why *",
        "get secrets hidden",
        "* configmaps *",
        "* copy *",
        "* valid *",
        "* alsovalid *",
    ]);
    let path = "namespaces/hidden/secret/db/why?not=true";
    let (code, answer) = world.get("passwords", path).await;
    assert_eq!(code, 200, "{answer}");
}
