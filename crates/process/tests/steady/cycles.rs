//! Controllers that read what they write.

use document::{Value, json};
use engine::native::ViewStore;
use object::GroupKind;
use simulation::fields::set;
use store::Selector;

use super::{World, config_map, copies, operator, seconds};

/// Adds one to `data.n` of each config map with the label `grows`, for ever.
fn grower() -> Value {
    json!({"controllers": [{
        "name": "grower",
        "sources": [{
            "apiGroup": "", "kind": "ConfigMap",
            "labelSelector": {"matchLabels": {"grows": "yes"}},
        }],
        "pipeline": [{"@project": {
            "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
            "data": {"n": {"@string": {"@add": [{"@int": "$.data.n"}, 1]}}},
        }}],
        "target": {"apiGroup": "", "kind": "ConfigMap"},
    }]})
}

fn number(world: &World, name: &str) -> i64 {
    let object = world.server.get(&config_map(name)).unwrap_or_default();
    let text = object.get("data").get("n").as_str().map(str::to_owned);
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn an_object_that_feeds_itself_is_held() {
    let mut world = World::new();
    let object = json!({"metadata": {"labels": {"grows": "yes"}}, "data": {"n": "0"}});
    world.server.put(&config_map("a"), "user", &object);
    world.operator("o", grower());
    world.operator("neighbour", copies("neighbour-"));
    world.start();
    seconds(60).await;
    world.expect("o", "Unknown/ReconciliationFailed");
    let message = world.message("o");
    assert!(message.contains("cycle at target"), "{message}");
    assert!(!world.events("Cycle").is_empty());
    let held_at = number(&world, "a");
    assert!((64..70).contains(&held_at), "{held_at}");
    seconds(300).await;
    assert_eq!(number(&world, "a"), held_at);
    // A change outside of the fields that it reads is no reason to go on.
    let label = ["metadata", "annotations", "note"];
    world
        .server
        .change(&config_map("a"), "user", |old| set(old, &label, json!("x")));
    seconds(20).await;
    assert_eq!(number(&world, "a"), held_at);
    world.expect("o", "Unknown/ReconciliationFailed");
    // Something else that it reads is.
    let n = ["data", "n"];
    world
        .server
        .change(&config_map("a"), "user", |old| set(old, &n, json!("1000")));
    seconds(60).await;
    let again = number(&world, "a");
    assert!((1064..1070).contains(&again), "{again}");
    // And after 10 minutes it is tried once more.
    seconds(600).await;
    let later = number(&world, "a");
    assert!((again + 60..again + 70).contains(&later), "{again} {later}");
    world.expect("neighbour", "True/Ready");
    world.stop().await;
}

/// Each of three config maps has the number of the one before plus one, up to a limit.
fn ring(limit: i64) -> Value {
    let n = json!({"@int": "$.data.n"});
    let next =
        json!({"@cond": [{"@lt": [(n.clone()), limit]}, {"@add": [(n.clone()), 1]}, (n.clone())]});
    let controllers = [("a", "b"), ("b", "c"), ("c", "a")].map(|(from, to)| {
        json!({
            "name": (format!("{from}-{to}")),
            "sources": [{"apiGroup": "", "kind": "ConfigMap"}],
            "pipeline": [
                {"@select": {"@eq": ["$.metadata.name", from]}},
                {"@project": {
                    "metadata": {"name": to, "namespace": "$.metadata.namespace"},
                    "data": {"n": {"@string": (next.clone())}},
                }},
            ],
            "target": {"apiGroup": "", "kind": "ConfigMap"},
        })
    });
    let controllers: Value = controllers.into_iter().collect();
    json!({"controllers": controllers})
}

/// The 64 writes are those of one target, however many others are between them.
#[tokio::test(start_paused = true)]
async fn a_ring_of_targets_is_held_when_each_was_written_64_times() {
    for (limit, settles) in [(180, true), (250, false)] {
        let mut world = World::new();
        world
            .server
            .put(&config_map("a"), "user", &json!({"data": {"n": "0"}}));
        world.operator("o", ring(limit));
        world.start();
        seconds(120).await;
        let found = ["a", "b", "c"].map(|name| number(&world, name));
        if settles {
            assert_eq!(found, [limit; 3]);
            world.expect("o", "True/Ready");
        } else {
            assert!(found.iter().all(|n| (190..200).contains(n)), "{found:?}");
            world.expect("o", "Unknown/ReconciliationFailed");
        }
        world.stop().await;
    }
}

/// None of them is written twice.
#[tokio::test(start_paused = true)]
async fn targets_that_derive_further_targets_without_end_are_held() {
    let mut world = World::new();
    world.server.put(&config_map("x"), "user", &json!({}));
    let source = json!({"apiGroup": "", "kind": "ConfigMap"});
    let longer = set(&longer(&source, "ConfigMap"), &["target"], source);
    world.operator("o", json!({"controllers": [(longer)]}));
    world.start();
    seconds(60).await;
    let held_at = world.config_maps().len();
    assert!((128..135).contains(&held_at), "{held_at}");
    world.expect("o", "Unknown/ReconciliationFailed");
    seconds(300).await;
    assert_eq!(world.config_maps().len(), held_at);
    world.stop().await;
}

/// In a chain, each write of the second Operator is caused by one of the first, and yet the chain
/// comes to rest after each change.
/// Derives the config map `flip` while there is exactly one with the label, which `flip` has, too.
fn flip() -> Value {
    let labels = json!({"flips": "yes"});
    json!({"controllers": [{
        "name": "flip",
        "sources": [{
            "apiGroup": "", "kind": "ConfigMap", "labelSelector": {"matchLabels": (labels.clone())},
        }],
        "pipeline": [
            {"@groupBy": ["all", "$.metadata.name"]},
            {"@select": {"@eq": [{"@len": "$.values"}, 1]}},
            {"@project": {
                "metadata": {"name": "flip", "namespace": (config_map("flip").namespace()), "labels": labels},
                "data": {"a": "b"},
            }},
        ],
        "target": {"apiGroup": "", "kind": "ConfigMap"},
    }]})
}

/// Another Operator is shown the deletions as well, and may be shown them first.
#[tokio::test(start_paused = true)]
async fn an_object_that_is_created_and_deleted_in_turn_is_held() {
    let mut world = World::new();
    let object = json!({"metadata": {"labels": {"flips": "yes"}}});
    world.server.put(&config_map("a"), "user", &object);
    let reader = json!({"controllers": [{
        "name": "reader",
        "sources": [{"apiGroup": "", "kind": "ConfigMap"}],
        "pipeline": [{"@select": {"@eq": ["$.metadata.name", "nothing"]}}],
        "target": {"kind": "Seen"},
    }]});
    world.operator("reader", reader);
    world.operator("o", flip());
    world.start();
    seconds(120).await;
    world.expect("o", "Unknown/ReconciliationFailed");
    let message = world.message("o");
    assert!(message.contains("cycle at target"), "{message}");
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_chain_of_controllers_is_no_cycle() {
    let mut world = World::new();
    world.operator("first", copies(""));
    let second = json!({"controllers": [{
        "name": "second",
        "sources": [{"apiGroup": "", "kind": "ConfigMap"}],
        "pipeline": [{"@project": {
            "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
            "spec": {"n": "$.data.n"},
        }}],
        "target": {"apiGroup": "example.com", "kind": "Copy"},
    }]});
    world.operator("second", second);
    world.start();
    seconds(10).await;
    let copy = object::ObjectKey::new("example.com", "Copy", "ns", "a");
    for n in 0..200 {
        world.widget("a", n);
        seconds(1).await;
        let found = world.server.get(&copy).unwrap_or_default();
        let expect = n.to_string();
        assert_eq!(found.get("spec").get("n").as_str(), Some(expect.as_str()));
    }
    world.expect("second", "True/Ready");
    world.stop().await;
}

/// A controller that derives an object of `to` from each object of `from`, with a longer name.
fn longer(from: &Value, to: &str) -> Value {
    json!({
        "name": (format!("to-{to}").to_lowercase()),
        "sources": [(from.clone())],
        "pipeline": [{"@project": {"metadata": {
            "name": {"@concat": ["$.metadata.name", "x"]}, "namespace": "$.metadata.namespace",
        }}}],
        "target": {"kind": to},
    })
}

/// Ends the cycle: objects whose names are this long are not read.
fn shorter_than(length: usize, controller: &Value) -> Value {
    let name = "x".repeat(length);
    let mut stages = vec![json!({"@select": {"@lt": ["$.metadata.name", name]}})];
    stages.extend(
        controller
            .get("pipeline")
            .as_list()
            .unwrap()
            .iter()
            .cloned(),
    );
    set(controller, &["pipeline"], stages.into())
}

fn count(views: &ViewStore, kind: &str) -> usize {
    let view = GroupKind::new("o.view.dcontroller.io", kind);
    views.store().list(&view, &Selector::default()).items.len()
}

fn widgets() -> Value {
    json!({"apiGroup": "example.com", "kind": "Widget"})
}

/// As offline, after 64 rounds.
#[tokio::test(start_paused = true)]
async fn a_view_that_feeds_itself_is_held() {
    let mut world = World::new();
    world.widget("x", 1);
    let seed = longer(&widgets(), "Name");
    let cycle = set(
        &longer(&json!({"kind": "Name"}), "Name"),
        &["name"],
        json!("cycle"),
    );
    let controllers: Value = [seed, cycle].into_iter().collect();
    world.operator("o", json!({"controllers": controllers}));
    let views = world.start_with_views();
    seconds(60).await;
    assert_eq!(count(&views, "Name"), 1 + 64);
    world.expect("o", "Unknown/ReconciliationFailed");
    let message = world.message("o");
    assert!(message.contains("cycle at target"), "{message}");
    seconds(300).await;
    assert_eq!(count(&views, "Name"), 1 + 64);
    world.stop().await;
}

/// However many controllers it has: a round runs each of them.
#[tokio::test(start_paused = true)]
async fn a_cycle_of_views_that_settles_within_64_rounds_is_not_held() {
    let mut world = World::new();
    world.widget("x", 1);
    let view = |kind: &str| json!({"kind": kind});
    let controllers: Value = [
        longer(&widgets(), "A"),
        longer(&view("A"), "B"),
        longer(&view("B"), "C"),
        longer(&view("C"), "D"),
        set(
            &shorter_than(200, &longer(&view("D"), "A")),
            &["name"],
            json!("cycle"),
        ),
    ]
    .into_iter()
    .collect();
    world.operator("o", json!({"controllers": controllers}));
    let views = world.start_with_views();
    seconds(60).await;
    world.expect("o", "True/Ready");
    assert_eq!(count(&views, "D"), 50);
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_cycle_of_views_across_operators_is_refused_at_the_youngest() {
    let mut world = World::new();
    let reads = |of: &str| {
        json!({"controllers": [{
            "name": "c",
            "sources": [{"apiGroup": (format!("{of}.view.dcontroller.io")), "kind": "V"}],
            "target": {"kind": "V"},
        }]})
    };
    world.operator("z-old", reads("young"));
    seconds(5).await;
    world.operator("young", reads("z-old"));
    world.start();
    seconds(20).await;
    world.expect("young", "False/CyclicViews");
    let message = world.message("young");
    assert!(message.contains("V.z-old.view.dcontroller.io"), "{message}");
    assert!(!world.events("CyclicViews").is_empty());
    // The older one waits for the view of the refused one.
    world.expect("z-old", "False/NotReady");
    world.server.delete(&operator("z-old"));
    seconds(20).await;
    world.expect("young", "False/NotReady");
    // An edit closes the cycle again: the youngest is refused, although it ran.
    world.operator("other", reads("other"));
    seconds(20).await;
    world.operator("young", reads("other"));
    seconds(20).await;
    world.expect("young", "True/Ready");
    world.operator("other", reads("young"));
    seconds(20).await;
    world.expect("young", "False/NotReady");
    world.expect("other", "False/CyclicViews");
    world.stop().await;
}
