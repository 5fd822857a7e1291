//! Text in XML, for `JUnit` reports and pictures.

/// A text in XML 1.0, which has no form for most control characters, without those that do something
/// to a terminal or to the text around them.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(c),
            c if document::is_harmful(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                escaped.push('?');
            }
            c => escaped.push(c),
        }
    }
    escaped
}
