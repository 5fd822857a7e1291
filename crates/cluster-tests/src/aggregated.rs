//! deltic with views in the cluster's own API.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

use serde_json::json;

use crate::cluster::Cluster;
use crate::installed::Installed;
use crate::process::Process;
use crate::view_operators::operator_with_view;
use crate::wait::await_some;

/// An installation of deltic whose views are part of the cluster's API: the Service is another name
/// of this machine.
#[derive(Debug)]
pub struct Aggregated {
    /// The installation.
    pub installed: Installed,
    /// The port at which deltic serves views.
    pub port: u16,
    /// The first Operator.
    operator: String,
}

impl Aggregated {
    /// A new control plane whose Operator `served` has the view `Entry`.
    pub fn new() -> Self {
        Self::with(&operator_with_view("served"))
    }

    /// A new control plane with this Operator and deltic's account, which has exactly the permissions
    /// that it needs.
    pub fn with(operator: &str) -> Self {
        let installed = Installed::new(operator, "");
        let port = free_port();
        installed.cluster.apply(
            &json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": {"name": "deltic-views", "namespace": "deltic"},
                "spec": {"type": "ExternalName", "externalName": "localhost"}
            })
            .to_string(),
        );
        let operator = operator.to_owned();
        let this = Self {
            installed,
            port,
            operator,
        };
        this.install(&this.operator);
        this
    }

    /// Installs an Operator with the permissions that its views need, and no others.
    pub fn install(&self, operator: &str) {
        let flags = ["--aggregate", "--aggregate-service", "deltic/deltic-views"];
        let rights = self.installed.rights(operator, &flags);
        self.installed.cluster.apply(&rights);
        self.installed.cluster.apply(operator);
    }

    /// Starts deltic as its account, with further flags.
    pub fn start(&self, more: &[&str]) -> Process {
        self.start_at(self.port, more)
    }

    /// As [`Aggregated::start`], at another port: a further replica.
    pub fn start_at(&self, port: u16, more: &[&str]) -> Process {
        let service = format!("deltic/deltic-views:{port}");
        let address = format!("127.0.0.1:{port}");
        let flags = [
            ["--lease-namespace", "deltic"],
            ["--aggregate-service", &service],
            ["--serve-addr", &address],
        ];
        let mut flags = flags.concat();
        flags.push("--aggregate");
        flags.extend(more);
        self.installed.deltic_with(&flags)
    }

    /// The control plane.
    pub fn cluster(&self) -> &Cluster {
        &self.installed.cluster
    }

    /// Waits until the administrator sees this many objects.
    pub fn await_entries(&self, count: usize) {
        await_some("the view is part of the cluster's API", || {
            let names = ["get", "entry", "-A", "-o", "name"];
            let names = self.cluster().try_kubectl(&names, "").ok()?;
            (names.lines().count() == count).then_some(())
        });
    }

    /// Whether an `APIService` exists.
    pub fn registered(&self, name: &str) -> bool {
        self.cluster().try_kubectl(&["get", name], "").is_ok()
    }

    /// Gives deltic the permissions for the logins on its own port.
    pub fn allow_own_port(&self) {
        let flags = ["--serve", "--aggregate"];
        let rights = self.installed.rights(&self.operator, &flags);
        self.cluster().apply(&rights);
    }

    /// A kubeconfig for deltic's own port, as the administrator.
    pub fn own_kubeconfig(&self) -> PathBuf {
        let server = format!("https://127.0.0.1:{}", self.port);
        self.installed.views_kubeconfig(&server)
    }
}

/// A port that nobody listens at.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("the system gives a port");
    let address = listener.local_addr();
    address.expect("a listener has an address").port()
}

impl Default for Aggregated {
    fn default() -> Self {
        Self::new()
    }
}
