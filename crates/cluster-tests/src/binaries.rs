//! The paths of programs: those of Kubernetes, built by `hack/cluster-binaries`, deltic and its
//! example.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The programs of a control plane.
#[derive(Clone, Debug)]
pub struct Binaries {
    directory: PathBuf,
}

impl Binaries {
    /// The programs of this machine. If they are missing, they are built once, which takes minutes.
    pub fn get() -> &'static Self {
        static BINARIES: OnceLock<Binaries> = OnceLock::new();
        BINARIES.get_or_init(|| Self {
            directory: built("hack/cluster-binaries"),
        })
    }

    /// The path of `kube-apiserver`, `kube-controller-manager`, `kubectl` or `etcd`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// The program that reads views with the client of Kubernetes for Go.
pub fn views_client() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| built("hack/views-client")).clone()
}

/// The program `helm`.
pub fn helm() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| built("hack/helm")).clone()
}

/// Runs a script that builds something. Returns the path in its last line.
fn built(script: &str) -> PathBuf {
    let script = root().join(script);
    let output = Command::new(&script)
        .stderr(Stdio::inherit())
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", script.display()));
    assert!(output.status.success(), "{} failed", script.display());
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let path = lines.lines().last().expect("its last line is a path");
    path.into()
}

/// The directory of the workspace.
pub fn root() -> &'static Path {
    let mut ancestors = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    ancestors.nth(2).expect("crates are two levels down")
}

/// The `deltic` binary, built with the profile of the tests.
pub fn deltic() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT
        .get_or_init(|| build("deltic", "dev", "debug"))
        .clone()
}

/// The release build of the `deltic` binary, for measurements.
pub fn deltic_release() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT
        .get_or_init(|| build("deltic", "release", "release"))
        .clone()
}

/// The program of `examples/native-reconciler`, built with the profile of the tests.
pub fn native_reconciler() -> PathBuf {
    build("native-reconciler", "dev", "debug")
}

fn build(package: &str, profile: &str, directory: &str) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // Cargo sets variables for this test. Build scripts that read them would run again, and with
    // them half of the dependencies would be rebuilt.
    let set_by_cargo = std::env::vars_os().map(|(name, _)| name);
    for name in set_by_cargo.filter(|name| is_set_by_cargo(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    let status = command
        .current_dir(root())
        .args(["build", "--locked", "-p", package, "--profile", profile])
        .status()
        .expect("cargo starts");
    assert!(status.success(), "{package} does not build");
    // The path of a test is <target>/<profile>/deps/<test>.
    let test = std::env::current_exe().expect("a test is a file");
    let target = test.ancestors().nth(3).expect("a test is in a target");
    target.join(directory).join(package)
}

/// Whether cargo sets this variable for the programs that it runs.
fn is_set_by_cargo(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_"]
        .iter()
        .any(|prefix| variable.starts_with(prefix))
}
