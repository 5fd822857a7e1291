//! Operators that are deleted and created again, or renamed.

use document::{Value, json};
use process::config::Config;
use target::claim::Claim;

use crate::world::{World, config_map, copies_to, operator, rest, widget};

#[tokio::test(start_paused = true)]
async fn a_new_operator_takes_over_what_it_derives_and_leaves_the_rest_alone() {
    let spec = copies_to("", "ConfigMap");
    let mut world = World::running(&spec).await;
    let first = world.uid("a");
    world.server.delete(&operator("a"));
    rest().await;
    world.stop().await;
    world.server.delete(&widget("o0"));
    world.apply("a", &spec);
    let second = world.uid("a");
    assert_ne!(first, second);
    let config = Config::default();
    let metrics = config.metrics.clone();
    world.start_with(config);
    rest().await;
    world.is_ready("a");
    let claims = world.claims("", "ConfigMap");
    let owner = |name: &str| claims[name].clone().unwrap();
    assert_eq!(owner("o0").uid, Some(first));
    for name in ["o1", "o2"] {
        let claim = owner(name);
        assert_eq!((claim.uid, claim.created), (Some(second.clone()), true));
    }
    assert_eq!(world.status("a").get("orphans"), &json!(1));
    let text = metrics.encode();
    assert!(text.contains(r#"deltic_orphans{operator="a"} 1"#), "{text}");

    // What it took over is its own now.
    world.server.delete(&widget("o1"));
    rest().await;
    assert_eq!(world.names("", "ConfigMap"), ["o0", "o2"]);
    // Somebody removes the orphan.
    world.server.delete(&config_map("o0"));
    rest().await;
    assert_eq!(world.status("a").get("orphans"), &json!(0));
}

#[tokio::test(start_paused = true)]
async fn an_orphan_that_is_derived_again_is_taken_over() {
    let spec = copies_to("", "ConfigMap");
    let mut world = World::running(&spec).await;
    world.server.delete(&operator("a"));
    rest().await;
    world.stop().await;
    world.server.delete(&widget("o0"));
    world.apply("a", &spec);
    world.start();
    rest().await;
    assert_eq!(world.status("a").get("orphans"), &json!(1));
    world.server.put(&widget("o0"), "someone", &json!({}));
    rest().await;
    let claim = world.claims("", "ConfigMap")["o0"].clone().unwrap();
    assert_eq!(claim.uid, Some(world.uid("a")));
    assert_eq!(world.status("a").get("orphans"), &json!(0));
}

/// The new Operator's controller has another name, so that the server knows two managers.
#[tokio::test(start_paused = true)]
async fn fields_that_an_earlier_applier_owned_go_after_a_takeover() {
    let applies = |controller: &str, data: Value| {
        json!({"controllers": [{
            "name": controller,
            "sources": [{"apiGroup": "example.com", "kind": "Widget"}],
            "pipeline": [{"@project": {
                "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
                "data": (data)
            }}],
            "target": {"apiGroup": "", "kind": "ConfigMap", "type": "Applier"}
        }]})
    };
    for later in [false, true] {
        let world = World::running(&applies("old", json!({"k": "v", "former": "x"}))).await;
        let source = widget("o0");
        world.server.delete(&operator("a"));
        rest().await;
        if later {
            world.server.delete(&source);
        }
        world.apply("a", &applies("new", json!({"k": "v"})));
        rest().await;
        if later {
            // The first sweep of the new Operator is over.
            world.server.put(&source, "someone", &json!({}));
            rest().await;
        }
        let taken_over = world.server.get(&config_map("o0")).unwrap();
        assert_eq!(taken_over.get("data"), &json!({"k": "v"}), "{later}");
        world.is_ready("a");
    }
}

#[tokio::test(start_paused = true)]
async fn claims_without_a_uid_are_own_and_not_written_just_for_that() {
    let mut world = World::running(&copies_to("", "ConfigMap")).await;
    world.stop().await;
    for name in ["o0", "o1", "o2"] {
        world.without_uid(&config_map(name));
    }
    world.server.delete(&widget("o0"));
    let before = world.versions();
    world.start();
    rest().await;
    world.is_ready("a");
    assert_eq!(world.names("", "ConfigMap"), ["o1", "o2"]);
    assert_eq!(world.versions(), before[1..]);
    // Another reason to write it.
    world.unannotate(&config_map("o1"), "dcontroller.io/owner");
    rest().await;
    let claims = world.claims("", "ConfigMap");
    let uid = |name: &str| claims[name].clone().unwrap().uid;
    assert_eq!((uid("o1"), uid("o2")), (Some(world.uid("a")), None));
}

#[tokio::test(start_paused = true)]
async fn a_renamed_operator_goes_on_when_the_other_is_deleted() {
    let spec = copies_to("", "ConfigMap");
    let mut world = World::running(&spec).await;
    world.apply("b", &spec);
    rest().await;
    assert_eq!(world.ready("b"), "Unknown/ReconciliationFailed");
    let status = world.status("b").to_string();
    assert!(status.contains("conflict"), "{status}");
    let owners = |world: &World| -> Vec<(String, bool)> {
        let claims = world.claims("", "ConfigMap").into_values();
        claims
            .map(|claim| claim.map(|claim: Claim| (claim.operator, claim.created)))
            .map(Option::unwrap)
            .collect()
    };
    assert_eq!(owners(&world), vec![("a".to_owned(), true); 3]);
    world.server.delete(&operator("a"));
    rest().await;
    assert_eq!(owners(&world), vec![("b".to_owned(), false); 3]);
    world.is_ready("b");
    // What existed before stays.
    world.server.delete(&widget("o0"));
    rest().await;
    assert_eq!(world.names("", "ConfigMap"), ["o0", "o1", "o2"]);
    assert_eq!(world.claims("", "ConfigMap")["o0"], None);
    world.stop().await;
}
