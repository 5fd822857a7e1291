//! Runs the commands in the READMEs and in the book and compares their output.
//!
//! In a fenced `console` block a line `$ deltic …` (or `$ cargo run … -- …`) is a command, and the
//! following lines are its output, stderr included. Commands of a README run in its directory,
//! those of a page in `docs/` in the root. A block after a line `<!-- file: PATH -->` has the content
//! of that file.
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
    let mut book: Vec<_> = std::fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    book.sort();
    assert!(book.len() >= 20, "{book:?}");
    pages.extend(book.into_iter().map(|page| (page, root())));
    pages
}

/// The command of a line, if it is one of ours.
fn command(line: &str) -> Option<String> {
    let command = line.strip_prefix("$ ")?;
    if command.starts_with("cargo run") {
        let (_, arguments) = command.split_once(" -- ")?;
        return Some(format!("deltic {arguments}"));
    }
    let plain = ["deltic ", "cat ", "diff ", "tail "];
    let ours = plain.iter().any(|program| command.starts_with(program));
    (ours || command.contains("| deltic ")).then(|| command.to_owned())
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

/// The file whose content follows a line.
fn file(line: &str) -> Option<&str> {
    line.strip_prefix("<!-- file: ")?.strip_suffix(" -->")
}

/// The content of a file, without the line for editors.
fn content(path: &str) -> String {
    let path = root().join(path);
    let text = std::fs::read_to_string(&path);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text
        .lines()
        .filter(|line| !line.starts_with("# yaml-language-server"));
    lines.flat_map(|line| [line, "\n"]).collect()
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
        if let Some(file) = file(line) {
            // The fence stays, and what is in it is read from the file.
            fresh.extend(lines.next().into_iter().flat_map(|fence| [fence, "\n"]));
            while lines.next_if(|line| !line.starts_with("```")).is_some() {}
            fresh.push_str(&content(file));
            fresh.extend(lines.next().into_iter().flat_map(|fence| [fence, "\n"]));
            continue;
        }
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
        let example = readme.starts_with(root().join("examples"));
        assert!(count > 0 || !example, "{name} runs no command");
        assert_eq!(text, fresh, "{name} is out of date; UPDATE=1 rewrites it");
    }
}

/// The pictures in the documentation, and the commands that print them.
const PICTURES: [(&str, &str); 1] = [(
    "docs/images/pod-health.svg",
    "deltic graph examples/pod-health/operator.yaml -o svg",
)];

#[test]
fn pictures_are_those_that_deltic_draws() {
    for (path, command) in PICTURES {
        let (path, picture) = (root().join(path), output(command, &root()));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &picture).unwrap();
        }
        let stored = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            stored,
            picture,
            "{} is out of date; UPDATE=1 rewrites it",
            path.display()
        );
    }
}

#[test]
fn the_tests_of_the_book_pass() {
    for directory in ["docs/tutorial", "docs/recipes"] {
        let run = output(&format!("deltic test {directory}"), &root());
        let passed = run.lines().find(|line| line.contains(" passed;"));
        assert!(passed.is_some_and(|line| !line.contains("failed")), "{run}");
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
fn every_example_and_recipe_passes_the_strict_check() {
    for directory in ["examples", "docs/recipes"] {
        let run = output(
            "for d in */; do deltic check --strict $d/operator.yaml || echo $d fails; done",
            &root().join(directory),
        );
        let mut lines = run.lines();
        assert!(lines.all(|line| line == "no errors, no warnings"), "{run}");
    }
}
