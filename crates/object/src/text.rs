//! Shortening of texts for messages.

/// What [`abridged`] writes instead of the middle of a text.
const GAP: &str = " … ";

/// Shortens a text to at most `max` bytes; a shortened text ends in `…`. For lists, whose first
/// elements say most.
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

/// Shortens a message to at most `max` bytes, by leaving out its middle: a message begins with what
/// it is about, often quotes it, and gives the reason at its end. A message that contains a shortened
/// one can be shortened again: this leaves out what was in the middle of both.
///
/// ```
/// let refused = "Pod a: refused: Invalid value: {…}: no such field";
/// assert_eq!(object::abridged(refused, 35), "Pod a: refused: … : no such field");
/// assert_eq!(object::abridged("abc", 3), "abc");
/// ```
pub fn abridged(message: &str, max: usize) -> String {
    if message.len() <= max {
        return message.to_owned();
    }
    let Some(shown) = max.checked_sub(GAP.len()) else {
        return bounded(message, max);
    };
    let start = &message[..message.floor_char_boundary(shown - shown / 2)];
    let end = &message[message.ceil_char_boundary(message.len() - shown / 2)..];
    format!("{start}{GAP}{end}")
}
