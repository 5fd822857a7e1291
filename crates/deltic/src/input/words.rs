//! Words that kubectl reads as booleans: it reads YAML 1.1, and deltic YAML 1.2.

use std::io;

use document::{Location, Value, View};
use manifest::{Diagnostic, Manifest};
use operator::Problem;

use crate::allow;
use crate::output::Output;

/// The code of the warning.
const CODE: &str = "kubectl-boolean";

/// How many such words of one manifest are reported.
const MAX_PROBLEMS: usize = 200;

/// How many of them are shown by commands that are not asked for warnings.
const MOST_SHOWN: usize = 10;

/// The warnings about the documents that a command reads.
#[derive(Debug, Default)]
pub(crate) struct Booleans {
    shown: Vec<Diagnostic>,
    /// How many others there are.
    more: usize,
}

impl Booleans {
    /// Adds the warnings about a document.
    pub(crate) fn look(&mut self, manifest: &Manifest) {
        for warning in warnings(manifest) {
            if self.shown.contains(&warning) {
                // The places of an alias are those of its anchor.
            } else if self.shown.len() < MOST_SHOWN {
                self.shown.push(warning);
            } else {
                self.more += 1;
            }
        }
    }

    /// Prints them, once.
    pub(crate) fn print(&mut self, output: &mut Output) -> io::Result<()> {
        let Self { shown, more } = std::mem::take(self);
        output.diagnostics(&shown)?;
        if more > 0 {
            let message = format!("{more} more words without quotes are booleans for kubectl");
            output.complain(&message);
        }
        Ok(())
    }
}

/// The warnings about a document, except for those that it allows.
pub(super) fn warnings(manifest: &Manifest) -> Vec<Diagnostic> {
    let found = problems(manifest).into_iter();
    let found = found.filter(|problem| !allow::is_annotated(manifest, problem.code));
    let warnings = found.filter_map(|problem| super::unless_allowed(manifest, problem));
    warnings.collect()
}

/// The keys and texts without quotes that kubectl reads as booleans.
fn problems(manifest: &Manifest) -> Vec<Problem> {
    let mut found = Vec::new();
    // Most objects have none, and there may be very many.
    if has_word(&manifest.value) {
        find(manifest, &manifest.value, &Location::root(), &mut found);
    }
    found
}

/// Whether a key or a text is such a word, with quotes or without.
fn has_word(value: &Value) -> bool {
    let is_word = |text: &str| boolean(text).is_some();
    match value.view() {
        View::List(items) => items.iter().any(has_word),
        View::Map(map) => map
            .iter()
            .any(|(key, value)| is_word(key.as_str()) || has_word(value)),
        View::Str(text) => is_word(text),
        View::Null | View::Bool(_) | View::Int(_) | View::Float(_) | View::Bytes(_) => false,
    }
}

fn find(manifest: &Manifest, value: &Value, at: &Location, found: &mut Vec<Problem>) {
    match value.view() {
        View::List(items) => {
            for (i, item) in items.iter().enumerate() {
                find(manifest, item, &at.index(i), found);
            }
        }
        View::Map(map) => {
            for (key, value) in map {
                let at = at.key(key.as_str());
                word(manifest, key.as_str(), &at, true, found);
                find(manifest, value, &at, found);
            }
        }
        View::Str(text) => word(manifest, text, at, false, found),
        View::Null | View::Bool(_) | View::Int(_) | View::Float(_) | View::Bytes(_) => {}
    }
}

fn word(manifest: &Manifest, word: &str, at: &Location, is_key: bool, found: &mut Vec<Problem>) {
    let Some(boolean) = boolean(word).filter(|_| found.len() < MAX_PROBLEMS) else {
        return;
    };
    let span = super::span(manifest, at, is_key);
    // A word with quotes or a tag is a text for kubectl, too.
    let (text, start) = (&manifest.source().text, span.start);
    let is_tagged = |before: &str| before.trim_end().ends_with("!!str");
    if text.get(start..span.end) != Some(word) || text.get(..start).is_some_and(is_tagged) {
        return;
    }
    let problem = Problem::warning(CODE, at, format!("kubectl reads {word} as {boolean}"));
    let problem = problem.with_help(format!("put it in quotes: \"{word}\""));
    found.push(if is_key { problem.at_key() } else { problem });
}

/// The boolean that a word is in YAML 1.1, but not in YAML 1.2.
fn boolean(word: &str) -> Option<bool> {
    match word {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}
