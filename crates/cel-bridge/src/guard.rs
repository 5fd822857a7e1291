//! A look at the text before it is parsed.
//!
//! In goes the text of an expression, out comes text that the parser is safe with: it
//! is recursive, so what is nested too deep must never reach it. The scan follows the
//! lexer of CEL and refuses whatever that would stumble over, because the two must
//! agree on what is a string and what is a bracket.
//!
//! The parser also misreads some texts, which are dealt with here: pairs of `!!` and
//! `--` (it takes them for one, and for twice the time) are blanked out, and the bytes
//! literals `b'''…'''` and `br'…'` are refused.

use std::borrow::Cow;

use crate::error::CompileError;

/// How long an expression may be, in bytes.
pub const MAX_LENGTH: usize = 16 * 1024;

/// How deep an expression may be. A bracket inside a bracket counts 6; operators in a
/// row (`a + b + c`), members in a row (`a.b.c`) and conditions in a row count 1 each.
/// So 50 brackets fit, or a sum of 300. Lists, `&&` and `||` may be of any length.
///
/// With a stack of 2 MiB, a debug build overflows at 196 nested lists (in the parser)
/// and at a row of 940 methods (while the tree is made): three times the limit and more.
pub const MAX_DEPTH: usize = 300;

/// What a bracket counts: the parser needs about 11 KiB of stack for one, everything
/// else up to 2.2 KiB for an operator.
const BRACKET: usize = 6;

/// The text for the parser, of the same length and with every part in its place.
pub(crate) fn check(text: &str) -> Result<Cow<'_, str>, CompileError> {
    if text.len() > MAX_LENGTH {
        return Err(CompileError::TooLong { found: text.len() });
    }
    let mut scan = Scan {
        text,
        at: 0,
        previous: b' ',
        operand: false,
        pending: None,
        blank: Vec::new(),
        groups: vec![Group::default()],
    };
    while scan.at < text.len() {
        scan.token()?;
    }
    while scan.groups.len() > 1 {
        scan.close();
    }
    if scan.groups[0].depth() > MAX_DEPTH {
        return Err(CompileError::TooDeep);
    }
    if scan.blank.is_empty() {
        return Ok(Cow::Borrowed(text));
    }
    let mut bytes = text.as_bytes().to_vec();
    for at in scan.blank {
        bytes[at] = b' ';
    }
    // Only ASCII was replaced by ASCII: the text is still UTF-8, nothing is lost.
    Ok(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()))
}

/// A syntax error at a place of the text.
pub(crate) fn syntax_error(text: &str, offset: usize, message: String) -> CompileError {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    CompileError::Syntax {
        message,
        offset: before.len(),
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}

struct Scan<'a> {
    text: &'a str,
    /// Where the next token starts.
    at: usize,
    /// The first byte of the last token.
    previous: u8,
    /// Whether the last token ends an operand, so that a `-` is a subtraction.
    operand: bool,
    /// A `!` or `-` before an operand, and its place, if it has no partner yet.
    pending: Option<(u8, usize)>,
    /// Places of operators that cancel each other out.
    blank: Vec<usize>,
    /// The brackets around this place, and the text itself.
    groups: Vec<Group>,
}

/// What stands between two brackets, as far as it is read.
#[derive(Default)]
struct Group {
    /// Operators and members in a row.
    links: usize,
    /// The deepest bracket among them.
    child: usize,
    /// The deepest row so far, since the last comma.
    row: usize,
    /// Conditions since the last comma.
    conditions: usize,
    /// The deepest expression before the last comma.
    deepest: usize,
}

impl Group {
    fn end_row(&mut self) {
        self.row = self.row.max(self.links + self.child);
        (self.links, self.child) = (0, 0);
    }

    fn end_expression(&mut self) {
        self.end_row();
        self.deepest = self.depth();
        (self.row, self.conditions) = (0, 0);
    }

    fn depth(&self) -> usize {
        let row = self.row.max(self.links + self.child);
        self.deepest.max(self.conditions + row)
    }
}

impl Scan<'_> {
    fn token(&mut self) -> Result<(), CompileError> {
        let start = self.at;
        let byte = self.byte(0);
        match byte {
            b'\t' | b' ' | b'\r' | b'\n' | 0x0c => {
                self.at += 1;
                return Ok(());
            }
            b'/' if self.byte(1) == b'/' => {
                self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                return Ok(());
            }
            b'!' if self.byte(1) != b'=' => self.prefix(byte),
            b'-' if !self.operand => self.prefix(byte),
            _ => {
                self.pending = None;
                self.plain_token(byte)?;
            }
        }
        self.previous = self.text.as_bytes()[start];
        Ok(())
    }

    fn plain_token(&mut self, byte: u8) -> Result<(), CompileError> {
        match byte {
            b'(' | b'[' | b'{' => return self.open(),
            b')' | b']' | b'}' => {
                self.at += 1;
                self.operand = true;
                self.close();
            }
            b'"' | b'\'' => self.string(false)?,
            b'`' => self.escaped_identifier()?,
            b'0'..=b'9' => self.number()?,
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => self.word()?,
            _ => self.operator(byte)?,
        }
        Ok(())
    }

    fn operator(&mut self, byte: u8) -> Result<(), CompileError> {
        let optional = matches!(self.previous, b'.' | b'[' | b'{' | b',');
        let pair = self.byte(1) == byte;
        let before_equals = self.byte(1) == b'=';
        let group = self.group();
        let length = match byte {
            b',' => {
                group.end_expression();
                1
            }
            b'&' | b'|' if pair => {
                group.end_row();
                2
            }
            b'?' if optional => 1,
            b'?' => {
                group.end_row();
                group.conditions += 1;
                1
            }
            b':' => {
                group.end_row();
                1
            }
            b'=' | b'!' | b'<' | b'>' if before_equals => {
                group.links += 1;
                2
            }
            b'<' | b'>' | b'+' | b'-' | b'*' | b'/' | b'%' | b'.' => {
                group.links += 1;
                1
            }
            _ => return Err(self.error("unexpected character")),
        };
        self.at += length;
        self.operand = false;
        Ok(())
    }

    fn prefix(&mut self, operator: u8) {
        match self.pending {
            Some((other, place)) if other == operator => {
                self.blank.extend([place, self.at]);
                self.pending = None;
            }
            _ => {
                self.pending = Some((operator, self.at));
                self.group().links += 1;
            }
        }
        self.operand = false;
        self.at += 1;
    }

    fn open(&mut self) -> Result<(), CompileError> {
        // The parser goes down at every opening bracket, whether or not it is closed.
        if self.groups.len() * BRACKET > MAX_DEPTH {
            return Err(CompileError::TooDeep);
        }
        self.groups.push(Group::default());
        self.operand = false;
        self.at += 1;
        Ok(())
    }

    /// Ends a bracket; one too many is left to the parser.
    fn close(&mut self) {
        if self.groups.len() > 1
            && let Some(group) = self.groups.pop()
        {
            let depth = group.depth() + BRACKET;
            let parent = self.group();
            parent.child = parent.child.max(depth);
        }
    }

    fn word(&mut self) -> Result<(), CompileError> {
        let start = self.at;
        self.skip(|b| b.is_ascii_alphanumeric() || b == b'_');
        let word = &self.text[start..self.at];
        if matches!(self.byte(0), b'"' | b'\'') {
            match word {
                "r" | "R" => return self.string(true),
                "b" | "B" if !self.at_triple_quote() => return self.string(false),
                "b" | "B" | "br" | "bR" | "Br" | "BR" => {
                    return Err(self.error("a bytes literal is written b'…' or b\"…\""));
                }
                _ => {}
            }
        }
        if word == "in" {
            self.group().links += 1;
            self.operand = false;
        } else {
            self.operand = true;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), CompileError> {
        let mut whole = true;
        if self.rest().starts_with("0x") {
            self.at += 2;
            self.skip(|b| b.is_ascii_hexdigit());
        } else {
            self.skip(|b| b.is_ascii_digit());
            if self.byte(0) == b'.' && self.byte(1).is_ascii_digit() {
                whole = false;
                self.at += 1;
                self.skip(|b| b.is_ascii_digit());
            }
            if matches!(self.byte(0), b'e' | b'E') {
                whole = false;
                self.at += 1 + usize::from(matches!(self.byte(1), b'+' | b'-'));
                self.skip(|b| b.is_ascii_digit());
            }
        }
        if whole && matches!(self.byte(0), b'u' | b'U') {
            self.at += 1;
        }
        let next = self.byte(0);
        let complete = self.text.as_bytes()[self.at - 1].is_ascii_alphanumeric();
        if !complete || next.is_ascii_alphanumeric() || next == b'_' {
            return Err(self.error("malformed number"));
        }
        self.operand = true;
        Ok(())
    }

    /// Reads to the end of a string literal, which must be one for the lexer too.
    fn string(&mut self, raw: bool) -> Result<(), CompileError> {
        let start = self.at;
        let quote = self.byte(0);
        let width = if self.at_triple_quote() { 3 } else { 1 };
        self.at += width;
        loop {
            match self.byte(0) {
                b if b == quote && (width == 1 || self.at_triple_quote()) => break,
                0 if self.at >= self.text.len() => {
                    self.at = start;
                    return Err(self.error("the string has no end"));
                }
                b'\n' | b'\r' if width == 1 => {
                    self.at = start;
                    return Err(self.error("the string has no end on its line"));
                }
                b'\\' if !raw => self.escape()?,
                _ => self.at += 1,
            }
        }
        self.at += width;
        self.operand = true;
        Ok(())
    }

    fn escape(&mut self) -> Result<(), CompileError> {
        let digits = match self.byte(1) {
            b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`' => 0,
            b'x' | b'X' => 2,
            b'u' => 4,
            b'U' => 8,
            b'0'..=b'3' if self.digits(2, 2, |b| matches!(b, b'0'..=b'7')) => 2,
            _ => return Err(self.error("unknown escape sequence")),
        };
        if !self.digits(2, digits, |b| b.is_ascii_hexdigit()) {
            return Err(self.error("incomplete escape sequence"));
        }
        self.at += 2 + digits;
        Ok(())
    }

    fn escaped_identifier(&mut self) -> Result<(), CompileError> {
        self.at += 1;
        let start = self.at;
        self.skip(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'/' | b' '));
        if self.at == start || self.byte(0) != b'`' {
            return Err(self.error("malformed name in backquotes"));
        }
        self.at += 1;
        self.operand = true;
        Ok(())
    }

    fn digits(&self, from: usize, count: usize, is_digit: impl Fn(u8) -> bool) -> bool {
        (from..from + count).all(|n| is_digit(self.byte(n)))
    }

    fn at_triple_quote(&self) -> bool {
        self.byte(0) == self.byte(1) && self.byte(1) == self.byte(2)
    }

    fn skip(&mut self, belongs: impl Fn(u8) -> bool) {
        while self.at < self.text.len() && belongs(self.byte(0)) {
            self.at += 1;
        }
    }

    /// The n-th byte from here; 0 behind the end.
    fn byte(&self, n: usize) -> u8 {
        self.text.as_bytes().get(self.at + n).copied().unwrap_or(0)
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn group(&mut self) -> &mut Group {
        self.groups
            .last_mut()
            .expect("the outermost group is never closed")
    }

    fn error(&self, message: &str) -> CompileError {
        syntax_error(self.text, self.at, message.to_owned())
    }
}
