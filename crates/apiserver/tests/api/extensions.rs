//! A subresource that somebody else answers.

use std::sync::Arc;

use apiserver::{Extension, ExtensionRequest, Limits, StatusError};
use document::{Value, json};
use futures::future::BoxFuture;

use crate::common::{Api, GROUP, SHOP};
use crate::discovery::OneNamespace;

/// Says what it was asked.
struct Echo;

impl Extension for Echo {
    fn get<'a>(
        &'a self,
        request: ExtensionRequest<'a>,
    ) -> BoxFuture<'a, Result<Value, StatusError>> {
        let answer = json!({
            "user": (request.user.name.as_str()),
            "resource": (request.route.resource.as_str()),
            "name": (request.route.name.as_deref().unwrap_or_default()),
            "not": (request.parameter("not").unwrap_or("unset")),
        });
        Box::pin(async { Ok(answer) })
    }
}

#[tokio::test]
async fn it_is_asked_about_any_resource_of_a_group() {
    let api = Api::new();
    let path = format!("/apis/{GROUP}/v1alpha1/namespaces/shop/deployment.apps/web/why");
    assert_eq!(api.get(&path).await.0, 404);
    api.server.extend("why", Arc::new(Echo));
    let (code, answer) = api.get(&format!("{path}?not=false&not=true")).await;
    let expect =
        json!({"user": "alice", "resource": "deployment.apps", "name": "web", "not": "true"});
    assert_eq!((code, answer), (200, expect));
    // Of a view that exists as well, and without a namespace.
    for path in [
        format!("{SHOP}/web/why"),
        format!("/apis/{GROUP}/v1alpha1/health/web/why"),
    ] {
        let (code, answer) = api.get(&path).await;
        assert_eq!(
            (code, answer.get("resource").as_str()),
            (200, Some("health"))
        );
    }
    assert_eq!(api.call("POST", &path, &json!({})).await.0, 405);
    assert_eq!(api.get(&format!("{SHOP}/web/other")).await.0, 404);
}

#[tokio::test]
async fn it_is_not_part_of_discovery() {
    let api = Api::new();
    let paths = ["/apis", &format!("/apis/{GROUP}/v1alpha1"), "/openapi/v2"];
    let mut before = Vec::new();
    for path in paths {
        before.push(api.get(path).await);
    }
    api.server.extend("why", Arc::new(Echo));
    for (path, before) in paths.iter().zip(before) {
        assert_eq!(api.get(path).await, before, "{path}");
    }
}

#[tokio::test]
async fn it_needs_a_permission_and_a_server_that_is_open() {
    let api = Api::with(Arc::new(OneNamespace), Limits::default());
    api.server.extend("why", Arc::new(Echo));
    let other = format!("/apis/{GROUP}/v1alpha1/namespaces/other/pod/web/why");
    let (code, answer) = api.get(&other).await;
    assert_eq!(code, 403);
    let message = answer.get("message").as_str().unwrap_or_default();
    assert!(
        message.contains("cannot get resource \"pod/why\""),
        "{message}"
    );
    assert_eq!(api.get(&format!("{SHOP}/web/why")).await.0, 200);
    api.server
        .close(Some("this replica stands by; the leader is b".to_owned()));
    let (code, answer) = api.get(&format!("{SHOP}/web/why")).await;
    assert_eq!(code, 503);
    assert!(
        answer
            .get("message")
            .to_string()
            .contains("the leader is b")
    );
}
