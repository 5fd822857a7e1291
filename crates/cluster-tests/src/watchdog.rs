//! Stops the servers when the test process ends, however it ends.
//!
//! A shell reads from a pipe to which only the test process writes the IDs of the processes that it
//! starts. When the pipe is closed, the shell kills them and removes their directory. The system
//! closes the pipes of a killed process, so this needs neither a signal handler nor an exit hook.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// Reads lines `+ pid` and `- pid` until the end. If there is a file `keep`, the directory is kept.
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

/// The handle of a watchdog. When the last clone is dropped, the watchdog stops the processes, and
/// the drop waits for that.
#[derive(Clone, Debug)]
pub(crate) struct Watchdog(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// `None` once it is closed.
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
            // Not in the process group of the terminal, so that it survives an interrupt.
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

    /// The directory that is removed with the processes.
    pub(crate) fn directory(&self) -> &Path {
        &self.0.directory
    }

    /// Adds a process that must not outlive this one.
    pub(crate) fn watch(&self, pid: u32) {
        self.tell('+', pid);
    }

    /// Removes a process that has ended, because its ID may be used again.
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

/// Process groups, on systems that have them.
pub(crate) trait Group {
    /// Puts the process into its own group, which signals of the terminal do not reach.
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
    fn processes_and_directory_are_removed_when_the_pipe_is_closed() {
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
    fn forgotten_processes_and_kept_directories_stay() {
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
