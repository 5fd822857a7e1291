//! A controller over its budget is tried again.

use std::time::Duration;

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
