//! What a response says about its request, for metrics and audit logs.

use apiserver::{RequestInfo, Scope};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;

use crate::common::{Api, SHOP};

async fn info(api: &Api, method: &str, path: &str, content: &str) -> (u16, Option<RequestInfo>) {
    let request = Request::builder().method(method).uri(path);
    let request = request.header("content-type", content);
    let request = request.body(Full::<Bytes>::default()).unwrap();
    let response = api.send(request).await;
    let info = response.extensions().get::<RequestInfo>().cloned();
    (response.status().as_u16(), info)
}

#[tokio::test]
async fn answers_and_refusals_say_what_was_asked() {
    let api = Api::new();
    api.derive("web", 2);
    let json = "application/json";
    let (code, found) = info(&api, "GET", &format!("{SHOP}/web"), json).await;
    let found = found.unwrap();
    assert_eq!(
        (code, found.attributes.verb.as_ref(), found.known),
        (200, "get", true)
    );
    let Scope::Resource {
        namespace, name, ..
    } = &found.attributes.scope
    else {
        panic!("{found:?}");
    };
    assert_eq!((namespace.as_str(), name.as_str()), ("shop", "web"));

    let apply = "application/apply-patch+yaml";
    let path = format!("{SHOP}/web?dryRun=All");
    let (code, found) = info(&api, "PATCH", &path, apply).await;
    let found = found.unwrap();
    assert!(
        code >= 400 && found.apply && found.dry_run,
        "{code} {found:?}"
    );

    let request = Request::post(SHOP).header("content-type", json);
    let own = r#"{"apiVersion":"shop.view.dcontroller.io/v1alpha1","kind":"Health",
        "metadata":{"generateName":"own-"}}"#;
    let request = request.body(Full::new(Bytes::from(own))).unwrap();
    let response = api.send(request).await;
    let found = response.extensions().get::<RequestInfo>().cloned().unwrap();
    let Scope::Resource { name, .. } = &found.attributes.scope else {
        panic!("{found:?}");
    };
    assert!(name.starts_with("own-"), "{found:?}");

    // A resource that does not exist.
    let (code, found) = info(&api, "GET", &SHOP.replace("health", "other"), json).await;
    assert_eq!((code, found.map(|found| found.known)), (404, Some(false)));
    let (code, found) = info(&api, "GET", "/apis", json).await;
    let scope = found.map(|found| found.attributes.scope);
    assert_eq!((code, scope), (200, Some(Scope::Path("/apis".to_owned()))));
    let (code, found) = info(&api, "GET", "/nothing", json).await;
    assert_eq!((code, found), (404, None));
}
