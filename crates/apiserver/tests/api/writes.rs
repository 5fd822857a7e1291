//! Creates, updates, patches, applies and deletes.

use document::{Value, json};

use crate::common::{Api, SHOP, fails, object};

/// Sends a patch of this type to the object `web`.
async fn patch(api: &Api, kind: &str, query: &str, body: &Value) -> (u16, Value) {
    let path = format!("{SHOP}/web?{query}");
    let kind = [("content-type", kind)];
    api.call_with("PATCH", &path, &kind, &body.to_string())
        .await
}

const MERGE: &str = "application/merge-patch+json";
const JSON: &str = "application/json-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

#[tokio::test]
async fn an_object_is_created_once() {
    let api = Api::new();
    let (code, created) = api.call("POST", SHOP, &object("web", 1)).await;
    assert_eq!(code, 201);
    let metadata = created.get("metadata");
    assert_eq!(metadata.get("generation").as_int(), Some(1));
    assert!(metadata.get("uid").as_str().is_some());
    let again = api.call("POST", SHOP, &object("web", 1)).await;
    let message = "health.shop.view.dcontroller.io \"web\" already exists";
    fails(&again, 409, "AlreadyExists", message);
}

#[tokio::test]
async fn names_are_generated_and_checked() {
    let api = Api::new();
    let mut body = object("x", 1);
    body = body
        .as_map()
        .unwrap()
        .with("metadata".into(), json!({"generateName": "web-"}))
        .into();
    let (code, created) = api.call("POST", SHOP, &body).await;
    let name = created.get("metadata").get("name").as_str().unwrap();
    assert!(
        code == 201 && name.starts_with("web-") && name.len() == 9,
        "{name}"
    );
    let (code, refused) = api.call("POST", SHOP, &object("Web", 1)).await;
    assert_eq!(
        (code, refused.get("reason").as_str()),
        (422, Some("Invalid"))
    );
    let cause = refused.get("details").get("causes").at(0);
    assert_eq!(cause.get("field").as_str(), Some("metadata.name"));
}

#[tokio::test]
async fn a_generated_name_that_exists_is_replaced() {
    let api = Api::new();
    // The numbers of this server count up, and these are the first names that they make.
    for name in ["web-cbbbb", "web-dbbbb"] {
        assert_eq!(api.call("POST", SHOP, &object(name, 1)).await.0, 201);
    }
    let mut body = object("x", 1);
    let map = body.as_map().unwrap();
    body = map
        .with("metadata".into(), json!({"generateName": "web-"}))
        .into();
    let (code, created) = api.call("POST", SHOP, &body).await;
    let name = created.get("metadata").get("name").as_str();
    assert_eq!((code, name), (201, Some("web-fbbbb")));
}

#[tokio::test]
async fn an_update_needs_the_current_version() {
    let api = Api::new();
    let (_, created) = api.call("POST", SHOP, &object("web", 1)).await;
    let path = format!("{SHOP}/web");
    let (code, _) = api.call("PUT", &path, &object("web", 2)).await;
    assert_eq!(code, 422);
    let ready = |object: &Value, ready: i64| -> Value {
        object
            .as_map()
            .unwrap()
            .with("ready".into(), ready.into())
            .into()
    };
    let (code, updated) = api.call("PUT", &path, &ready(&created, 2)).await;
    assert_eq!((code, updated.get("ready").as_int()), (200, Some(2)));
    let stale = api.call("PUT", &path, &ready(&created, 3)).await;
    fails(
        &stale,
        409,
        "Conflict",
        "Operation cannot be fulfilled on health.shop.view.dcontroller.io \"web\": the object has \
         been modified; please apply your changes to the latest version and try again",
    );
}

#[tokio::test]
async fn patches_change_what_they_name() {
    let api = Api::new();
    api.call("POST", SHOP, &object("web", 1)).await;
    let (code, merged) = patch(&api, MERGE, "", &json!({"ready": 2, "more": {"a": 1}})).await;
    assert_eq!((code, merged.get("ready").as_int()), (200, Some(2)));
    let operations = json!([{"op": "remove", "path": "/more/a"}]);
    let (_, patched) = patch(&api, JSON, "", &operations).await;
    assert_eq!(patched.get("more"), &json!({}));
    let (code, error) = patch(&api, JSON, "", &operations).await;
    assert_eq!((code, error.get("reason").as_str()), (422, Some("Invalid")));
    let strategic = "application/strategic-merge-patch+json";
    let (code, _) = patch(&api, strategic, "", &json!({})).await;
    assert_eq!(code, 415);
}

#[tokio::test]
async fn a_dry_run_stores_nothing() {
    let api = Api::new();
    let path = format!("{SHOP}?dryRun=All");
    let (code, created) = api.call("POST", &path, &object("web", 1)).await;
    assert_eq!(code, 201);
    assert!(created.get("metadata").get("resourceVersion").is_null());
    assert_eq!(api.get(&format!("{SHOP}/web")).await.0, 404);
    api.call("POST", SHOP, &object("web", 1)).await;
    let (_, patched) = patch(&api, MERGE, "dryRun=All", &json!({"ready": 9})).await;
    assert_eq!(patched.get("ready").as_int(), Some(9));
    let (_, live) = api.get(&format!("{SHOP}/web")).await;
    assert_eq!(live.get("ready").as_int(), Some(1));
}

/// A configuration with these fields.
fn config(spec: &Value) -> Value {
    let mut config = object("web", 1).as_map().unwrap().without("ready");
    config = config.with("spec".into(), spec.clone());
    config.into()
}

#[tokio::test]
async fn an_apply_owns_its_fields_and_gives_them_up() {
    let api = Api::new();
    let one = config(&json!({"a": 1, "b": 1}));
    let (code, applied) = patch(&api, APPLY, "fieldManager=one", &one).await;
    assert_eq!(
        (code, applied.get("spec").get("a").as_int()),
        (201, Some(1))
    );
    let other = config(&json!({"a": 2}));
    let conflict = patch(&api, APPLY, "fieldManager=two", &other).await;
    fails(
        &conflict,
        409,
        "Conflict",
        "Apply failed with 1 conflict: conflict with \"one\": .spec.a",
    );
    let (code, forced) = patch(&api, APPLY, "fieldManager=two&force=true", &other).await;
    assert_eq!((code, forced.get("spec").get("a").as_int()), (200, Some(2)));
    // `one` owns b alone, so it goes; a belongs to `two` now.
    let (_, left) = patch(&api, APPLY, "fieldManager=one", &config(&json!({}))).await;
    assert_eq!(left.get("spec"), &json!({"a": 2}));
    let (code, _) = patch(&api, APPLY, "", &other).await;
    assert_eq!(code, 422);
}

#[tokio::test]
async fn an_apply_that_changes_nothing_makes_no_version() {
    let api = Api::new();
    let one = config(&json!({"a": [1, {"b": 2}]}));
    let (_, first) = patch(&api, APPLY, "fieldManager=one", &one).await;
    let (code, second) = patch(&api, APPLY, "fieldManager=one", &one).await;
    assert_eq!((code, &second), (200, &first));
}

#[tokio::test]
async fn an_update_takes_fields_from_an_apply() {
    let api = Api::new();
    let one = config(&json!({"a": 1}));
    patch(&api, APPLY, "fieldManager=one", &one).await;
    patch(&api, MERGE, "fieldManager=edit", &json!({"spec": {"a": 5}})).await;
    let conflict = patch(&api, APPLY, "fieldManager=one", &one).await;
    fails(
        &conflict,
        409,
        "Conflict",
        "Apply failed with 1 conflict: conflict with \"edit\" using \
         shop.view.dcontroller.io/v1alpha1: .spec.a",
    );
}

#[tokio::test]
async fn the_status_has_its_own_path() {
    let api = Api::new();
    api.call("POST", SHOP, &object("web", 1)).await;
    let status = json!({"status": {"phase": "ok"}, "ready": 9});
    let path = format!("{SHOP}/web/status");
    let kind = [("content-type", MERGE)];
    let (code, written) = api
        .call_with("PATCH", &path, &kind, &status.to_string())
        .await;
    assert_eq!(code, 200);
    assert_eq!(written.get("status"), &json!({"phase": "ok"}));
    assert_eq!(written.get("ready").as_int(), Some(1));
    let (_, patched) = patch(&api, MERGE, "", &json!({"status": null, "ready": 2})).await;
    assert_eq!(patched.get("status"), &json!({"phase": "ok"}));
}

#[tokio::test]
async fn what_a_controller_derives_is_forbidden() {
    let api = Api::new();
    api.derive("web", 1);
    let (code, _) = patch(
        &api,
        MERGE,
        "",
        &json!({"metadata": {"labels": {"mine": "1"}}}),
    )
    .await;
    assert_eq!(code, 200);
    let refused = patch(&api, MERGE, "", &json!({"ready": 5})).await;
    fails(
        &refused,
        403,
        "Forbidden",
        "health.shop.view.dcontroller.io \"web\" is forbidden: ready cannot be changed, because \
         controller health of Operator shop derives the object",
    );
    let (code, _) = api
        .call("DELETE", &format!("{SHOP}/web"), &Value::NULL)
        .await;
    assert_eq!(code, 403);
}

#[tokio::test]
async fn deletion_checks_its_preconditions_and_waits_for_finalizers() {
    let api = Api::new();
    let path = format!("{SHOP}/web");
    api.call("POST", SHOP, &object("web", 1)).await;
    for other in [
        json!({"preconditions": {"uid": "other"}}),
        json!({"preconditions": {"resourceVersion": "1"}}),
        json!({"preconditions": {"resourceVersion": "x"}}),
    ] {
        let (code, status) = api.call("DELETE", &path, &other).await;
        assert_eq!(
            (code, status.get("reason").as_str()),
            (409, Some("Conflict"))
        );
    }
    patch(
        &api,
        MERGE,
        "",
        &json!({"metadata": {"finalizers": ["a.io/x"]}}),
    )
    .await;
    let (code, waiting) = api.call_with("DELETE", &path, &[], "").await;
    assert_eq!(code, 200);
    assert!(
        waiting
            .get("metadata")
            .get("deletionTimestamp")
            .as_str()
            .is_some()
    );
    patch(&api, MERGE, "", &json!({"metadata": {"finalizers": null}})).await;
    assert_eq!(api.get(&path).await.0, 404);
    api.call("POST", SHOP, &object("web", 1)).await;
    let (_, status) = api.call_with("DELETE", &path, &[], "").await;
    assert_eq!(status.get("status").as_str(), Some("Success"));
}

#[tokio::test]
async fn a_collection_is_deleted_by_selector() {
    let api = Api::new();
    for name in ["a", "b"] {
        api.call("POST", SHOP, &object(name, 1)).await;
    }
    let path = format!("{SHOP}?fieldSelector=metadata.name%3Da");
    let (code, deleted) = api.call_with("DELETE", &path, &[], "").await;
    assert_eq!(code, 200);
    assert_eq!(deleted.get("items").as_list().unwrap().len(), 1);
    assert_eq!(api.get(&format!("{SHOP}/a")).await.0, 404);
    assert_eq!(api.get(&format!("{SHOP}/b")).await.0, 200);
}

#[tokio::test]
async fn a_collection_with_a_derived_object_is_not_deleted_in_part() {
    let api = Api::new();
    api.call("POST", SHOP, &object("a", 1)).await;
    api.derive("b", 1);
    fails(
        &api.call_with("DELETE", SHOP, &[], "").await,
        403,
        "Forbidden",
        "health.shop.view.dcontroller.io \"b\" is forbidden: it cannot be deleted, \
         because controller health of Operator shop derives the object",
    );
    assert_eq!(api.get(&format!("{SHOP}/a")).await.0, 200);
}

#[tokio::test]
async fn bad_bodies_are_refused_with_a_status() {
    let api = Api::new();
    let json = ("content-type", "application/json");
    for (body, code) in [
        ("", 400),
        ("{", 400),
        ("[]", 400),
        (r#"{"kind":"Health"}"#, 400),
        (
            r#"{"kind":"Other","apiVersion":"shop.view.dcontroller.io/v1alpha1"}"#,
            422,
        ),
        (
            r#"{"kind":"Health","apiVersion":"shop.view.dcontroller.io/v1alpha1"}"#,
            422,
        ),
        (
            r#"{"kind":"Health","apiVersion":"shop.view.dcontroller.io/v1alpha1","metadata":1}"#,
            400,
        ),
    ] {
        let (found, status) = api.call_with("POST", SHOP, &[json], body).await;
        assert_eq!(found, code, "{body}: {status}");
    }
    let large = format!("\"{}\"", "x".repeat(4 * 1024 * 1024));
    let (code, status) = api.call_with("POST", SHOP, &[json], &large).await;
    assert_eq!(
        (code, status.get("reason").as_str()),
        (413, Some("RequestEntityTooLarge"))
    );
    for kind in [
        "application/vnd.kubernetes.protobuf",
        "application/cbor",
        "text/plain",
    ] {
        let (code, status) = api
            .call_with("POST", SHOP, &[("content-type", kind)], "x")
            .await;
        assert_eq!(
            (code, status.get("code").as_int()),
            (415, Some(415)),
            "{kind}"
        );
    }
    let strict = r#"{"kind":"Health","apiVersion":"shop.view.dcontroller.io/v1alpha1","metadata":{"name":"a","nmae":"b"}}"#;
    let path = format!("{SHOP}?fieldValidation=Strict");
    let answer = api.call_with("POST", &path, &[json], strict).await;
    fails(
        &answer,
        400,
        "BadRequest",
        "Health in version \"v1alpha1\" cannot be handled as a Health: strict decoding error: \
         unknown field \"metadata.nmae\"",
    );
}

#[tokio::test]
async fn copies_of_a_patch_are_limited() {
    let api = Api::new();
    api.call("POST", SHOP, &object("web", 1)).await;
    let mut operations = vec![json!({"op": "add", "path": "/s", "value": {"a": "text"}})];
    operations.extend((0..40).map(|i| {
        let path = format!("/s/c{i}");
        json!({"op": "copy", "from": "/s", "path": path})
    }));
    let (code, error) = patch(&api, JSON, "", &Value::list(operations)).await;
    assert_eq!((code, error.get("reason").as_str()), (422, Some("Invalid")));
    let (_, live) = api.get(&format!("{SHOP}/web")).await;
    assert!(live.get("s").is_null());
}

#[tokio::test]
async fn aliases_do_not_make_objects_too_large() {
    let api = Api::new();
    let text = "x".repeat(100_000);
    let aliases = "- *a\n".repeat(100);
    let body = format!(
        "apiVersion: shop.view.dcontroller.io/v1alpha1\nkind: Health\nmetadata: {{name: web}}\n\
         a: &a {text}\nb:\n{aliases}"
    );
    let path = format!("{SHOP}/web?fieldManager=one");
    let kind = [("content-type", APPLY)];
    let (code, _) = api.call_with("PATCH", &path, &kind, &body).await;
    assert_eq!(code, 413);
}

#[tokio::test]
async fn a_patch_of_the_uid_is_refused() {
    let api = Api::new();
    api.call("POST", SHOP, &object("web", 1)).await;
    let (code, error) = patch(&api, MERGE, "", &json!({"metadata": {"uid": "other"}})).await;
    let message = error.get("message").as_str().unwrap();
    assert!(
        code == 422
            && message.contains("metadata.uid: Invalid value: \"other\": field is immutable"),
        "{error}"
    );
}
