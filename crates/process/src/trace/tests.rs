//! Sending spans to a collector on the loopback interface.
//!
//! Environment variables belong to the whole process. So each test runs this program again as a
//! child process with its own variables; see [`child`].

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, mpsc};

use rcgen::{CertifiedKey, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use tracing_subscriber::layer::SubscriberExt;

use super::*;

/// The variable that is set in the child process.
const CHILD: &str = "DELTIC_TRACES_TEST";
/// The test that the child process runs.
const ENTRY: &str = "trace::tests::without_an_endpoint_nothing_is_sent";

/// Makes spans, exports them as the environment says, and prints the result.
#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn child() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let traces = match Traces::from_env() {
            Ok(Some(traces)) => traces,
            Ok(None) => return println!("no collector"),
            Err(error) => return println!("error: {error}"),
        };
        let subscriber = tracing_subscriber::registry().with(traces.layer());
        tracing::subscriber::with_default(subscriber, || {
            let reconcile = tracing::info_span!("reconcile", "object.reason" = %"Derived");
            let _entered = reconcile.enter();
            tracing::info_span!("write", verb = "create").in_scope(|| {
                tracing::info!(secret = "value", "an event");
            });
            tracing::info_span!(target: "hyper", "connect").in_scope(|| {});
        });
        let slow = std::env::var(CHILD).unwrap() == "slow";
        let within = if slow { 1 } else { 60_000 };
        traces.flush(Duration::from_millis(within)).await;
        println!("flushed");
    });
}

/// Runs the child with these variables and returns its output.
fn run(mode: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("OTEL_") {
            command.env_remove(name);
        }
    }
    command.args(["--exact", ENTRY, "--nocapture"]);
    command.env(CHILD, mode).envs(variables.iter().copied());
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}");
    printed
}

/// A request that the collector received.
struct Received {
    head: String,
    body: Vec<u8>,
}

/// A collector that accepts one request.
struct Collector {
    endpoint: String,
    received: mpsc::Receiver<Received>,
}

impl Collector {
    fn start() -> Self {
        Self::serve("http://", |stream| stream)
    }

    fn encrypted(config: ServerConfig) -> Self {
        let config = Arc::new(config);
        Self::serve("https://", move |stream| {
            let connection = ServerConnection::new(config.clone()).unwrap();
            StreamOwned::new(connection, stream)
        })
    }

    fn serve<S: Read + Write>(
        scheme: &str,
        wrap: impl Fn(TcpStream) -> S + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, received) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                // A client that does not trust our certificate closes the connection.
                let _ = take(&mut wrap(stream.unwrap()), &sender);
            }
        });
        Self {
            endpoint: format!("{scheme}localhost:{port}"),
            received,
        }
    }

    /// The request that the child sent, if any.
    fn received(&self) -> Option<Received> {
        self.received.try_recv().ok()
    }
}

fn take(stream: &mut impl ReadWrite, sender: &mpsc::Sender<Received>) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let head = loop {
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk)?;
        if read == 0 {
            return Ok(());
        }
        bytes.extend_from_slice(&chunk[..read]);
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break String::from_utf8_lossy(&bytes.drain(..end + 4).collect::<Vec<_>>())
                .into_owned();
        }
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.unwrap().parse().unwrap();
    let rest = bytes.len();
    bytes.resize(length, 0);
    stream.read_exact(&mut bytes[rest..])?;
    let _ = sender.send(Received { head, body: bytes });
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")?;
    stream.flush()
}

trait ReadWrite: Read + Write {}

impl<S: Read + Write> ReadWrite for S {}

/// The fields of a protobuf message whose values are bytes, by number.
fn fields(mut message: &[u8]) -> BTreeMap<u64, Vec<&[u8]>> {
    let mut fields: BTreeMap<u64, Vec<&[u8]>> = BTreeMap::new();
    while !message.is_empty() {
        let tag = varint(&mut message);
        let length = match tag & 7 {
            0 => {
                varint(&mut message);
                continue;
            }
            1 => 8,
            2 => usize::try_from(varint(&mut message)).unwrap(),
            5 => 4,
            other => panic!("wire type {other}"),
        };
        let (value, rest) = message.split_at(length);
        fields.entry(tag >> 3).or_default().push(value);
        message = rest;
    }
    fields
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        number |= u64::from(first & 127) << shift;
        if first & 128 == 0 {
            break;
        }
    }
    number
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// `key=value` of each attribute that has a string value.
fn attributes(attributes: Option<&Vec<&[u8]>>) -> Vec<String> {
    let attributes = attributes.into_iter().flatten();
    let attributes = attributes.filter_map(|attribute| {
        let attribute = fields(attribute);
        let value = fields(attribute[&2][0]);
        Some(format!(
            "{}={}",
            text(attribute[&1][0]),
            text(value.get(&1)?[0])
        ))
    });
    attributes.collect()
}

/// A span of a request.
#[derive(Debug)]
struct Span {
    name: String,
    trace: Vec<u8>,
    id: Vec<u8>,
    parent: Vec<u8>,
    attributes: Vec<String>,
    events: usize,
}

/// The attributes of the resource, and the spans.
fn decode(body: &[u8]) -> (Vec<String>, Vec<Span>) {
    let request = fields(body);
    let resource_spans = fields(request[&1][0]);
    let resource = fields(resource_spans[&1][0]);
    let scope_spans = fields(resource_spans[&2][0]);
    let spans = scope_spans[&2].iter().map(|span| {
        let span = fields(span);
        Span {
            name: text(span[&5][0]),
            trace: span[&1][0].to_vec(),
            id: span[&2][0].to_vec(),
            parent: span
                .get(&4)
                .map_or_else(Vec::new, |parent| parent[0].to_vec()),
            attributes: attributes(span.get(&9)),
            events: span.get(&11).map_or(0, Vec::len),
        }
    });
    (attributes(resource.get(&1)), spans.collect())
}

#[test]
fn without_an_endpoint_nothing_is_sent() {
    if std::env::var_os(CHILD).is_some() {
        return child();
    }
    assert!(run("spans", &[]).contains("no collector"));
}

#[test]
fn a_collector_gets_spans_with_their_reason_and_their_parent() {
    let collector = Collector::start();
    run("spans", &[(ENDPOINT.all, &collector.endpoint)]);
    let Received { head, body } = collector.received().unwrap();
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
    assert!(
        head.contains("content-type: application/x-protobuf"),
        "{head}"
    );
    let (resource, spans) = decode(&body);
    assert!(
        resource.contains(&"service.name=deltic".to_owned()),
        "{resource:?}"
    );
    let [write, reconcile] = &spans[..] else {
        panic!("{spans:?}");
    };
    assert_eq!((&*write.name, &*reconcile.name), ("write", "reconcile"));
    assert_eq!(write.attributes, ["verb=create"]);
    assert_eq!(reconcile.attributes, ["object.reason=Derived"]);
    assert_eq!(
        (&write.parent, &write.trace),
        (&reconcile.id, &reconcile.trace)
    );
    assert_eq!(
        (write.trace.len(), write.id.len(), write.events),
        (16, 8, 0)
    );
    assert!(reconcile.parent.is_empty());
}

#[test]
fn endpoint_headers_and_name_come_from_the_environment() {
    let collector = Collector::start();
    let endpoint = format!("{}/of/traces", collector.endpoint);
    run(
        "spans",
        &[
            (ENDPOINT.all, "http://127.0.0.1:1"),
            (ENDPOINT.traces, &endpoint),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "x-tenant=blue,authorization=Bearer%20t",
            ),
            ("OTEL_SERVICE_NAME", "another"),
            ("OTEL_TRACES_SAMPLER", "traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "1.0"),
        ],
    );
    let Received { head, body } = collector.received().unwrap();
    assert!(head.starts_with("POST /of/traces HTTP/1.1\r\n"), "{head}");
    for header in ["x-tenant: blue", "authorization: Bearer t"] {
        assert!(head.contains(header), "{head}");
    }
    let (resource, _) = decode(&body);
    assert!(
        resource.contains(&"service.name=another".to_owned()),
        "{resource:?}"
    );
}

#[test]
fn traces_can_be_sampled_and_switched_off() {
    for (name, value, printed) in [
        ("OTEL_TRACES_SAMPLER", "always_off", "flushed"),
        ("OTEL_TRACES_EXPORTER", "none", "no collector"),
        ("OTEL_SDK_DISABLED", "true", "no collector"),
    ] {
        let collector = Collector::start();
        let output = run(
            "spans",
            &[(ENDPOINT.all, &collector.endpoint), (name, value)],
        );
        assert!(output.contains(printed), "{name}: {output}");
        assert!(collector.received().is_none(), "{name}");
    }
}

#[test]
fn errors_name_the_variable_without_its_value() {
    let good = "http://127.0.0.1:1";
    let cases: [(&[(&str, &str)], &str); 5] = [
        (
            &[(ENDPOINT.all, "collector-s3cret:4318")],
            "OTEL_EXPORTER_OTLP_ENDPOINT: expected http://HOST:PORT",
        ),
        (
            &[(ENDPOINT.all, good), (ENDPOINT.traces, "ftp://s3cret")],
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: expected http://HOST:PORT",
        ),
        (
            &[(ENDPOINT.all, good), (PROTOCOL.all, "grpc")],
            "OTEL_EXPORTER_OTLP_PROTOCOL: expected http/protobuf",
        ),
        (
            &[
                (ENDPOINT.all, "https://127.0.0.1:1"),
                ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere/s3cret.pem"),
            ],
            "OTEL_EXPORTER_OTLP_CERTIFICATE: ",
        ),
        (
            &[
                (ENDPOINT.all, "https://127.0.0.1:1"),
                ("OTEL_EXPORTER_OTLP_CERTIFICATE", "Cargo.toml"),
            ],
            "OTEL_EXPORTER_OTLP_CERTIFICATE: there is no certificate",
        ),
    ];
    for (variables, expect) in cases {
        let output = run("spans", variables);
        assert!(output.contains(&format!("error: {expect}")), "{output}");
        assert!(!output.contains("s3cret"), "{output}");
    }
}

/// The collector never answers, and the timeout of a request is an hour.
#[test]
fn the_end_does_not_wait_for_a_collector_that_hangs() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let hour = ("OTEL_EXPORTER_OTLP_TIMEOUT", "3600000");
    let output = run("slow", &[(ENDPOINT.all, &endpoint), hour]);
    assert!(output.contains("flushed"), "{output}");
}

/// A certificate and a key in files that are deleted at the end.
struct Files {
    directory: PathBuf,
}

impl Files {
    fn new(name: &str) -> Self {
        let directory = std::env::temp_dir();
        let directory = directory.join(format!("deltic-traces-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        Self { directory }
    }

    fn write(&self, name: &str, content: &str) -> String {
        let path = self.directory.join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn certificate() -> CertifiedKey<KeyPair> {
    rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap()
}

#[test]
fn collector_and_client_authenticate_with_certificates() {
    let (server, client, stranger) = (certificate(), certificate(), certificate());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut clients = RootCertStore::empty();
    clients.add(client.cert.der().clone()).unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(clients), provider.clone());
    let key = PrivateKeyDer::try_from(server.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(vec![server.cert.der().clone()], key)
        .unwrap();
    let collector = Collector::encrypted(config);
    let files = Files::new("tls");
    let server = files.write("server.pem", &server.cert.pem());
    let other = files.write("stranger.pem", &stranger.cert.pem());
    let certificate = files.write("client.pem", &client.cert.pem());
    let key = files.write("client.key", &client.signing_key.serialize_pem());
    let send = |authority: &str, ours: &[(&str, &str)]| {
        let mut variables = vec![
            (ENDPOINT.all, &*collector.endpoint),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", authority),
        ];
        variables.extend(ours);
        run("spans", &variables)
    };
    let us = [
        ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", &*certificate),
        ("OTEL_EXPORTER_OTLP_CLIENT_KEY", &*key),
    ];
    send(&other, &us);
    assert!(
        collector.received().is_none(),
        "the client refuses this server"
    );
    send(&server, &[]);
    assert!(
        collector.received().is_none(),
        "the collector accepts only its client"
    );
    let output = send(&server, &us[..1]);
    assert!(
        output.contains("needs OTEL_EXPORTER_OTLP_CLIENT_KEY as well"),
        "{output}"
    );
    send(&server, &us);
    let Received { body, .. } = collector.received().unwrap();
    let (_, spans) = decode(&body);
    assert_eq!(spans.len(), 2);
}
