//! Serves views to kubectl, on a port of deltic's own.
//!
//! The parts come from other crates: [`apiserver`] has the semantics of the API, [`serving`] the
//! connections, TLS and logins. This module puts them together: it serves the views of the
//! Operators that run, while this process leads.

mod authority;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use apiserver::{AllowAll, Catalog, Limits, Resource, User};
use cluster::lease::Leadership;
use engine::ServedViews;
use engine::background::{Background, Chore};
use engine::clock::{Clock, System};
use engine::native::ViewStore;
use kube::Client;
use serving::{Authenticator, Certificates, ClientAuthorities, ClusterAccess};
use serving::{ConnectionLimits, Listener, Security};
use tokio::sync::watch;

use crate::explain::Explainer;
pub use authority::{AuthorityError, SECRET, stored_authority};

/// How often the cluster is asked for the authorities of client certificates.
const AUTHORITIES_PERIOD: Duration = Duration::from_mins(1);
/// How often a replica checks who leads.
const LEADER_PERIOD: Duration = Duration::from_millis(200);

/// How views are served.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address.
    pub address: SocketAddr,
    /// How connections are secured.
    pub transport: Transport,
    /// Whether the API server of the cluster is expected to forward requests.
    pub front_proxy: bool,
}

/// How connections are secured.
#[derive(Clone, Debug)]
pub enum Transport {
    /// TLS with a certificate from files.
    Files {
        /// The certificate, as PEM.
        certificate: PathBuf,
        /// Its key, as PEM.
        key: PathBuf,
    },
    /// TLS with a certificate of an authority that is kept in a Secret.
    Generated {
        /// The namespace of the Secret.
        namespace: String,
        /// Host names under which the server is reached.
        names: Vec<String>,
    },
    /// Plain HTTP without a login, only on a loopback address.
    Insecure,
}

/// Why views cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be used.
    #[error("cannot listen at {address}: {error}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// Plain HTTP was requested for an address that others can reach.
    #[error(
        "{0} is not a loopback address: without TLS and logins, views are served on loopback only"
    )]
    NotLoopback(SocketAddr),
    /// There is no certificate.
    #[error(transparent)]
    Certificate(#[from] serving::CertificateError),
    /// The Secret of the authority contains something else.
    #[error("{0}; delete it, and deltic generates another one")]
    Stored(AuthorityError),
    /// The Secret of the authority cannot be used.
    #[error(
        "{0}; grant get and create on it, or give a certificate with --serve-cert-file and --serve-key-file"
    )]
    Secret(AuthorityError),
}

impl From<AuthorityError> for ServeError {
    fn from(error: AuthorityError) -> Self {
        match error {
            AuthorityError::Generate(error) => Self::Certificate(error),
            AuthorityError::Damaged { .. } => Self::Stored(error),
            AuthorityError::Missing { .. }
            | AuthorityError::Forbidden { .. }
            | AuthorityError::Cluster { .. } => Self::Secret(error),
        }
    }
}

/// A server that runs until the process ends.
#[derive(Clone, Debug)]
pub struct Served {
    /// The address.
    pub address: SocketAddr,
    /// The authority of its certificate as PEM, if deltic has generated it.
    pub authority: Option<String>,
}

/// Serves the views of a process until it ends.
pub async fn start(
    client: &Client,
    views: &ViewStore,
    leadership: &Leadership,
    background: &Background,
    settings: &Settings,
) -> Result<Served, ServeError> {
    let address = settings.address;
    let insecure = matches!(settings.transport, Transport::Insecure);
    if insecure && !address.ip().is_loopback() {
        return Err(ServeError::NotLoopback(address));
    }
    let access: Arc<dyn apiserver::Access> = if insecure {
        Arc::new(AllowAll)
    } else {
        Arc::new(ClusterAccess::new(client.clone()))
    };
    let catalog = Catalog::default();
    let explainer = Explainer::new(views.views().clone(), access.clone(), client.clone());
    let server = apiserver::Server::new(
        views.store().clone(),
        catalog.clone(),
        access,
        Arc::new(ViewServerEnv),
        Limits::default(),
    );
    server.extend(explanation::SUBRESOURCE, Arc::new(explainer));
    let (security, authority) = security(client, background, settings).await?;
    let limits = ConnectionLimits::default();
    let metrics = background.metrics().clone();
    let bound = Listener::bind(address, server.clone(), security, metrics, limits);
    let listener = bound.await;
    let listener = listener.map_err(|error| ServeError::Bind { address, error })?;
    let address = listener.address();
    let address = address.map_err(|error| ServeError::Bind {
        address: settings.address,
        error,
    })?;
    let aggregated = settings.front_proxy;
    let state = (views.views().served(), ServedViews::default(), catalog);
    background.spawn(
        Chore::ViewCatalog,
        state,
        move |(served, before, catalog)| Box::pin(follow(served, before, catalog, aggregated)),
    );
    let state = (server, leadership.clone());
    background.spawn(Chore::ViewLeader, state, |(server, leadership)| {
        Box::pin(serve_while_leading(server, leadership))
    });
    background.spawn(Chore::ViewListener, listener, |listener| {
        Box::pin(listener.run())
    });
    Ok(Served { address, authority })
}

/// How connections are secured, and the authority that was generated for that.
async fn security(
    client: &Client,
    background: &Background,
    settings: &Settings,
) -> Result<(Security, Option<String>), ServeError> {
    let (certificates, generated) = match &settings.transport {
        Transport::Insecure => {
            let user = User {
                name: "system:admin".to_owned(),
                groups: vec!["system:masters".to_owned()],
                ..User::default()
            };
            return Ok((Security::Insecure(user), None));
        }
        Transport::Files { certificate, key } => {
            (Certificates::from_files(certificate, key)?, None)
        }
        Transport::Generated { namespace, names } => {
            let authority = authority::authority(client, namespace).await?;
            let text = authority.certificate().to_owned();
            let mut all = serving::names_of(settings.address.ip());
            all.extend(names.iter().cloned());
            (Certificates::issued(authority, all)?, Some(text))
        }
    };
    let renewed = certificates.clone();
    background.spawn(Chore::Certificate, renewed, |renewed| {
        Box::pin(renewed.renew())
    });
    let authenticator = authenticator(client, background, settings.front_proxy).await;
    let security = Security::Tls {
        certificates,
        authenticator: Arc::new(authenticator),
    };
    Ok((security, generated))
}

async fn authenticator(
    client: &Client,
    background: &Background,
    front_proxy: bool,
) -> Authenticator {
    let authorities = ClientAuthorities::of_cluster(client.clone()).await;
    let authorities = authorities.unwrap_or_else(|error| {
        tracing::warn!(
            %error,
            "logins by certificate are not possible: the authorities of the cluster cannot be read"
        );
        ClientAuthorities::default()
    });
    if front_proxy && !authorities.has_front_proxy() {
        tracing::warn!(
            "views in the cluster's API: kube-apiserver publishes no authority of its front proxy \
             (--requestheader-client-ca-file), so that the requests that it forwards are refused"
        );
    }
    let (sender, receiver) = watch::channel(authorities);
    let state = (client.clone(), sender);
    background.spawn(Chore::ClientAuthorities, state, |(client, sender)| {
        Box::pin(refresh(client, sender))
    });
    Authenticator::new(client.clone(), receiver)
}

/// Reads the authorities of client certificates again and again: clusters rotate them.
async fn refresh(client: &Client, authorities: &watch::Sender<ClientAuthorities>) {
    loop {
        tokio::time::sleep(AUTHORITIES_PERIOD).await;
        if let Ok(new) = ClientAuthorities::of_cluster(client.clone()).await {
            authorities.send_replace(new);
        }
    }
}

/// Serves the views of the Operators that run; `before` are those that the catalog has.
async fn follow(
    served: &mut watch::Receiver<ServedViews>,
    before: &mut ServedViews,
    catalog: &Catalog,
    aggregated: bool,
) {
    loop {
        let now = served.borrow_and_update().clone();
        for group in before.keys().filter(|group| !now.contains_key(*group)) {
            catalog.set_group(group, []);
        }
        for (group, kinds) in &now {
            if before.get(group) != Some(kinds) {
                let views = kinds.iter().map(|(kind, shape)| Resource {
                    columns: shape.columns.clone(),
                    properties: shape.properties.clone(),
                    namespaced: !shape.cluster_scoped,
                    // Objects that a pipeline derives cannot be deleted, and would hold their
                    // namespace for ever.
                    collected: !aggregated,
                    ..Resource::view(kind.clone())
                });
                catalog.set_group(group, views);
            }
        }
        *before = now;
        if served.changed().await.is_err() {
            return;
        }
    }
}

/// Answers requests for objects only while this process leads: a replica's views may be behind.
async fn serve_while_leading(server: &apiserver::Server, leadership: &Leadership) {
    loop {
        if leadership.is_leader() {
            server.close(None);
        } else {
            let leader = leadership.leader();
            let leader = leader.as_deref().unwrap_or("not known yet");
            server.close(Some(format!(
                "this replica stands by; the leader is {leader}"
            )));
        }
        tokio::time::sleep(LEADER_PERIOD).await;
    }
}

/// The time and random numbers of a view server.
#[derive(Clone, Copy, Debug)]
pub struct ViewServerEnv;

impl apiserver::Env for ViewServerEnv {
    fn now(&self) -> i64 {
        Clock::now(&System).as_second()
    }

    fn random(&self) -> u64 {
        System.random()
    }
}
