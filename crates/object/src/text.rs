//! Shortening of texts for messages.

/// Shortens a text to at most `max` bytes; a shortened text ends in `…`.
///
/// ```
/// assert_eq!(object::bounded("abc", 3), "abc");
/// assert_eq!(object::bounded("äöüäöü", 8), "äö…");
/// ```
pub fn bounded(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(max.saturating_sub('…'.len_utf8()));
    format!("{}…", &text[..end])
}
