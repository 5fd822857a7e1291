//! Runs the commands of the pages about clusters, as a reader would: one line after the other, in the
//! root of the project, with `deltic`, `kubectl` and `helm` in `PATH`.

use std::path::{Path, PathBuf};
use std::process::Command;

use cluster_tests::{Binaries, Cluster, Process, await_some, await_true, deltic, helm, root};

/// What is not at hand: kind makes the cluster, cargo builds deltic, podman builds images.
const ABSENT: [&str; 4] = ["kind ", "cargo ", "podman ", "tar "];

/// The lines of the `sh` blocks of a page, without comments; a line that goes on is one.
pub(crate) fn lines(page: &str) -> Vec<String> {
    let page = std::fs::read_to_string(root().join(page)).unwrap();
    let blocks = page.split("```sh\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split_once("\n```").map(|(block, _)| block));
    let text = blocks.collect::<Vec<_>>().join("\n").replace("\\\n", " ");
    let lines = text
        .lines()
        .map(|line| line.split(" #").next().unwrap_or(line).trim());
    let lines = lines.filter(|line| !ABSENT.iter().any(|program| line.starts_with(program)));
    lines.map(str::to_owned).collect()
}

/// A terminal of somebody who administers a cluster.
pub(crate) struct Terminal<'a> {
    cluster: &'a Cluster,
    path: String,
    home: PathBuf,
}

impl<'a> Terminal<'a> {
    pub(crate) fn new(cluster: &'a Cluster) -> Self {
        let home = cluster.directory().join("home");
        let programs = home.join("bin");
        std::fs::create_dir_all(&programs).unwrap();
        let link = |program: &Path, name: &str| {
            std::os::unix::fs::symlink(program, programs.join(name)).unwrap();
        };
        link(&deltic(), "deltic");
        link(&Binaries::get().path("kubectl"), "kubectl");
        link(&helm(), "helm");
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display());
        Self {
            cluster,
            path,
            home,
        }
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-ec", line])
            .current_dir(root())
            .env("PATH", &self.path)
            .env("HOME", &self.home)
            .env("KUBECONFIG", self.cluster.kubeconfig());
        command
    }

    /// Runs a line and returns what it prints, or what went wrong.
    pub(crate) fn run(&self, line: &str) -> Result<String, String> {
        let output = self.command(line).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        Err(text(&output.stderr))
    }

    /// Runs a line that has to succeed.
    pub(crate) fn succeeds(&self, line: &str) -> String {
        self.run(line)
            .unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// Starts a line that goes on, such as `deltic run`.
    fn start(&self, line: &str) -> Process {
        self.cluster
            .process(&mut self.command(&format!("exec {line}")))
    }
}

/// Runs the lines of `docs/cluster.md`.
pub(crate) fn quick_start(terminal: &Terminal<'_>) {
    let mut running = None;
    for line in lines("docs/cluster.md") {
        if line.starts_with("deltic run") {
            running = Some(terminal.start(&line));
        } else if line.contains("jsonpath") {
            // A copy that was deleted comes back, with the new content.
            await_true(&line, || {
                let found = terminal.run(&line);
                found.is_ok_and(|url| url == "http://new.example.com:3128")
            });
        } else if line.starts_with("kubectl get configmaps") {
            let copies = terminal.succeeds(&line);
            assert_eq!(copies.lines().count(), 3, "{copies}");
        } else if line.starts_with("deltic orphans --delete") {
            await_some("the orphans are deleted", || terminal.run(&line).ok());
        } else {
            terminal.succeeds(&line);
        }
    }
    let running = running.expect("the page runs deltic");
    assert!(running.log().contains("running on a cluster"));
}
