//! The book: every page is in the summary, every link leads somewhere, every YAML can be read, every
//! Operator is valid, and every command exists with its flags.
//!
//! `tests/examples.rs` runs the commands of `console` blocks. Those of `sh` blocks need a cluster or
//! a terminal; `cluster-tests/tests/packages` runs those about packages.
#![allow(clippy::unwrap_used)]

mod markdown;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use markdown::{Fence, anchors, commands, links, split};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The Markdown files below a directory of the project.
fn below(directory: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![root().join(directory)];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The pages of the book and the READMEs that people write.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    pages.extend(below("docs").into_iter().filter(|page| {
        // Made from tables, whose examples have tests of their own.
        !page.starts_with(root().join("docs/reference"))
    }));
    pages.extend(below("examples"));
    pages
}

/// The fenced blocks in some languages of all pages.
fn fences(languages: &[&str]) -> Vec<(PathBuf, Fence)> {
    let mut found = Vec::new();
    for page in pages() {
        let (fences, _) = split(&read(&page));
        let wanted = fences.into_iter();
        let wanted = wanted.filter(|fence| languages.contains(&fence.language.as_str()));
        found.extend(wanted.map(|fence| (page.clone(), fence)));
    }
    found
}

#[test]
fn the_summary_lists_every_page() {
    let summary = root().join("docs/SUMMARY.md");
    let text = read(&summary);
    let (_, prose) = split(&text);
    let mut listed: Vec<PathBuf> = links(&prose)
        .into_iter()
        .map(|link| root().join("docs").join(link))
        .collect();
    listed.sort();
    let mut pages = below("docs");
    pages.retain(|page| *page != summary);
    assert_eq!(listed, pages);
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    let mut all = pages();
    all.extend(below("docs/reference"));
    all.push(root().join("ARCHITECTURE.md"));
    for page in all {
        let text = read(&page);
        let (_, prose) = split(&text);
        for link in links(&prose) {
            if !leads_somewhere(&page, link) {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

fn leads_somewhere(page: &Path, link: &str) -> bool {
    if link.starts_with("https://") || link.starts_with("http://") {
        return true;
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => page.to_owned(),
        file => page.parent().unwrap().join(file),
    };
    if !target.exists() {
        return false;
    }
    let text = if anchor.is_empty() {
        String::new()
    } else {
        read(&target)
    };
    anchor.is_empty() || anchors(&split(&text).1).iter().any(|it| it == anchor)
}

#[test]
fn every_yaml_can_be_read_and_every_operator_is_valid() {
    let mut operators = 0;
    for (page, fence) in fences(&["yaml"]) {
        let place = format!("{}:{}", page.display(), fence.line);
        let manifests = manifest::parse_bytes(&place, fence.text.clone().into_bytes());
        let manifests = manifests.unwrap_or_else(|error| panic!("{place}: {error:?}"));
        for manifest in &manifests {
            if manifest.value.get("kind").as_str() == Some("Operator") {
                let (operator, problems) =
                    operator::read(&manifest.value, &expr::Functions::builtin());
                assert!(operator.is_some(), "{place}: {problems:?}");
                operators += 1;
            }
        }
    }
    assert!(operators >= 4, "{operators}");
}

/// Runs deltic and returns what it prints.
fn deltic(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_deltic"))
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The name of a command of deltic and its flags; `None` for another program.
fn ours(command: &str) -> Option<(String, Vec<String>)> {
    let mut words = command
        .split_whitespace()
        .skip_while(|word| *word == "kubectl");
    if words.next() != Some("deltic") {
        return None;
    }
    let name = words.next()?.to_owned();
    let flags = words.filter(|word| word.starts_with("--") && word.len() > 2);
    let flags = flags.map(|flag| flag.split('=').next().unwrap_or_default().to_owned());
    Some((name, flags.collect()))
}

#[test]
fn every_command_exists_with_its_flags() {
    let mut help: BTreeMap<String, String> = BTreeMap::new();
    let mut count = 0;
    for (page, fence) in fences(&["sh", "console"]) {
        let shell = fence.language == "sh";
        let lines = fence
            .text
            .lines()
            .filter(|line| shell || line.starts_with("$ "));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        for command in commands(&text) {
            let Some((name, flags)) = ours(&command) else {
                continue;
            };
            let place = format!("{}:{}: {command}", page.display(), fence.line);
            let help = help
                .entry(name.clone())
                .or_insert_with(|| match name.as_str() {
                    flag if flag.starts_with("--") => deltic(&["--help"]),
                    name => deltic(&[name, "--help"]),
                });
            assert!(help.contains("Usage: deltic"), "no such command: {place}");
            for flag in flags {
                let known =
                    help.contains(&format!("{flag} ")) || help.contains(&format!("{flag}\n"));
                assert!(known, "no flag {flag}: {place}");
            }
            count += 1;
        }
    }
    assert!(count >= 50, "{count}");
}
