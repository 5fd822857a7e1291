//! The servers that are compared, on one control plane.

use std::path::PathBuf;

use cluster_tests::{
    Installed, Options, Served, TWIN, VIEWS, await_some, health_operator, health_twin, stop_deltic,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::Error;

/// Who is measured, in the order of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// kube-apiserver and etcd.
    Cluster,
    /// deltic, on a port of its own.
    Deltic,
}

impl Subject {
    pub(crate) const ALL: [Self; 2] = [Self::Cluster, Self::Deltic];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cluster => "kube-apiserver + etcd",
            Self::Deltic => "deltic",
        }
    }

    pub(crate) fn group(self) -> &'static str {
        match self {
            Self::Cluster => TWIN,
            Self::Deltic => VIEWS,
        }
    }
}

/// A control plane with deltic.
pub(crate) struct Stage {
    served: Served,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let (operator, twin) = (health_operator(), health_twin());
        let installed = Installed::shipped(&Options::default(), &operator, &twin);
        let served = Served::on(installed, &operator);
        let stage = Self { served };
        for subject in Subject::ALL {
            let path = format!("/apis/{}/v1alpha1/health", subject.group());
            let kubeconfig = stage.kubeconfig(subject);
            let cluster = &stage.served.installed.cluster;
            await_some("the resource is served", || {
                let get = ["get", "--raw", &path];
                cluster.kubectl_of(&kubeconfig, &get, "").ok()
            });
        }
        stage
    }

    fn kubeconfig(&self, subject: Subject) -> PathBuf {
        match subject {
            Subject::Cluster => self.served.installed.cluster.kubeconfig(),
            Subject::Deltic => self.served.kubeconfig(),
        }
    }

    /// A client with connections of its own.
    pub(crate) async fn client(&self, subject: Subject) -> Result<Client, Error> {
        let unusable = |error: kube::config::KubeconfigError| Error::Unexpected(error.to_string());
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig(subject)).map_err(unusable)?;
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let mut config = config.map_err(unusable)?;
        // A list of everything takes long on a slow server, and a watch has no end.
        config.read_timeout = None;
        Ok(Client::try_from(config)?)
    }

    /// The resident memory of the subject's processes, in MB.
    pub(crate) fn memory(&self, subject: Subject) -> f64 {
        let bytes = match subject {
            Subject::Cluster => self.served.installed.cluster.resident_memory(),
            Subject::Deltic => self.served.process.resident_memory(),
        };
        bytes as f64 / 1e6
    }

    pub(crate) fn stop(self) {
        stop_deltic(self.served.process);
    }
}
