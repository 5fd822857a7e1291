//! deltic on a cluster, as a user sets it up: the definition, an account with the rights
//! that `deltic rbac` prints, the Operator, the process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::binaries::{deltic, deltic_release};
use crate::cluster::{Cluster, Options};
use crate::process::Process;

/// How long deltic may take to stop: longer than its grace period.
const GRACE: Duration = Duration::from_secs(40);

/// Runs `deltic` to its end and gives what it printed; panics if it fails.
pub fn run_deltic(args: &[&str]) -> String {
    run(&deltic(), args)
}

fn run(program: &Path, args: &[&str]) -> String {
    let output = Command::new(program)
        .args(args)
        .output()
        .expect("deltic starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "deltic {args:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// Asks deltic to stop, which it does without an error.
pub fn stop_deltic(mut process: Process) {
    process.terminate();
    let status = process.wait(GRACE);
    assert!(status.success(), "{status}: {}", process.log_end());
}

/// A cluster of its own with deltic's definition, an Operator, and an account
/// `deltic/deltic` that has the rights that the Operator needs and no others.
#[derive(Debug)]
pub struct Installed {
    /// Where it is installed.
    pub cluster: Cluster,
    kubeconfig: PathBuf,
    program: PathBuf,
}

impl Installed {
    /// Installs an operator, after the manifests that it needs (or `""`).
    pub fn new(operator: &str, needed: &str) -> Self {
        let options = Options {
            audit: true,
            ..Options::default()
        };
        Self::with(&options, operator, needed)
    }

    /// As [`Installed::new`], on a cluster with other options.
    pub fn with(options: &Options, operator: &str, needed: &str) -> Self {
        Self::of(deltic(), options, operator, needed)
    }

    /// As [`Installed::with`], with deltic as it is shipped: for measurements.
    pub fn shipped(options: &Options, operator: &str, needed: &str) -> Self {
        Self::of(deltic_release(), options, operator, needed)
    }

    fn of(program: PathBuf, options: &Options, operator: &str, needed: &str) -> Self {
        let cluster = Cluster::start(options);
        cluster.apply(&run(&program, &["crd"]));
        cluster.kubectl(&[
            "wait",
            "--for=condition=Established",
            "--timeout=60s",
            "crd/operators.dcontroller.io",
        ]);
        if !needed.is_empty() {
            cluster.apply(needed);
        }
        cluster.kubectl(&["create", "namespace", "deltic"]);
        let kubeconfig = cluster.service_account("deltic", "deltic").kubeconfig();
        let installed = Self {
            cluster,
            kubeconfig,
            program,
        };
        installed.install(operator);
        installed
    }

    /// Installs an operator, or the next version of it, with the rights that it needs.
    /// Those of the version before are taken away.
    pub fn install(&self, operator: &str) {
        let file = self.operator_file();
        std::fs::write(&file, operator).expect("the test's directory can be written");
        let account = ["--service-account", "deltic/deltic"];
        let args = ["rbac", "-f", text(&file), account[0], account[1]];
        let rights = run(&self.program, &args);
        self.cluster.apply(&rights);
        self.cluster.apply(operator);
    }

    /// Starts `deltic run --cluster` as its account.
    pub fn deltic(&self) -> Process {
        self.deltic_with(&[])
    }

    /// As [`Installed::deltic`], with more flags.
    pub fn deltic_with(&self, flags: &[&str]) -> Process {
        self.cluster
            .process(&mut self.command(&self.kubeconfig, flags))
    }

    /// The command that [`Installed::deltic_with`] starts, with another kubeconfig, such
    /// as that of a way that can be cut.
    pub fn command(&self, kubeconfig: &Path, flags: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["run", "--cluster", "--health-addr", "127.0.0.1:0"]);
        command.arg("--kubeconfig").arg(kubeconfig).args(flags);
        command
    }

    /// The kubeconfig file of deltic's account.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The file of the operator, as it was installed last.
    pub fn operator_file(&self) -> PathBuf {
        self.cluster.directory().join("operator.yaml")
    }
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("the test's paths are text")
}
