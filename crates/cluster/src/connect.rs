//! Finds the cluster and makes clients for it.
//!
//! The cluster comes from a kubeconfig or, in a pod, from the pod's service account. See [`find`]
//! for the order.

use std::path::PathBuf;
use std::task::{Context, Poll};
use std::time::Duration;

use document::Value;
use futures::future::BoxFuture;
use http::{Request, Response};
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
    #[error("cannot use the kubeconfig: {0}")]
    Kubeconfig(#[source] KubeconfigError),
    /// There is no kubeconfig, and this process does not run in a pod.
    #[error(
        "no cluster found: there is no kubeconfig ({0}), and this process does not run in a pod ({1})"
    )]
    NoCluster(
        #[source] KubeconfigError,
        Box<dyn std::error::Error + Send + Sync>,
    ),
    /// The client cannot be made, for example because of a bad certificate or proxy address.
    #[error("cannot connect: {0}")]
    Client(#[source] Box<kube::Error>),
}

/// Finds the cluster.
///
/// If the options name a kubeconfig or a context, only that is used. Otherwise `KUBECONFIG` and
/// `~/.kube/config` are tried first, then the cluster of the pod that this process runs in.
pub async fn find(options: &Options) -> Result<Connection, ConnectError> {
    let read = match &options.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let named = options.kubeconfig.is_some() || options.context.is_some();
    match read {
        Ok(kubeconfig) if named || is_usable(&kubeconfig) => {
            from_kubeconfig(kubeconfig, options).await
        }
        Ok(_) => in_cluster(KubeconfigError::CurrentContextNotSet),
        Err(error) if named => Err(ConnectError::Kubeconfig(error)),
        Err(error) => in_cluster(error),
    }
}

/// The user of the kubeconfig's context, as JSON in the form of a kubeconfig. It contains what the
/// user logs in with.
pub fn login(options: &Options) -> Result<Value, ConnectError> {
    let read = match &options.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let kubeconfig = read.map_err(ConnectError::Kubeconfig)?;
    let context = options.context.clone();
    let context = context.or_else(|| kubeconfig.current_context.clone());
    let context = context.ok_or(KubeconfigError::CurrentContextNotSet);
    let context = context.map_err(ConnectError::Kubeconfig)?;
    let contexts = kubeconfig.contexts.iter();
    let user = contexts
        .filter(|named| named.name == context)
        .find_map(|named| named.context.as_ref()?.user.clone())
        .ok_or_else(|| KubeconfigError::LoadContext(context.clone()));
    let user = user.map_err(ConnectError::Kubeconfig)?;
    let mut users = kubeconfig.auth_infos.iter();
    let found = users.find(|named| named.name == user);
    let found = found.and_then(|named| serde_json::to_string(&named.auth_info).ok());
    let found = found.and_then(|text| text.parse().ok());
    found.ok_or(ConnectError::Kubeconfig(KubeconfigError::LoadContext(
        context,
    )))
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

/// Builds a client that counts its requests.
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

/// A layer that counts requests by method and status code.
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

    fn call(&mut self, request: Request<Body>) -> Self::Future {
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
        let none = "cannot use the kubeconfig: failed to load current context: third";
        check(Some("third"), Err(none)).await;
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
}
