//! Serves views to kubectl, on a port of deltic's own.
//!
//! The parts come from other crates: [`apiserver`] has the semantics of the API, [`serving`] the
//! connections, TLS and logins. This module puts them together: it serves the views of the
//! Operators that run, while this process leads.

use std::collections::BTreeMap;
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
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use serving::{Authenticator, Authority, Certificates, ClientAuthorities, ClusterAccess};
use serving::{ConnectionLimits, Listener, Security};
use tokio::sync::watch;

use crate::explain::{self, Explainer};

/// The Secret with the authority of generated certificates.
pub const SECRET: &str = "deltic-serving";
/// The keys of the Secret.
const AUTHORITY: &str = "ca.crt";
const AUTHORITY_KEY: &str = "ca.key";

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
    #[error(
        "the Secret {SECRET} in namespace {namespace} has no authority of deltic: {error}; delete it, and deltic generates another one"
    )]
    Stored {
        /// The namespace.
        namespace: String,
        /// What is wrong.
        #[source]
        error: serving::CertificateError,
    },
    /// The Secret of the authority cannot be used.
    #[error(
        "cannot use the Secret {SECRET} in namespace {namespace}: {error}; grant get and create on it, or give a certificate with --serve-cert-file and --serve-key-file"
    )]
    Secret {
        /// The namespace.
        namespace: String,
        /// Why.
        #[source]
        error: Box<kube::Error>,
    },
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
        Arc::new(Env),
        Limits::default(),
    );
    server.extend(explain::SUBRESOURCE, Arc::new(explainer));
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
            let authority = authority(client, namespace).await?;
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

/// The authority in the Secret, which is created if it does not exist.
async fn authority(client: &Client, namespace: &str) -> Result<Authority, ServeError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let failed = |error: kube::Error| ServeError::Secret {
        namespace: namespace.to_owned(),
        error: Box::new(error),
    };
    // A second attempt if another process creates it at the same time.
    for _ in 0..2 {
        if let Some(secret) = secrets.get_opt(SECRET).await.map_err(failed)? {
            return stored(&secret, namespace);
        }
        let authority = Authority::generate()?;
        match secrets
            .create(&PostParams::default(), &secret(&authority))
            .await
        {
            Ok(_) => return Ok(authority),
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(failed(error)),
        }
    }
    let secret = secrets.get(SECRET).await.map_err(failed)?;
    stored(&secret, namespace)
}

/// The certificate of the authority that a process has stored in this namespace.
pub async fn stored_authority(client: &Client, namespace: &str) -> Result<String, ServeError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let secret = secrets.get(SECRET).await;
    let secret = secret.map_err(|error| ServeError::Secret {
        namespace: namespace.to_owned(),
        error: Box::new(error),
    })?;
    Ok(stored(&secret, namespace)?.certificate().to_owned())
}

fn stored(secret: &Secret, namespace: &str) -> Result<Authority, ServeError> {
    let text = |key: &str| {
        let data = secret.data.as_ref().and_then(|data| data.get(key));
        let text = data.map(|ByteString(bytes)| String::from_utf8_lossy(bytes).into_owned());
        text.unwrap_or_default()
    };
    let authority = Authority::from_pem(text(AUTHORITY), text(AUTHORITY_KEY));
    authority.map_err(|error| ServeError::Stored {
        namespace: namespace.to_owned(),
        error,
    })
}

fn secret(authority: &Authority) -> Secret {
    let data = [
        (AUTHORITY, authority.certificate()),
        (AUTHORITY_KEY, authority.key()),
    ];
    let data = data.map(|(key, text)| (key.to_owned(), ByteString(text.as_bytes().to_vec())));
    Secret {
        metadata: ObjectMeta {
            name: Some(SECRET.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from(data)),
        ..Secret::default()
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
pub struct Env;

impl apiserver::Env for Env {
    fn now(&self) -> i64 {
        Clock::now(&System).as_second()
    }

    fn random(&self) -> u64 {
        System.random()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_secret_is_named() {
        let [one, other] = [(); 2].map(|()| Authority::generate().unwrap());
        assert!(stored(&secret(&one), "ns").is_ok());
        let mut mixed = secret(&one);
        let key = secret(&other).data.unwrap().remove(AUTHORITY_KEY).unwrap();
        mixed
            .data
            .get_or_insert_default()
            .insert(AUTHORITY_KEY.to_owned(), key);
        for damaged in [mixed, Secret::default()] {
            let error = stored(&damaged, "ns").unwrap_err().to_string();
            let expect = "the Secret deltic-serving in namespace ns has no authority of deltic: ";
            assert!(error.starts_with(expect), "{error}");
        }
    }
}
