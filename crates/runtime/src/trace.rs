//! Traces for OpenTelemetry: our spans, sent to a collector as OTLP/HTTP in JSON.
//!
//! In come the spans of this process (`step`, `reconcile` with its reason, `write`), out go
//! requests to `OTEL_EXPORTER_OTLP_ENDPOINT`. What the collector does not take in time is
//! dropped: tracing holds up nobody.

use std::time::{Duration, SystemTime};

use document::{Key, Map, Value, json};
use http::{Request, Uri};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::clock;

/// The variable that names the collector.
pub const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// How many spans wait to be sent at most.
const WAITING: usize = 4096;
/// How many are sent at once at most, and how long the first of them waits.
const BATCH: (usize, Duration) = (512, Duration::from_secs(1));
/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why nothing is exported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{ENDPOINT}: expected http://HOST:PORT, found {0:?}")]
pub struct BadEndpoint(String);

/// Takes the spans of this process.
#[derive(Debug)]
pub struct Traces(mpsc::Sender<Value>);

/// Sends them, for as long as it runs.
#[derive(Debug)]
pub struct Exporter {
    endpoint: Uri,
    spans: mpsc::Receiver<Value>,
}

/// Spans for the collector at this endpoint.
pub fn exporter(endpoint: &str) -> Result<(Traces, Exporter), BadEndpoint> {
    let bad = || BadEndpoint(endpoint.to_owned());
    let base = endpoint.trim_end_matches('/');
    let uri: Uri = format!("{base}/v1/traces").parse().map_err(|_| bad())?;
    if uri.scheme_str() != Some("http") || uri.host().is_none() {
        return Err(bad());
    }
    let (sender, spans) = mpsc::channel(WAITING);
    let exporter = Exporter {
        endpoint: uri,
        spans,
    };
    Ok((Traces(sender), exporter))
}

impl Exporter {
    /// Sends spans until all who make them are gone.
    pub async fn run(mut self) {
        let mut told = false;
        while let Some(first) = self.spans.recv().await {
            let batch = self.batch(first).await;
            let sent = tokio::time::timeout(PATIENCE, self.send(batch)).await;
            let failed = !matches!(sent, Ok(Ok(())));
            if failed && !told {
                tracing::warn!(endpoint = %self.endpoint, "traces cannot be sent: they are dropped");
            }
            told = failed;
        }
    }

    async fn batch(&mut self, first: Value) -> Vec<Value> {
        let mut batch = vec![first];
        let more = async {
            while batch.len() < BATCH.0 {
                match self.spans.recv().await {
                    Some(span) => batch.push(span),
                    None => break,
                }
            }
        };
        let _ = tokio::time::timeout(BATCH.1, more).await;
        batch
    }

    async fn send(
        &self,
        spans: Vec<Value>,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let (host, port) = (
            self.endpoint.host().unwrap_or_default(),
            self.endpoint.port_u16(),
        );
        let stream = TcpStream::connect((host, port.unwrap_or(80))).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(connection);
        let request = Request::post(self.endpoint.path())
            .header(http::header::HOST, host)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(document(spans).to_string())))?;
        let answer = sender.send_request(request).await?;
        connection.abort();
        if answer.status().is_success() {
            return Ok(());
        }
        Err(format!("the collector answers {}", answer.status()).into())
    }
}

/// A request of the protocol.
fn document(spans: Vec<Value>) -> Value {
    let service = json!([(attribute("service.name", "deltic"))]);
    let scope = json!({"name": "deltic", "version": (env!("CARGO_PKG_VERSION"))});
    let spans: Value = spans.into();
    json!({"resourceSpans": [{
        "resource": {"attributes": (service)},
        "scopeSpans": [{"scope": (scope), "spans": (spans)}]
    }]})
}

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// What is known of a span that is not over.
struct Open {
    trace: String,
    span: String,
    parent: Option<String>,
    start: SystemTime,
    attributes: Vec<Value>,
}

impl Visit for Open {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.attributes.push(attribute(field.name(), value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

/// Only our own: those of libraries are many, and may show what they send.
fn is_ours(metadata: &Metadata<'_>) -> bool {
    let crates = ["runtime", "controller", "deltic"];
    let name = metadata.target().split("::").next().unwrap_or_default();
    metadata.is_span() && crates.contains(&name)
}

impl<S> Layer<S> for Traces
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|span| is_ours(span.metadata())) else {
            return;
        };
        let parent = span.parent().and_then(|parent| {
            let extensions = parent.extensions();
            let open = extensions.get::<Open>()?;
            Some((open.trace.clone(), open.span.clone()))
        });
        let (trace, parent) = match parent {
            Some((trace, parent)) => (trace, Some(parent)),
            None => (
                format!("{:016x}{:016x}", clock::random(), clock::random()),
                None,
            ),
        };
        let mut open = Open {
            trace,
            span: format!("{:016x}", clock::random()),
            parent,
            start: SystemTime::now(),
            attributes: Vec::new(),
        };
        attributes.record(&mut open);
        span.extensions_mut().insert(open);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(open) = span.extensions_mut().get_mut::<Open>()
        {
            values.record(open);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let open = span.extensions_mut().remove::<Open>();
        if let Some(open) = open {
            // A full queue drops it.
            let _ = self.0.try_send(finished(span.name(), open));
        }
    }
}

fn finished(name: &str, open: Open) -> Value {
    let nanos = |time: SystemTime| {
        let since = time.duration_since(SystemTime::UNIX_EPOCH);
        Value::from(since.unwrap_or_default().as_nanos().to_string())
    };
    let fields = [
        ("traceId", Value::from(open.trace)),
        ("spanId", open.span.into()),
        ("parentSpanId", open.parent.unwrap_or_default().into()),
        ("name", name.into()),
        // Internal.
        ("kind", 1.into()),
        ("startTimeUnixNano", nanos(open.start)),
        ("endTimeUnixNano", nanos(SystemTime::now())),
        ("attributes", open.attributes.into()),
    ];
    let fields = fields.map(|(key, value)| (Key::new(key), value));
    fields.into_iter().collect::<Map>().into()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    /// The body of one request.
    async fn received(listener: &TcpListener) -> (String, Value) {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        loop {
            let mut chunk = [0; 4096];
            let read = stream.read(&mut chunk).await.unwrap();
            bytes.extend_from_slice(&chunk[..read]);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            if let Ok(body) = body.parse::<Value>() {
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
                stream.write_all(answer).await.unwrap();
                return (head.lines().next().unwrap().to_owned(), body);
            }
        }
    }

    #[tokio::test]
    async fn a_collector_gets_spans_with_their_reason_and_their_parent() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}/", listener.local_addr().unwrap());
        let (traces, exporter) = exporter(&endpoint).unwrap();
        let exporter = tokio::spawn(exporter.run());
        let subscriber = tracing_subscriber::registry().with(traces);
        tracing::subscriber::with_default(subscriber, || {
            let reconcile = tracing::info_span!("reconcile", "object.reason" = %"Derived");
            let _entered = reconcile.enter();
            tracing::info_span!("write", verb = "create").in_scope(|| {});
            tracing::info_span!(target: "hyper", "connect").in_scope(|| {});
        });
        let (line, body) = received(&listener).await;
        assert_eq!(line, "POST /v1/traces HTTP/1.1");
        let resource = body
            .get("resourceSpans")
            .as_list()
            .unwrap()
            .to_vec()
            .remove(0);
        let scope = resource
            .get("scopeSpans")
            .as_list()
            .unwrap()
            .to_vec()
            .remove(0);
        let spans = scope.get("spans").as_list().unwrap().to_vec();
        let names: Vec<_> = spans.iter().map(|span| span.get("name").as_str()).collect();
        assert_eq!(names, [Some("write"), Some("reconcile")]);
        let reason = json!([{"key": "object.reason", "value": {"stringValue": "Derived"}}]);
        assert_eq!(spans[1].get("attributes"), &reason);
        assert_eq!(spans[0].get("parentSpanId"), spans[1].get("spanId"));
        assert_eq!(spans[0].get("traceId"), spans[1].get("traceId"));
        assert_eq!(spans[0].get("traceId").as_str().map(str::len), Some(32));
        // All who make spans are gone.
        exporter.await.unwrap();
    }

    #[test]
    fn an_endpoint_is_an_address() {
        for odd in ["", "collector", "https://collector:4318", "http://"] {
            assert!(exporter(odd).is_err(), "{odd}");
        }
    }
}
