//! Prints changes of objects and documents as a unified diff of YAML.

use std::io;
use std::time::Duration;

use document::Value;
use similar::{ChangeTag, TextDiff};

use crate::output::{DiffLine, Output, name};
use crate::secret;

/// How long to search for the smallest diff of an object; after that any diff is printed.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Prints the diff of an object; nothing if it does not change.
pub(crate) fn object(old: &Value, new: Option<&Value>, output: &mut Output) -> io::Result<()> {
    if new == Some(old) {
        return Ok(());
    }
    let before = name(old);
    let after = new.map_or("/dev/null".to_owned(), name);
    let (old, new) = secret::masked(old, new);
    output.diff_line(DiffLine::File, &format!("--- {before}"))?;
    output.diff_line(DiffLine::File, &format!("+++ {after}"))?;
    let old = manifest::to_yaml(&old);
    let new = new.as_ref().map(manifest::to_yaml).unwrap_or_default();
    hunks(&old, &new, output)
}

/// Prints a document between two stages: the diff to the one that it is made of, or all of it.
pub(crate) fn document(old: Option<&Value>, new: &Value, output: &mut Output) -> io::Result<()> {
    if old == Some(new) {
        return Ok(());
    }
    let old = old.map(manifest::to_yaml).unwrap_or_default();
    hunks(&old, &manifest::to_yaml(new), output)
}

fn hunks(old: &str, new: &str, output: &mut Output) -> io::Result<()> {
    let diff = TextDiff::configure().timeout(TIMEOUT).diff_lines(old, new);
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        output.diff_line(DiffLine::Hunk, &hunk.header().to_string())?;
        for change in hunk.iter_changes() {
            let (line, sign) = match change.tag() {
                ChangeTag::Equal => (DiffLine::Same, ' '),
                ChangeTag::Delete => (DiffLine::Removed, '-'),
                ChangeTag::Insert => (DiffLine::Added, '+'),
            };
            output.diff_line(line, &format!("{sign}{}", change.value()))?;
        }
    }
    Ok(())
}
