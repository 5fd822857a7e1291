//! Watches.

use std::time::Duration;

use document::{Value, json};
use http_body_util::{BodyExt as _, Full};
use store::{Completeness, Preconditions, Write};

use crate::common::{Api, SHOP, fails, health};

/// An open watch.
struct Lines {
    body: apiserver::Body,
    rest: Vec<Value>,
}

impl Lines {
    async fn open(api: &Api, query: &str, accept: &str) -> Self {
        let request = http::Request::get(format!("{SHOP}?watch=1&{query}"));
        let request = request.header("accept", accept).body(Full::default());
        let response = api.send(request.unwrap()).await;
        assert_eq!(response.status(), 200);
        Self {
            body: response.into_body(),
            rest: Vec::new(),
        }
    }

    /// The next event; `None` at the end.
    async fn next(&mut self) -> Option<Value> {
        while self.rest.is_empty() {
            let frame = self.body.frame().await?.unwrap().into_data().unwrap();
            let text = std::str::from_utf8(&frame).unwrap();
            self.rest
                .extend(text.lines().map(|line| line.parse::<Value>().unwrap()));
        }
        Some(self.rest.remove(0))
    }

    /// The type of the next event, and the name of its object.
    async fn brief(&mut self) -> (String, String) {
        let event = self.next().await.unwrap();
        let name = event.get("object").get("metadata").get("name").as_str();
        let kind = event.get("type").as_str().unwrap().to_owned();
        (kind, name.unwrap_or_default().to_owned())
    }
}

fn event(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_watch_list_ends_with_an_annotated_bookmark() {
    let api = Api::new();
    api.derive("a", 1);
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut lines = Lines::open(&api, query, "application/json").await;
    assert_eq!(lines.brief().await, event("ADDED", "a"));
    let bookmark = lines.next().await.unwrap();
    assert_eq!(bookmark.get("type").as_str(), Some("BOOKMARK"));
    let metadata = bookmark.get("object").get("metadata");
    let annotations = json!({"k8s.io/initial-events-end": "true"});
    assert_eq!(metadata.get("annotations"), &annotations);
    assert_eq!(metadata.get("resourceVersion").as_str(), Some("2"));
    api.derive("b", 1);
    assert_eq!(lines.brief().await, event("ADDED", "b"));
}

#[tokio::test(start_paused = true)]
async fn changes_after_a_version_are_delivered() {
    let api = Api::new();
    api.derive("a", 1);
    let mut lines = Lines::open(&api, "resourceVersion=2", "application/json").await;
    api.derive("a", 2);
    api.derive("b", 1);
    let caller = store::Caller::controller("shop", "health");
    let delete = Write::Delete(
        object::ObjectName::new("shop", "b"),
        Preconditions::default(),
    );
    api.store.write(&caller, &health(), &delete).unwrap();
    for expect in [
        event("MODIFIED", "a"),
        event("ADDED", "b"),
        event("DELETED", "b"),
    ] {
        assert_eq!(lines.brief().await, expect);
    }
}

#[tokio::test(start_paused = true)]
async fn a_quiet_watch_gets_bookmarks_and_ends_in_time() {
    let api = Api::new();
    let query = "resourceVersion=1&allowWatchBookmarks=true&timeoutSeconds=90";
    let start = tokio::time::Instant::now();
    let mut lines = Lines::open(&api, query, "application/json").await;
    assert_eq!(lines.brief().await, event("BOOKMARK", ""));
    assert_eq!(start.elapsed(), Duration::from_mins(1));
    assert_eq!(lines.next().await, None);
    assert_eq!(start.elapsed(), Duration::from_secs(90));
}

#[tokio::test(start_paused = true)]
async fn an_old_version_is_gone() {
    let api = Api::new();
    for i in 0..3000 {
        api.derive("a", i);
    }
    // 2 is no longer known, and 999999 is a version of another server.
    for version in [2, 999_999] {
        let query = format!("resourceVersion={version}");
        let mut lines = Lines::open(&api, &query, "application/json").await;
        let error = lines.next().await.unwrap();
        assert_eq!(error.get("type").as_str(), Some("ERROR"));
        let status = (410, error.get("object").clone());
        let message = format!("too old resource version: {version}");
        fails(&status, 410, "Expired", &message);
        assert_eq!(lines.next().await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_gets_an_error_event() {
    let api = Api::new();
    api.derive("a", 0);
    let mut lines = Lines::open(&api, "resourceVersion=2", "application/json").await;
    for i in 1..3000 {
        api.derive("a", i);
    }
    let error = lines.next().await.unwrap();
    assert_eq!(error.get("type").as_str(), Some("ERROR"));
    assert_eq!(error.get("object").get("code").as_int(), Some(410));
    assert_eq!(lines.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_view_that_becomes_incomplete_ends_its_watches() {
    let api = Api::new();
    let mut lines = Lines::open(&api, "resourceVersion=1", "application/json").await;
    let reason = "Operator shop was deleted".to_owned();
    api.store
        .set_default_completeness(Completeness::Incomplete(reason));
    let error = lines.next().await.unwrap();
    assert_eq!(error.get("type").as_str(), Some("ERROR"));
    assert_eq!(error.get("object").get("reason").as_str(), Some("Expired"));
    assert_eq!(lines.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_watched_table_has_its_columns_once() {
    let api = Api::new();
    api.derive("a", 1);
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let mut lines = Lines::open(&api, "", accept).await;
    let first = lines.next().await.unwrap();
    assert!(
        first
            .get("object")
            .get("columnDefinitions")
            .as_list()
            .is_some()
    );
    api.derive("b", 2);
    let second = lines.next().await.unwrap();
    let table = second.get("object");
    assert!(table.get("columnDefinitions").is_null());
    assert_eq!(table.get("rows").at(0).get("cells"), &json!(["b", 2, "5m"]));
}

#[tokio::test(start_paused = true)]
async fn a_very_long_watch_is_shortened() {
    let api = Api::new();
    let query = format!("resourceVersion=1&timeoutSeconds={}", i64::MAX);
    let start = tokio::time::Instant::now();
    let mut lines = Lines::open(&api, &query, "application/json").await;
    assert_eq!(lines.next().await, None);
    assert_eq!(start.elapsed(), Duration::from_hours(24));
}

#[tokio::test(start_paused = true)]
async fn metadata_alone_can_be_watched() {
    let api = Api::new();
    api.derive("a", 1);
    let accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut lines = Lines::open(&api, query, accept).await;
    for kind in ["ADDED", "BOOKMARK", "MODIFIED"] {
        let event = lines.next().await.unwrap();
        assert_eq!(event.get("type").as_str(), Some(kind));
        let object = event.get("object");
        assert_eq!(object.get("kind").as_str(), Some("PartialObjectMetadata"));
        assert_eq!(object.get("apiVersion").as_str(), Some("meta.k8s.io/v1"));
        assert!(object.get("ready").is_null(), "{object}");
        api.derive("a", 2);
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_leaves_the_selection_is_deleted_for_the_watch() {
    let api = Api::new();
    let label = |value: &str| {
        let patch = json!({"metadata": {"labels": {"app": value}}}).to_string();
        let path = format!("{SHOP}/a");
        let api = &api;
        async move {
            let kind = [("content-type", "application/merge-patch+json")];
            assert_eq!(api.call_with("PATCH", &path, &kind, &patch).await.0, 200);
        }
    };
    api.call("POST", SHOP, &crate::common::object("a", 1)).await;
    label("web").await;
    let mut lines = Lines::open(&api, "labelSelector=app%3Dweb", "application/json").await;
    assert_eq!(lines.brief().await, event("ADDED", "a"));
    label("db").await;
    label("web").await;
    let deleted = lines.next().await.unwrap();
    assert_eq!(deleted.get("type").as_str(), Some("DELETED"));
    let metadata = deleted.get("object").get("metadata");
    assert_eq!(
        metadata.get("labels"),
        &json!({"app": "web"}),
        "the last state that matched"
    );
    let version = metadata.get("resourceVersion").as_str().unwrap().to_owned();
    let added = lines.next().await.unwrap();
    assert_eq!(added.get("type").as_str(), Some("ADDED"));
    let later = added.get("object").get("metadata").get("resourceVersion");
    assert!(later.as_str().unwrap().parse::<u64>().unwrap() > version.parse().unwrap());
}
