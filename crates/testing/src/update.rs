//! Writes new expectations into the text of a test file.
//!
//! Only the values of expectations are replaced; everything else, comments included, stays as it
//! is. A value in a block is written as a block, one inside `{…}` or `[…]` as JSON.

use std::ops::Range;

use document::{Location, LocationStep, Value};
use manifest::Manifest;

/// A value that replaces another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Replacement {
    /// The place of the old value.
    pub at: Location,
    /// The file with the old value, if it is not in the test file.
    pub file: Option<String>,
    /// The new value.
    pub value: Value,
}

/// The text of a test file with new values. All manifests are documents of the same text.
pub fn updated(text: &str, replacements: &[(&Manifest, Replacement)]) -> String {
    let mut edits: Vec<(Range<usize>, String)> = replacements
        .iter()
        .map(|(manifest, replacement)| edit(text, manifest, replacement))
        .collect();
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut text = text.to_owned();
    for (range, new) in edits {
        text.replace_range(range, &new);
    }
    text
}

fn edit(text: &str, manifest: &Manifest, replacement: &Replacement) -> (Range<usize>, String) {
    let at = &replacement.at;
    let span = manifest.span(at);
    let old = text[span.start..span.end].trim_end();
    if is_in_flow(text, manifest, at) {
        let space = if span.start == span.end { " " } else { "" };
        return (
            span.start..span.start + old.len(),
            format!("{space}{}", replacement.value),
        );
    }
    let is_key = matches!(at.steps().last(), Some(LocationStep::Key(_)));
    if !is_key {
        // An item of a list: its lines begin where it begins.
        let new = indented(&replacement.value, span.column - 1);
        return (span.start..span.start + old.len(), new.trim().to_owned());
    }
    let key = manifest.key_span(at);
    // The colon comes after the key; a comment behind it stays.
    let colon = text[key.end..]
        .find(':')
        .map_or(key.end, |colon| key.end + colon + 1);
    let comment = comment_after(text, colon);
    let new = if is_short(&replacement.value) {
        format!(
            " {}{comment}",
            manifest::to_yaml(&replacement.value).trim_end()
        )
    } else {
        format!(
            "{comment}\n{}",
            indented(&replacement.value, key.column - 1)
        )
    };
    let end = if old.is_empty() {
        colon
    } else {
        span.start + old.len()
    };
    let end = end.max(colon + comment.len());
    (colon..end, new)
}

/// The comment behind a key, if there is one; then the value begins on a later line or is missing.
fn comment_after(text: &str, colon: usize) -> &str {
    let line = text[colon..].lines().next().unwrap_or_default();
    let is_comment = line.trim_start().starts_with('#');
    if is_comment { line } else { "" }
}

/// Whether the value is part of a `{…}` or `[…]`.
fn is_in_flow(text: &str, manifest: &Manifest, at: &Location) -> bool {
    let steps = at.steps();
    (0..steps.len()).any(|length| {
        let ancestor = steps[..length]
            .iter()
            .fold(Location::root(), |at, step| match step {
                LocationStep::Key(key) => at.key(key.as_str()),
                LocationStep::Index(index) => at.index(*index),
            });
        let start = manifest.span(&ancestor).start;
        text[start..].starts_with(['{', '['])
    })
}

fn is_short(value: &Value) -> bool {
    !manifest::to_yaml(value).trim_end().contains('\n')
        && value.as_list().is_none_or(document::ListRef::is_empty)
        && value.as_map().is_none_or(document::Map::is_empty)
}

/// A value as a block that is indented by this many spaces, without a line break at its end.
fn indented(value: &Value, spaces: usize) -> String {
    let yaml = manifest::to_yaml(value);
    let lines = yaml.trim_end_matches('\n').lines();
    let indent = " ".repeat(spaces);
    let line = |line: &str| {
        if line.is_empty() {
            String::new()
        } else {
            format!("{indent}{line}")
        }
    };
    lines.map(line).collect::<Vec<_>>().join("\n")
}
