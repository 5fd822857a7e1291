//! The peers, each in a process of its own: this executable as `--peer NAME KUBECONFIG
//! NAMESPACE`. They run until they are killed.

mod bare;
mod hand;

use std::path::Path;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};

use crate::Error;

/// Who is measured, in the order of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// `deltic run --cluster`.
    Deltic,
    /// A client that only lists, watches and writes: the limit.
    Bare,
    /// A controller on kube-rs, written by hand.
    Hand,
}

impl Subject {
    pub(crate) const ALL: [Self; 3] = [Self::Deltic, Self::Bare, Self::Hand];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Deltic => "deltic",
            Self::Bare => "bare",
            Self::Hand => "hand",
        }
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|subject| subject.name() == name)
    }
}

/// Is a peer, until the process is killed.
pub(crate) fn run(name: &str, kubeconfig: &Path, namespace: &str) -> Result<(), Error> {
    let threads = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    threads.block_on(async {
        let configs: Api<ConfigMap> = Api::namespaced(client(kubeconfig).await?, namespace);
        match Subject::by_name(name) {
            Some(Subject::Bare) => bare::run(configs).await,
            Some(Subject::Hand) => hand::run(configs).await,
            Some(Subject::Deltic) | None => Err(Error::Subject(name.to_owned())),
        }
    })
}

async fn client(kubeconfig: &Path) -> Result<Client, Error> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).map_err(Error::peer)?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    Client::try_from(config.map_err(Error::peer)?).map_err(Error::peer)
}
