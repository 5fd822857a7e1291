//! Sends traces to an OpenTelemetry collector, as OTLP over HTTP.
//!
//! The spans of this process (`step`, `reconcile` with its reason, `write`) pass through
//! `tracing-opentelemetry` to the OpenTelemetry SDK, which sends them in batches from its own
//! thread. Spans that the collector does not accept in time are dropped, so that tracing never
//! delays the work.
//!
//! The environment variables of the OpenTelemetry specification configure all of it. The SDK reads
//! those for sampling, batches, limits and the resource, the exporter those for endpoint, headers
//! and compression, and [`transport`] those for TLS and timeouts.

mod transport;

use std::time::Duration;

use http::Uri;
use opentelemetry::trace::TracerProvider;
use opentelemetry::{InstrumentationScope, Key};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;
pub use transport::TlsProblem;
use transport::Transport;

/// How long the process waits at its end for the last spans to be sent.
pub const FLUSH: Duration = Duration::from_secs(5);

/// Why traces cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The endpoint is not the address of a collector.
    #[error("{0}: expected http://HOST:PORT or https://HOST:PORT")]
    Endpoint(&'static str),
    /// The environment asks for a protocol that is not supported.
    #[error("{0}: expected http/protobuf")]
    Protocol(&'static str),
    /// Certificates or a key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsProblem),
    /// A setting of the exporter is wrong.
    #[error(transparent)]
    Exporter(#[from] ExporterBuildError),
}

/// The two environment variables of a setting: the one for traces wins over the one for all
/// signals.
#[derive(Clone, Copy, Debug)]
struct Variable {
    traces: &'static str,
    all: &'static str,
}

const ENDPOINT: Variable = Variable {
    traces: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    all: "OTEL_EXPORTER_OTLP_ENDPOINT",
};
const PROTOCOL: Variable = Variable {
    traces: "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    all: "OTEL_EXPORTER_OTLP_PROTOCOL",
};

impl Variable {
    /// The value, and the name of the variable it comes from. An empty variable counts as unset.
    fn read(self) -> Option<(&'static str, String)> {
        let names = [self.traces, self.all].into_iter();
        let mut values = names.map(|name| (name, set(name)));
        values.find_map(|(name, value)| Some((name, value?)))
    }
}

fn set(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Sends the spans of this process.
#[derive(Debug)]
pub struct Traces {
    provider: SdkTracerProvider,
}

impl Traces {
    /// Makes an exporter for the collector that the environment names; `None` if it names none or
    /// switches traces off. Requests are sent on the tokio runtime that this is called in.
    pub fn from_env() -> Result<Option<Self>, TraceError> {
        let off = set("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || set("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
        let Some((variable, endpoint)) = ENDPOINT.read().filter(|_| !off) else {
            return Ok(None);
        };
        let endpoint: Option<Uri> = endpoint.parse().ok();
        let endpoint = endpoint.filter(|uri| uri.host().is_some_and(|host| !host.is_empty()));
        let encrypted = match endpoint.as_ref().and_then(Uri::scheme_str) {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(TraceError::Endpoint(variable)),
        };
        if let Some((variable, protocol)) = PROTOCOL.read()
            && protocol != "http/protobuf"
        {
            return Err(TraceError::Protocol(variable));
        }
        let exporter = SpanExporter::builder().with_http();
        let exporter = exporter.with_http_client(Transport::new(encrypted)?);
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter.build()?)
            .with_resource(resource())
            .build();
        Ok(Some(Self { provider }))
    }

    /// A layer that exports the spans of a subscriber.
    pub fn layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        let scope = InstrumentationScope::builder("deltic")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        let tracer = self.provider.tracer_with_scope(scope);
        tracing_opentelemetry::layer()
            .with_tracer(tracer)
            // A span carries the fields that we set, and no others.
            .with_location(false)
            .with_target(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_context_activation(false)
            .with_filter(filter_fn(is_ours))
    }

    /// Sends the spans that wait and shuts the exporter down. Spans that are not sent `within` this
    /// time are dropped.
    pub async fn flush(&self, within: Duration) {
        let provider = self.provider.clone();
        let flushed = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(within));
        if !matches!(flushed.await, Ok(Ok(()))) {
            tracing::warn!("the last traces could not be sent");
        }
    }
}

/// The resource of the spans. Its service name is `deltic` unless the environment sets another.
fn resource() -> Resource {
    let resource = Resource::builder().build();
    let name = resource.get(&Key::from_static_str("service.name"));
    let is_named = name.is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    if is_named {
        return resource;
    }
    Resource::builder().with_service_name("deltic").build()
}

/// Whether a span is ours. Spans of libraries are not exported: there are many of them, and they
/// may contain the data of requests. Events are not exported either: they go to the log.
fn is_ours(metadata: &Metadata<'_>) -> bool {
    let crates = [
        "cluster",
        "engine",
        "operators",
        "process",
        "controller",
        "deltic",
    ];
    let name = metadata.target().split("::").next().unwrap_or_default();
    metadata.is_span() && crates.contains(&name)
}

#[cfg(test)]
mod tests;
