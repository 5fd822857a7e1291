//! Merge keys of lists, read from the schemas of custom resources.
//!
//! A schema says which fields identify an element of a list:
//!
//! ```text
//! spec.parts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name]}
//! ```
//!
//! Here the element with `name: a` of a patch is merged with the element `name: a` of the object.
//!
//! Schemas are read from `/openapi/v3`, which every account may read. Reading the
//! `CustomResourceDefinition`s would need a permission of its own.

use std::time::Duration;

use document::{ListRef, Value};
use http::Request;
use kube::Client;
use kube::discovery::ApiResource;

use crate::object::Object;

/// The path of a list (names of fields) and its merge keys: the fields that identify an element.
pub type ListKeys = (Vec<String>, Vec<String>);

/// How often a schema is checked for changes.
const EVERY: Duration = Duration::from_mins(1);
/// For how many seconds a missing schema is requested again: the server publishes the schema of
/// a new definition some time after it serves the kind.
const LAG: usize = 5;
/// The depth to which a schema is searched for lists.
const MAX_DEPTH: usize = 64;
/// The number of lists that are taken from one schema.
const MAX_LISTS: usize = 1000;

/// The schema of a kind.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Schema {
    /// The address it was read from. It contains a hash of the content, so that another content
    /// has another address. `None` if the server has no schema.
    address: Option<String>,
    /// Its lists with merge keys.
    pub(super) lists: Vec<ListKeys>,
}

impl Schema {
    /// Reads the schema of a kind from the cluster. If the server publishes none or denies access,
    /// the result has no lists.
    pub(super) async fn read(client: &Client, resource: &ApiResource) -> Result<Self, kube::Error> {
        let mut found = address(client, resource).await?;
        for _ in 0..LAG {
            if found.is_some() {
                break;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            found = address(client, resource).await?;
        }
        let Some(address) = found else {
            return Ok(Self {
                address: None,
                lists: Vec::new(),
            });
        };
        let document = get(client, &address).await?.unwrap_or_default();
        Ok(Self {
            lists: lists(&document, resource),
            address: Some(address),
        })
    }

    /// Completes when the schema has changed.
    pub(super) async fn changed(&self, client: &Client, resource: &ApiResource) {
        loop {
            tokio::time::sleep(EVERY).await;
            // After an error the next round tries again.
            let now = address(client, resource).await;
            if now.is_ok_and(|now| now != self.address) {
                return;
            }
        }
    }
}

/// The address of the schemas of a kind's group and version.
async fn address(client: &Client, resource: &ApiResource) -> Result<Option<String>, kube::Error> {
    let index = get(client, "/openapi/v3").await?.unwrap_or_default();
    let path = format!("apis/{}", resource.api_version);
    let address = index.get("paths").get(&path).get("serverRelativeURL");
    Ok(address.as_str().map(str::to_owned))
}

/// Reads a JSON document from the server; `None` if it does not exist or access is denied.
async fn get(client: &Client, path: &str) -> Result<Option<Value>, kube::Error> {
    let request = Request::get(path).header(http::header::ACCEPT, "application/json");
    let request = request.body(Vec::new()).map_err(kube::Error::HttpError)?;
    // Read like an object: only a schema that is nested too deep is left out, not all of them.
    match client.request::<Object>(request).await {
        Ok(document) => Ok(Some(document.into_value())),
        Err(kube::Error::Api(status)) if matches!(status.code, 401 | 403 | 404 | 406) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The lists with merge keys of a kind, from the schemas of its group and version.
fn lists(document: &Value, resource: &ApiResource) -> Vec<ListKeys> {
    let schemas = document.get("components").get("schemas");
    let is_kind = |schema: &&Value| {
        let kinds = schema.get("x-kubernetes-group-version-kind");
        items(kinds).any(|kind| {
            kind.get("group").as_str() == Some(&resource.group)
                && kind.get("version").as_str() == Some(&resource.version)
                && kind.get("kind").as_str() == Some(&resource.kind)
        })
    };
    let mut found = Vec::new();
    let mut all = schemas.as_map().into_iter().flat_map(document::Map::values);
    if let Some(schema) = all.find(is_kind) {
        collect(schema, &mut Vec::new(), 0, &mut found);
    }
    found
}

fn collect(schema: &Value, path: &mut Vec<String>, depth: usize, found: &mut Vec<ListKeys>) {
    if depth > MAX_DEPTH || found.len() >= MAX_LISTS {
        return;
    }
    if schema.get("x-kubernetes-list-type").as_str() == Some("map") {
        let keys = items(schema.get("x-kubernetes-list-map-keys"));
        let keys = keys.filter_map(|key| key.as_str().map(str::to_owned));
        found.push((path.clone(), keys.collect()));
    }
    collect(schema.get("items"), path, depth + 1, found);
    for part in items(schema.get("allOf")) {
        collect(&part, path, depth + 1, found);
    }
    for (name, property) in schema.get("properties").as_map().into_iter().flatten() {
        path.push(name.as_str().to_owned());
        collect(property, path, depth + 1, found);
        path.pop();
    }
}

fn items(list: &Value) -> impl Iterator<Item = Value> {
    let items = list.as_list().map(ListRef::to_vec);
    items.unwrap_or_default().into_iter()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use document::json;
    use http::Response;
    use kube::client::Body;
    use kube::core::GroupVersionKind;

    use super::*;

    fn widget() -> ApiResource {
        ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"))
    }

    fn document() -> Value {
        let kind = json!([{"group": "example.com", "version": "v1", "kind": "Widget"}]);
        let sizes = json!({"type": "array", "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["unit", "axis"], "items": {"type": "object"}});
        let parts = json!({"type": "array", "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "sizes": (sizes)}}});
        let plain = json!({"type": "array", "items": {"type": "string"}});
        json!({"components": {"schemas": {
            "com.example.v1.Other": {"properties": {"spec": {"properties": {"parts": (parts.clone())}}}},
            "com.example.v1.Widget": {
                "x-kubernetes-group-version-kind": (kind),
                "properties": {"spec": {"properties": {"parts": (parts), "plain": (plain)}}}
            }
        }}})
    }

    #[test]
    fn the_lists_of_a_kind_are_found_with_their_keys() {
        let texts = |words: &[&str]| {
            words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            lists(&document(), &widget()),
            [
                (texts(&["spec", "parts"]), texts(&["name"])),
                (texts(&["spec", "parts", "sizes"]), texts(&["unit", "axis"])),
            ]
        );
    }

    #[test]
    fn a_document_that_is_not_a_schema_has_no_lists() {
        for odd in [
            json!(null),
            json!([]),
            json!({"components": {"schemas": [1]}}),
        ] {
            assert_eq!(lists(&odd, &widget()), []);
        }
    }

    /// A client of a server whose schemas have this hash; `""`: it has no schemas.
    fn client(hash: &Arc<Mutex<String>>, reads: &Arc<AtomicUsize>) -> Client {
        let (hash, reads) = (hash.clone(), reads.clone());
        let service = tower::service_fn(move |request: Request<Body>| {
            let hash = hash.lock().unwrap().clone();
            let body = if request.uri().path() == "/openapi/v3" {
                let address = format!("/openapi/v3/apis/example.com/v1?hash={hash}");
                let paths = json!({"apis/example.com/v1": {"serverRelativeURL": (address)}});
                if hash.is_empty() {
                    json!({})
                } else {
                    json!({"paths": (paths)})
                }
            } else {
                assert_eq!(request.uri().query(), Some(format!("hash={hash}").as_str()));
                reads.fetch_add(1, Ordering::SeqCst);
                document()
            };
            // Adds the schema of another kind that is nested too deep.
            let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
            let body = body.to_string();
            let body = body.replace(r#""schemas":{"#, &format!(r#""schemas":{{"a":{deep},"#));
            let response = Response::new(Body::from(body.into_bytes()));
            async move { Ok::<_, tower::BoxError>(response) }
        });
        Client::new(service, "default")
    }

    #[tokio::test(start_paused = true)]
    async fn a_schema_is_read_once_until_it_changes() {
        let (hash, reads) = (Arc::new(Mutex::new("A".to_owned())), Arc::default());
        let client = client(&hash, &reads);
        let schema = Schema::read(&client, &widget()).await.unwrap();
        assert_eq!(schema.lists.len(), 2);
        let widget = widget();
        let mut changed = std::pin::pin!(schema.changed(&client, &widget));
        let same = tokio::time::timeout(Duration::from_mins(10), &mut changed).await;
        assert!(same.is_err());
        *hash.lock().unwrap() = "B".to_owned();
        changed.await;
        assert_eq!(reads.load(Ordering::SeqCst), 1);
        *hash.lock().unwrap() = String::new();
        let none = Schema::read(&client, &widget).await.unwrap();
        assert_eq!(none.lists, []);
    }
}
