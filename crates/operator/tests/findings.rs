//! Typed checks: fixtures of mistakes with their messages, and existing Operators, which have none.
//!
//! A file of fixtures has cases: a title, the spec of a controller or a whole manifest, and the
//! findings with line and column. `UPDATE=1 cargo test -p operator --test findings` writes the
//! findings.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use document::Value;
use expr::Functions;
use manifest::{Manifest, Source, Span};
use operator::spec::Draft;
use operator::{Problem, Severity};
use schema::Catalog;

/// All findings of the Operators in a text. Other documents may be `CustomResourceDefinition`s.
fn findings(text: &str) -> Vec<(Span, Problem)> {
    let source = Source {
        name: "fixture".to_owned(),
        text: text.to_owned(),
    };
    let manifests = manifest::parse(Arc::new(source)).unwrap();
    let mut catalog = Catalog::default();
    let mut found: Vec<(Span, Problem)> = Vec::new();
    let mut operators: Vec<(Draft, &Manifest)> = Vec::new();
    for manifest in &manifests {
        if catalog.add(&manifest.value) {
            continue;
        }
        let (draft, problems) = Draft::read(&manifest.value, &Functions::builtin());
        let problems = problems.into_iter();
        found.extend(problems.map(|problem| (span(manifest, &problem), problem)));
        operators.extend(draft.map(|draft| (draft, manifest)));
    }
    let pairs: Vec<(&Draft, &Value)> = operators
        .iter()
        .map(|(draft, manifest)| (draft, &manifest.value))
        .collect();
    let typed = operator::typed::check(&pairs, &catalog);
    for ((_, manifest), problems) in operators.iter().zip(typed) {
        for problem in problems {
            let span = span(manifest, &problem);
            // Of two problems at one place the first is reported, unless the second is worse.
            let worse = |other: &Problem| {
                problem.severity == Severity::Error && other.severity == Severity::Warning
            };
            let known = |(place, other): &(Span, Problem)| *place == span && !worse(other);
            if !found.iter().any(known) {
                found.push((span, problem));
            }
        }
    }
    found.sort_by_key(|(span, _)| span.start);
    found
}

fn span(manifest: &Manifest, problem: &Problem) -> Span {
    match &problem.inside {
        Some(part) => manifest.span_inside(&problem.at, part),
        None if problem.at_key => manifest.key_span(&problem.at),
        None => manifest.span(&problem.at),
    }
}

/// What stands before the spec of a controller, and how far it is indented.
const HEAD: &str = "apiVersion: dcontroller.io/v1alpha1\nkind: Operator\nmetadata: {name: op}\nspec:\n  controllers:\n  - name: c\n";
const INDENT: usize = 4;

/// The findings of a case, a line for each.
fn report(case: &str) -> String {
    let whole = case.starts_with("apiVersion:");
    let (text, lines, columns) = if whole {
        (case.to_owned(), 0, 0)
    } else {
        let mut text = HEAD.to_owned();
        for line in case.lines() {
            writeln!(text, "{:INDENT$}{line}", "").unwrap();
        }
        (text, HEAD.lines().count(), INDENT)
    };
    let mut report = String::new();
    for (span, problem) in findings(&text) {
        let severity = match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let (line, column) = (
            span.line.saturating_sub(lines),
            span.column.saturating_sub(columns),
        );
        let Problem { code, message, .. } = &problem;
        writeln!(report, "{line}:{column} {severity}[{code}] {message}").unwrap();
        if let Some(help) = &problem.help {
            writeln!(report, "  help: {help}").unwrap();
        }
    }
    if report.is_empty() {
        report.push_str("nothing\n");
    }
    report
}

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn files(directory: &Path, suffix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.to_string_lossy().ends_with(suffix))
        .collect();
    paths.sort();
    paths
}

#[test]
fn mistakes_are_found_at_their_line() {
    let mut count = 0;
    let mut wrong = String::new();
    for path in files(&directory("tests/findings"), ".txt") {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut updated = String::new();
        for part in text.split("=== ").skip(1) {
            let (title, rest) = part.split_once('\n').unwrap();
            let case = rest.split_once("\n--- ").map_or(rest, |(case, _)| case);
            let case = case.trim_end();
            let found = format!("=== {title}\n{case}\n--- findings\n{}\n", report(case));
            if found.trim_end() != format!("=== {part}").trim_end() {
                writeln!(wrong, "{}: {found}", path.display()).unwrap();
            }
            updated += &found;
            count += 1;
        }
        if std::env::var("UPDATE").is_ok() {
            std::fs::write(&path, updated.trim_end().to_owned() + "\n").unwrap();
        }
    }
    assert!(wrong.is_empty(), "other findings than expected:\n{wrong}");
    assert!(count >= 60, "only {count} cases");
}

/// Operators of the examples, and of existing projects: no errors and no warnings.
#[test]
fn good_operators_have_no_findings() {
    let examples = directory("../../examples");
    let mut paths = files(&directory("tests/classic"), ".yaml");
    for entry in std::fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path().join("operator.yaml");
        paths.extend(path.exists().then_some(path));
    }
    assert!(paths.len() >= 9, "{paths:?}");
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let found = report(&text[text.find("apiVersion:").unwrap()..]);
        assert_eq!(found, "nothing\n", "{}", path.display());
    }
}

/// Operators of other tests: no errors, and only the warnings that their tests are about.
#[test]
fn operators_of_other_tests_have_no_errors() {
    let mut found = String::new();
    for name in ["operators", "fleet"] {
        for path in files(&directory("../simulation").join(name), ".yaml") {
            let text = std::fs::read_to_string(&path).unwrap();
            let file = path.file_name().unwrap().to_string_lossy().into_owned();
            for (span, problem) in findings(&text) {
                assert_eq!(problem.severity, Severity::Warning, "{file}: {problem:?}");
                let Problem { code, message, .. } = &problem;
                writeln!(found, "{name}/{file}:{} {code}: {message}", span.line).unwrap();
            }
        }
    }
    let path = directory("tests/findings/simulation.md");
    if std::env::var("UPDATE").is_ok() {
        std::fs::write(&path, &found).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), found);
}
