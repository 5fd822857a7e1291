//! Positions inside strings: where a part of a value is in its source.
//!
//! Quotes, escapes, indentation and folded lines make the source differ from the value. But the
//! characters other than white space are the same ones in the same order, so these are counted:
//!
//! ```text
//! "@cel": >-                value: "object.a == object.b"
//!   object.a ==                              18 characters before `b`
//!     object.b              source: the 19th character after the first line
//! ```

use std::iter::Peekable;
use std::ops::Range;
use std::str::CharIndices;

/// The offset in `source`, the text of a scalar, of the byte `offset` of its value. `None` if the
/// source does not have this value: if it is an alias, for example.
pub(crate) fn position(source: &str, value: &str, offset: usize) -> Option<usize> {
    let before = value.get(..offset)?;
    let visible = before.trim_end_matches(is_blank);
    let mut characters = Characters::new(source);
    let mut end = characters.start;
    for expected in visible.chars().filter(|c| !is_blank(*c)) {
        let (range, found) = characters.next_visible()?;
        if found != expected {
            return None;
        }
        end = range.end;
    }
    let next = value[offset..].chars().next();
    if next.is_some_and(|next| !is_blank(next)) {
        return Some(characters.next_visible()?.0.start);
    }
    let blank = &before[visible.len()..];
    let on_line = !blank.contains(['\n', '\r']);
    let end = end + if on_line { blank.len() } else { 0 };
    Some(end.min(source.len()))
}

/// The place in `source` of a part of its value; the part is not empty.
pub(crate) fn range(source: &str, value: &str, part: &Range<usize>) -> Option<Range<usize>> {
    let start = position(source, value, part.start)?;
    let mut end = start;
    let mut characters = Characters::new(source);
    for expected in value.get(..part.end)?.chars().filter(|c| !is_blank(*c)) {
        let (range, found) = characters.next_visible()?;
        if found != expected {
            return None;
        }
        end = range.end;
    }
    Some(start..end.max(start))
}

/// White space, which YAML folds and strips.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// The characters that a scalar means, with their place in its source.
struct Characters<'a> {
    source: &'a str,
    rest: Peekable<CharIndices<'a>>,
    /// Where the content starts.
    start: usize,
    quote: Option<char>,
}

impl<'a> Characters<'a> {
    fn new(source: &'a str) -> Self {
        let (start, quote) = match source.chars().next() {
            Some(quote @ ('"' | '\'')) => (1, Some(quote)),
            // The first line of a block has its indicators, and perhaps a comment.
            Some('|' | '>') => (source.find('\n').map_or(source.len(), |at| at + 1), None),
            _ => (0, None),
        };
        let mut rest = source.char_indices().peekable();
        while rest.next_if(|(at, _)| *at < start).is_some() {}
        Self {
            source,
            rest,
            start,
            quote,
        }
    }

    /// The next character that is no white space.
    fn next_visible(&mut self) -> Option<(Range<usize>, char)> {
        loop {
            let (at, c) = self.rest.next()?;
            let found = match (self.quote, c) {
                (Some('"'), '"') => return None,
                (Some('"'), '\\') => self.escape(at)?,
                (Some('\''), '\'') => {
                    self.rest.next_if(|(_, c)| *c == '\'')?;
                    c
                }
                _ => c,
            };
            if !is_blank(found) {
                let end = self.rest.peek().map_or(self.source.len(), |(at, _)| *at);
                return Some((at..end, found));
            }
        }
    }

    /// The character of an escape sequence, whose backslash is at this offset.
    fn escape(&mut self, at: usize) -> Option<char> {
        let (_, c) = self.rest.next()?;
        let digits = match c {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            // A line that continues on the next one counts as white space.
            '0' => return Some('\0'),
            'a' => return Some('\u{7}'),
            'b' => return Some('\u{8}'),
            'e' => return Some('\u{1b}'),
            'f' => return Some('\u{c}'),
            'v' => return Some('\u{b}'),
            'N' => return Some('\u{85}'),
            '_' => return Some('\u{a0}'),
            'L' => return Some('\u{2028}'),
            'P' => return Some('\u{2029}'),
            'n' | 'r' | 't' | ' ' | '\t' | '\n' | '\r' => return Some(' '),
            other => return Some(other),
        };
        let code = self.code(at + 2, digits)?;
        // JSON writes characters beyond the first 65,536 as two escapes.
        if (0xd800..0xdc00).contains(&code) {
            self.rest.next_if(|(_, c)| *c == '\\')?;
            let (u, _) = self.rest.next_if(|(_, c)| *c == 'u')?;
            let low = self.code(u + 1, 4)?.checked_sub(0xdc00)?;
            return char::from_u32(0x10000 + ((code - 0xd800) << 10) + low);
        }
        char::from_u32(code)
    }

    fn code(&mut self, start: usize, digits: usize) -> Option<u32> {
        let text = self.source.get(start..start + digits)?;
        for _ in 0..digits {
            self.rest.next();
        }
        u32::from_str_radix(text, 16).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{position, range};

    /// `^` in the source is the expected position of `b` in the value.
    fn check(marked: &str, value: &str) {
        let expect = marked.find('^').expect("a mark");
        let source = marked.replace('^', "");
        let offset = value.find('b').expect("a `b`");
        let found = position(&source, value, offset);
        assert_eq!(found, Some(expect), "{marked}");
    }

    #[test]
    fn quotes_escapes_and_lines_are_skipped() {
        check("a = ^b", "a = b");
        check("\"a == \\\"x\\\" ^b\"", "a == \"x\" b");
        check("\"\\u00e9\\x20\\ud83d\\ude00 ^b\"", "é  😀 b");
        check("'it''s ^b'", "it's b");
        check("|\n  a\n   + ^b\n", "a\n + b\n");
        check(">- # why\n  a\n  +\n\n  ^b", "a +\nb");
        check("a\n  + ^b", "a + b");
        check("\"a \\\n   ^b\"", "a b");
    }

    #[test]
    fn a_part_ends_with_its_last_character() {
        let check = |source: &str, value: &str, part: &str, expect: &str| {
            let start = value.find(part).expect("a part");
            let found = range(source, value, &(start..start + part.len()));
            assert_eq!(found.map(|found| &source[found]), Some(expect), "{source}");
        };
        check("\"a + b == c\"", "a + b == c", "b == c", "b == c");
        check(
            "\"a == \\\"x\\\" + b\"",
            "a == \"x\" + b",
            "\"x\"",
            "\\\"x\\\"",
        );
        check("|\n  a\n   + b\n", "a\n + b\n", "a\n + b", "a\n   + b");
        assert_eq!(range("*alias", "a + b", &(0..5)), None);
    }

    #[test]
    fn the_end_and_white_space_have_a_position() {
        assert_eq!(position("\"a ==\"", "a ==", 4), Some(5));
        assert_eq!(position("\"a == \"", "a == ", 5), Some(6));
        assert_eq!(position("'' # nothing", "", 0), Some(1));
        assert_eq!(position("|\n  a\n  + \n", "a\n+ \n", 5), Some(9));
    }

    #[test]
    fn another_value_has_no_position() {
        assert_eq!(position("*alias", "a = b", 2), None);
        assert_eq!(position("a", "a b", 2), None);
        assert_eq!(position("\"\\ud83d\"", "x", 1), None);
        assert_eq!(position("a", "é", 1), None);
    }
}
