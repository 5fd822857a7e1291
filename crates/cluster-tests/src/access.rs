//! Access to a cluster: an identity and an address.

use std::path::PathBuf;

use crate::cluster::Cluster;
use crate::proxy::Proxy;

/// An identity on a cluster, and the address of the server or of a proxy.
#[derive(Clone, Debug)]
pub struct Access<'a> {
    cluster: &'a Cluster,
    name: String,
    server: String,
    token: String,
}

impl<'a> Access<'a> {
    pub(crate) fn new(cluster: &'a Cluster, name: impl Into<String>, token: String) -> Self {
        Self {
            cluster,
            name: name.into(),
            server: cluster.plane().server(),
            token,
        }
    }

    /// The same identity through a proxy.
    #[must_use]
    pub fn through(&self, proxy: &Proxy) -> Self {
        Self {
            name: format!("{}-{}", self.name, proxy.port()),
            server: format!("https://127.0.0.1:{}", proxy.port()),
            ..self.clone()
        }
    }

    /// Writes a kubeconfig file for a process. Returns its path.
    pub fn kubeconfig(&self) -> PathBuf {
        let plane = self.cluster.plane();
        plane.write_kubeconfig(&self.name, &self.server, &self.token)
    }

    /// The configuration of a client.
    pub fn config(&self) -> kube::Config {
        let uri = self.server.parse().expect("an address is a URI");
        let mut config = kube::Config::new(uri);
        config.root_cert = Some(vec![self.cluster.plane().authority.clone()]);
        config.auth_info.token = Some(self.token.clone().into());
        config
    }

    /// A client. It belongs to the runtime of this test.
    pub fn client(&self) -> kube::Client {
        kube::Client::try_from(self.config()).expect("the configuration is complete")
    }
}

/// A client certificate and its key, as PEM.
#[derive(Clone, Debug)]
pub struct ClientCertificate {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

impl Cluster {
    /// A certificate of a user of the cluster, in this group.
    pub fn user_certificate(&self, name: &str, group: Option<&str>) -> ClientCertificate {
        let (certificate, key) = self.plane().users.issue(name, group);
        ClientCertificate { certificate, key }
    }

    /// A certificate like that with which the API server forwards requests, with this name; the
    /// API server's own is `front-proxy-client`.
    pub fn proxy_certificate(&self, name: &str) -> ClientCertificate {
        let (certificate, key) = self.plane().proxies.issue(name, None);
        ClientCertificate { certificate, key }
    }

    /// Access as a `ServiceAccount`, which is created if it is missing. It has only the permissions
    /// that a test grants.
    pub fn service_account(&self, namespace: &str, name: &str) -> Access<'_> {
        let get = ["get", "-n", namespace, "serviceaccount", name];
        if self.try_kubectl(&get, "").is_err() {
            self.kubectl(&["create", "-n", namespace, "serviceaccount", name]);
        }
        let token = self.kubectl(&["create", "-n", namespace, "token", name, "--duration=24h"]);
        Access::new(self, format!("{namespace}.{name}"), token.trim().to_owned())
    }
}
