//! Changes of objects and documents as a unified diff of YAML.

use std::io;
use std::time::Duration;

use document::Value;
use similar::{ChangeTag, TextDiff};

use crate::output::{DiffLine, Output, name};

/// How long to search for the smallest diff of an object; after that any diff is printed.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Prints the diff of an object; nothing if it does not change.
pub(crate) fn object(old: &Value, new: Option<&Value>, output: &mut Output) -> io::Result<()> {
    let before = name(old);
    let after = new.map_or("/dev/null".to_owned(), name);
    print(&titled((&before, Some(old)), (&after, new)), output)
}

/// Prints a document between two stages: the diff to the one that it is made of, or all of it.
pub(crate) fn document(old: Option<&Value>, new: &Value, output: &mut Output) -> io::Result<()> {
    if old == Some(new) {
        return Ok(());
    }
    let old = old.map(manifest::to_yaml).unwrap_or_default();
    print(&hunks(&old, &manifest::to_yaml(new)), output)
}

fn print(lines: &[(DiffLine, String)], output: &mut Output) -> io::Result<()> {
    let mut lines = lines.iter();
    lines.try_for_each(|(line, text)| output.diff_line(*line, text))
}

/// The lines of the diff of an object, with titles, and with the values of a Secret masked; empty
/// if it does not change.
pub(crate) fn titled(
    (before, old): (&str, Option<&Value>),
    (after, new): (&str, Option<&Value>),
) -> Vec<(DiffLine, String)> {
    if old == new {
        return Vec::new();
    }
    let (old, new) = masked(old, new);
    let yaml = |object: Option<Value>| object.as_ref().map(manifest::to_yaml).unwrap_or_default();
    texts((before, &yaml(old)), (after, &yaml(new)))
}

/// Both states of an object, with the values of a Secret masked.
pub(crate) fn masked(old: Option<&Value>, new: Option<&Value>) -> (Option<Value>, Option<Value>) {
    match (old, new) {
        (Some(old), new) => {
            let (old, new) = explanation::masked(old, new);
            (Some(old), new)
        }
        (None, Some(new)) => (None, Some(explanation::masked(new, None).0)),
        (None, None) => (None, None),
    }
}

/// The lines of the diff of two texts, each with its title.
pub(crate) fn texts(old: (&str, &str), new: (&str, &str)) -> Vec<(DiffLine, String)> {
    if old.1.is_empty() && new.1.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![
        (DiffLine::File, format!("--- {}", old.0)),
        (DiffLine::File, format!("+++ {}", new.0)),
    ];
    lines.extend(hunks(old.1, new.1));
    lines
}

fn hunks(old: &str, new: &str) -> Vec<(DiffLine, String)> {
    let diff = TextDiff::configure().timeout(TIMEOUT).diff_lines(old, new);
    let mut lines = Vec::new();
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        lines.push((DiffLine::Hunk, hunk.header().to_string()));
        for change in hunk.iter_changes() {
            let (line, sign) = match change.tag() {
                ChangeTag::Equal => (DiffLine::Same, ' '),
                ChangeTag::Delete => (DiffLine::Removed, '-'),
                ChangeTag::Insert => (DiffLine::Added, '+'),
            };
            lines.push((line, format!("{sign}{}", change.value())));
        }
    }
    lines
}
