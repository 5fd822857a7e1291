//! The `CustomResourceDefinition`s of a cluster, for the schemas of custom kinds.

use document::{Key, Map, Value};
use http::Request;
use kube::Client;

use crate::object::Object;

/// How many definitions are read at once: some are larger than a megabyte.
const PAGE: usize = 20;

/// Reads all definitions.
pub async fn definitions(client: &Client) -> Result<Vec<Value>, kube::Error> {
    let mut all = Vec::new();
    let mut next = String::new();
    loop {
        let path = format!(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?limit={PAGE}&continue={next}"
        );
        let request = Request::get(path).body(Vec::new());
        let request = request.map_err(kube::Error::HttpError)?;
        // Read as an object is: a schema that is nested too deep does not fail the others.
        let page = client.request::<Object>(request).await?.into_value();
        let items = page.get("items").as_list().into_iter().flatten();
        all.extend(items.filter_map(with_kind));
        match page.get("metadata").get("continue").as_str() {
            Some(token) if !token.is_empty() => token.clone_into(&mut next),
            _ => return Ok(all),
        }
    }
}

/// A definition as in a file: in the list of a server it has no kind of its own.
fn with_kind(item: &Value) -> Option<Value> {
    let kind = (Key::new("kind"), "CustomResourceDefinition".into());
    let version = (Key::new("apiVersion"), "apiextensions.k8s.io/v1".into());
    let mut entries = item.as_map()?.entries().to_vec();
    entries.retain(|(key, _)| *key != kind.0 && *key != version.0);
    entries.extend([kind, version]);
    Some(Map::from_entries(entries).into())
}

#[cfg(test)]
mod tests {
    use document::json;
    use http::Response;
    use kube::client::Body;

    use super::*;

    #[tokio::test]
    async fn all_pages_are_read() {
        let service = tower::service_fn(|request: Request<Body>| async move {
            let query = request.uri().query().unwrap_or_default();
            let page = if query.contains("continue=more") {
                json!({"metadata": {}, "items": [{"spec": {"group": "b"}}]})
            } else {
                json!({"metadata": {"continue": "more"}, "items": [{"spec": {"group": "a"}}]})
            };
            Ok::<_, tower::BoxError>(Response::new(Body::from(page.to_string().into_bytes())))
        });
        let client = Client::new(service, "default");
        let found = definitions(&client).await.unwrap();
        let expected = ["a", "b"].map(|group| {
            json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "spec": {"group": group}
            })
        });
        assert_eq!(found, expected);
    }
}
