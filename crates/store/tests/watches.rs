//! Watches: their events, where they start, when they expire.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake};
use std::time::Duration;

use common::{delete, health, object, store, user, with_history, write};
use document::{Value, json};
use object::{GroupKind, LabelSelector};
use store::{Config, Event, Expired, Selector, Start, Store, Version, Watch, Write};

fn put(store: &Store, name: &str, label: &str, ready: i64) {
    let metadata = json!({"name": name, "labels": {"app": label}});
    let object = object(&metadata, &json!({"ready": ready}));
    write(store, &user(), Write::Put(object)).unwrap();
}

fn watch(store: &Store, after: u64) -> Watch {
    let start = Start::After(Version(after));
    store.watch(&health(), Selector::default(), start).unwrap()
}

/// An event as text: its type, and its object's name, version and content.
fn text(event: &Event) -> String {
    let line = |kind: &str, object: &Value| {
        let metadata = object.get("metadata");
        format!(
            "{kind} {}@{} {}",
            metadata.get("name").as_str().unwrap(),
            metadata.get("resourceVersion").as_str().unwrap(),
            object.get("ready")
        )
    };
    match event {
        Event::Added(object) => line("+", object),
        Event::Modified(object) => line("~", object),
        Event::Deleted(object) => line("-", object),
        Event::Bookmark { version, initial } => {
            format!("{} {version}", if *initial { "begin" } else { "at" })
        }
    }
}

/// Compares all events that are available now.
fn check(watch: &mut Watch, expect: &[&str]) {
    let mut found = Vec::new();
    while let Some(event) = watch.try_next().unwrap() {
        found.push(text(&event));
    }
    assert_eq!(found, expect);
}

#[test]
fn changes_are_delivered_in_order_with_their_versions() {
    let store = store();
    let mut watch = watch(&store, 100);
    check(&mut watch, &[]);
    put(&store, "web", "a", 1);
    put(&store, "web", "a", 2);
    put(&store, "web", "a", 2);
    write(&store, &user(), delete("web")).unwrap();
    check(&mut watch, &["+ web@101 1", "~ web@102 2", "- web@103 2"]);
}

#[test]
fn a_watch_from_now_starts_with_all_objects() {
    let store = store();
    put(&store, "b", "a", 1);
    put(&store, "a", "a", 2);
    let mut watch = store
        .watch(&health(), Selector::default(), Start::Now)
        .unwrap();
    put(&store, "b", "a", 3);
    check(
        &mut watch,
        &["+ a@102 2", "+ b@101 1", "begin 102", "~ b@103 3"],
    );
}

#[test]
fn a_selector_turns_changes_into_additions_and_deletions() {
    let store = store();
    let selector = Selector {
        labels: Some(LabelSelector::from_query("app in (a)").unwrap()),
        ..Selector::default()
    };
    let start = Start::After(Version(100));
    let mut watch = store.watch(&health(), selector, start).unwrap();
    put(&store, "web", "b", 1);
    put(&store, "web", "a", 2);
    put(&store, "web", "a", 3);
    put(&store, "web", "b", 4);
    write(&store, &user(), delete("web")).unwrap();
    check(&mut watch, &["+ web@102 2", "~ web@103 3", "- web@104 3"]);
}

#[test]
fn a_bookmark_moves_past_changes_of_other_collections() {
    let store = store();
    let mut watch = watch(&store, 100);
    let pods = GroupKind::new("", "Pod");
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}});
    store.write(&user(), &pods, &Write::Create(pod)).unwrap();
    assert_eq!(
        watch.bookmark().unwrap().as_ref().map(text),
        Some("at 101".to_owned())
    );
    put(&store, "web", "a", 1);
    assert_eq!(watch.bookmark(), Ok(None));
    check(&mut watch, &["+ web@102 1"]);
    assert_eq!(
        watch.bookmark().unwrap().as_ref().map(text),
        Some("at 102".to_owned())
    );
}

#[test]
fn versions_outside_of_the_history_are_expired() {
    let store = with_history(2);
    for ready in 1..=4 {
        put(&store, "web", "a", ready);
    }
    let start = |after: u64| {
        let start = Start::After(Version(after));
        store
            .watch(&health(), Selector::default(), start)
            .map(|_| ())
    };
    let expired = |from| {
        Err(Expired {
            from: Version(from),
        })
    };
    assert_eq!(start(99), expired(99));
    assert_eq!(start(101), expired(101));
    assert_eq!(start(102), Ok(()));
    assert_eq!(start(104), Ok(()));
    assert_eq!(start(105), expired(105));
}

#[test]
fn a_slow_watch_expires_and_costs_nothing_meanwhile() {
    let store = with_history(2);
    let mut slow = watch(&store, 100);
    for ready in 1..=1000 {
        put(&store, "web", "a", ready);
    }
    let expired = Err(Expired { from: Version(100) });
    assert_eq!(slow.try_next(), expired);
    assert_eq!(slow.try_next(), expired);
}

#[test]
fn a_watch_survives_as_many_changes_as_there_are_objects() {
    let store = with_history(2);
    let mut watch = watch(&store, 100);
    for ready in [1, 2] {
        for i in 0..1000 {
            put(&store, &format!("{i:03}"), "a", ready);
        }
        for i in 0..1000 {
            let event = watch.try_next().unwrap().unwrap();
            assert!(text(&event).contains(&format!(" {i:03}@")), "{event:?}");
        }
        assert_eq!(watch.try_next(), Ok(None));
    }
}

/// Counts how often a task is woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_waiting_watch_is_woken_only_by_its_own_collection() {
    let store = store();
    let mut watch = watch(&store, 100);
    let wakes = Arc::new(Wakes::default());
    let waker = wakes.clone().into();
    let mut context = Context::from_waker(&waker);
    let mut next = Box::pin(watch.next());
    assert!(next.as_mut().poll(&mut context).is_pending());

    let pods = GroupKind::new("", "Pod");
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}});
    store.write(&user(), &pods, &Write::Create(pod)).unwrap();
    assert_eq!(wakes.0.load(Ordering::Relaxed), 0);

    for name in ["a", "b", "c"] {
        put(&store, name, "a", 1);
    }
    assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
    assert!(next.as_mut().poll(&mut context).is_ready());
    drop(next);
    check(&mut watch, &["+ b@103 1", "+ c@104 1"]);
}

#[tokio::test]
async fn a_cancelled_wait_loses_nothing() {
    let store = store();
    let mut watch = watch(&store, 100);
    for ready in 1..=100 {
        tokio::select! {
            biased;
            _ = watch.next() => panic!("there is nothing yet"),
            () = tokio::task::yield_now() => {}
        }
        put(&store, "web", "a", ready);
        let version = 100 + ready;
        let sign = if ready == 1 { "+" } else { "~" };
        let event = watch.next().await.unwrap();
        assert_eq!(text(&event), format!("{sign} web@{version} {ready}"));
    }
}

/// As a server does for `allowWatchBookmarks`, with an interval of its own.
#[tokio::test(start_paused = true)]
async fn bookmarks_come_at_the_interval_of_the_caller() {
    let store = store();
    put(&store, "web", "a", 1);
    let mut watch = store
        .watch(&health(), Selector::default(), Start::Now)
        .unwrap();
    let writer = store.clone();
    tokio::spawn(async move {
        // Another collection changes after 90 seconds, this one after 150.
        tokio::time::sleep(Duration::from_secs(90)).await;
        let pods = GroupKind::new("", "Pod");
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}});
        writer.write(&user(), &pods, &Write::Create(pod)).unwrap();
        tokio::time::sleep(Duration::from_mins(1)).await;
        put(&writer, "web", "a", 2);
    });
    let start = tokio::time::Instant::now();
    let mut found = Vec::new();
    let mut due = start + Duration::from_mins(1);
    while found.len() < 6 {
        let event = match tokio::time::timeout_at(due, watch.next()).await {
            Ok(event) => Some(event.unwrap()),
            Err(_) => {
                due += Duration::from_mins(1);
                watch.bookmark().unwrap()
            }
        };
        let seconds = start.elapsed().as_secs();
        found.extend(event.map(|event| format!("{seconds}s {}", text(&event))));
    }
    assert_eq!(
        found,
        [
            "0s + web@101 1",
            "0s begin 101",
            "60s at 101",
            "120s at 102",
            "150s ~ web@103 2",
            "180s at 103",
        ]
    );
}

#[test]
fn no_bookmark_comes_before_the_end_of_the_initial_events() {
    let store = store();
    put(&store, "web", "a", 1);
    let selector = Selector {
        labels: Some(LabelSelector::from_query("app=other").unwrap()),
        ..Selector::default()
    };
    for selector in [Selector::default(), selector] {
        let mut watch = store.watch(&health(), selector, Start::Now).unwrap();
        assert_eq!(watch.bookmark(), Ok(None));
        while let Some(event) = watch.try_next().unwrap() {
            let last = matches!(event, Event::Bookmark { initial: true, .. });
            assert_eq!(last, watch.bookmark().unwrap().is_some(), "{event:?}");
        }
    }
}

#[test]
fn a_long_list_of_initial_events_shows_one_version() {
    let store = with_history(5000);
    for i in 0..2000 {
        put(&store, &format!("{i:04}"), "a", 1);
    }
    let mut watch = store
        .watch(&health(), Selector::default(), Start::Now)
        .unwrap();
    let mut next = || text(&watch.try_next().unwrap().unwrap());
    assert_eq!(next(), "+ 0000@101 1");
    put(&store, "1999", "a", 2);
    put(&store, "2000", "a", 1);
    write(&store, &user(), delete("1998")).unwrap();
    for i in 1..2000 {
        assert_eq!(next(), format!("+ {i:04}@{} 1", 101 + i));
    }
    assert_eq!(next(), "begin 2100");
    assert_eq!(next(), "~ 1999@2101 2");
    assert_eq!(next(), "+ 2000@2102 1");
    assert_eq!(next(), "- 1998@2103 1");
}

#[test]
fn initial_events_expire_with_their_version() {
    let store = with_history(2);
    put(&store, "web", "a", 1);
    let mut watch = store
        .watch(&health(), Selector::default(), Start::Now)
        .unwrap();
    for ready in 2..6 {
        put(&store, "web", "a", ready);
    }
    assert_eq!(watch.try_next(), Err(Expired { from: Version(101) }));
}

#[test]
fn a_history_of_large_objects_is_short() {
    let config = Config {
        first_version: Version(100),
        history_bytes: 1_000_000,
        ..Config::default()
    };
    let store = Store::new(common::Counting::default(), config);
    let mut slow = watch(&store, 100);
    let text = "x".repeat(100_000);
    for i in 0..50 {
        let object = object(
            &json!({"name": "large"}),
            &json!({"ready": i, "text": (text.as_str())}),
        );
        write(&store, &user(), Write::Put(object)).unwrap();
    }
    // Each change has two states of 100 kB.
    assert_eq!(slow.try_next(), Err(Expired { from: Version(100) }));
    check(&mut watch(&store, 149), &["~ large@150 49"]);
    let kept = (100..150).filter(|from| {
        let start = Start::After(Version(*from));
        store.watch(&health(), Selector::default(), start).is_ok()
    });
    assert_eq!(kept.count(), 4);
    // A change that is larger than the whole history is delivered to readers that are up to date.
    let mut ready = watch(&store, 150);
    let text = "x".repeat(2_000_000);
    let object = object(
        &json!({"name": "huge"}),
        &json!({"ready": 0, "text": (text.as_str())}),
    );
    write(&store, &user(), Write::Put(object)).unwrap();
    check(&mut ready, &["+ huge@151 0"]);
}
