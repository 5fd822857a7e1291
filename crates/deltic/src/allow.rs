//! Warnings that are intended: `# deltic: allow(join-without-key)` in a file.

use document::Location;
use manifest::{Diagnostic, Manifest, Severity};
use object::marks;

use crate::doc;
use crate::input;

/// Whether a comment allows a warning about the value at a location: at the end of its line, or on
/// the lines directly above. The lines of a text cannot have comments, so those where it starts
/// count, too.
pub(crate) fn is_allowed(diagnostic: &Diagnostic, manifest: &Manifest, at: &Location) -> bool {
    let Some(span) = diagnostic.span else {
        return false;
    };
    if diagnostic.severity == Severity::Error {
        return false;
    }
    let text = &manifest.source().text;
    let starts = [span.start, manifest.span(at).start];
    starts
        .iter()
        .any(|start| allows_at(text, *start, &diagnostic.code))
}

/// Whether a comment allows a code at an offset of a text.
fn allows_at(text: &str, offset: usize, code: &str) -> bool {
    let start = text[..offset.min(text.len())]
        .rfind('\n')
        .map_or(0, |at| at + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let above = text[..start].lines().rev();
    let above = above.take_while(|line| line.trim_start().starts_with('#'));
    let mut comments = std::iter::once(line).chain(above);
    comments.any(|line| allows(line, code))
}

/// Whether the comment of a line allows a code.
fn allows(line: &str, code: &str) -> bool {
    listed(line).is_some_and(|(_, codes)| codes.split(',').any(|other| other.trim() == code))
}

/// The codes in the comment of a line as they are written, with their offset.
fn listed(line: &str) -> Option<(usize, &str)> {
    let comment = line.find('#')?;
    let start = comment + line[comment..].find(ALLOW)? + ALLOW.len();
    let (codes, _) = line[start..].split_once(')')?;
    Some((start, codes))
}

const ALLOW: &str = "deltic: allow(";

/// Whether the annotation of a manifest allows a code.
pub(crate) fn is_annotated(manifest: &Manifest, code: &str) -> bool {
    let annotations = manifest.value.get("metadata").get("annotations");
    let codes = annotations.get(marks::ALLOW).as_str().unwrap_or_default();
    codes.split(',').any(|other| other.trim() == code)
}

/// Warnings about codes that do not exist, in comments and in the annotation of a manifest.
pub(crate) fn unknown_codes(manifest: &Manifest) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let text = &manifest.source().text;
    let whole = manifest.span(&Location::root());
    // Comments above the first key are part of the document, too.
    let start = text[..whole.start]
        .rfind("\n---")
        .map_or(0, |separator| separator + 1);
    let mut offset = start;
    for line in text[start..whole.end.max(start)].split_inclusive('\n') {
        if let Some((start, codes)) = listed(line) {
            for (place, code) in unknown(codes) {
                let place = offset + start + place;
                let span = manifest.span_of(place..place + code.len());
                found.push(unknown_code(manifest, code, span));
            }
        }
        offset += line.len();
    }
    let annotations = Location::root().key("metadata").key("annotations");
    let annotation = manifest.value.get("metadata").get("annotations");
    let codes = annotation.get(marks::ALLOW).as_str().unwrap_or_default();
    for (place, code) in unknown(codes) {
        let part = place..place + code.len();
        let span = manifest.span_inside(&annotations.key(marks::ALLOW), &part);
        found.push(unknown_code(manifest, code, span));
    }
    found
}

/// The codes of a list that do not exist, with their offsets.
fn unknown(codes: &str) -> Vec<(usize, &str)> {
    let mut offset = 0;
    let mut found = Vec::new();
    for part in codes.split(',') {
        let code = part.trim();
        if !code.is_empty() && !doc::codes().any(|known| known == code) {
            found.push((offset + part.len() - part.trim_start().len(), code));
        }
        offset += part.len() + 1;
    }
    found
}

fn unknown_code(manifest: &Manifest, code: &str, span: manifest::Span) -> Diagnostic {
    let help = match expr::nearest(code, doc::codes()) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => "`deltic doc --list` prints all codes".to_owned(),
    };
    Diagnostic {
        severity: Severity::Warning,
        source: Some(manifest.source().clone()),
        span: Some(span),
        help: Some(help),
        ..input::error("unknown-code", format!("there is no warning {code}"))
    }
}
