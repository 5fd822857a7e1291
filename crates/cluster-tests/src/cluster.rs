//! The cluster: starting and stopping its servers, and its paths.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::access::Access;
use crate::binaries::Binaries;
use crate::control_plane::ControlPlane;
use crate::process::Process;
use crate::proxy::Proxy;
use crate::wait::wait_until;
use crate::watchdog::Watchdog;
use crate::{etcd, failure};

/// How long a server may take to be ready on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);
/// How many times starting is tried: another program may take a port after it was chosen.
const ATTEMPTS: usize = 3;

/// The settings of a control plane.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether writes are recorded for [`Cluster::audit`].
    pub audit: bool,
    /// Further flags for kube-apiserver, such as `--etcd-compaction-interval=5s`,
    /// `--min-request-timeout=1` (which ends watches early) or `--watch-cache=false`.
    pub api_server_flags: Vec<String>,
}

/// A running control plane.
#[derive(Debug)]
pub struct Cluster {
    // Fields are dropped in this order: clients before servers, the watchdog last.
    controller_manager: Option<Process>,
    api_server: Option<Process>,
    etcd: Process,
    plane: ControlPlane,
    namespaces: AtomicUsize,
    processes: AtomicUsize,
    watchdog: Watchdog,
}

impl Cluster {
    /// The control plane that the tests of one binary share, with the audit log on. The first call
    /// starts it, and it ends with the process.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Result<Cluster, String>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| {
            Self::attempt(&Options {
                audit: true,
                ..Options::default()
            })
        });
        shared
            .as_ref()
            .unwrap_or_else(|log| panic!("a server does not start:\n{log}"))
    }

    /// Starts a separate control plane.
    pub fn start(options: &Options) -> Self {
        Self::attempt(options).unwrap_or_else(|log| panic!("a server does not start:\n{log}"))
    }

    fn attempt(options: &Options) -> Result<Self, String> {
        // Not part of the time limit, because they may have to be built.
        Binaries::get();
        for _ in 1..ATTEMPTS {
            match Self::try_start(options.clone()) {
                Err(log) if log.contains("address already in use") => {}
                result => return result,
            }
        }
        Self::try_start(options.clone())
    }

    /// Starts a control plane. Fails with the log of a server that ended.
    fn try_start(options: Options) -> Result<Self, String> {
        let directory = new_directory();
        failure::begin(&directory);
        let watchdog = Watchdog::start(&directory);
        let plane = ControlPlane::new(&directory, options);
        let mut etcd = Process::start(&watchdog, "etcd", &mut plane.etcd());
        ready(&mut etcd, || etcd::healthy(plane.etcd_port))?;
        let mut cluster = Self {
            controller_manager: None,
            api_server: None,
            etcd,
            plane,
            namespaces: AtomicUsize::new(0),
            processes: AtomicUsize::new(0),
            watchdog,
        };
        cluster.try_start_api_server()?;
        let mut command = cluster.plane.controller_manager();
        let manager = Process::start(&cluster.watchdog, "kube-controller-manager", &mut command);
        cluster.controller_manager = Some(manager);
        // The controller manager runs once it has created this account.
        cluster.await_account("default");
        Ok(cluster)
    }

    /// Kills the API server and starts it again, on the same port and the same data.
    pub fn restart_api_server(&mut self) {
        self.kill_api_server();
        self.start_api_server();
    }

    /// `kill -9` to the API server.
    pub fn kill_api_server(&mut self) {
        self.api_server = None;
    }

    /// Starts the API server after [`Cluster::kill_api_server`], and waits for it.
    pub fn start_api_server(&mut self) {
        let started = self.try_start_api_server();
        started.unwrap_or_else(|log| panic!("kube-apiserver ended:\n{log}"));
    }

    fn try_start_api_server(&mut self) -> Result<(), String> {
        let mut command = self.plane.api_server();
        let mut server = Process::start(&self.watchdog, "kube-apiserver", &mut command);
        ready(&mut server, || {
            self.try_kubectl(&["get", "--raw", "/readyz"], "").is_ok()
        })?;
        self.api_server = Some(server);
        Ok(())
    }

    /// Kills etcd and starts it again on its data. For a moment the API server runs without its
    /// storage.
    pub fn restart_etcd(&mut self) {
        self.etcd.kill();
        self.etcd = Process::start(&self.watchdog, "etcd", &mut self.plane.etcd());
        let port = self.plane.etcd_port;
        ready(&mut self.etcd, || etcd::healthy(port))
            .unwrap_or_else(|log| panic!("etcd ended:\n{log}"));
    }

    /// Stops the controllers of Kubernetes for good, so that they change nothing any more.
    pub fn kill_controller_manager(&mut self) {
        self.controller_manager = None;
    }

    /// Compacts the history of etcd. The API server still caches its own: an older watch gets 410
    /// once that is gone, too, after [`Cluster::restart_api_server`].
    pub fn compact(&mut self) -> i64 {
        etcd::compact(self.plane.etcd_port)
    }

    /// Access as an administrator.
    pub fn admin(&self) -> Access<'_> {
        Access::new(self, "admin", self.plane.admin_token.clone())
    }

    /// A client with all permissions. It belongs to the runtime of this test.
    pub fn client(&self) -> kube::Client {
        self.admin().client()
    }

    /// The kubeconfig file of the administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.plane.file("admin.kubeconfig")
    }

    /// A proxy to the API server whose connections can be cut.
    pub fn proxy(&self) -> Proxy {
        Proxy::start(self.plane.port)
    }

    /// Creates a namespace in which pods can be created. Returns its name.
    pub fn namespace(&self, prefix: &str) -> String {
        let number = self.namespaces.fetch_add(1, Ordering::Relaxed);
        let name = format!("{prefix}-{number}");
        self.kubectl(&["create", "namespace", &name]);
        self.await_account(&name);
        name
    }

    fn await_account(&self, namespace: &str) {
        let get = ["get", "-n", namespace, "serviceaccount", "default"];
        let made = wait_until(PATIENCE, || self.try_kubectl(&get, "").is_ok());
        assert!(made, "namespace {namespace} gets no default account");
    }

    /// Starts a program of the test, such as [`deltic`](crate::deltic). Its output goes to its own
    /// file.
    pub fn process(&self, command: &mut Command) -> Process {
        let number = self.processes.fetch_add(1, Ordering::Relaxed);
        let program = Path::new(command.get_program()).file_stem();
        let program = program.unwrap_or_default().to_string_lossy().into_owned();
        Process::start(&self.watchdog, &format!("{program}-{number}"), command)
    }

    /// The resident memory of the API server and etcd, in bytes.
    pub fn resident_memory(&self) -> u64 {
        let servers = self.api_server.iter().chain([&self.etcd]);
        servers.map(Process::resident_memory).sum()
    }

    /// The directory with its files: logs, keys, data.
    pub fn directory(&self) -> &Path {
        &self.plane.directory
    }

    pub(crate) fn plane(&self) -> &ControlPlane {
        &self.plane
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        failure::end(&self.plane.directory);
    }
}

fn new_directory() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("deltic-cluster-{}-{number}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    directory
}

/// Waits until a server is ready. Fails with its log if it ends.
fn ready(server: &mut Process, mut is_ready: impl FnMut() -> bool) -> Result<(), String> {
    let mut ended = false;
    let answered = wait_until(PATIENCE, || {
        ended = server.ended().is_some();
        ended || is_ready()
    });
    if answered && !ended {
        return Ok(());
    }
    Err(server.log_end())
}
