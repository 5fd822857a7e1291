//! Looks at a running deltic from outside: its metrics, and the Operators on its cluster.

use std::error::Error;
use std::time::Duration;

use cluster::connect::{describe, innermost};
use cluster::object::{Object, pages};
use document::Value;
use http::{StatusCode, Uri};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::TokioExecutor;
use kube::Client;
use kube::api::{Api, ListParams};
use operators::crd;
use tokio::time::timeout;

/// How long an answer may take.
pub const TIMEOUT: Duration = Duration::from_secs(5);
/// The largest answer with metrics, in bytes.
const MAX_METRICS: usize = 64 << 20;
/// How many Operators one page of a list has.
const PAGE: u32 = 500;

/// Why metrics or Operators could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// The address is not a URL.
    #[error("{0} is not a URL")]
    Address(String),
    /// There is no connection.
    #[error("{}", innermost(.0))]
    Connection(#[source] hyper_util::client::legacy::Error),
    /// There was no answer in time.
    #[error("no answer within {} s", TIMEOUT.as_secs())]
    Timeout,
    /// The answer is not one with metrics.
    #[error("the answer is {0}")]
    Status(StatusCode),
    /// The answer broke off, or is too large.
    #[error("the answer cannot be read: {0}")]
    Body(Box<dyn Error + Send + Sync>),
    /// The answer is not text.
    #[error("the answer is not text")]
    NoText,
    /// The cluster does not know Operators.
    #[error("the cluster has no Operators: `deltic install` defines them")]
    NoOperators,
    /// The cluster refused the request, or did not answer.
    #[error("{}", describe(.0))]
    Cluster(#[source] kube::Error),
}

/// Reads the metrics of a process.
pub async fn metrics(url: &str) -> Result<String, ObserveError> {
    let uri: Uri = url
        .parse()
        .map_err(|_| ObserveError::Address(url.to_owned()))?;
    let client = HttpClient::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let answer = async {
        let answer = client.get(uri).await.map_err(ObserveError::Connection)?;
        if answer.status() != StatusCode::OK {
            return Err(ObserveError::Status(answer.status()));
        }
        let body = Limited::new(answer.into_body(), MAX_METRICS)
            .collect()
            .await;
        let body = body.map_err(ObserveError::Body)?.to_bytes();
        String::from_utf8(body.into()).map_err(|_| ObserveError::NoText)
    };
    let answer = timeout(TIMEOUT, answer).await;
    answer.unwrap_or(Err(ObserveError::Timeout))
}

/// Reads the Operators of a cluster.
#[derive(Clone)]
pub struct Observer(Client);

impl Observer {
    /// Reads with this client.
    pub fn new(client: Client) -> Self {
        Self(client)
    }

    /// The Operators of the cluster, with their status.
    pub async fn operators(&self) -> Result<Vec<Value>, ObserveError> {
        let resource = crd::resource();
        let api: Api<Object> = Api::all_with(self.0.clone(), &resource);
        let all = timeout(TIMEOUT, pages(&api, ListParams::default().limit(PAGE))).await;
        match all.map_err(|_| ObserveError::Timeout)? {
            Ok(all) => {
                let all = all.into_iter();
                let all = all.map(|operator| operator.with_types(&resource).into_value());
                Ok(all.collect())
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Err(ObserveError::NoOperators),
            Err(error) => Err(ObserveError::Cluster(error)),
        }
    }
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observer").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::io::{Read, Write};

    use http::{Request, Response};
    use kube::client::Body;

    use super::*;

    /// Serves the metrics of one process for so many requests. Returns the address.
    fn serve(requests: usize) -> std::net::SocketAddr {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for _ in 0..requests {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 1024];
                let length = stream.read(&mut request).unwrap();
                let wanted = request[..length].starts_with(b"GET /metrics ");
                let (status, body) = if wanted {
                    ("200 OK", "deltic_operators 3\n")
                } else {
                    ("404 Not Found", "")
                };
                let length = body.len();
                let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}");
                let _ = write!(stream, "{head}\r\nConnection: close\r\n\r\n{body}");
            }
        });
        address
    }

    #[tokio::test]
    async fn the_metrics_of_a_process_are_read() {
        let address = serve(2);
        let text = metrics(&format!("http://{address}/metrics")).await;
        assert_eq!(text.unwrap(), "deltic_operators 3\n");
        let other = metrics(&format!("http://{address}/")).await;
        assert_eq!(
            other.unwrap_err().to_string(),
            "the answer is 404 Not Found"
        );
        let nobody = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = nobody.local_addr().unwrap();
        drop(nobody);
        let gone = metrics(&format!("http://{address}/metrics")).await;
        let gone = gone.unwrap_err().to_string();
        assert!(gone.contains("refused"), "{gone}");
        let bad = metrics("http://").await.unwrap_err();
        assert_eq!(bad.to_string(), "http:// is not a URL");
    }

    /// Asks a server that gives this answer.
    fn observer(code: u16, body: &'static str) -> Observer {
        let service = tower::service_fn(move |_: Request<Body>| async move {
            let mut response = Response::new(Body::from(body.as_bytes().to_vec()));
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
            Ok::<_, Infallible>(response)
        });
        Observer::new(Client::new(service, "default"))
    }

    #[tokio::test]
    async fn operators_are_read() {
        let list =
            r#"{"metadata": {}, "items": [{"metadata": {"name": "shop"}, "status": {"x": 1}}]}"#;
        let found = observer(200, list).operators().await.unwrap();
        let expect = document::json!({
            "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
            "metadata": {"name": "shop"}, "status": {"x": 1}
        });
        assert_eq!(found, [expect]);
    }

    #[tokio::test]
    async fn a_refusal_says_why() {
        let forbidden = r#"{"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "operators is forbidden: User \"u\" cannot list"}"#;
        let error = observer(403, forbidden).operators().await.unwrap_err();
        let expect = "operators is forbidden: User \"u\" cannot list";
        assert_eq!(error.to_string(), expect);
        let missing = r#"{"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": "x"}"#;
        let error = observer(404, missing).operators().await.unwrap_err();
        assert!(matches!(error, ObserveError::NoOperators), "{error}");
    }
}
