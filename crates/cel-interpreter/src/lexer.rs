//! The lexer: splits a text into tokens and decodes literals.

use std::ops::Range;

use crate::error::CompileError;

/// A word, literal or symbol.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    /// An identifier or keyword.
    Word(&'a str),
    /// A name in backquotes.
    Quoted(&'a str),
    /// The absolute value of an int. Its sign is a separate token.
    Int(u64),
    UInt(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Symbol(&'static str),
    End,
}

/// Longer symbols first, because `<=` starts with `<`.
const SYMBOLS: [&str; 24] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",",
    "(", ")", "[", "]", "{", "}",
];

type Result<T> = std::result::Result<T, CompileError>;

/// The tokens of a text with their places in it. The last one is [`Token::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<(Token<'_>, Range<usize>)>> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank();
        let start = lexer.at;
        let token = lexer.token()?;
        let end = token == Token::End;
        tokens.push((token, start..lexer.at));
        if end {
            return Ok(tokens);
        }
    }
}

/// The offset of the `}` that closes the expression at the start of a text. Braces inside the
/// expression, its strings and its comments do not count.
pub(crate) fn closing_brace(text: &str) -> Result<usize> {
    let mut lexer = Lexer { text, at: 0 };
    let mut depth = 0_usize;
    loop {
        lexer.skip_blank();
        let start = lexer.at;
        match lexer.token()? {
            Token::Symbol("{") => depth += 1,
            Token::Symbol("}") if depth == 0 => return Ok(start),
            Token::Symbol("}") => depth -= 1,
            Token::End => return lexer.error(start, "expected a closing `}`"),
            _ => {}
        }
    }
}

/// The parts of a conjunction; the whole text if it is none.
pub(crate) fn conjuncts(text: &str) -> Vec<&str> {
    let whole = || vec![text.trim()];
    let Ok(tokens) = tokens(text) else {
        return whole();
    };
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    let mut after_dot = false;
    for (token, place) in tokens {
        match token {
            Token::Symbol("(" | "[" | "{") => depth += 1,
            Token::Symbol(")" | "]" | "}") => depth = depth.saturating_sub(1),
            // They bind weaker. In `a.?b` there is no condition.
            Token::Symbol("||") if depth == 0 => return whole(),
            Token::Symbol("?") if depth == 0 && !after_dot => return whole(),
            Token::Symbol("&&") if depth == 0 => {
                parts.push(text[start..place.start].trim());
                start = place.end;
            }
            _ => {}
        }
        after_dot = token == Token::Symbol(".");
    }
    parts.push(text[start..].trim());
    parts
}

/// A syntax error at an offset of the text.
pub(crate) fn syntax_error(text: &str, offset: usize, message: impl Into<String>) -> CompileError {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    CompileError::Syntax {
        message: message.into(),
        offset: before.len(),
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}

struct Lexer<'a> {
    text: &'a str,
    /// The offset of the next character.
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.at += prefix.len();
        }
        found
    }

    /// Consumes characters while they belong to a token.
    fn run(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn error<T>(&self, at: usize, message: &str) -> Result<T> {
        Err(syntax_error(self.text, at, message))
    }

    fn skip_blank(&mut self) {
        loop {
            self.run(|c| matches!(c, '\t' | ' ' | '\r' | '\n' | '\u{c}'));
            if !self.rest().starts_with("//") {
                return;
            }
            self.run(|c| c != '\n');
        }
    }

    fn token(&mut self) -> Result<Token<'a>> {
        match self.peek() {
            None => Ok(Token::End),
            Some('0'..='9') => self.number(),
            Some('.') if self.rest()[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                self.number()
            }
            Some('\'' | '"') => self.text_literal(false),
            Some('`') => self.quoted_name(),
            Some(c) if c == '_' || c.is_ascii_alphabetic() => self.word(),
            Some(_) => match SYMBOLS.iter().find(|symbol| self.eat(symbol)) {
                Some(symbol) => Ok(Token::Symbol(symbol)),
                None => self.error(self.at, unexpected(self.rest())),
            },
        }
    }

    /// A word, or a literal with letters before its quote: `r'…'`, `b'…'`, `br'…'`.
    fn word(&mut self) -> Result<Token<'a>> {
        let word = self.run(|c| c == '_' || c.is_ascii_alphanumeric());
        if !self.rest().starts_with(['\'', '"']) {
            return Ok(Token::Word(word));
        }
        match word {
            "r" | "R" => self.text_literal(true),
            "b" | "B" => self.bytes_literal(false),
            "br" | "bR" | "Br" | "BR" => self.bytes_literal(true),
            _ => Ok(Token::Word(word)),
        }
    }

    fn quoted_name(&mut self) -> Result<Token<'a>> {
        let start = self.at;
        self.at += 1;
        let name =
            self.run(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' '));
        if name.is_empty() || !self.eat("`") {
            return self.error(start, "malformed name in backquotes");
        }
        Ok(Token::Quoted(name))
    }

    fn number(&mut self) -> Result<Token<'a>> {
        let start = self.at;
        let (digits, radix) = if self.eat("0x") {
            (self.run(|c| c.is_ascii_hexdigit()), 16)
        } else {
            let digits = self.run(|c| c.is_ascii_digit());
            self.fraction();
            (digits, 10)
        };
        let number = &self.text[start..self.at];
        let whole = radix == 16 || number == digits;
        let unsigned = whole && (self.eat("u") || self.eat("U"));
        if self
            .peek()
            .is_some_and(|c| c == '_' || c.is_ascii_alphanumeric())
        {
            return self.error(start, "malformed number");
        }
        let token = if whole {
            u64::from_str_radix(digits, radix).ok().map(if unsigned {
                Token::UInt
            } else {
                Token::Int
            })
        } else {
            let double = number.parse().ok();
            double.filter(|d: &f64| d.is_finite()).map(Token::Double)
        };
        token.map_or_else(|| self.error(start, "the number is out of range"), Ok)
    }

    /// Consumes `.5` and `e-7`, if digits follow.
    fn fraction(&mut self) {
        let digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        if self.rest().strip_prefix('.').is_some_and(digit) {
            self.at += 1;
            self.run(|c| c.is_ascii_digit());
        }
        if let Some(exponent) = self.rest().strip_prefix(['e', 'E']) {
            let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digit(unsigned) {
                self.at += 1 + exponent.len() - unsigned.len();
                self.run(|c| c.is_ascii_digit());
            }
        }
    }

    fn text_literal(&mut self, raw: bool) -> Result<Token<'a>> {
        let mut text = String::new();
        let mut invalid = None;
        self.literal(raw, |at, part| match part {
            LiteralPart::Char(c) => text.push(c),
            LiteralPart::Code(code) => match char::from_u32(code) {
                Some(c) => text.push(c),
                None => invalid = Some(at),
            },
        })?;
        match invalid {
            Some(at) => self.error(at, "the escape sequence is not a character"),
            None => Ok(Token::Text(text)),
        }
    }

    fn bytes_literal(&mut self, raw: bool) -> Result<Token<'a>> {
        let mut bytes = Vec::new();
        let mut invalid = None;
        self.literal(raw, |at, part| match part {
            LiteralPart::Char(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            LiteralPart::Code(code) => match u8::try_from(code) {
                Ok(byte) => bytes.push(byte),
                Err(_) => invalid = Some(at),
            },
        })?;
        match invalid {
            Some(at) => self.error(at, "the escape sequence is not a byte"),
            None => Ok(Token::Bytes(bytes)),
        }
    }

    /// Reads a literal from its opening to its closing quotes, part by part.
    fn literal(&mut self, raw: bool, mut push: impl FnMut(usize, LiteralPart)) -> Result<()> {
        let start = self.at;
        let rest = self.rest();
        let long = rest.starts_with("'''") || rest.starts_with("\"\"\"");
        let quotes = &rest[..if long { 3 } else { 1 }];
        self.at += quotes.len();
        while !self.eat(quotes) {
            let at = self.at;
            match self.bump() {
                None => return self.error(start, "the string has no end"),
                Some('\n' | '\r') if !long => {
                    return self.error(start, "the string has no end on its line");
                }
                Some('\\') if !raw => {
                    let part = self.escape(at)?;
                    push(at, part);
                }
                Some(c) => push(at, LiteralPart::Char(c)),
            }
        }
        Ok(())
    }

    fn escape(&mut self, at: usize) -> Result<LiteralPart> {
        let digits = match self.bump() {
            Some('a') => return Ok(LiteralPart::Char('\u{7}')),
            Some('b') => return Ok(LiteralPart::Char('\u{8}')),
            Some('f') => return Ok(LiteralPart::Char('\u{c}')),
            Some('n') => return Ok(LiteralPart::Char('\n')),
            Some('r') => return Ok(LiteralPart::Char('\r')),
            Some('t') => return Ok(LiteralPart::Char('\t')),
            Some('v') => return Ok(LiteralPart::Char('\u{b}')),
            Some(c @ ('"' | '\'' | '\\' | '?' | '`')) => return Ok(LiteralPart::Char(c)),
            Some('x' | 'X') => self.rest().get(..2),
            Some('u') => self.rest().get(..4),
            Some('U') => self.rest().get(..8),
            Some('0'..='3') => return self.octal(at),
            _ => return self.error(at, "unknown escape sequence"),
        };
        let code = digits.and_then(|digits| code(digits, 16));
        self.at += digits.map_or(0, str::len);
        self.part(at, code)
    }

    /// An escape of three octal digits, the first of which has been consumed.
    fn octal(&mut self, at: usize) -> Result<LiteralPart> {
        let digits = self.text.get(at + 1..at + 4);
        self.at = at + 1 + digits.map_or(0, str::len);
        self.part(at, digits.and_then(|digits| code(digits, 8)))
    }

    fn part(&self, at: usize, code: Option<u32>) -> Result<LiteralPart> {
        match code {
            Some(code) => Ok(LiteralPart::Code(code)),
            None => self.error(at, "malformed escape sequence"),
        }
    }
}

/// The message about a character that starts no token, with what was probably meant.
fn unexpected(rest: &str) -> &'static str {
    match rest.as_bytes() {
        [b'=', b'~', ..] => "found `=~`; a regular expression is `a.matches('…')`",
        [b'=', ..] => "found `=`, expected `==`",
        [b'&', ..] => "found `&`, expected `&&`",
        [b'|', ..] => "found `|`, expected `||`",
        [b'$', ..] => "found `$`; in CEL the document is `object`, as in `object.metadata.name`",
        [b'@', ..] => {
            "found `@`; CEL has functions, such as `size(a)`, but no operators of pipelines"
        }
        _ => "unexpected character",
    }
}

fn code(digits: &str, radix: u32) -> Option<u32> {
    // `from_str_radix` would accept a sign.
    let plain = digits.chars().all(|c| c.is_digit(radix));
    plain.then(|| u32::from_str_radix(digits, radix).ok())?
}

/// A part of a literal.
enum LiteralPart {
    Char(char),
    /// A code point; a byte in a bytes literal.
    Code(u32),
}
