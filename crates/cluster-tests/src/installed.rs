//! deltic on a cluster, set up as by a user: the definition, an account with the roles that
//! `deltic rbac` prints, the Operator, the process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::binaries::{deltic, deltic_release};
use crate::cluster::{Cluster, Options};
use crate::http;
use crate::process::Process;
use crate::proxy::Proxy;

/// The user of deltic's requests in the audit log.
pub const DELTIC: &str = "system:serviceaccount:deltic:deltic";

/// How long deltic may take to stop: longer than its grace period.
const GRACE: Duration = Duration::from_secs(40);

/// Runs `deltic` to its end and returns its output; panics if it fails.
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

/// Stops deltic and checks that it ends without an error.
pub fn stop_deltic(mut process: Process) {
    process.terminate();
    let status = process.wait(GRACE);
    assert!(status.success(), "{status}: {}", process.log_end());
}

/// A separate cluster with the definition of Operators, an Operator, and an account `deltic/deltic`
/// that has exactly the permissions that the Operator needs.
#[derive(Debug)]
pub struct Installed {
    /// The cluster.
    pub cluster: Cluster,
    kubeconfig: PathBuf,
    program: PathBuf,
}

impl Installed {
    /// Installs an Operator, after the manifests that it needs (or `""`).
    pub fn new(operator: &str, needed: &str) -> Self {
        let options = Options {
            audit: true,
            ..Options::default()
        };
        Self::with(&options, operator, needed)
    }

    /// As [`Installed::new`], on a cluster with other options.
    pub fn with(options: &Options, operator: &str, needed: &str) -> Self {
        let installed = Self::bare(deltic(), options, needed);
        installed.install(operator);
        installed
    }

    /// An installation that the tests of a binary share, one after the other. It starts without
    /// Operators and permissions, and its cluster checks who may change owners of objects.
    pub fn shared() -> MutexGuard<'static, Self> {
        static SHARED: OnceLock<Mutex<Installed>> = OnceLock::new();
        let owners = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement";
        let options = Options {
            audit: true,
            api_server_flags: vec![owners.to_owned()],
        };
        let shared = SHARED.get_or_init(|| Mutex::new(Self::bare(deltic(), &options, "")));
        // A failed test leaves nothing behind that a successful one would not.
        let shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.reset();
        shared
    }

    /// Removes all Operators and all roles that were installed.
    fn reset(&self) {
        // All with one command, because a test may leave many.
        let all = ["delete", "operators", "--all", "--wait=false"];
        self.cluster.kubectl(&all);
        let patch = r#"{"metadata":{"finalizers":null}}"#;
        let left = self.cluster.kubectl(&["get", "operators", "-o", "name"]);
        for operator in left.lines() {
            let free = ["patch", operator, "--type=merge", "-p", patch];
            // It may be gone by now.
            let _ = self.cluster.try_kubectl(&free, "");
        }
        let label = "app.kubernetes.io/name=deltic";
        let rights = "clusterroles,clusterrolebindings,roles,rolebindings";
        let delete = ["delete", rights, "-A", "-l", label, "--wait=false"];
        self.cluster.kubectl(&delete);
    }

    /// As [`Installed::with`], with the release build of deltic, for measurements.
    pub fn shipped(options: &Options, operator: &str, needed: &str) -> Self {
        let installed = Self::bare(deltic_release(), options, needed);
        installed.install(operator);
        installed
    }

    fn bare(program: PathBuf, options: &Options, needed: &str) -> Self {
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
        Self {
            cluster,
            kubeconfig,
            program,
        }
    }

    /// Installs an Operator, or a new version of it, with the permissions that it needs. Those of
    /// the previous version are removed.
    pub fn install(&self, operator: &str) {
        self.cluster.apply(&self.rights(operator, &[]));
        self.cluster.apply(operator);
    }

    /// The roles that an Operator needs, as `deltic rbac` prints them with these flags. The
    /// Operator is written to [`Installed::operator_file`].
    pub fn rights(&self, operator: &str, flags: &[&str]) -> String {
        let file = self.operator_file();
        std::fs::write(&file, operator).expect("the test's directory can be written");
        let mut args = vec!["rbac", "-f", text(&file)];
        args.extend(["--service-account", "deltic/deltic"]);
        args.extend(flags);
        run(&self.program, &args)
    }

    /// Runs `deltic` to its end and returns its output; panics if it fails.
    pub fn run(&self, args: &[&str]) -> String {
        run(&self.program, args)
    }

    /// Writes a kubeconfig for the views that deltic serves at this URL, as the administrator.
    /// Returns its path.
    pub fn views_kubeconfig(&self, server: &str) -> PathBuf {
        let admin = self.cluster.kubeconfig();
        let args = [
            ["--server", server],
            ["--kubeconfig", text(&admin)],
            ["--lease-namespace", "deltic"],
        ];
        let kubeconfig = self.run(&[&["kubeconfig"][..], &args.concat()].concat());
        let file = self.cluster.directory().join("views-admin.yaml");
        std::fs::write(&file, kubeconfig).expect("the test's directory can be written");
        file
    }

    /// Starts `deltic run --cluster` as its account.
    pub fn deltic(&self) -> Process {
        self.deltic_with(&[])
    }

    /// As [`Installed::deltic`], with further flags.
    pub fn deltic_with(&self, flags: &[&str]) -> Process {
        self.cluster
            .process(&mut self.command(&self.kubeconfig, flags))
    }

    /// The command that [`Installed::deltic_with`] starts, with another kubeconfig, such as that of
    /// a proxy.
    pub fn command(&self, kubeconfig: &Path, flags: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["run", "--cluster", "--health-addr", "127.0.0.1:0"]);
        command.arg("--kubeconfig").arg(kubeconfig).args(flags);
        command
    }

    /// Starts `deltic run --cluster` through a proxy.
    pub fn deltic_through(&self, proxy: &Proxy, flags: &[&str]) -> Process {
        let account = self.cluster.service_account("deltic", "deltic");
        let kubeconfig = account.through(proxy).kubeconfig();
        self.cluster.process(&mut self.command(&kubeconfig, flags))
    }

    /// The kubeconfig file of deltic's account.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The file of the Operator that was installed last.
    pub fn operator_file(&self) -> PathBuf {
        self.cluster.directory().join("operator.yaml")
    }
}

/// The text that deltic serves at `/metrics`.
pub fn metrics(process: &Process) -> String {
    get_health(process, "/metrics").expect("deltic serves its metrics")
}

/// The text at `/healthz`, `/readyz` or `/metrics`; an error if the answer is not 200.
pub fn get_health(process: &Process, path: &str) -> std::io::Result<String> {
    let port = health_port(process);
    let port =
        port.ok_or_else(|| std::io::Error::other(format!("no address in:\n{}", process.log())))?;
    http::request(port, "GET", path, "")
}

/// The port at which deltic serves `/metrics`; `None` before it does.
pub fn health_port(process: &Process) -> Option<u16> {
    let log = process.log();
    let line = log.lines().find(|line| line.contains("serving /healthz"))?;
    let line: Value = serde_json::from_str(line).ok()?;
    line["address"].as_str()?.rsplit(':').next()?.parse().ok()
}

/// The sum of all series of a metric whose labels contain this text.
pub fn metric(process: &Process, name: &str, labels: &str) -> f64 {
    let text = metrics(process);
    let lines = text.lines().filter_map(|line| line.strip_prefix(name));
    let lines = lines.filter(|line| line.starts_with(['{', ' ']) && line.contains(labels));
    let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    values.sum()
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("the test's paths are text")
}
