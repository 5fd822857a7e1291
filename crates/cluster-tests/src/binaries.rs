//! Where the programs are: those of Kubernetes, built by `hack/cluster-binaries`, and
//! deltic and its example.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The programs of a control plane.
#[derive(Clone, Debug)]
pub struct Binaries {
    directory: PathBuf,
}

impl Binaries {
    /// The programs of this machine. If there are none they are built, which takes
    /// minutes, once.
    pub fn get() -> &'static Self {
        static BINARIES: OnceLock<Binaries> = OnceLock::new();
        BINARIES.get_or_init(|| {
            let script = root().join("hack/cluster-binaries");
            let output = Command::new(&script)
                .stderr(Stdio::inherit())
                .output()
                .unwrap_or_else(|error| panic!("{}: {error}", script.display()));
            assert!(output.status.success(), "{} failed", script.display());
            let lines = String::from_utf8_lossy(&output.stdout).into_owned();
            let directory = lines.lines().last().expect("its last line is a directory");
            Self {
                directory: directory.into(),
            }
        })
    }

    /// The path of `kube-apiserver`, `kube-controller-manager`, `kubectl` or `etcd`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// The directory of the workspace.
fn root() -> &'static Path {
    let mut ancestors = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    ancestors.nth(2).expect("crates are two levels down")
}

/// The `deltic` binary, built as the tests are.
pub fn deltic() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT
        .get_or_init(|| build("deltic", "dev", "debug"))
        .clone()
}

/// The `deltic` binary as it is shipped, for measurements.
pub fn deltic_release() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT
        .get_or_init(|| build("deltic", "release", "release"))
        .clone()
}

/// The program of `examples/native-reconciler`, built as the tests are.
pub fn native_reconciler() -> PathBuf {
    build("native-reconciler", "dev", "debug")
}

fn build(package: &str, profile: &str, directory: &str) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // A build script that looks at these, such as ring's, would run again, and all that
    // depends on it would be built again: `cargo test` sets them for this test.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    let status = command
        .current_dir(root())
        .args(["build", "--locked", "-p", package, "--profile", profile])
        .status()
        .expect("cargo starts");
    assert!(status.success(), "{package} does not build");
    // Of the form <target>/<profile>/deps/<test>.
    let test = std::env::current_exe().expect("a test is a file");
    let target = test.ancestors().nth(3).expect("a test is in a target");
    target.join(directory).join(package)
}
