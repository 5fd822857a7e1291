//! Discovery, lists and watches.

use simulation::api::StreamingLists;

use super::*;

#[tokio::test(start_paused = true)]
async fn discovery_finds_all_kinds() {
    let cluster = Cluster::new();
    let resource = object::KindRef {
        group: "example.com".to_owned(),
        version: None,
        kind: "Zone".to_owned(),
    };
    let found = cluster::source::discovery::resolve(&cluster.client, &resource).await;
    let found = found.unwrap();
    assert_eq!(found.resource.plural, "zones");
    assert!(!found.namespaced && found.status);
    let missing = object::KindRef {
        kind: "Nothing".to_owned(),
        ..resource
    };
    let missing = cluster::source::discovery::resolve(&cluster.client, &missing).await;
    assert_eq!(missing.unwrap_err().code, "kind-gone");
    assert_eq!(cluster.get("/apis/nowhere/v1/things").await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn the_pages_of_a_list_show_one_version() {
    let cluster = Cluster::new();
    for name in ["a", "b", "c", "d", "e"] {
        cluster.server.put(&item(name), "user", &json!({}));
    }
    let (_, first) = cluster.get(&format!("{ITEMS}?limit=2")).await;
    assert_eq!(first.get("items").as_list().unwrap().len(), 2);
    cluster.server.delete(&item("e"));
    let token = at(&first, &["metadata", "continue"]).as_str().unwrap();
    let rest = format!("{ITEMS}?limit=500&continue={token}");
    let (_, second) = cluster.get(&rest).await;
    assert_eq!(second.get("items").as_list().unwrap().len(), 3);
    assert_eq!(version(&first), version(&second));
    assert!(at(&second, &["metadata", "continue"]).is_null());

    let (_, first) = cluster.get(&format!("{ITEMS}?limit=1")).await;
    let token = at(&first, &["metadata", "continue"]).as_str().unwrap();
    cluster.server.with(simulation::api::State::compact);
    let rest = format!("{ITEMS}?limit=1&continue={token}");
    assert_eq!(cluster.get(&rest).await.0, 410);
}

#[tokio::test(start_paused = true)]
async fn a_watch_continues_from_a_version() {
    let cluster = Cluster::new();
    cluster.server.put(&item("a"), "user", &json!({}));
    let (_, list) = cluster.get(ITEMS).await;
    cluster.server.put(&item("b"), "user", &json!({}));
    cluster
        .server
        .set(&item("a"), "user", &["spec", "n"], json!(1));
    cluster.server.delete(&item("b"));
    let uri = format!("{ITEMS}?watch=true&resourceVersion={}", version(&list));
    let lines = cluster.watch(&uri).await;
    assert_eq!(lines, ["ADDED b", "MODIFIED a", "DELETED b"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_may_begin_with_all_objects() {
    let cluster = Cluster::new();
    for name in ["a", "b"] {
        cluster.server.put(&item(name), "user", &json!({}));
    }
    let uri = format!(
        "{ITEMS}?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersion=0"
    );
    assert_eq!(
        cluster.watch(&uri).await,
        ["ADDED a", "ADDED b", "BOOKMARK"]
    );
    let answers = |lists| cluster.server.with(|state| state.streaming_lists = lists);
    answers(StreamingLists::NoBookmark);
    assert_eq!(cluster.watch(&uri).await, ["ADDED a", "ADDED b"]);
    answers(StreamingLists::Ignored);
    assert_eq!(cluster.watch(&uri).await, [""; 0]);
    answers(StreamingLists::Refused);
    assert_eq!(cluster.get(&uri).await.0, 422);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_loses_its_labels_is_deleted_from_a_selection() {
    let cluster = Cluster::new();
    let label = ["metadata", "labels", "team"];
    for (name, team) in [("a", "blue"), ("b", "red")] {
        let object = json!({"metadata": {"labels": {"team": team}}});
        cluster.server.put(&item(name), "user", &object);
    }
    let (_, list) = cluster
        .get(&format!("{ITEMS}?labelSelector=team%3Dblue"))
        .await;
    assert_eq!(list.get("items").as_list().unwrap().len(), 1);
    cluster.server.set(&item("a"), "user", &label, json!("red"));
    cluster
        .server
        .set(&item("b"), "user", &label, json!("blue"));
    let (selector, from) = ("labelSelector=team+in+(blue)", version(&list));
    let uri = format!("{ITEMS}?watch=true&{selector}&resourceVersion={from}");
    assert_eq!(cluster.watch(&uri).await, ["DELETED a", "ADDED b"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_an_expired_version_is_refused_or_ends_with_an_error() {
    let cluster = Cluster::new();
    cluster.server.put(&item("a"), "user", &json!({}));
    let (_, list) = cluster.get(ITEMS).await;
    cluster.server.put(&item("b"), "user", &json!({}));
    cluster.server.with(simulation::api::State::compact);
    let uri = format!("{ITEMS}?watch=true&resourceVersion={}", version(&list));
    let mut seen = [0, 0];
    for _ in 0..20 {
        let response = cluster.send("GET", &uri, "", &Value::NULL).await.unwrap();
        if response.status() == 410 {
            seen[0] += 1;
        } else {
            assert_eq!(lines(response).await, ["ERROR"]);
            seen[1] += 1;
        }
    }
    assert!(seen.iter().all(|times| *times > 0), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_watch_sends_bookmarks_and_ends_after_its_timeout() {
    let cluster = Cluster::new();
    let uri = format!("{ITEMS}?watch=true&resourceVersion=1003&timeoutSeconds=30");
    assert_eq!(cluster.watch(&uri).await, [""; 0]);
    let uri = format!("{uri}0&allowWatchBookmarks=true");
    let response = cluster.send("GET", &uri, "", &Value::NULL).await.unwrap();
    let lines = response.into_body().collect_bytes().await.unwrap();
    let lines = String::from_utf8(lines.to_vec()).unwrap();
    assert_eq!(lines.matches("BOOKMARK").count(), 2, "{lines}");
}
