//! The `CustomResourceDefinition`s of a cluster, for the schemas of custom kinds.

use document::Value;
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
        for item in page.get("items").as_list().into_iter().flatten() {
            all.push(item.clone());
        }
        match page.get("metadata").get("continue").as_str() {
            Some(token) if !token.is_empty() => token.clone_into(&mut next),
            _ => return Ok(all),
        }
    }
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
                json!({"metadata": {}, "items": [{"kind": "B"}]})
            } else {
                json!({"metadata": {"continue": "more"}, "items": [{"kind": "A"}]})
            };
            Ok::<_, tower::BoxError>(Response::new(Body::from(page.to_string().into_bytes())))
        });
        let client = Client::new(service, "default");
        let found = definitions(&client).await.unwrap();
        assert_eq!(found, [json!({"kind": "A"}), json!({"kind": "B"})]);
    }
}
