//! Completeness of collections: who sets it, and who is notified.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;

use std::collections::BTreeMap;

use common::{health, store};
use object::GroupKind;
use store::{Basis, Completeness, GroupCompleteness, Lost, Store, Version};

const GROUP: &str = "shop.view.dcontroller.io";

fn incomplete(why: &str) -> Completeness {
    Completeness::Incomplete(why.to_owned())
}

fn complete(settled: Option<u64>) -> Completeness {
    Completeness::Complete(Basis {
        settled: settled.map(Version),
        volatile: false,
        lost: Lost::Nothing(Version(0)),
    })
}

/// The producer of the group sets this for [`health`], and all other collections complete.
fn say(store: &Store, health: Completeness) {
    let completeness = GroupCompleteness {
        collections: BTreeMap::from([(common::health(), health)]),
        others: Completeness::Complete(Basis::USERS),
    };
    store.set_completeness(GROUP, Some(completeness));
}

fn check(store: &Store, collection: &GroupKind, expect: Result<Basis, &str>) {
    let found = store.require_complete(collection);
    let found = found.map_err(|error| error.to_string());
    assert_eq!(found, expect.map_err(str::to_owned));
}

#[test]
fn a_producer_decides_for_its_group_and_the_default_for_all_others() {
    let store = store();
    let other = GroupKind::new(GROUP, "Other");
    let foreign = GroupKind::new("bank.view.dcontroller.io", "Health");
    let none = "Health.shop.view.dcontroller.io is not complete: there is no such Operator";
    check(&store, &health(), Err(none));
    store.set_default_completeness(incomplete("nobody fills it"));
    let nobody = "Health.shop.view.dcontroller.io is not complete: nobody fills it";
    check(&store, &health(), Err(nobody));
    say(&store, incomplete("it has not started"));
    let early = "Health.shop.view.dcontroller.io is not complete: it has not started";
    check(&store, &health(), Err(early));
    // A collection that is first used after the producer has set it.
    check(&store, &other, Ok(Basis::USERS));
    let nobody_there = "Health.bank.view.dcontroller.io is not complete: nobody fills it";
    check(&store, &foreign, Err(nobody_there));
    store.set_completeness(GROUP, None);
    check(&store, &health(), Err(nobody));
}

#[test]
fn a_period_begins_each_time_a_collection_becomes_complete() {
    let store = store();
    store.set_default_completeness(incomplete("nobody fills it"));
    let status = store.status(&health());
    let period = || {
        let status = status.borrow();
        status.basis().map(|_| status.period)
    };
    assert_eq!(period(), None);
    say(&store, complete(Some(1)));
    assert_eq!(period(), Some(1));
    say(&store, complete(None));
    assert_eq!(period(), Some(1));
    say(&store, incomplete("it is edited"));
    assert_eq!(period(), None);
    say(&store, complete(Some(1)));
    assert_eq!(period(), Some(2));
}

#[test]
fn readers_are_woken_only_by_changes() {
    let store = store();
    store.set_default_completeness(incomplete("nobody fills it"));
    let mut status = store.status(&health());
    let mut news = || {
        let news = status.has_changed().unwrap();
        status.mark_unchanged();
        news
    };
    store.set_completeness("bank.view.dcontroller.io", None);
    assert!(!news());
    say(&store, complete(None));
    assert!(news());
    say(&store, complete(None));
    assert!(!news());
    say(&store, complete(Some(1)));
    assert!(news());
}

#[tokio::test]
async fn a_reader_waits_for_completeness() {
    let store = store();
    say(&store, incomplete("it has not started"));
    let mut status = store.status(&health());
    let reader = tokio::spawn(async move {
        let complete = status.wait_for(|status| status.basis().is_some());
        complete.await.unwrap().period
    });
    tokio::task::yield_now().await;
    assert!(!reader.is_finished());
    say(&store, complete(Some(1)));
    assert_eq!(reader.await.unwrap(), 1);
}
