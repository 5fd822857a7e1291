//! A cursor in the text of a path, and the tokens that it reads.

use super::error::PathError;
use super::{MAX_NESTING, MAX_PATTERNS};
use crate::number::Number;
use crate::value::Value;

/// The greatest integer in a path: one that a float represents exactly, as RFC 9535 requires.
const MAX_INT: i64 = (1 << 53) - 1;

/// A position in the text of a path.
pub(crate) struct Cursor<'t> {
    text: &'t str,
    /// Invariant: on a character boundary of `text`.
    at: usize,
    /// In how many segments, filters, parentheses and functions this position is nested.
    nesting: usize,
    /// How many regular expressions were read.
    patterns: usize,
    /// Whether this is inside a filter, where a dotted name ends before an operator.
    pub(crate) in_filter: bool,
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            text,
            at: 0,
            nesting: 0,
            patterns: 0,
            in_filter: false,
        }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Goes back to an earlier position.
    pub(crate) fn back_to(&mut self, at: usize) {
        self.at = at;
    }

    /// The text since an earlier position.
    pub(crate) fn since(&self, start: usize) -> &'t str {
        &self.text[start..self.at]
    }

    pub(crate) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Consumes the next character.
    pub(crate) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Consumes `token`, if it is next.
    pub(crate) fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    pub(crate) fn expect(&mut self, token: &str, expected: &str) -> Result<(), PathError> {
        if self.eat(token) {
            return Ok(());
        }
        Err(self.unexpected(expected))
    }

    /// Consumes all characters for which `belongs` holds.
    pub(crate) fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    pub(crate) fn blank(&mut self) {
        self.take_while(is_blank);
    }

    /// The error that names what was found here and what was expected.
    pub(crate) fn unexpected(&self, expected: &str) -> PathError {
        let found = match self.peek() {
            Some(c) if c.is_control() => format!("`{}`", c.escape_debug()),
            Some(c) => format!("`{c}`"),
            None => "the end of the path".to_owned(),
        };
        self.error(format!("found {found}, expected {expected}"))
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> PathError {
        error_at(self.at, message)
    }

    /// Counts one more level of nesting, until [`Cursor::leave`].
    pub(crate) fn enter(&mut self) -> Result<(), PathError> {
        if self.nesting == MAX_NESTING {
            return Err(self.error(format!(
                "found more than {MAX_NESTING} nested segments, filters and parentheses, \
                 expected fewer"
            )));
        }
        self.nesting += 1;
        Ok(())
    }

    pub(crate) fn leave(&mut self, levels: usize) {
        self.nesting = self.nesting.saturating_sub(levels);
    }

    /// Counts one more regular expression.
    pub(crate) fn count_pattern(&mut self) -> Result<(), PathError> {
        if self.patterns == MAX_PATTERNS {
            return Err(self.error(format!(
                "found more than {MAX_PATTERNS} regular expressions, expected fewer"
            )));
        }
        self.patterns += 1;
        Ok(())
    }

    /// A name after a dot; empty if there is none.
    pub(crate) fn name(&mut self) -> &'t str {
        let in_filter = self.in_filter;
        self.take_while(|c| !ends_name(c, in_filter))
    }

    /// An integer without leading zeros, at most [`MAX_INT`] in either direction.
    pub(crate) fn int(&mut self) -> Result<i64, PathError> {
        let start = self.at;
        self.eat("-");
        let digits = self.take_while(|c| c.is_ascii_digit());
        let text = self.since(start);
        if digits.is_empty() {
            return Err(self.unexpected("a digit"));
        }
        if digits.starts_with('0') && text != "0" {
            let message = format!("found `{text}`, expected an integer without leading zeros");
            return Err(error_at(start, message));
        }
        text.parse()
            .ok()
            .filter(|int| (-MAX_INT..=MAX_INT).contains(int))
            .ok_or_else(|| {
                let message = format!("found `{text}`, expected at most {MAX_INT} either way");
                error_at(start, message)
            })
    }

    /// A JSON number.
    pub(crate) fn number(&mut self) -> Result<Value, PathError> {
        let start = self.at;
        let text =
            self.take_while(|c| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E'));
        Number::parse(text)
            .and_then(Value::number)
            .ok_or_else(|| error_at(start, format!("found `{text}`, expected a JSON number")))
    }

    /// A string in single or double quotes. The opening quote is next.
    pub(crate) fn string(&mut self) -> Result<String, PathError> {
        let start = self.at;
        let quote = self.next();
        let mut text = String::new();
        loop {
            let here = self.at;
            match self.next() {
                None => {
                    let message = "found a string without an end, expected a closing quote";
                    return Err(error_at(start, message));
                }
                next if next == quote => return Ok(text),
                Some('\\') => text.push(self.escape(here, quote)?),
                Some(c) if c < ' ' => {
                    self.at = here;
                    return Err(self.unexpected("a control character written with `\\`"));
                }
                Some(c) => text.push(c),
            }
        }
    }

    /// The character of an escape whose backslash is at `start`.
    fn escape(&mut self, start: usize, quote: Option<char>) -> Result<char, PathError> {
        Ok(match self.next() {
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some(c @ ('/' | '\\')) => c,
            Some(c) if Some(c) == quote => c,
            Some('u') => return self.unicode_escape(start),
            _ => return Err(error_at(start, "found a bad escape, expected one of JSON")),
        })
    }

    /// `XXXX`, or `XXXX\uXXXX` for a character outside the basic plane.
    fn unicode_escape(&mut self, start: usize) -> Result<char, PathError> {
        let bad = || error_at(start, "found a bad `\\u` escape, expected a character");
        let unit = self.hex4().ok_or_else(bad)?;
        if !(0xD800..0xDC00).contains(&unit) {
            return char::from_u32(unit).ok_or_else(bad);
        }
        let low = self.eat("\\u").then(|| self.hex4()).flatten();
        low.filter(|low| (0xDC00..0xE000).contains(low))
            .and_then(|low| char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00)))
            .ok_or_else(bad)
    }

    fn hex4(&mut self) -> Option<u32> {
        let digits = self.rest().get(..4)?;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}

pub(crate) fn error_at(offset: usize, message: impl Into<String>) -> PathError {
    PathError {
        offset,
        message: message.into(),
    }
}

pub(crate) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// Whether a character ends a dotted name.
fn ends_name(c: char, in_filter: bool) -> bool {
    matches!(c, '.' | '[' | ']' | '(' | ')' | '\'' | '"')
        || is_blank(c)
        || (in_filter && matches!(c, ',' | '=' | '!' | '<' | '>' | '&' | '|' | '~'))
}
