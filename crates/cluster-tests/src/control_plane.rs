//! The files and the command lines of the servers.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::binaries::Binaries;
use crate::certificates::{Certificates, ClientAuthority, FRONT_PROXY};
use crate::cluster::Options;

/// Logs writes when they are answered, and no reads.
const AUDIT_POLICY: &str = r#"{
  "apiVersion": "audit.k8s.io/v1",
  "kind": "Policy",
  "omitStages": ["RequestReceived"],
  "rules": [
    {"level": "Metadata", "verbs": ["create", "update", "patch", "delete", "deletecollection"]},
    {"level": "None"}
  ]
}"#;

/// The files and ports of a control plane.
#[derive(Debug)]
pub(crate) struct ControlPlane {
    pub(crate) directory: PathBuf,
    pub(crate) options: Options,
    pub(crate) etcd_port: u16,
    peer_port: u16,
    pub(crate) port: u16,
    /// The CA certificate as DER.
    pub(crate) authority: Vec<u8>,
    pub(crate) admin_token: String,
    /// Issues the certificates of users.
    pub(crate) users: ClientAuthority,
    /// Issues the certificate with which the API server forwards requests.
    pub(crate) proxies: ClientAuthority,
}

impl ControlPlane {
    /// Chooses ports and writes the files.
    pub(crate) fn new(directory: &Path, options: Options) -> Self {
        let certificates = Certificates::new();
        let (admin_token, manager_token) = (random(), random());
        // All at once, because the system may return a port again that was just closed.
        let listeners = [(); 3].map(|()| {
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("the system gives a port")
        });
        let [etcd_port, peer_port, port] = listeners.map(|listener| {
            let address = listener.local_addr();
            address.expect("a listener has an address").port()
        });
        let this = Self {
            directory: directory.to_owned(),
            options,
            etcd_port,
            peer_port,
            port,
            authority: certificates.authority_der,
            admin_token,
            users: certificates.users,
            proxies: certificates.proxies,
        };
        // Both are cluster administrators; their names differ in the audit log.
        let tokens = format!(
            "{},admin,admin,system:masters\n{manager_token},system:kube-controller-manager,manager,system:masters\n",
            this.admin_token
        );
        this.write("tokens.csv", &tokens);
        this.write("ca.crt", &certificates.authority);
        this.write("server.crt", &certificates.server);
        this.write("server.key", &certificates.server_key);
        this.write("users-ca.crt", &this.users.certificate());
        this.write("proxies-ca.crt", &this.proxies.certificate());
        let (certificate, key) = this.proxies.issue(FRONT_PROXY, None);
        this.write("proxy.crt", &certificate);
        this.write("proxy.key", &key);
        this.write("accounts.key", &certificates.account_key);
        this.write("accounts.pub", &certificates.account_public_key);
        this.write("audit-policy.json", AUDIT_POLICY);
        this.write_kubeconfig("admin", &this.server(), &this.admin_token);
        this.write_kubeconfig("manager", &this.server(), &manager_token);
        this
    }

    /// The address of the API server.
    pub(crate) fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Writes a kubeconfig file. Returns its path.
    pub(crate) fn write_kubeconfig(&self, name: &str, server: &str, token: &str) -> PathBuf {
        let name = format!("{name}.kubeconfig");
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "clusters": [{
                "name": "test",
                "cluster": {"server": server, "certificate-authority": self.file("ca.crt")}
            }],
            "users": [{"name": "test", "user": {"token": token}}]
        });
        self.write(&name, &config.to_string());
        self.file(&name)
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.file(name);
        std::fs::write(&path, content)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    pub(crate) fn etcd(&self) -> Command {
        let client = format!("http://127.0.0.1:{}", self.etcd_port);
        let peer = format!("http://127.0.0.1:{}", self.peer_port);
        let mut command = Command::new(Binaries::get().path("etcd"));
        command
            .arg(flag("data-dir", self.file("etcd").display()))
            .arg(flag("listen-client-urls", &client))
            .arg(flag("advertise-client-urls", &client))
            .arg(flag("listen-peer-urls", &peer))
            .arg(flag("initial-advertise-peer-urls", &peer))
            .arg(flag("initial-cluster", format!("default={peer}")))
            .arg(flag("log-level", "warn"))
            // The data need not survive a crash of the machine.
            .arg("--unsafe-no-fsync");
        command
    }

    pub(crate) fn api_server(&self) -> Command {
        let file = |name: &str| self.file(name).display().to_string();
        let etcd = format!("http://127.0.0.1:{}", self.etcd_port);
        let mut command = Command::new(Binaries::get().path("kube-apiserver"));
        command
            .arg(flag("etcd-servers", etcd))
            .arg(flag("bind-address", "127.0.0.1"))
            .arg(flag("secure-port", self.port))
            .arg(flag("tls-cert-file", file("server.crt")))
            .arg(flag("tls-private-key-file", file("server.key")))
            .arg(flag("token-auth-file", file("tokens.csv")))
            .arg(flag("client-ca-file", file("users-ca.crt")))
            .args(self.front_proxy())
            .arg(flag("authorization-mode", "RBAC"))
            .arg(flag(
                "service-account-issuer",
                "https://kubernetes.default.svc",
            ))
            .arg(flag("service-account-key-file", file("accounts.pub")))
            .arg(flag(
                "service-account-signing-key-file",
                file("accounts.key"),
            ))
            .arg(flag("service-cluster-ip-range", "10.96.0.0/16"))
            // Its endpoints would have a loopback address, which the API refuses.
            .arg(flag("endpoint-reconciler-type", "none"));
        if self.options.audit {
            command
                .arg(flag("audit-policy-file", file("audit-policy.json")))
                .arg(flag("audit-log-path", file("audit.log")))
                // In megabytes: large enough that the log is never rotated.
                .arg(flag("audit-log-maxsize", 2000));
        }
        command.args(&self.options.api_server_flags);
        command
    }

    /// How the API server forwards requests to others.
    fn front_proxy(&self) -> [String; 7] {
        let file = |name: &str| self.file(name).display().to_string();
        [
            flag("proxy-client-cert-file", file("proxy.crt")),
            flag("proxy-client-key-file", file("proxy.key")),
            flag("requestheader-client-ca-file", file("proxies-ca.crt")),
            flag("requestheader-allowed-names", FRONT_PROXY),
            flag("requestheader-username-headers", "X-Remote-User"),
            flag("requestheader-group-headers", "X-Remote-Group"),
            flag("requestheader-extra-headers-prefix", "X-Remote-Extra-"),
        ]
    }

    pub(crate) fn controller_manager(&self) -> Command {
        let file = |name: &str| self.file(name).display().to_string();
        let mut command = Command::new(Binaries::get().path("kube-controller-manager"));
        command
            .arg(flag("kubeconfig", file("manager.kubeconfig")))
            .arg(flag(
                "service-account-private-key-file",
                file("accounts.key"),
            ))
            .arg(flag("root-ca-file", file("ca.crt")))
            .arg(flag("leader-elect", false))
            .arg(flag("secure-port", 0))
            // Without kubelets, nodes and their pods would soon be deleted.
            .arg(flag(
                "controllers",
                "*,-node-lifecycle-controller,-taint-eviction-controller",
            ))
            .arg(flag("kube-api-qps", 500))
            .arg(flag("kube-api-burst", 1000));
        command
    }
}

fn flag(name: &str, value: impl std::fmt::Display) -> String {
    format!("--{name}={value}")
}

/// A random token.
fn random() -> String {
    let word = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", word(), word())
}
