//! Text from outside in one line of a terminal or a log.

use std::borrow::Cow;
use std::fmt::Write;

/// The text in one line that cannot do anything to a terminal, and that looks like what it is: line
/// breaks and tabs become spaces, and [harmful](is_harmful) characters are written as `\u{202e}`.
///
/// ```
/// assert_eq!(document::one_line("web\n\u{1b}[2J\u{202e}x"), r"web \u{1b}[2J\u{202e}x");
/// ```
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => line.push(' '),
            c if is_harmful(c) => {
                // Writing to a string cannot fail.
                let _ = write!(line, "\\u{{{:x}}}", u32::from(c));
            }
            c => line.push(c),
        }
    }
    Cow::Owned(line)
}

/// Whether a terminal does not simply display this character: it controls the terminal,
/// changes the direction of the text around it, or is invisible.
pub fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{600}'..='\u{605}'
                | '\u{61c}'
                | '\u{6dd}'
                | '\u{70f}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_execute_is_escaped() {
        for (text, expect) in [
            ("web-0, é, 漢字, 👍🏽", "web-0, é, 漢字, 👍🏽"),
            ("a\r\nb\tc", "a  b c"),
            ("\u{1b}]0;x\u{7}\u{9b}", r"\u{1b}]0;x\u{7}\u{9b}"),
            ("\u{202e}txt\u{202c}", r"\u{202e}txt\u{202c}"),
            ("a\u{200b}b\u{2066}", r"a\u{200b}b\u{2066}"),
            ("a\u{2028}b", "a b"),
            ("\u{e0041}", r"\u{e0041}"),
        ] {
            assert_eq!(one_line(text), expect);
            assert!(!one_line(text).contains(is_harmful));
        }
        assert!(matches!(one_line("plain"), Cow::Borrowed(_)));
    }
}
