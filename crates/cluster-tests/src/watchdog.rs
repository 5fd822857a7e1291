//! What stops the servers when the test process is gone, however it went.
//!
//! A shell reads a pipe that only the test process can write to. It learns which
//! processes there are; when the pipe ends, it kills them and removes their directory.
//! A killed process closes its pipes, so this needs no signal handler and no exit hook.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// `+ pid` and `- pid` come in; then the end. A file named `keep` saves the directory.
const SCRIPT: &str = r#"
pids=
while read -r sign pid; do
  case $sign in
  +) pids="$pids $pid" ;;
  -) pids=$(for p in $pids; do [ "$p" = "$pid" ] || printf ' %s' "$p"; done) ;;
  esac
done
[ -z "$pids" ] || kill -KILL $pids 2>/dev/null
[ -e "$1/keep" ] || for _ in 1 2 3 4 5; do
  rm -rf "$1" 2>/dev/null && break
  sleep 0.2
done
"#;

/// The handle of a watchdog. When the last clone is dropped it does its work, and the
/// drop waits for that.
#[derive(Clone, Debug)]
pub(crate) struct Watchdog(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// `None` once the end has been told.
    pipe: Mutex<Option<ChildStdin>>,
    shell: Mutex<Child>,
    directory: PathBuf,
}

impl Watchdog {
    /// A watchdog over a directory.
    pub(crate) fn start(directory: &Path) -> Self {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "watchdog"])
            .arg(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Not in the group of the terminal: it outlives an interrupt.
            .group_of_its_own()
            .spawn()
            .expect("sh starts");
        let pipe = Mutex::new(shell.stdin.take());
        Self(Arc::new(Inner {
            pipe,
            shell: Mutex::new(shell),
            directory: directory.to_owned(),
        }))
    }

    /// The directory that goes with the processes.
    pub(crate) fn directory(&self) -> &Path {
        &self.0.directory
    }

    /// A process that is not to outlive this one.
    pub(crate) fn watch(&self, pid: u32) {
        self.tell('+', pid);
    }

    /// A process that has ended: its number may soon be another's.
    pub(crate) fn forget(&self, pid: u32) {
        self.tell('-', pid);
    }

    fn tell(&self, sign: char, pid: u32) {
        let mut pipe = self.0.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        let pipe = pipe.as_mut().expect("the pipe is open until the drop");
        writeln!(pipe, "{sign} {pid}").expect("the watchdog reads");
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let pipe = self.pipe.get_mut();
        *pipe.unwrap_or_else(PoisonError::into_inner) = None;
        let shell = self.shell.get_mut();
        let _ = shell.unwrap_or_else(PoisonError::into_inner).wait();
    }
}

/// Process groups, where there are any.
pub(crate) trait Group {
    /// Signals of the terminal do not reach this process.
    fn group_of_its_own(&mut self) -> &mut Self;
}

#[cfg(unix)]
impl Group for Command {
    fn group_of_its_own(&mut self) -> &mut Self {
        std::os::unix::process::CommandExt::process_group(self, 0)
    }
}

#[cfg(not(unix))]
impl Group for Command {
    fn group_of_its_own(&mut self) -> &mut Self {
        self
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn directory(name: &str) -> PathBuf {
        let name = format!("deltic-watchdog-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        directory
    }

    fn sleeper() -> Child {
        Command::new("sleep").arg("600").spawn().unwrap()
    }

    #[test]
    fn processes_and_directory_go_when_the_pipe_ends() {
        let directory = directory("go");
        let watchdog = Watchdog::start(&directory);
        let (mut first, mut second) = (sleeper(), sleeper());
        watchdog.watch(first.id());
        watchdog.watch(second.id());
        drop(watchdog);
        for child in [&mut first, &mut second] {
            assert_eq!(child.wait().unwrap().signal(), Some(9));
        }
        assert!(!directory.exists());
    }

    #[test]
    fn what_is_forgotten_lives_and_what_is_kept_stays() {
        let directory = directory("stay");
        std::fs::write(directory.join("keep"), "").unwrap();
        let watchdog = Watchdog::start(&directory);
        let (mut first, mut second) = (sleeper(), sleeper());
        watchdog.watch(first.id());
        watchdog.watch(second.id());
        watchdog.forget(first.id());
        drop(watchdog);
        assert_eq!(second.wait().unwrap().signal(), Some(9));
        assert_eq!(first.try_wait().unwrap(), None);
        first.kill().unwrap();
        first.wait().unwrap();
        assert!(directory.exists());
        std::fs::remove_dir_all(directory).unwrap();
    }
}
