//! Users ask who they are and what they may do.

use std::sync::Arc;

use apiserver::Limits;
use document::{Value, json};

use crate::common::Api;
use crate::discovery::OneNamespace;

async fn can_i(api: &Api, spec: Value) -> (u16, Value) {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec
    });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let (code, answer) = api.call("POST", path, &review).await;
    (code, answer.get("status").clone())
}

#[tokio::test]
async fn a_user_learns_what_it_may_do() {
    let api = Api::with(Arc::new(OneNamespace), Limits::default());
    let ask = |verb: &str, namespace: &str| {
        json!({"resourceAttributes": {
            "verb": verb, "group": "shop.view.dcontroller.io", "resource": "health",
            "namespace": namespace
        }})
    };
    let yes = (201, json!({"allowed": true}));
    let no = (201, json!({"allowed": false}));
    assert_eq!(can_i(&api, ask("list", "shop")).await, yes);
    assert_eq!(can_i(&api, ask("list", "")).await, no);
    assert_eq!(can_i(&api, ask("fly", "shop")).await, no);
    let path = json!({"nonResourceAttributes": {"verb": "get", "path": "/healthz"}});
    assert_eq!(can_i(&api, path).await, yes);
    assert_eq!(can_i(&api, json!({})).await.0, 422);
}

#[tokio::test]
async fn a_user_learns_who_it_is() {
    let mut api = Api::new();
    api.user.groups = vec!["system:authenticated".to_owned()];
    api.user.extra = vec![("scopes".to_owned(), vec!["a".to_owned()])];
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let (code, answer) = api.call("POST", path, &review).await;
    assert_eq!(code, 201);
    let expect = json!({
        "username": "alice", "groups": ["system:authenticated"], "extra": {"scopes": ["a"]}
    });
    assert_eq!(answer.get("status").get("userInfo"), &expect);
    assert_eq!(api.get(path).await.0, 404);
}
