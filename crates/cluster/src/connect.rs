//! Finds the cluster and makes clients for it.
//!
//! The cluster comes from a kubeconfig or, in a pod, from the pod's service account. See [`find`]
//! for the order.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::task::{Context, Poll};
use std::time::Duration;
use std::{env, io};

use document::Value;
use futures::future::BoxFuture;
use http::{HeaderValue, Request, Response, header};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ClientBuilder, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use metrics::Metrics;
use tower::util::option_layer;
use tower::{BoxError, Layer, Service, ServiceExt};

use crate::client::too_many_files;

/// How long a connection with an open request may stay silent before it is given up.
const SILENCE: Duration = Duration::from_mins(5);

/// How many idle connections are kept for further requests.
const MAX_IDLE: usize = 64;

/// Where to look for the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The path of the kubeconfig; without it the usual places are searched.
    pub kubeconfig: Option<PathBuf>,
    /// The context to use instead of the current one.
    pub context: Option<String>,
}

/// The address of a cluster and the credentials for it. Making one sends no request.
#[derive(Clone)]
pub struct Connection {
    /// The name of the context, or `in-cluster`.
    pub context: String,
    /// The address of the server, without user and password.
    pub server: String,
    /// The namespace of the context or pod.
    pub namespace: String,
    config: Config,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("context", &self.context)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

/// Why no client could be made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig is missing or wrong.
    #[error("cannot use the kubeconfig: {}", explain(.0))]
    Kubeconfig(#[source] KubeconfigError),
    /// A kubeconfig file exists, but cannot be read or is invalid.
    #[error("cannot use the kubeconfig {}: {why}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, in one line.
        why: String,
    },
    /// There is no kubeconfig, and this process does not run in a pod.
    #[error(
        "no cluster found: there is no kubeconfig ({}), and this process does not run in a pod ({pod})",
        explain(.0), pod = .1
    )]
    NoCluster(#[source] KubeconfigError, Box<dyn Error + Send + Sync>),
    /// The context names no user of the kubeconfig.
    #[error("cannot use the kubeconfig: its context {0} has no user")]
    NoUser(String),
    /// The client cannot be made, for example because of a bad certificate or proxy address.
    #[error("cannot connect: {}", describe(.0))]
    Client(#[source] Box<kube::Error>),
}

/// What the cluster answered, or why it did not.
pub fn describe(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => describe_answer(status.code, &status.reason, &status.message),
        other => too_many_files(other).map_or_else(|| innermost(other), str::to_owned),
    }
}

/// What an answer of the cluster with an error says.
pub fn describe_answer(code: u16, reason: &str, message: &str) -> String {
    let answer = match message {
        "" => format!("the answer is {code} {reason}"),
        message => message.to_owned(),
    };
    match code {
        401 => format!(
            "the cluster does not accept the credentials of the kubeconfig or pod: {answer}"
        ),
        _ => answer,
    }
}

/// The cause of an error, such as `Connection refused`; those around it only name the client.
pub fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost.to_string()
}

/// What is wrong with a kubeconfig.
fn explain(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::ReadConfig(error, path) => {
            format!("cannot read {}: {error}", path.display())
        }
        KubeconfigError::CurrentContextNotSet => "it has no current context".to_owned(),
        KubeconfigError::LoadContext(name) => format!("it has no context {name}"),
        other => other.to_string(),
    }
}

/// Finds the cluster.
///
/// If the options name a kubeconfig or a context, only that is used. Otherwise `KUBECONFIG` and
/// `~/.kube/config` are tried first, then the cluster of the pod that this process runs in. A
/// kubeconfig that is there and wrong is an error.
pub async fn find(options: &Options) -> Result<Connection, ConnectError> {
    let named = options.kubeconfig.is_some() || options.context.is_some();
    match read(options) {
        Ok(kubeconfig) if named || is_usable(&kubeconfig) => {
            from_kubeconfig(kubeconfig, options).await
        }
        Ok(_) => in_cluster(KubeconfigError::CurrentContextNotSet),
        Err(ConnectError::Kubeconfig(error)) if !named && is_missing(&error) => in_cluster(error),
        Err(error) => Err(error),
    }
}

/// Reads the kubeconfig that the options name, or else that of `KUBECONFIG` or of the user.
fn read(options: &Options) -> Result<Kubeconfig, ConnectError> {
    if let Some(path) = &options.kubeconfig {
        return read_file(path);
    }
    let listed = env::var_os("KUBECONFIG").unwrap_or_default();
    let listed: Vec<PathBuf> = env::split_paths(&listed)
        .filter(|path| !path.as_os_str().is_empty())
        .collect();
    if !listed.is_empty() {
        return read_list(&listed);
    }
    let home = env::home_dir().ok_or(ConnectError::Kubeconfig(KubeconfigError::FindPath))?;
    read_file(&home.join(".kube").join("config"))
}

/// Reads the files of a list as one kubeconfig. As with kubectl, files that do not exist are
/// skipped, unless none of them exists.
fn read_list(paths: &[PathBuf]) -> Result<Kubeconfig, ConnectError> {
    let (mut merged, mut missing) = (None::<Kubeconfig>, None);
    for path in paths {
        let next = match read_file(path) {
            Ok(next) => next,
            Err(ConnectError::Kubeconfig(KubeconfigError::ReadConfig(error, path))) => {
                if error.kind() != io::ErrorKind::NotFound {
                    let why = error.to_string();
                    return Err(ConnectError::File { path, why });
                }
                missing.get_or_insert(KubeconfigError::ReadConfig(error, path));
                continue;
            }
            Err(error) => return Err(error),
        };
        let next = merged.unwrap_or_default().merge(next);
        merged = Some(next.map_err(ConnectError::Kubeconfig)?);
    }
    merged.ok_or(ConnectError::Kubeconfig(
        missing.unwrap_or(KubeconfigError::FindPath),
    ))
}

fn read_file(path: &Path) -> Result<Kubeconfig, ConnectError> {
    Kubeconfig::read_from(path).map_err(|error| match error {
        KubeconfigError::Parse(error) => ConnectError::File {
            path: path.to_owned(),
            // One line, without the part of the file around the error, which may contain a token.
            why: error.without_snippet().to_string(),
        },
        other => ConnectError::Kubeconfig(other),
    })
}

/// Whether there is no kubeconfig, or none that this process may look for.
fn is_missing(error: &KubeconfigError) -> bool {
    matches!(
        error,
        KubeconfigError::FindPath | KubeconfigError::ReadConfig(..)
    )
}

/// The user of the kubeconfig's context, as JSON in the form of a kubeconfig. It contains what the
/// user logs in with.
pub fn login(options: &Options) -> Result<Value, ConnectError> {
    let kubeconfig = read(options)?;
    let context = options.context.clone();
    let context = context.or_else(|| kubeconfig.current_context.clone());
    let context = context.ok_or(KubeconfigError::CurrentContextNotSet);
    let context = context.map_err(ConnectError::Kubeconfig)?;
    let mut contexts = kubeconfig.contexts.iter();
    let Some(named) = contexts.find(|named| named.name == context) else {
        let missing = KubeconfigError::LoadContext(context);
        return Err(ConnectError::Kubeconfig(missing));
    };
    let user = named
        .context
        .as_ref()
        .and_then(|context| context.user.as_ref());
    let mut users = kubeconfig.auth_infos.iter();
    let found = users.find(|named| Some(&named.name) == user);
    let found = found.and_then(|named| serde_json::to_string(&named.auth_info).ok());
    let found = found.and_then(|text| text.parse().ok());
    found.ok_or(ConnectError::NoUser(context))
}

/// Whether a kubeconfig has a current context. An empty one, as from `KUBECONFIG=/dev/null`,
/// counts as missing.
fn is_usable(kubeconfig: &Kubeconfig) -> bool {
    kubeconfig
        .current_context
        .as_deref()
        .is_some_and(|context| !context.is_empty())
}

async fn from_kubeconfig(
    kubeconfig: Kubeconfig,
    options: &Options,
) -> Result<Connection, ConnectError> {
    let context = options.context.clone();
    let context = context.or_else(|| kubeconfig.current_context.clone());
    let of_context = KubeConfigOptions {
        context: context.clone(),
        ..KubeConfigOptions::default()
    };
    let config = Config::from_custom_kubeconfig(kubeconfig, &of_context).await;
    let config = config.map_err(ConnectError::Kubeconfig)?;
    Ok(Connection::new(context.unwrap_or_default(), config))
}

fn in_cluster(no_kubeconfig: KubeconfigError) -> Result<Connection, ConnectError> {
    match Config::incluster() {
        Ok(config) => Ok(Connection::new("in-cluster".to_owned(), config)),
        Err(error) => Err(ConnectError::NoCluster(no_kubeconfig, Box::new(error))),
    }
}

impl Connection {
    fn new(context: String, mut config: Config) -> Self {
        // The code that sends a request decides whether to retry it: after the lease is lost,
        // nothing may be sent again.
        config.default_retry = false;
        // Closes a connection that broke without an error. The server ends a watch earlier.
        config.read_timeout = Some(SILENCE);
        config.reset_reader_on_write = true;
        Self {
            context,
            server: server(&config.cluster_url),
            namespace: config.default_namespace.clone(),
            config,
        }
    }

    /// Makes a client with its own connections; its requests are counted in the metrics.
    pub fn client(&self, metrics: &Metrics) -> Result<Client, ConnectError> {
        let made = match &self.config.proxy_url {
            None => self.direct(metrics),
            Some(_) => ClientBuilder::try_from(self.config.clone())
                .map(|builder| counted(builder, metrics)),
        };
        made.map_err(|error| ConnectError::Client(Box::new(error)))
    }

    /// Makes a client as kube does, but with `TCP_NODELAY`: without it the first request of each
    /// connection waits 40 ms for the server to acknowledge the handshake.
    fn direct(&self, metrics: &Metrics) -> Result<Client, kube::Error> {
        let config = &self.config;
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_nodelay(true);
        let connector = config.rustls_https_connector_with_connector(connector)?;
        let mut connector = TimeoutConnector::new(connector);
        connector.set_connect_timeout(config.connect_timeout);
        connector.set_read_timeout(config.read_timeout);
        connector.set_write_timeout(config.write_timeout);
        connector.set_reset_reader_on_write(config.reset_reader_on_write);
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(MAX_IDLE)
            .build::<_, Body>(connector);
        let client = ServiceExt::<Request<Body>>::map_err(client, BoxError::from);
        let client = config.extra_headers_layer()?.layer(client);
        let client = option_layer(config.auth_layer()?).layer(client);
        let client = config.base_uri_layer().layer(client);
        Ok(counted(
            ClientBuilder::new(client, &self.namespace),
            metrics,
        ))
    }
}

/// The program that sends the requests, for the audit log of the cluster.
const USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("deltic/", env!("CARGO_PKG_VERSION")));

/// Builds a client that names this program in its requests, and counts them.
fn counted<S, B>(builder: ClientBuilder<S>, metrics: &Metrics) -> Client
where
    S: Service<Request<Body>, Response = Response<B>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError> + 'static,
    B: hyper::body::Body<Data = hyper::body::Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let metrics = metrics.clone();
    let counted = tower::layer::layer_fn(move |inner| Counted {
        inner,
        metrics: metrics.clone(),
    });
    builder.with_layer(&counted).build()
}

/// A layer that adds the `User-Agent` to requests, and counts them by method and status code.
struct Counted<S> {
    inner: S,
    metrics: Metrics,
}

impl<S, B> Service<Request<Body>> for Counted<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        request.headers_mut().insert(header::USER_AGENT, USER_AGENT);
        let (metrics, method) = (self.metrics.clone(), request.method().clone());
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let code = answer.as_ref().map_or(0, |answer| answer.status().as_u16());
            metrics.request(&method, code);
            answer
        })
    }
}

/// The address of the server, without user, password, query and trailing slash.
fn server(url: &http::Uri) -> String {
    let authority = url.authority().map_or("", http::uri::Authority::as_str);
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let scheme = url.scheme_str().unwrap_or("https");
    let path = url.path().trim_end_matches('/');
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KUBECONFIG: &str = r"
apiVersion: v1
kind: Config
clusters:
- { name: one, cluster: { server: 'https://user:secret@one.example:6443/' } }
- { name: two, cluster: { server: 'https://two.example/k8s/c-1' } }
users:
- { name: me, user: { token: t } }
contexts:
- { name: first, context: { cluster: one, user: me } }
- { name: second, context: { cluster: two, user: me, namespace: team } }
current-context: first
";

    async fn check(context: Option<&str>, expect: Result<(&str, &str, &str), &str>) {
        let kubeconfig = Kubeconfig::from_yaml(KUBECONFIG).unwrap();
        let options = Options {
            kubeconfig: None,
            context: context.map(str::to_owned),
        };
        let found = from_kubeconfig(kubeconfig, &options).await;
        let found = found.map_err(|error| error.to_string());
        let found = found.as_ref().map(|connection| {
            let Connection {
                context,
                server,
                namespace,
                ..
            } = connection;
            (context.as_str(), server.as_str(), namespace.as_str())
        });
        assert_eq!(found.map_err(String::as_str), expect);
    }

    #[tokio::test]
    async fn the_context_decides() {
        let first = ("first", "https://one.example:6443", "default");
        check(None, Ok(first)).await;
        check(Some("first"), Ok(first)).await;
        let second = ("second", "https://two.example/k8s/c-1", "team");
        check(Some("second"), Ok(second)).await;
        let none = "cannot use the kubeconfig: it has no context third";
        check(Some("third"), Err(none)).await;
    }

    #[test]
    fn an_error_is_described_by_its_cause() {
        for (code, message, expect) in [
            (403, "pods is forbidden", "pods is forbidden"),
            (500, "", "the answer is 500 R"),
            (
                401,
                "Unauthorized",
                "the cluster does not accept the credentials of the kubeconfig or pod: Unauthorized",
            ),
        ] {
            assert_eq!(describe_answer(code, "R", message), expect);
        }
        for (code, expect) in [(111, "Connection refused"), (24, "raise the limit")] {
            let cause = io::Error::from_raw_os_error(code);
            let found = describe(&kube::Error::Service(Box::new(cause)));
            assert!(found.contains(expect), "{found}");
        }
    }

    #[tokio::test]
    async fn a_named_kubeconfig_must_be_there() {
        let options = Options {
            kubeconfig: Some("/nowhere/kubeconfig".into()),
            context: None,
        };
        let error = find(&options).await.unwrap_err().to_string();
        assert!(error.starts_with("cannot use the kubeconfig: "), "{error}");
    }

    #[tokio::test]
    async fn requests_name_this_program() {
        let service = tower::service_fn(|request: Request<Body>| async move {
            let agent = request.headers()[header::USER_AGENT].as_bytes().to_vec();
            Ok::<_, std::convert::Infallible>(Response::new(Body::from(agent)))
        });
        let client = counted(ClientBuilder::new(service, "ns"), &Metrics::default());
        let request = Request::get("/version").body(Vec::new()).unwrap();
        let agent = client.request_text(request).await.unwrap();
        assert!(agent.starts_with("deltic/"), "{agent}");
    }
}
