//! `deltic patch --diff`: prints the changes as a unified diff of YAML.

use std::io;
use std::time::Duration;

use document::Value;
use similar::{ChangeTag, TextDiff};

use super::secret;
use crate::output::{DiffLine, Output, name};

/// How long to search for the smallest diff of an object; after that any diff is printed.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Prints the diff of an object; nothing if it does not change.
pub(super) fn print(old: &Value, new: Option<&Value>, output: &mut Output) -> io::Result<()> {
    if new == Some(old) {
        return Ok(());
    }
    let before = name(old);
    let after = new.map_or("/dev/null".to_owned(), name);
    let (old, new) = secret::masked(old, new);
    let old = manifest::to_yaml(&old);
    let new = new.as_ref().map(manifest::to_yaml).unwrap_or_default();
    let diff = TextDiff::configure()
        .timeout(TIMEOUT)
        .diff_lines(old.as_str(), new.as_str());
    output.diff_line(DiffLine::File, &format!("--- {before}"))?;
    output.diff_line(DiffLine::File, &format!("+++ {after}"))?;
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
