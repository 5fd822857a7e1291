//! Paths that are too long.
#![allow(clippy::unwrap_used)]

use document::patch::PatchPath;
use document::path::Path;

/// The limit may fall into the middle of a character, where no text can be cut.
#[test]
fn the_place_of_the_error_is_between_characters() {
    for shift in 0..4 {
        let rest = format!("{}{}", "a".repeat(shift), "\u{1f980}".repeat(3000));
        let (plain, patch) = (format!("$.{rest}"), format!("/{rest}"));
        let error = Path::parse(&plain).unwrap_err();
        assert!(plain.is_char_boundary(error.offset), "{}", error.offset);
        let error = PatchPath::parse(&patch).unwrap_err();
        assert!(patch.is_char_boundary(error.offset), "{}", error.offset);
    }
}
