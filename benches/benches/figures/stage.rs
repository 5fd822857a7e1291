//! The control plane on which the subjects take turns, and how they are started.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use cluster_tests::{Cluster, Installed, Options, Process, stop_deltic};
use kube::Client;

use crate::Error;
use crate::job;
use crate::peer::Subject;

/// Where sources and targets are.
pub(crate) const NAMESPACE: &str = "figures";
/// What the peers may do.
const RIGHTS: &str = r"
apiVersion: v1
kind: Namespace
metadata: { name: figures }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: peer }
rules:
- { apiGroups: [''], resources: [configmaps], verbs: ['*'] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: peer }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: peer }
subjects:
- { kind: ServiceAccount, namespace: figures, name: peer }
";

/// A control plane with deltic and a namespace.
pub(crate) struct Stage {
    installed: Installed,
    peer: PathBuf,
}

impl Stage {
    /// Starts a control plane and installs what the subjects need.
    pub(crate) fn new() -> Self {
        let options = Options {
            // Targets are removed after each run.
            api_server_flags: vec!["--delete-collection-workers=16".to_owned()],
            ..Options::default()
        };
        let mut installed = Installed::shipped(&options, &job::operator(NAMESPACE), RIGHTS);
        let peer = installed.cluster.service_account(NAMESPACE, "peer");
        let peer = peer.kubeconfig();
        // Nobody else works while somebody is measured.
        installed.cluster.kill_controller_manager();
        Self { installed, peer }
    }

    /// A client with all rights, and with connections of its own.
    pub(crate) fn client(&self) -> Result<Client, Error> {
        Ok(Client::try_from(self.cluster().admin().config())?)
    }

    fn cluster(&self) -> &Cluster {
        &self.installed.cluster
    }

    /// Starts a subject.
    pub(crate) fn start(&self, subject: Subject) -> Process {
        if subject == Subject::Deltic {
            return self.installed.deltic();
        }
        let this = std::env::current_exe().expect("this is a file");
        let mut command = Command::new(this);
        command.args(["--peer", subject.name()]);
        command.arg(&self.peer).arg(NAMESPACE);
        self.cluster().process(&mut command)
    }
}

impl Stage {
    /// Starts a deltic that takes part in an election, and waits until its log has this message.
    pub(crate) async fn replica(&self, message: &str) -> Process {
        let election = ["--leader-elect", "--lease-namespace", "deltic"];
        let process = self.installed.deltic_with(&election);
        while !process.log().contains(message) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        process
    }
}

/// Stops a subject.
pub(crate) fn stop(subject: Subject, mut process: Process) {
    match subject {
        Subject::Deltic => stop_deltic(process),
        Subject::Bare | Subject::Hand => process.kill(),
    }
}
