//! What is served, and for whom.

use std::sync::Arc;

use apiserver::{Access, Attributes, Limits, Resource, Scope, StatusError, User};
use document::{ListRef, Value, json};
use futures::future::BoxFuture;
use http_body_util::{BodyExt as _, Full};

use crate::common::{Api, GROUP, SHOP, fails, object};

#[tokio::test]
async fn groups_and_resources_are_listed() {
    let api = Api::new();
    let (code, groups) = api.get("/apis").await;
    assert_eq!(code, 200);
    assert_eq!(groups.get("groups").at(0).get("name").as_str(), Some(GROUP));
    let (_, resources) = api.get(&format!("/apis/{GROUP}/v1alpha1")).await;
    let names: Vec<_> = resources
        .get("resources")
        .as_list()
        .unwrap()
        .iter()
        .collect();
    assert_eq!(names[0].get("name").as_str(), Some("health"));
    assert_eq!(names[1].get("name").as_str(), Some("health/status"));
    assert_eq!(names[0].get("categories"), &json!(["views"]));
    let (code, _) = api.get("/apis/other.view.dcontroller.io").await;
    assert_eq!(code, 404);
    api.catalog.set_group(GROUP, []);
    let (_, groups) = api.get("/apis").await;
    assert_eq!(groups.get("groups"), &json!([]));
}

#[tokio::test]
async fn the_controllers_of_a_cluster_do_not_find_what_they_may_not_delete() {
    let api = Api::new();
    let verbs = async || {
        let (_, found) = api.get(&format!("/apis/{GROUP}/v1alpha1")).await;
        found.get("resources").at(0).get("verbs").to_string()
    };
    assert!(verbs().await.contains(r#""delete","deletecollection""#));
    let resource = Resource {
        collected: false,
        ..Resource::view(crate::common::health())
    };
    api.catalog.set_group(GROUP, [resource]);
    let found = verbs().await;
    assert!(
        found.contains("list") && !found.contains("delete"),
        "{found}"
    );
}

#[tokio::test]
async fn a_view_without_namespaces_is_read_by_name() {
    let api = Api::new();
    let resource = Resource {
        namespaced: false,
        ..Resource::view(crate::common::health())
    };
    api.catalog.set_group(GROUP, [resource]);
    let (_, found) = api.get(&format!("/apis/{GROUP}/v1alpha1")).await;
    for resource in found.get("resources").as_list().unwrap() {
        assert_eq!(resource.get("namespaced").as_bool(), Some(false));
    }
    let path = format!("/apis/{GROUP}/v1alpha1/health");
    let object = json!({
        "apiVersion": (format!("{GROUP}/v1alpha1")), "kind": "Health", "metadata": {"name": "web"}
    });
    assert_eq!(api.call("POST", &path, &object).await.0, 201);
    assert_eq!(api.get(&format!("{path}/web")).await.0, 200);
    let (_, schema) = api.get(&format!("/openapi/v3/apis/{GROUP}/v1alpha1")).await;
    let paths = schema.get("paths").as_map().unwrap();
    assert!(
        paths
            .iter()
            .all(|(path, _)| !path.as_str().contains("namespaces"))
    );
    assert!(!schema.get("paths").get(&path).get("post").is_null());
}

#[tokio::test]
async fn aggregated_discovery_has_the_content_type_that_clients_check() {
    let api = Api::new();
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let request = http::Request::get("/apis").header("accept", accept);
    let response = api.send(request.body(Full::default()).unwrap()).await;
    assert_eq!(response.headers()["content-type"], accept);
    let (_, list) = api
        .call_with("GET", "/apis", &[("accept", accept)], "")
        .await;
    let resource = list
        .get("items")
        .at(0)
        .get("versions")
        .at(0)
        .get("resources")
        .at(0);
    assert_eq!(resource.get("resource").as_str(), Some("health"));
    assert_eq!(resource.get("scope").as_str(), Some("Namespaced"));
}

#[tokio::test]
async fn openapi_describes_the_kind() {
    let api = Api::new();
    let (_, index) = api.get("/openapi/v3").await;
    let path = format!("apis/{GROUP}/v1alpha1");
    let url = index.get("paths").get(&path).get("serverRelativeURL");
    let (code, document) = api.get(url.as_str().unwrap()).await;
    assert_eq!(code, 200);
    let schemas = document.get("components").get("schemas");
    let schema = schemas.get("io.dcontroller.view.shop.v1alpha1.Health");
    assert_eq!(
        schema.get("x-kubernetes-group-version-kind"),
        &json!([{"group": GROUP, "version": "v1alpha1", "kind": "Health"}])
    );
    let patch = format!("/apis/{GROUP}/v1alpha1/namespaces/{{namespace}}/health/{{name}}");
    let parameters = document
        .get("paths")
        .get(&patch)
        .get("patch")
        .get("parameters");
    assert!(parameters.to_string().contains("fieldValidation"));
}

/// Allows reading in one namespace.
pub(crate) struct OneNamespace;

impl Access for OneNamespace {
    fn check<'a>(
        &'a self,
        _: &'a User,
        attributes: &'a Attributes,
    ) -> BoxFuture<'a, Result<Option<String>, StatusError>> {
        let allowed = match &attributes.scope {
            Scope::Path(_) => true,
            Scope::Resource { namespace, .. } => {
                namespace == "shop" && matches!(&*attributes.verb, "get" | "list" | "watch")
            }
        };
        Box::pin(async move { Ok((!allowed).then(String::new)) })
    }
}

#[tokio::test]
async fn a_user_may_do_what_access_allows() {
    let api = Api::with(Arc::new(OneNamespace), Limits::default());
    assert_eq!(api.get(SHOP).await.0, 200);
    let all = api
        .get("/apis/shop.view.dcontroller.io/v1alpha1/health")
        .await;
    fails(
        &all,
        403,
        "Forbidden",
        "health.shop.view.dcontroller.io is forbidden: User \"alice\" cannot list resource \
         \"health\" in API group \"shop.view.dcontroller.io\" at the cluster scope",
    );
    let create = api.call("POST", SHOP, &object("web", 1)).await;
    fails(
        &create,
        403,
        "Forbidden",
        "health.shop.view.dcontroller.io is forbidden: User \"alice\" cannot create resource \
         \"health\" in API group \"shop.view.dcontroller.io\" in the namespace \"shop\"",
    );
    assert_eq!(api.store.version(), store::Version(1));
}

#[tokio::test]
async fn a_replica_that_does_not_lead_says_who_does() {
    let api = Api::new();
    api.server.close(Some("the leader is deltic-0".to_owned()));
    fails(
        &api.get(SHOP).await,
        503,
        "ServiceUnavailable",
        "the leader is deltic-0",
    );
    assert_eq!(api.get("/apis").await.0, 200);
    api.server.close(None);
    assert_eq!(api.get(SHOP).await.0, 200);
}

#[tokio::test]
async fn unknown_paths_and_methods_are_refused() {
    let api = Api::new();
    let not_found = "the server could not find the requested resource";
    for path in ["/x", "/apis/g/v1/x"] {
        fails(&api.get(path).await, 404, "NotFound", not_found);
    }
    let scale = api.get(&format!("{SHOP}/a/scale")).await;
    let message = "health.shop.view.dcontroller.io \"a\" not found";
    fails(&scale, 404, "NotFound", message);
    let method = "the server does not allow this method on the requested resource";
    for (verb, path) in [("POST", "/apis"), ("TRACE", SHOP)] {
        let answer = api.call(verb, path, &Value::NULL).await;
        fails(&answer, 405, "MethodNotAllowed", method);
    }
    let put = api.call("PUT", SHOP, &Value::NULL).await;
    fails(&put, 400, "BadRequest", "name must be provided");
}

/// Allows listing and watching one object, as a role with `resourceNames` does.
struct OneName;

impl Access for OneName {
    fn check<'a>(
        &'a self,
        _: &'a User,
        attributes: &'a Attributes,
    ) -> BoxFuture<'a, Result<Option<String>, StatusError>> {
        let allowed = match &attributes.scope {
            Scope::Path(_) => true,
            Scope::Resource { name, .. } => name == "web",
        };
        Box::pin(async move { Ok((!allowed).then(String::new)) })
    }
}

#[tokio::test]
async fn a_field_selector_with_a_name_needs_the_permission_for_that_object() {
    let api = Api::with(Arc::new(OneName), Limits::default());
    api.derive("web", 1);
    api.derive("other", 1);
    for (selector, code) in [
        ("", 403),
        ("fieldSelector=metadata.name%3Dweb", 200),
        (
            "fieldSelector=metadata.name%3D%3Dweb,metadata.namespace%3Dshop",
            200,
        ),
        ("fieldSelector=metadata.name%3Dother", 403),
        ("fieldSelector=metadata.name!%3Dweb", 403),
        ("fieldSelector=metadata.name%3D..", 403),
        ("watch=1&timeoutSeconds=1", 403),
        (
            "watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dother",
            403,
        ),
    ] {
        let (found, answer) = api.get(&format!("{SHOP}?{selector}")).await;
        assert_eq!(found, code, "{selector}: {answer}");
        let items = answer.get("items").as_list().map_or(0, ListRef::len);
        assert_eq!(items, usize::from(code == 200), "{selector}: {answer}");
    }
    let watch = format!("{SHOP}?watch=1&fieldSelector=metadata.name%3Dweb");
    let request = http::Request::get(watch).body(Full::default());
    assert_eq!(api.send(request.unwrap()).await.status(), 200);
    // A deletion of all is never one of a single name.
    let all = format!("{SHOP}?fieldSelector=metadata.name%3Dweb");
    assert_eq!(api.call_with("DELETE", &all, &[], "").await.0, 403);
}

#[tokio::test]
async fn an_answer_to_head_has_no_content() {
    let api = Api::new();
    api.derive("web", 1);
    for (path, code) in [("/version", 200), ("/apis", 200), (SHOP, 405), ("/x", 404)] {
        let request = http::Request::head(path).body(Full::default());
        let response = api.send(request.unwrap()).await;
        assert_eq!(response.status(), code, "{path}");
        let content = response.into_body().collect().await.unwrap().to_bytes();
        assert!(content.is_empty(), "{path}: {content:?}");
    }
}

/// Allows everything but creating objects.
struct NoCreate;

impl Access for NoCreate {
    fn check<'a>(
        &'a self,
        _: &'a User,
        attributes: &'a Attributes,
    ) -> BoxFuture<'a, Result<Option<String>, StatusError>> {
        let refused = attributes.verb == "create";
        Box::pin(async move { Ok(refused.then(String::new)) })
    }
}

#[tokio::test]
async fn an_apply_that_creates_needs_the_permission() {
    let api = Api::with(Arc::new(NoCreate), Limits::default());
    let kind = [("content-type", "application/apply-patch+yaml")];
    let path = format!("{SHOP}/web?fieldManager=one");
    let body = object("web", 1).to_string();
    let (code, _) = api.call_with("PATCH", &path, &kind, &body).await;
    assert_eq!(code, 403);
    api.derive("web", 1);
    let body = r#"{"apiVersion":"shop.view.dcontroller.io/v1alpha1","kind":"Health","metadata":{"labels":{"a":"b"}}}"#;
    let (code, answer) = api.call_with("PATCH", &path, &kind, body).await;
    assert_eq!(code, 200, "{answer}");
}

#[tokio::test]
async fn impersonation_is_refused() {
    let api = Api::new();
    let (code, _) = api
        .call_with("GET", SHOP, &[("Impersonate-User", "bob")], "")
        .await;
    assert_eq!(code, 403);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_ends_its_request() {
    let api = Api::new();
    let never = http_body_util::StreamBody::new(futures::stream::pending::<
        Result<http_body::Frame<bytes::Bytes>, std::convert::Infallible>,
    >());
    let request = http::Request::post(SHOP).body(never).unwrap();
    let response = api.server.handle(&api.user, request).await;
    assert_eq!(response.status(), 400);
}
