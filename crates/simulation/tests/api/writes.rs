//! Creating, changing and deleting objects.

use super::*;

#[tokio::test(start_paused = true)]
async fn versions_are_preconditions() {
    let cluster = Cluster::new();
    let (code, created) = cluster.post(ITEMS, &named("a", json!({"n": 1}))).await;
    assert_eq!(code, 201);
    let again = cluster.post(ITEMS, &named("a", json!({}))).await;
    assert_eq!(
        (again.0, again.1.get("reason")),
        (409, &json!("AlreadyExists"))
    );
    let uri = format!("{ITEMS}/a");
    let (code, changed) = cluster.patch(&uri, &json!({"spec": {"n": 2}})).await;
    assert_eq!(code, 200);
    assert_ne!(version(&created), version(&changed));
    assert_eq!(cluster.put(&uri, &created).await.0, 409);
    assert_eq!(cluster.put(&uri, &changed).await.0, 200);
    let other = json!({"metadata": {"uid": "another"}});
    assert_eq!(cluster.patch(&uri, &other).await.0, 409);
    assert_eq!(cluster.put(&format!("{ITEMS}/b"), &changed).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn a_write_without_a_change_creates_no_version() {
    let cluster = Cluster::new();
    let (_, created) = cluster
        .post(WIDGETS, &named("a", json!({"cpu": "2000m"})))
        .await;
    assert_eq!(
        created.get("spec"),
        &json!({"cpu": "2", "defaulted": "yes"})
    );
    let uri = format!("{WIDGETS}/a");
    let same = json!({"spec": {"cpu": "2000m", "unknown": 1}});
    let (_, after) = cluster.patch(&uri, &same).await;
    assert_eq!(version(&created), version(&after));
}

#[tokio::test(start_paused = true)]
async fn the_status_is_a_subresource() {
    let cluster = Cluster::new();
    let body = json!({"metadata": {"name": "a"}, "spec": {"n": 1}, "status": {"n": 1}});
    let (_, created) = cluster.post(ITEMS, &body).await;
    assert!(created.get("status").is_null());
    let both = json!({"spec": {"n": 2}, "status": {"n": 2}});
    let (_, main) = cluster.patch(&format!("{ITEMS}/a"), &both).await;
    assert!(main.get("status").is_null());
    assert_eq!(at(&main, &["metadata", "generation"]), &json!(2));
    let both = json!({"spec": {"n": 3}, "status": {"n": 3}});
    let (_, status) = cluster.patch(&format!("{ITEMS}/a/status"), &both).await;
    assert_eq!(status.get("spec"), &json!({"n": 2}));
    assert_eq!(status.get("status"), &json!({"n": 3}));
    assert_eq!(at(&status, &["metadata", "generation"]), &json!(2));
    let configs = "/api/v1/namespaces/ns/configmaps";
    cluster.post(configs, &named("a", json!({}))).await;
    let missing = cluster.patch(&format!("{configs}/a/status"), &both).await;
    assert_eq!(missing.0, 404);
}

#[tokio::test(start_paused = true)]
async fn finalizers_delay_a_deletion() {
    let cluster = Cluster::new();
    let held = json!({"metadata": {"name": "a", "finalizers": ["f"]}});
    let (_, created) = cluster.post(ITEMS, &held).await;
    let uri = format!("{ITEMS}/a");
    let wrong = json!({"preconditions": {"resourceVersion": "1"}});
    assert_eq!(cluster.delete(&uri, &wrong).await.0, 409);
    let right = json!({"preconditions": {
        "resourceVersion": (version(&created)),
        "uid": (at(&created, &["metadata", "uid"]).clone()),
    }});
    let (code, going) = cluster.delete(&uri, &right).await;
    assert_eq!(code, 200);
    assert!(!at(&going, &["metadata", "deletionTimestamp"]).is_null());
    let off = json!({"metadata": {"finalizers": []}});
    assert_eq!(cluster.patch(&uri, &off).await.0, 200);
    assert_eq!(cluster.get(&uri).await.0, 404);
    let (_, again) = cluster.post(ITEMS, &named("a", json!({}))).await;
    let uid = |object: &Value| at(object, &["metadata", "uid"]).clone();
    assert_ne!(uid(&created), uid(&again));
}

#[tokio::test(start_paused = true)]
async fn objects_need_a_namespace_that_is_not_being_deleted() {
    let cluster = Cluster::new();
    let uri = "/apis/example.com/v1/namespaces/later/items";
    let (code, missing) = cluster.post(uri, &named("a", json!({}))).await;
    let kind = at(&missing, &["details", "kind"]);
    assert_eq!((code, kind), (404, &json!("namespaces")));
    cluster.server.create_namespace("later");
    assert_eq!(cluster.post(uri, &named("a", json!({}))).await.0, 201);
    cluster.server.delete_namespace("later");
    assert_eq!(cluster.post(uri, &named("b", json!({}))).await.0, 403);
    assert_eq!(cluster.get(&format!("{uri}/a")).await.0, 200);
    cluster.server.finish_namespace("later");
    assert_eq!(cluster.get(&format!("{uri}/a")).await.0, 404);
    assert_eq!(cluster.get("/api/v1/namespaces/later").await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn policies_refuse_objects() {
    let cluster = Cluster::new();
    let (code, refused) = cluster
        .post(ITEMS, &named("a", json!({"reject": true})))
        .await;
    assert_eq!(code, 422);
    let field = at(&refused, &["details", "causes"]).at(0).get("field");
    assert_eq!(field, &json!("spec.reject"));
    cluster.post(ITEMS, &named("a", json!({"fixed": 1}))).await;
    let change = json!({"spec": {"fixed": 2}});
    assert_eq!(cluster.patch(&format!("{ITEMS}/a"), &change).await.0, 422);
    cluster.server.with(|state| state.policies.clear());
    assert_eq!(cluster.patch(&format!("{ITEMS}/a"), &change).await.0, 200);
}
