//! The requests that a rehearsal sends to the cluster. None of them writes: other requests are not
//! sent.

use cluster::connect::{describe, describe_answer};
use document::Value;
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// How many objects are copied with one request.
const PAGE: usize = 500;

/// A cluster that is only read.
#[derive(Clone)]
pub(crate) struct Cluster {
    client: Client,
}

/// An answer of the cluster that is not the requested one.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The cluster has answered with an error.
    Answer(StatusCode, Vec<u8>),
    /// There was no answer, or none that can be read.
    Failed(kube::Error),
    /// The answer is not what the API specifies.
    Malformed(String),
}

impl Refusal {
    /// Whether the object or the kind does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Answer(StatusCode::NOT_FOUND, _))
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Answer(code, body) => {
                let status = Value::from_json(body).unwrap_or_default();
                let message = status.get("message").as_str().unwrap_or_default();
                let reason = code.canonical_reason().unwrap_or_default();
                f.write_str(&describe_answer(code.as_u16(), reason, message))
            }
            Self::Failed(error) => f.write_str(&describe(error)),
            Self::Malformed(why) => f.write_str(why),
        }
    }
}

impl Cluster {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    /// Forwards a request. Anything but a read, a question about permissions or a dry run is an
    /// error, and is not sent.
    pub(crate) async fn forward(
        &self,
        request: Request<Body>,
    ) -> Result<Response<Body>, tower::BoxError> {
        if !is_harmless(request.method(), request.uri()) {
            let (method, path) = (request.method(), request.uri().path());
            return Err(format!("a rehearsal does not send {method} {path}").into());
        }
        Ok(self.client.send(request).await?)
    }

    /// The answer to a GET.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, Refusal> {
        let request = Request::get(path).header("accept", "application/json");
        self.send(request, Vec::new()).await
    }

    /// Sends a request that is a read or a dry run.
    pub(crate) async fn send(
        &self,
        request: http::request::Builder,
        body: Vec<u8>,
    ) -> Result<Value, Refusal> {
        let request = request.body(Body::from(body));
        let request = request.map_err(|error| Refusal::Failed(kube::Error::HttpError(error)))?;
        let answer = self.forward(request).await;
        let answer = answer.map_err(|error| Refusal::Failed(kube::Error::Service(error)))?;
        let code = answer.status();
        let body = answer.into_body().collect().await;
        let body = body.map_err(Refusal::Failed)?.to_bytes();
        if !code.is_success() {
            return Err(Refusal::Answer(code, body.to_vec()));
        }
        let read = Value::from_json(&body);
        read.map_err(|error| Refusal::Malformed(format!("the answer cannot be read: {error}")))
    }

    /// Reads all objects of a collection, page by page.
    pub(crate) async fn list(
        &self,
        path: &str,
        selector: &str,
        mut each: impl FnMut(&Value),
    ) -> Result<(), Refusal> {
        let mut next = String::new();
        loop {
            let page = format!("{path}?limit={PAGE}{selector}{next}");
            let page = self.get(&page).await?;
            let items = page.get("items").as_list().into_iter().flatten();
            items.for_each(&mut each);
            match page.get("metadata").get("continue").as_str() {
                Some(token) if !token.is_empty() => {
                    next = format!("&continue={}", encoded(token));
                }
                _ => return Ok(()),
            }
        }
    }
}

/// Whether a request changes nothing on the cluster.
fn is_harmless(method: &Method, uri: &Uri) -> bool {
    let asks = uri.path().starts_with("/apis/authorization.k8s.io/");
    let query = uri.query().unwrap_or_default();
    let dry_run = query.split('&').any(|pair| pair == DRY_RUN);
    method == Method::GET || asks || dry_run
}

/// The parameter of a request that the server only tries.
pub(crate) const DRY_RUN: &str = "dryRun=All";

/// The characters that are encoded in paths and queries.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A text as part of a path or a query.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn harmless(method: &Method, uri: &str) -> bool {
        is_harmless(method, &uri.parse().unwrap())
    }

    #[test]
    fn nothing_that_writes_is_sent() {
        assert!(harmless(&Method::GET, "/api/v1/pods?watch=1"));
        assert!(harmless(
            &Method::PATCH,
            "/api/v1/pods/a?dryRun=All&force=true"
        ));
        let review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        assert!(harmless(&Method::POST, review));
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            assert!(!harmless(&method, "/api/v1/pods/a"), "{method}");
            assert!(
                !harmless(&method, "/api/v1/pods/a?x=dryRun=All"),
                "{method}"
            );
            assert!(!harmless(&method, "/api/v1/pods/a?dryRun=All2"), "{method}");
        }
    }
}
