//! Processes of a test: servers, and deltic itself.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::watchdog::{Group, Watchdog};

/// A running process whose output goes to a file. It is killed when this is dropped, and when the
/// test process ends in any way.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    /// The exit status, once it has ended.
    ended: Option<ExitStatus>,
    log: PathBuf,
    watchdog: Watchdog,
}

impl Process {
    /// Starts a command. Its output is appended to `<name>.log` in the directory of the watchdog.
    pub(crate) fn start(watchdog: &Watchdog, name: &str, command: &mut Command) -> Self {
        let log = watchdog.directory().join(format!("{name}.log"));
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap_or_else(|error| panic!("{}: {error}", log.display()));
        let clone = |file: &File| file.try_clone().expect("a file handle can be copied");
        let child = command
            .stdin(Stdio::piped())
            .stdout(clone(&file))
            .stderr(file)
            .group_of_its_own()
            .spawn()
            .unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        watchdog.watch(child.id());
        Self {
            name: name.to_owned(),
            child,
            ended: None,
            log,
            watchdog: watchdog.clone(),
        }
    }

    /// The process ID.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes to its standard input.
    pub fn input(&mut self, text: &str) {
        let stdin = self.child.stdin.as_mut().expect("its input is a pipe");
        let written = stdin.write_all(text.as_bytes());
        written.unwrap_or_else(|error| panic!("{} reads nothing: {error}", self.name));
    }

    /// Ends its standard input.
    pub fn end_input(&mut self) {
        self.child.stdin = None;
    }

    /// The exit status, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().expect("a child can be waited for");
            if self.ended.is_some() {
                self.watchdog.forget(self.child.id());
            }
        }
        self.ended
    }

    /// Waits for its end; panics with the end of its log if that takes too long.
    pub fn wait(&mut self, at_most: Duration) -> ExitStatus {
        let deadline = Instant::now() + at_most;
        loop {
            if let Some(status) = self.ended() {
                return status;
            }
            assert!(
                Instant::now() < deadline,
                "{} still runs after {at_most:?}:\n{}",
                self.name,
                self.log_end()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// `kill -9`, and waits until it is gone.
    pub fn kill(&mut self) {
        if self.ended().is_none() {
            self.child.kill().expect("a running child can be killed");
            self.wait(Duration::from_secs(10));
        }
    }

    /// Sends `SIGTERM`.
    pub fn terminate(&self) {
        self.signal("TERM");
    }

    /// Sends a signal by name, such as `STOP` or `CONT`.
    pub fn signal(&self, signal: &str) {
        let status = Command::new("kill")
            .args(["-s", signal, &self.child.id().to_string()])
            .status()
            .expect("kill starts");
        assert!(status.success(), "{} cannot be signalled", self.name);
    }

    /// Its output so far.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The last lines of its output.
    pub fn log_end(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    /// Its resident memory in bytes.
    pub fn resident_memory(&self) -> u64 {
        let status = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(status).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        1024 * kilobytes.unwrap_or_else(|| panic!("{} has no memory to read", self.name))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended().is_none() {
            let _ = self.child.kill();
            if self.child.wait().is_ok() {
                self.watchdog.forget(self.child.id());
            }
        }
    }
}
