//! Runs the commands in the READMEs and guides and compares their output.
//!
//! In a fenced `console` block a line `$ deltic …` (or `$ cargo run … -- …`) is a command, and the
//! following lines are its output, stderr included. Commands of a README run in its directory,
//! those of a guide in `docs/` in the root.
//! `UPDATE=1 cargo test -p deltic --test examples` writes the current output.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The READMEs of the examples and of the project, and the guides, each with the directory in which
/// its commands run.
fn pages() -> Vec<(PathBuf, PathBuf)> {
    let mut found: Vec<_> = std::fs::read_dir(root().join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .map(|path| path.join("README.md"))
        .collect();
    found.sort();
    assert!(found.len() >= 3, "{found:?}");
    found.push(root().join("README.md"));
    let mut pages: Vec<_> = found
        .into_iter()
        .filter_map(|page| Some((page.clone(), page.parent()?.to_owned())))
        .collect();
    for guide in [
        "docs/check.md",
        "docs/debug.md",
        "docs/patch.md",
        "docs/time.md",
    ] {
        pages.push((root().join(guide), root()));
    }
    pages
}

/// The command of a line, if it is one of ours.
fn command(line: &str) -> Option<String> {
    let command = line.strip_prefix("$ ")?;
    if command.starts_with("cargo run") {
        let (_, arguments) = command.split_once(" -- ")?;
        return Some(format!("deltic {arguments}"));
    }
    let ours = command.starts_with("deltic ") || command.contains("| deltic ");
    ours.then(|| command.to_owned())
}

/// The output of a command, with the built `deltic` in `PATH`.
fn output(command: &str, directory: &Path) -> String {
    let binaries = Path::new(env!("CARGO_BIN_EXE_deltic")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", &format!("({command}) 2>&1")])
        .current_dir(directory)
        .env("PATH", format!("{}:{path}", binaries.display()))
        .env_remove("CLICOLOR_FORCE")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The text with the current output of its commands, and the number of commands.
fn refreshed(text: &str, directory: &Path) -> (String, usize) {
    let mut fresh = String::new();
    let mut count = 0;
    let mut lines = text.lines().peekable();
    let mut in_console = false;
    while let Some(line) = lines.next() {
        fresh.push_str(line);
        fresh.push('\n');
        if line.starts_with("```") {
            in_console = line == "```console";
            continue;
        }
        let Some(command) = command(line).filter(|_| in_console) else {
            continue;
        };
        count += 1;
        let ends = |line: &str| line.starts_with("```") || line.starts_with("$ ");
        while lines.next_if(|line| !ends(line)).is_some() {}
        fresh.push_str(&output(&command, directory));
    }
    (fresh, count)
}

#[test]
fn every_command_of_a_page_prints_the_output_shown() {
    for (readme, directory) in pages() {
        let text = std::fs::read_to_string(&readme).unwrap();
        let (fresh, count) = refreshed(&text, &directory);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&readme, &fresh).unwrap();
            continue;
        }
        let name = readme.display();
        let example = readme.parent() != Some(&root());
        assert!(count > 0 || !example, "{name} runs no command");
        assert_eq!(text, fresh, "{name} is out of date; UPDATE=1 rewrites it");
    }
}

#[test]
fn every_example_has_tests_that_pass_and_reach_every_stage() {
    let examples = root().join("examples");
    let run = output("deltic test --coverage", &examples);
    let passed = run.lines().find(|line| line.contains(" passed;"));
    assert!(passed.is_some_and(|line| !line.contains("failed")), "{run}");
    let mut covered = 0;
    for line in run.lines().filter(|line| line.starts_with("coverage of ")) {
        let (_, stages) = line.split_once(": ").unwrap();
        let words: Vec<&str> = stages.split(' ').collect();
        assert_eq!(words[0], words[2], "{line}");
        covered += 1;
    }
    let directories = std::fs::read_dir(&examples).unwrap();
    let operators = directories.filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .path()
            .join("operator.yaml")
            .exists()
    });
    assert_eq!(covered, operators.count(), "{run}");
}

#[test]
fn every_example_passes_the_strict_check() {
    let run = output(
        "for d in */; do deltic check --strict $d/operator.yaml || echo $d fails; done",
        &root().join("examples"),
    );
    assert!(
        run.lines().all(|line| line == "no errors, no warnings"),
        "{run}"
    );
}
