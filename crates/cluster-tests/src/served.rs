//! A deltic that serves its views on a port of its own.

use std::path::PathBuf;

use serde_json::Value;

use crate::installed::Installed;
use crate::process::Process;
use crate::wait::await_some;

/// A deltic that serves views, on a cluster of its own.
#[derive(Debug)]
pub struct Served {
    /// Its cluster.
    pub installed: Installed,
    /// The process.
    pub process: Process,
    /// The URL of the views.
    pub server: String,
}

impl Served {
    /// Starts deltic with this Operator, after the manifests that it needs (or `""`).
    pub fn start(operator: &str, needed: &str) -> Self {
        Self::on(Installed::new(operator, needed), operator)
    }

    /// Starts deltic on a cluster where it is installed, with exactly the permissions that it needs
    /// to serve the views of an Operator.
    pub fn on(installed: Installed, operator: &str) -> Self {
        let rights = installed.rights(operator, &["--serve"]);
        installed.cluster.apply(&rights);
        let flags = ["--serve-addr", "127.0.0.1:0", "--lease-namespace", "deltic"];
        let process = installed.deltic_with(&flags);
        let server = await_some("views are served", || {
            let log = process.log();
            let line = log.lines().find(|line| line.contains("serving views"))?;
            let line: Value = serde_json::from_str(line).ok()?;
            Some(format!("https://{}", line["address"].as_str()?))
        });
        Self {
            installed,
            process,
            server,
        }
    }

    /// A kubeconfig for the views, as the administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.installed.views_kubeconfig(&self.server)
    }

    /// Writes a file into the directory of the cluster. Returns its path.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.installed.cluster.directory().join(name);
        std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }
}
