//! Runs recorded sessions: `tests/sessions/NAME/session.txt` has commands and their output.
//!
//! A line `$ …` is a command, which runs in a copy of the directory. The lines after it are its
//! output, stderr included, and `[exit N]` if it fails. Times are printed as `T`.
//! `UPDATE=1 cargo test -p deltic --test cli sessions` writes the current output.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::common::Files;

fn sessions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions")
}

/// Copies the files of a directory.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copied = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &copied);
        } else {
            std::fs::copy(&path, copied).unwrap();
        }
    }
}

fn output(command: &str, directory: &Files) -> String {
    let run = directory.shell(".", &format!("({command}) 2>&1"));
    let times = Regex::new(r"\d+\.\d (ms)\b|\d+\.\d\d s\b|\btime=.\d+\.\d+.").unwrap();
    let mut text = times.replace_all(&run.stdout, "T").into_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if run.code != 0 {
        writeln!(text, "[exit {}]", run.code).unwrap();
    }
    text
}

#[track_caller]
fn check(name: &str) {
    let session = sessions().join(name).join("session.txt");
    let directory = Files::new(&format!("session-{name}"));
    copy(&sessions().join(name), directory.path());
    let recorded = std::fs::read_to_string(&session).unwrap();
    let mut fresh = String::new();
    for line in recorded.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            writeln!(fresh, "{line}").unwrap();
            fresh.push_str(&output(command, &directory));
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&session, &fresh).unwrap();
        return;
    }
    assert_eq!(
        recorded,
        fresh,
        "{}; UPDATE=1 rewrites it",
        session.display()
    );
}

macro_rules! sessions {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name));
            }
        )*

        #[test]
        fn every_session_is_run() {
            let mut known = vec![$(stringify!($name)),*];
            known.sort_unstable();
            let found = std::fs::read_dir(sessions()).unwrap();
            let found = found.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut found: Vec<String> = found.collect();
            found.sort();
            assert_eq!(found, known);
        }
    };
}

sessions!(
    explain_json,
    graph,
    mistakes,
    test_bad_files,
    test_coverage,
    test_failures,
    test_passes,
    test_time,
    test_update,
    why_waits,
    widths,
);
