//! Runs the built command.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The output of a run and its exit code.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Fails unless it ended with this code.
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "\nstdout: {}\nstderr: {}",
            self.stdout, self.stderr
        );
        self
    }

    #[track_caller]
    pub(crate) fn printed(self, stdout: &str) -> Self {
        assert_eq!(self.stdout, stdout, "\nstderr: {}", self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn complained(self, stderr: &str) -> Self {
        assert_eq!(
            self.stderr.trim(),
            stderr.trim(),
            "\nstdout: {}",
            self.stdout
        );
        self
    }

    /// Fails unless stderr contains all of these.
    #[track_caller]
    pub(crate) fn mentioned(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(
                self.stderr.contains(part),
                "no {part:?} in:\n{}",
                self.stderr
            );
        }
        self
    }
}

/// The command, without environment variables that would change it.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deltic"));
    for variable in ["NO_COLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(variable);
    }
    command
}

/// Runs it on empty input.
pub(crate) fn deltic(args: &[&str]) -> Run {
    deltic_on("", args)
}

/// Runs it on this input.
pub(crate) fn deltic_on(stdin: impl AsRef<[u8]>, args: &[&str]) -> Run {
    run(command().args(args), stdin.as_ref())
}

pub(crate) fn run(command: &mut Command, stdin: &[u8]) -> Run {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let stdin = stdin.to_vec();
    // In its own thread, because the command may print before it has read everything. A command
    // that stops early closes the pipe, which is fine.
    let writer = std::thread::spawn(move || {
        let _ = pipe.write_all(&stdin);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A new directory with these files.
pub(crate) struct Files(PathBuf);

impl Files {
    /// Makes a directory; `name` is unique among the tests.
    pub(crate) fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn with(self, name: &str, content: &str) -> Self {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// Runs the command in this directory.
    pub(crate) fn deltic(&self, args: &[&str]) -> Run {
        self.deltic_on("", args)
    }

    pub(crate) fn deltic_on(&self, stdin: impl AsRef<[u8]>, args: &[&str]) -> Run {
        run(command().current_dir(&self.0).args(args), stdin.as_ref())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Runs a line of a shell in a subdirectory, with the built command in `PATH`.
    pub(crate) fn shell(&self, directory: &str, line: &str) -> Run {
        let binaries = Path::new(env!("CARGO_BIN_EXE_deltic")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("sh");
        command
            .args(["-c", line])
            .current_dir(self.0.join(directory))
            .env("PATH", format!("{}:{path}", binaries.display()))
            .env_remove("CLICOLOR_FORCE");
        run(&mut command, b"")
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = command();
        command.current_dir(&self.0);
        command
    }
}

/// An Operator that copies Foos with a positive `spec.n` to Bars with twice the number.
pub(crate) const DOUBLE: &str = r#"
apiVersion: dcontroller.io/v1alpha1
kind: Operator
metadata: { name: test }
spec:
  controllers:
  - name: double
    sources:
    - kind: Foo
    pipeline:
    - "@select": { "@gt": [$.spec.n, 0] }
    - "@project":
        metadata: { name: $.metadata.name }
        twice: { "@mul": [$.spec.n, 2] }
    target: { kind: Bar }
"#;

/// An event about a Foo.
pub(crate) fn foo(kind: &str, name: &str, n: &str) -> String {
    format!(
        r#"{{"type":"{kind}","object":{{"kind":"Foo","metadata":{{"name":"{name}"}},"spec":{{"n":{n}}}}}}}"#
    )
}
