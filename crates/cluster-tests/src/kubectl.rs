//! kubectl, an independent client that shares no code with deltic.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::binaries::Binaries;
use crate::cluster::Cluster;

/// The failure of a kubectl command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Its output on stderr.
    pub stderr: String,
}

/// kubectl as an administrator of one cluster.
#[derive(Clone, Debug)]
pub(crate) struct Kubectl {
    kubeconfig: PathBuf,
    cache: PathBuf,
}

impl Kubectl {
    /// Runs kubectl with this input and returns its output.
    pub(crate) fn run(&self, args: &[&str], input: &str) -> Result<String, Failed> {
        let mut child = Command::new(Binaries::get().path("kubectl"))
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .arg("--cache-dir")
            .arg(&self.cache)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl starts");
        let mut stdin = child.stdin.take().expect("its input is a pipe");
        let input = input.to_owned();
        // Input is written while output is read, so that neither side blocks on a full pipe. A
        // kubectl that reads no input closes it, which is no error.
        let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
        let output = child.wait_with_output().expect("kubectl ends");
        let _ = writer.join();
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(Failed { stderr })
    }
}

impl Cluster {
    /// A kubectl that does not borrow the cluster.
    pub(crate) fn kubectl_program(&self) -> Kubectl {
        Kubectl {
            kubeconfig: self.kubeconfig(),
            cache: self.directory().join("kubectl-cache"),
        }
    }

    /// Runs kubectl and returns its output; panics if it fails.
    pub fn kubectl(&self, args: &[&str]) -> String {
        self.try_kubectl(args, "")
            .unwrap_or_else(|failed| panic!("kubectl {}: {}", args.join(" "), failed.stderr))
    }

    /// Runs kubectl with this input and returns its output.
    pub fn try_kubectl(&self, args: &[&str], input: &str) -> Result<String, Failed> {
        self.kubectl_program().run(args, input)
    }

    /// Runs kubectl with another kubeconfig.
    pub fn kubectl_of(
        &self,
        kubeconfig: &Path,
        args: &[&str],
        input: &str,
    ) -> Result<String, Failed> {
        let name = kubeconfig.file_stem().unwrap_or_default();
        let kubectl = Kubectl {
            kubeconfig: kubeconfig.to_owned(),
            cache: self.directory().join("kubectl-cache-of").join(name),
        };
        kubectl.run(args, input)
    }

    /// Applies manifests, YAML or JSON, server-side; panics if one is refused.
    pub fn apply(&self, manifests: &str) -> String {
        // `--force-conflicts`: the test takes over all fields.
        let args = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
        self.try_kubectl(&args, manifests)
            .unwrap_or_else(|failed| panic!("kubectl apply: {}", failed.stderr))
    }

    /// The output of `kubectl get … -o json`, with managed fields.
    pub fn get(&self, args: &[&str]) -> Value {
        let mut all = vec!["get", "-o", "json", "--show-managed-fields"];
        all.extend(args);
        let text = self.kubectl(&all);
        serde_json::from_str(&text).expect("kubectl prints JSON")
    }
}
