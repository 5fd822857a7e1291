//! A write costs the same, however many objects there are.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;

use std::time::{Duration, Instant};

use common::{controller, health, object, store};
use document::json;
use store::{Selector, Start, Store, Version, Write};

fn put(store: &Store, i: usize, ready: usize) {
    let object = object(
        &json!({"name": (format!("{i:06}"))}),
        &json!({"ready": ready}),
    );
    let put = store.write(&controller(), &health(), &Write::Put(object));
    put.unwrap();
}

/// The quickest of several rounds of 500 updates, each seen by a watch.
fn updates(objects: usize) -> Duration {
    const UPDATES: usize = 500;
    let store = store();
    for i in 0..objects {
        put(&store, i, 0);
    }
    let from = Start::After(Version(store.version().0));
    let mut watch = store.watch(&health(), Selector::default(), from).unwrap();
    let round = |round: usize| {
        let start = Instant::now();
        for i in 0..UPDATES {
            put(&store, i * 7919 % objects, round + 1);
            assert!(watch.try_next().unwrap().is_some());
        }
        start.elapsed()
    };
    (0..8).map(round).min().unwrap()
}

#[test]
fn an_update_costs_the_same_with_sixty_four_times_the_objects() {
    let few = updates(1_000);
    let many = updates(64_000);
    // A cost that grows with the number of objects would be 64 times as much.
    assert!(many < few * 8, "{few:?} with 1,000, {many:?} with 64,000");
}
