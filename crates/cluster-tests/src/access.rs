//! Who talks to the cluster, and over which way.

use std::path::PathBuf;

use crate::cluster::Cluster;
use crate::proxy::Proxy;

/// An identity on a cluster, and an address to reach it at.
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

    /// The same identity, by way of a proxy.
    #[must_use]
    pub fn through(&self, proxy: &Proxy) -> Self {
        Self {
            name: format!("{}-{}", self.name, proxy.port()),
            server: format!("https://127.0.0.1:{}", proxy.port()),
            ..self.clone()
        }
    }

    /// A kubeconfig file, for a process; its path.
    pub fn kubeconfig(&self) -> PathBuf {
        let plane = self.cluster.plane();
        plane.write_kubeconfig(&self.name, &self.server, &self.token)
    }

    /// The configuration of a client, to be changed before use.
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

impl Cluster {
    /// Access as a `ServiceAccount`, which is made if it is not there. It has no rights
    /// but those that a test grants.
    pub fn service_account(&self, namespace: &str, name: &str) -> Access<'_> {
        let get = ["get", "-n", namespace, "serviceaccount", name];
        if self.try_kubectl(&get, "").is_err() {
            self.kubectl(&["create", "-n", namespace, "serviceaccount", name]);
        }
        let token = self.kubectl(&["create", "-n", namespace, "token", name, "--duration=24h"]);
        Access::new(self, format!("{namespace}.{name}"), token.trim().to_owned())
    }
}
