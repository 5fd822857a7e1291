//! The text of an Operator with counts in front of its lines.

use std::collections::BTreeMap;
use std::fmt::Write;

use manifest::Manifest;

use super::CoveredPlace;

/// The file of an Operator, each line with what happened there. A `!` marks what never did:
///
/// ```text
///      5 2 |   - "@select": {"@gt": [$.n, 1]}
///      5 ! |       size: {"@cond": [{"@gt": [$.n, 0]}, some, none]}
/// ```
pub fn annotated(manifest: &Manifest, places: &[CoveredPlace]) -> String {
    let mut lines: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for place in places {
        let line = manifest.key_span(&place.at).line;
        // The outcomes of a `@select` say more than the documents that it yields.
        let decides = places
            .iter()
            .any(|other| other.at == place.at && !other.is_stage);
        if place.is_stage && decides {
            continue;
        }
        let counts = place.outcomes.iter().map(|(_, count)| match count {
            0 => "!".to_owned(),
            count => count.to_string(),
        });
        lines.entry(line).or_default().extend(counts);
    }
    let mut text = String::new();
    for (number, line) in manifest.source().text.lines().enumerate() {
        let counts = lines.remove(&(number + 1)).unwrap_or_default().join(" ");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{counts:>12} | {line}");
    }
    text
}
