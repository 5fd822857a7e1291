//! deltic with views in the cluster's own API.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

use serde_json::json;

use crate::cluster::Cluster;
use crate::installed::{Installed, run_deltic, text};
use crate::process::Process;
use crate::wait::await_some;

/// An Operator that puts config maps with the label `role: source` into the view `Entry`, in their
/// namespace or in that of their field `into`.
pub fn operator_with_view(name: &str) -> String {
    json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": name},
        "spec": {"controllers": [{
            "name": "c",
            "sources": [{
                "apiGroup": "", "kind": "ConfigMap",
                "labelSelector": {"matchLabels": {"role": "source"}}
            }],
            "pipeline": [{"@project": {
                "metadata": {"name": "$.metadata.name", "namespace": {
                    "@definedOr": ["$.data.into", "$.metadata.namespace"]
                }},
                "k": "$.data.k"
            }}],
            "target": {"kind": "Entry"}
        }]}
    })
    .to_string()
}

/// An installation of deltic whose views are part of the cluster's API: the Service is another name
/// of this machine. Its Operator `served` has the view `Entry`.
#[derive(Debug)]
pub struct Aggregated {
    /// The installation.
    pub installed: Installed,
    /// The port at which deltic serves views.
    pub port: u16,
}

impl Aggregated {
    /// A new control plane with deltic's account, which has exactly the permissions that it needs.
    pub fn new() -> Self {
        let installed = Installed::new(&operator_with_view("served"), "");
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("the system gives a port");
        let port = listener
            .local_addr()
            .expect("the system gives a port")
            .port();
        drop(listener);
        installed.cluster.apply(
            &json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": {"name": "deltic-views", "namespace": "deltic"},
                "spec": {"type": "ExternalName", "externalName": "localhost"}
            })
            .to_string(),
        );
        let this = Self { installed, port };
        this.install("served");
        this
    }

    /// Installs an Operator with the permissions that its views need, and no others.
    pub fn install(&self, name: &str) {
        let operator = operator_with_view(name);
        let flags = ["--aggregate", "--aggregate-service", "deltic/deltic-views"];
        let rights = self.installed.rights(&operator, &flags);
        self.installed.cluster.apply(&rights);
        self.installed.cluster.apply(&operator);
    }

    /// Starts deltic as its account, with further flags.
    pub fn start(&self, more: &[&str]) -> Process {
        let service = format!("deltic/deltic-views:{}", self.port);
        let address = format!("127.0.0.1:{}", self.port);
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

    /// Creates or changes the source of an entry.
    pub fn source(&self, namespace: &str, name: &str, value: &str) {
        let source = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": value},
            "metadata": {"name": name, "namespace": namespace, "labels": {"role": "source"}}
        });
        self.cluster().apply(&source.to_string());
    }

    /// Creates the source of an entry in another namespace.
    pub fn source_into(&self, namespace: &str, name: &str, into: &str) {
        let source = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "x", "into": into},
            "metadata": {"name": name, "namespace": namespace, "labels": {"role": "source"}}
        });
        self.cluster().apply(&source.to_string());
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
        let rights = self.installed.rights(&operator_with_view("served"), &flags);
        self.cluster().apply(&rights);
    }

    /// A kubeconfig for deltic's own port, as the administrator.
    pub fn own_kubeconfig(&self) -> PathBuf {
        let admin = self.cluster().kubeconfig();
        let server = format!("https://127.0.0.1:{}", self.port);
        let args = [
            ["--server", &server],
            ["--kubeconfig", text(&admin)],
            ["--lease-namespace", "deltic"],
        ];
        let kubeconfig = run_deltic(&[&["kubeconfig"][..], &args.concat()].concat());
        let file = self.cluster().directory().join("own-port.yaml");
        std::fs::write(&file, kubeconfig).expect("the test's directory can be written");
        file
    }
}

impl Default for Aggregated {
    fn default() -> Self {
        Self::new()
    }
}
