//! Gets and lists, in all forms.

use document::{Value, json};
use http_body_util::Full;
use store::Completeness;

use crate::common::{Api, GROUP, SHOP, fails};

const ALL: &str = "/apis/shop.view.dcontroller.io/v1alpha1/health";

fn names(list: &Value) -> Vec<String> {
    let items = list.get("items").as_list().unwrap();
    let name = |item: &Value| item.get("metadata").get("name").as_str().map(str::to_owned);
    items.iter().filter_map(name).collect()
}

#[tokio::test]
async fn an_object_is_read_by_name() {
    let api = Api::new();
    api.derive("web", 2);
    let (code, object) = api.get(&format!("{SHOP}/web")).await;
    assert_eq!((code, object.get("ready").as_int()), (200, Some(2)));
    let missing = api.get(&format!("{SHOP}/db")).await;
    let message = "health.shop.view.dcontroller.io \"db\" not found";
    fails(&missing, 404, "NotFound", message);
    let details = json!({"name": "db", "group": GROUP, "kind": "health"});
    assert_eq!(missing.1.get("details"), &details);
}

#[tokio::test]
async fn lists_are_selected_and_paged_at_one_version() {
    let api = Api::new();
    for name in ["a", "b", "c"] {
        api.derive(name, 1);
    }
    let (_, list) = api.get(ALL).await;
    assert_eq!(names(&list), ["a", "b", "c"]);
    assert_eq!(list.get("kind").as_str(), Some("HealthList"));
    let (_, one) = api
        .get(&format!("{ALL}?fieldSelector=metadata.name%3Db"))
        .await;
    assert_eq!(names(&one), ["b"]);
    let (_, page) = api.get(&format!("{SHOP}?limit=2")).await;
    assert_eq!(names(&page), ["a", "b"]);
    api.derive("d", 1);
    let token = page.get("metadata").get("continue").as_str().unwrap();
    let (_, rest) = api.get(&format!("{SHOP}?limit=2&continue={token}")).await;
    assert_eq!(names(&rest), ["c"]);
    let version = page
        .get("metadata")
        .get("resourceVersion")
        .as_str()
        .unwrap();
    let exact = format!("{SHOP}?resourceVersion={version}&resourceVersionMatch=Exact");
    assert_eq!(names(&api.get(&exact).await.1), ["a", "b", "c"]);
    let future = api.get(&format!("{SHOP}?resourceVersion=999")).await;
    let message = "Timeout: Too large resource version: 999, current: 5";
    fails(&future, 504, "Timeout", message);
}

#[tokio::test]
async fn a_table_has_the_columns_of_the_resource() {
    let api = Api::new();
    api.derive("web", 2);
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let (_, table) = api.call_with("GET", SHOP, &accept, "").await;
    let columns = table.get("columnDefinitions").as_list().unwrap();
    let columns: Vec<_> = columns.iter().map(|c| c.get("name").clone()).collect();
    assert_eq!(Value::list(columns), json!(["Name", "Ready", "Age"]));
    let row = table.get("rows").at(0);
    assert_eq!(row.get("cells"), &json!(["web", 2, "5m"]));
    let object = row.get("object");
    assert_eq!(object.get("kind").as_str(), Some("PartialObjectMetadata"));
    assert!(object.get("ready").is_null());
}

#[tokio::test]
async fn metadata_alone_can_be_read() {
    let api = Api::new();
    api.derive("web", 2);
    let accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    let (_, list) = api.call_with("GET", SHOP, &[("accept", accept)], "").await;
    assert_eq!(list.get("kind").as_str(), Some("PartialObjectMetadataList"));
    assert_eq!(names(&list), ["web"]);
    assert!(list.get("items").at(0).get("ready").is_null());
}

#[tokio::test]
async fn a_collection_that_is_not_complete_is_unavailable() {
    let api = Api::new();
    let reason = "Operator shop has not started".to_owned();
    api.store
        .set_default_completeness(Completeness::Incomplete(reason));
    for path in [ALL, &format!("{SHOP}/web"), &format!("{SHOP}?watch=1")] {
        fails(
            &api.get(path).await,
            503,
            "ServiceUnavailable",
            "health.shop.view.dcontroller.io is not complete at the moment: Operator shop has \
             not started",
        );
    }
}

#[tokio::test]
async fn large_answers_are_compressed() {
    let api = Api::new();
    for i in 0..1000 {
        api.derive(&format!("web-{i}"), i);
    }
    let request = http::Request::get(SHOP).header("accept-encoding", "gzip");
    let response = api.send(request.body(Full::default()).unwrap()).await;
    assert_eq!(response.headers()["content-encoding"], "gzip");
}

#[tokio::test]
async fn a_page_says_how_many_objects_follow() {
    let api = Api::new();
    for name in ["a", "b", "c", "d"] {
        api.derive(name, 1);
    }
    let remaining = |list: &Value| {
        let metadata = list.get("metadata");
        (
            metadata.get("remainingItemCount").as_int(),
            metadata
                .get("continue")
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        )
    };
    let (_, list) = api.get(&format!("{SHOP}?limit=1")).await;
    let (number, token) = remaining(&list);
    assert_eq!(number, Some(3));
    let (_, list) = api.get(&format!("{SHOP}?limit=1&continue={token}")).await;
    let (number, token) = remaining(&list);
    assert_eq!(number, Some(2));
    let (_, list) = api.get(&format!("{SHOP}?limit=2&continue={token}")).await;
    assert_eq!(remaining(&list), (None, String::new()));
    // A server does not count what a selector matches.
    let (_, list) = api
        .get(&format!("{SHOP}?limit=1&fieldSelector=metadata.name!%3Da"))
        .await;
    assert_eq!(remaining(&list).0, None);
}
