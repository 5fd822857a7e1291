//! A door: a way to reach objects with kubectl.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use cluster_tests::{Binaries, Cluster};

use crate::mask;
use crate::script::{Command, Script, words};

/// How long one command may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A way to reach the objects.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    pub(crate) kubeconfig: PathBuf,
    /// The API group of the objects.
    pub(crate) group: String,
    /// The directory for the cache of discovery and for other files.
    pub(crate) directory: PathBuf,
}

/// What a command did, without what differs between any two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Door {
    /// A door with a directory of its own, inside that of the cluster.
    pub(crate) fn new(cluster: &Cluster, name: &str, kubeconfig: PathBuf, group: &str) -> Self {
        let directory = cluster.directory().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        Self {
            kubeconfig,
            group: group.to_owned(),
            directory,
        }
    }

    /// Runs the commands of a script.
    pub(crate) fn run(&self, script: &Script) -> Vec<Outcome> {
        let commands = script.commands.iter();
        commands
            .map(|command| self.command(script, command))
            .collect()
    }

    fn command(&self, script: &Script, command: &Command) -> Outcome {
        let mut child = self.spawn(script, command);
        let (stdout, first_line) = read_lines(&mut child);
        let mut stderr = child.stderr.take().unwrap();
        let stderr = thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        if !command.meanwhile.is_empty() {
            let _ = first_line.recv_timeout(PATIENCE);
            for line in &command.meanwhile {
                let outcome = self.command(script, &Command::of(line));
                assert_eq!(outcome.code, Some(0), "{line}: {}", outcome.stderr);
            }
        }
        let code = wait(&mut child);
        let mask = |text: String| mask::mask(&text, &self.group);
        Outcome {
            code,
            stdout: mask(stdout.join().unwrap()),
            stderr: mask(stderr.join().unwrap()),
        }
    }

    fn spawn(&self, script: &Script, command: &Command) -> Child {
        let named = |text: &str| {
            text.replace("GROUP", &self.group)
                .replace("NS", &script.name)
        };
        let args = words(&command.kubectl);
        let mut child = std::process::Command::new(Binaries::get().path("kubectl"))
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .arg("--cache-dir")
            .arg(self.directory.join("cache"))
            .args(["--namespace", &script.name])
            .args(args.iter().map(|arg| named(arg)))
            .env("KUBE_EDITOR", &command.editor)
            .env("KUBECTL_EXTERNAL_DIFF", "diff -u -N")
            .env("HOME", &self.directory)
            .env("TZ", "UTC")
            .current_dir(&self.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = named(&command.input);
        // A command that does not read its input closes it, which is no error.
        thread::spawn(move || stdin.write_all(input.as_bytes()));
        child
    }
}

/// Reads the output of a command. Reports when its first line is there, or when it ends.
fn read_lines(child: &mut Child) -> (thread::JoinHandle<String>, mpsc::Receiver<()>) {
    let (sender, first_line) = mpsc::channel();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let reader = thread::spawn(move || {
        let mut text = String::new();
        let read = stdout.read_line(&mut text);
        let _ = sender.send(());
        read.unwrap();
        stdout.read_to_string(&mut text).unwrap();
        text
    });
    (reader, first_line)
}

/// Waits for the end of a command; `None` if it does not end.
fn wait(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(Duration::from_millis(2));
    }
}
