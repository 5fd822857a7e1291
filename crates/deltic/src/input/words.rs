//! Words that kubectl reads as booleans: it reads YAML 1.1, and deltic YAML 1.2.

use document::{Location, Value, View};
use manifest::Manifest;
use operator::Problem;

/// The code of the warning.
const CODE: &str = "kubectl-boolean";

/// How many such words of one manifest are reported.
const MAX_PROBLEMS: usize = 200;

/// Warnings about keys and texts without quotes that kubectl reads as booleans.
pub(super) fn problems(manifest: &Manifest) -> Vec<Problem> {
    let mut found = Vec::new();
    find(manifest, &manifest.value, &Location::root(), &mut found);
    found
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
