//! A controller over its budget is tried again.

use std::time::Duration;

use document::json;
use simulation::fields::set;

use super::{World, copies, seconds, widget};

/// Five widgets, of which a controller may read three.
async fn stopped() -> World {
    let mut world = World::new();
    world.config.budget.documents = 3;
    for name in ["a", "b", "c", "d", "e"] {
        world.widget(name, 1);
    }
    world.operator("o", copies(""));
    world.start();
    seconds(10).await;
    world.expect("o", "False/BudgetExceeded");
    world
}

#[tokio::test(start_paused = true)]
async fn it_is_tried_again_when_something_changes() {
    let mut world = stopped().await;
    world.server.delete(&widget("d"));
    world.server.delete(&widget("e"));
    world.until("o", "True/Ready", Duration::from_mins(1)).await;
    assert_eq!(world.config_maps(), ["a", "b", "c"]);
    // And again when it grows once more.
    world.widget("d", 2);
    world
        .until("o", "False/BudgetExceeded", Duration::from_mins(1))
        .await;
    assert_eq!(world.config_maps(), ["a", "b", "c"]);
    world.server.delete(&widget("a"));
    world.until("o", "True/Ready", Duration::from_mins(2)).await;
    assert_eq!(world.config_maps(), ["b", "c", "d"]);
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_pauses_grow() {
    let mut world = stopped().await;
    world.requests("");
    for i in 0..3600 {
        world.widget("a", i);
        seconds(1).await;
        world.expect("o", "False/BudgetExceeded");
    }
    // 10, 20, 40, 80, 160 s, then every 5 minutes.
    let lists = world.config.metrics.encode();
    let lists = lists
        .lines()
        .filter(|line| line.starts_with("deltic_lists_total"));
    let widgets = lists.filter(|line| line.contains("Widget"));
    let count = widgets.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
    let count: usize = count.sum();
    assert!((8..=20).contains(&count), "{count} lists");
    world.stop().await;
}

/// The limits are those of the Operator, however many controllers it has.
#[tokio::test(start_paused = true)]
async fn controllers_share_the_budget() {
    let both = || {
        let copy = |prefix: &str| copies(prefix).get("controllers").at(0).clone();
        let named = |name: &str| set(&copy(name), &["name"], json!(name));
        json!({"controllers": [(named("one")), (named("two"))]})
    };
    for (documents, outputs, expect) in [
        (4, 100, "True/Ready"),
        (3, 100, "False/BudgetExceeded"),
        (100, 4, "True/Ready"),
        (100, 3, "False/BudgetExceeded"),
    ] {
        let mut world = World::new();
        world.config.budget.documents = documents;
        world.config.budget.outputs = outputs;
        world.widget("a", 1);
        world.widget("b", 1);
        world.operator("o", both());
        world.start();
        seconds(10).await;
        world.expect("o", expect);
        let message = world.message("o");
        if expect == "False/BudgetExceeded" {
            assert!(message.contains("more than 3 objects"), "{message}");
        }
        world.stop().await;
    }
}

/// What it had kept because of an error stays, although it no longer knows the error.
#[tokio::test(start_paused = true)]
async fn it_keeps_what_was_in_error() {
    let mut world = World::new();
    world.config.budget.documents = 3;
    world.widget("a", 1);
    world.operator("o", copies(""));
    world.start();
    seconds(10).await;
    assert_eq!(world.config_maps(), ["a"]);
    world.stop().await;
    world.put(&widget("a"), "spec", json!({}));
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    world.put(&widget("deep"), "spec", json!({"n": deep}));
    world.start();
    seconds(10).await;
    world.expect("o", "Unknown/ReconciliationFailed");
    for name in ["b", "c", "d", "e"] {
        world.widget(name, 1);
    }
    seconds(5).await;
    world.expect("o", "False/BudgetExceeded");
    assert!(world.config_maps().contains(&"a".to_owned()));
    world.stop().await;
}
