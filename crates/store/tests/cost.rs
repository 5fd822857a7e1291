//! The cost of a write does not depend on the number of objects, nor on open lists.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use common::{controller, derive, health, object, store};
use document::json;
use store::{List, Selector, Start, Store, Version};

fn put(store: &Store, i: usize, ready: usize) {
    let object = object(
        &json!({"name": (format!("{i:06}"))}),
        &json!({"ready": ready}),
    );
    let put = store.write(&controller(), &health(), &derive(object));
    put.unwrap();
}

/// The fastest of several rounds of 500 updates, each delivered to a watch.
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
    // A cost proportional to the number of objects would be 64 times as high.
    assert!(many < few * 8, "{few:?} with 1,000, {many:?} with 64,000");
}

/// The fastest of several rounds: 40 lists and watches start, and 10 updates happen while each
/// of them is open.
fn updates_during_lists(objects: usize) -> Duration {
    let store = store();
    for i in 0..objects {
        put(&store, i, 0);
    }
    let round = |round: usize| {
        let start = Instant::now();
        for list in 0..40 {
            let mut watch = store
                .watch(&health(), Selector::default(), Start::Now)
                .unwrap();
            let first = page(&store, None);
            for i in 0..10 {
                put(&store, i * 7919 % objects, round * 40 + list + 1);
            }
            assert!(watch.try_next().unwrap().is_some());
            let second = page(&store, first.token.as_deref());
            assert_eq!(second.version, first.version);
        }
        start.elapsed()
    };
    (0..8).map(round).min().unwrap()
}

fn page(store: &Store, token: Option<&str>) -> List {
    let limit = NonZeroUsize::new(50);
    let page = store.list_page(&health(), &Selector::default(), limit, token);
    page.unwrap()
}

#[test]
fn an_update_during_a_list_costs_the_same_with_a_thousand_times_the_objects() {
    let few = updates_during_lists(100);
    let many = updates_during_lists(100_000);
    // Copying the collection for each list would cost a thousand times as much.
    assert!(many < few * 8, "{few:?} with 100, {many:?} with 100,000");
}
