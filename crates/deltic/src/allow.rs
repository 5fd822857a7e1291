//! Warnings that are intended: `# deltic: allow(join-without-key)` in a file.

use manifest::{Diagnostic, Severity};

/// Whether a comment allows a warning: at the end of its line, or on the lines directly above.
pub(crate) fn is_allowed(diagnostic: &Diagnostic) -> bool {
    let (Some(source), Some(span)) = (&diagnostic.source, diagnostic.span) else {
        return false;
    };
    if diagnostic.severity == Severity::Error {
        return false;
    }
    let start = source.text[..span.start.min(source.text.len())]
        .rfind('\n')
        .map_or(0, |at| at + 1);
    let line = source.text[start..].lines().next().unwrap_or_default();
    let above = source.text[..start].lines().rev();
    let above = above.take_while(|line| line.trim_start().starts_with('#'));
    let mut comments = std::iter::once(line).chain(above);
    comments.any(|line| allows(line, &diagnostic.code))
}

/// Whether the comment of a line allows a code.
fn allows(line: &str, code: &str) -> bool {
    let Some((_, comment)) = line.split_once('#') else {
        return false;
    };
    let codes = comment.split_once("deltic: allow(");
    let codes = codes.and_then(|(_, codes)| codes.split_once(')'));
    codes.is_some_and(|(codes, _)| codes.split(',').any(|other| other.trim() == code))
}
