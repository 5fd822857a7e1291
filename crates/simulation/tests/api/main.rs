//! The API server in memory behaves like a real one, as far as deltic depends on it.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod applies;
mod faults;
mod reads;
mod writes;

use std::time::Duration;

use document::{Value, json};
use futures::StreamExt;
use kube::Client;
use kube::client::Body;
use object::ObjectKey;
use simulation::api::{Caller, Server};
use simulation::clock::Virtual;
use simulation::fields::at;

/// A server and a client.
struct Cluster {
    server: Server,
    client: Client,
}

impl Cluster {
    fn new() -> Self {
        let server = Server::new(Virtual::start(), 1);
        let client = server.client(&Caller::new("test"));
        Self { server, client }
    }

    async fn send(&self, method: &str, uri: &str, content: &str, body: &Value) -> Response {
        let request = http::Request::builder()
            .method(method)
            .uri(uri)
            .header("content-type", content)
            .body(Body::from(body.to_string().into_bytes()))
            .unwrap();
        self.client.send(request).await.map_err(|_| ())
    }

    /// Sends a request. Returns the status and the body of the answer.
    async fn ask(&self, method: &str, uri: &str, content: &str, body: &Value) -> (u16, Value) {
        let response = self.send(method, uri, content, body).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect_bytes().await.unwrap();
        (code, Value::from_json(&bytes).unwrap())
    }

    async fn get(&self, uri: &str) -> (u16, Value) {
        self.ask("GET", uri, "", &Value::NULL).await
    }

    async fn post(&self, uri: &str, body: &Value) -> (u16, Value) {
        self.ask("POST", uri, "application/json", body).await
    }

    async fn put(&self, uri: &str, body: &Value) -> (u16, Value) {
        self.ask("PUT", uri, "application/json", body).await
    }

    async fn patch(&self, uri: &str, body: &Value) -> (u16, Value) {
        let content = "application/merge-patch+json";
        self.ask("PATCH", uri, content, body).await
    }

    async fn delete(&self, uri: &str, body: &Value) -> (u16, Value) {
        self.ask("DELETE", uri, "application/json", body).await
    }

    /// The lines of a watch, until nothing arrives for a minute, as `TYPE name`.
    async fn watch(&self, uri: &str) -> Vec<String> {
        lines(self.send("GET", uri, "", &Value::NULL).await.unwrap()).await
    }
}

async fn lines(response: http::Response<Body>) -> Vec<String> {
    let mut frames = http_body_util::BodyStream::new(response.into_body());
    let mut lines = Vec::new();
    while let Ok(Some(frame)) = tokio::time::timeout(Duration::from_mins(1), frames.next()).await {
        let Ok(frame) = frame else {
            lines.push("broken".to_owned());
            break;
        };
        let bytes = frame.into_data().unwrap();
        let line = Value::from_json(&bytes).unwrap();
        let name = at(&line, &["object", "metadata", "name"]);
        let name = name
            .as_str()
            .map_or_else(String::new, |name| format!(" {name}"));
        lines.push(format!("{}{name}", line.get("type").as_str().unwrap()));
    }
    lines
}

type Response = Result<http::Response<Body>, ()>;

const ITEMS: &str = "/apis/example.com/v1/namespaces/ns/items";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/ns/widgets";

fn item(name: &str) -> ObjectKey {
    ObjectKey::new("example.com", "Item", "ns", name)
}

fn named(name: &str, spec: Value) -> Value {
    json!({"metadata": {"name": name}, "spec": spec})
}

fn version(object: &Value) -> String {
    let version = at(object, &["metadata", "resourceVersion"]).as_str();
    version.unwrap_or_default().to_owned()
}
