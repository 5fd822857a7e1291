//! Translates regular expressions from the syntax of RE2, as Go reads it, to that of the crate
//! `regex`.
//!
//! The two differ in details: `[a&&b]` is a set of three characters in RE2 and an intersection in
//! the crate, `a**` is an error in RE2, `x{,2}` is a text, `\d` is ASCII. So every part is read here
//! and written in a form that has one meaning only. Groups do not capture, because nobody asks for
//! what they matched.

use std::fmt::Write;

/// The greatest number of repetitions, also if repetitions are nested.
const MAX_REPEAT: u32 = 1_000;

type Result<T> = std::result::Result<T, &'static str>;

/// The pattern in the syntax of the crate `regex`.
pub(super) fn translate(pattern: &str) -> Result<String> {
    let mut translator = Translator {
        rest: pattern,
        out: String::with_capacity(pattern.len()),
        groups: Vec::new(),
        names: Vec::new(),
        last: Last::Nothing,
    };
    while let Some(c) = translator.rest.chars().next() {
        translator.part(c)?;
    }
    if translator.groups.is_empty() {
        Ok(translator.out)
    } else {
        Err("missing closing )")
    }
}

struct Translator<'a> {
    rest: &'a str,
    out: String,
    /// The greatest product of nested repetitions in each open group.
    groups: Vec<u32>,
    names: Vec<&'a str>,
    last: Last,
}

/// What precedes, and so can be repeated or not.
#[derive(Clone, Copy)]
enum Last {
    /// The start of the pattern, of a group or of an alternative.
    Nothing,
    /// An element with the greatest product of its repetitions.
    Element(u32),
    Repetition(u32),
}

impl Translator<'_> {
    fn take(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn eat(&mut self, prefix: &str) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Translates the part that starts with a character.
    fn part(&mut self, c: char) -> Result<()> {
        match c {
            '(' => self.open(),
            ')' => self.close(),
            '|' => {
                self.take();
                self.settle();
                self.out.push('|');
                self.last = Last::Nothing;
                Ok(())
            }
            '*' | '+' | '?' => {
                self.take();
                self.repeat(&c.to_string(), 1)
            }
            '{' => self.count(),
            '[' => {
                let class = self.class()?;
                self.element(&class);
                Ok(())
            }
            '\\' => self.escape(),
            '.' | '^' | '$' => {
                self.take();
                self.element(&c.to_string());
                Ok(())
            }
            c => {
                self.take();
                self.literal(c);
                Ok(())
            }
        }
    }

    fn element(&mut self, text: &str) {
        self.settle();
        self.out.push_str(text);
        self.last = Last::Element(1);
    }

    fn literal(&mut self, c: char) {
        self.element(&literal(c));
    }

    /// Adds the repetitions of the last element to those of its group.
    fn settle(&mut self) {
        let (Last::Element(product) | Last::Repetition(product)) = self.last else {
            return;
        };
        if let Some(group) = self.groups.last_mut() {
            *group = product.max(*group);
        }
    }

    fn repeat(&mut self, operator: &str, count: u32) -> Result<()> {
        let product = match self.last {
            Last::Nothing => return Err("missing argument to repetition operator"),
            Last::Repetition(_) => return Err("invalid nested repetition operator"),
            Last::Element(product) => product * count.max(1),
        };
        if count > 1 && product > MAX_REPEAT {
            return Err("invalid repeat count");
        }
        let lazy = if self.eat("?") { "?" } else { "" };
        self.out.extend([operator, lazy]);
        self.last = Last::Repetition(product);
        Ok(())
    }

    /// `{2}`, `{2,}`, `{2,3}`. Anything else is a literal brace.
    fn count(&mut self) -> Result<()> {
        let Some((min, max, rest)) = bounds(&self.rest[1..]) else {
            self.take();
            self.literal('{');
            return Ok(());
        };
        let greatest = match max {
            Max::Same | Max::None => min,
            Max::Number(max) => max,
        };
        if min.max(greatest) > MAX_REPEAT || greatest < min {
            return Err("invalid repeat count");
        }
        self.rest = rest;
        let operator = match max {
            Max::Same => format!("{{{min}}}"),
            Max::None => format!("{{{min},}}"),
            Max::Number(max) => format!("{{{min},{max}}}"),
        };
        self.repeat(&operator, greatest)
    }

    fn open(&mut self) -> Result<()> {
        self.take();
        if !self.eat("?") {
            self.group("(?:");
            return Ok(());
        }
        if self.eat("P<") || self.eat("<") {
            let (name, rest) = self.rest.split_once('>').ok_or("invalid named capture")?;
            let valid = |c: char| c == '_' || c.is_ascii_alphanumeric();
            if name.is_empty() || !name.chars().all(valid) {
                return Err("invalid named capture");
            }
            if self.names.contains(&name) {
                return Err("duplicate capture group name");
            }
            self.names.push(name);
            self.rest = rest;
            self.group("(?:");
            return Ok(());
        }
        self.flags()
    }

    fn group(&mut self, start: &str) {
        self.settle();
        self.out.push_str(start);
        self.groups.push(1);
        self.last = Last::Nothing;
    }

    /// `(?i)`, `(?i-s:…`
    fn flags(&mut self) -> Result<()> {
        let mut flags = String::new();
        let mut negated = false;
        loop {
            match self.take() {
                Some(c @ ('i' | 'm' | 's' | 'U')) if !flags.contains(c) => flags.push(c),
                Some('i' | 'm' | 's' | 'U') => {}
                Some('-') if !negated => {
                    negated = true;
                    flags.push('-');
                }
                Some(':' | ')') if flags.ends_with('-') => return Err(BAD_GROUP),
                Some(':') => {
                    self.group(&format!("(?{flags}:"));
                    return Ok(());
                }
                Some(')') => {
                    if !flags.is_empty() {
                        let _ = write!(self.out, "(?{flags})");
                    }
                    return Ok(());
                }
                _ => return Err(BAD_GROUP),
            }
        }
    }

    fn close(&mut self) -> Result<()> {
        self.take();
        self.settle();
        let product = self.groups.pop().ok_or("unexpected )")?;
        self.out.push(')');
        self.last = Last::Element(product);
        Ok(())
    }

    /// An escape outside of a class.
    fn escape(&mut self) -> Result<()> {
        let mut ahead = self.rest[1..].chars();
        let text = match ahead.next() {
            Some('A') => r"\A",
            Some('z') => r"\z",
            Some('b') => r"(?-u:\b)",
            // The crate has no `\B` for ASCII on texts.
            Some('B') => r"\B",
            Some('Q') => {
                self.rest = &self.rest[2..];
                let (quoted, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
                quoted.chars().for_each(|c| self.literal(c));
                self.rest = rest;
                return Ok(());
            }
            _ => {
                let class = match self.escaped_class()? {
                    Some(class) => class,
                    None => literal(self.escaped_char()?),
                };
                self.element(&class);
                return Ok(());
            }
        };
        self.rest = ahead.as_str();
        self.element(text);
        Ok(())
    }

    /// `\d`, `\pL` and the like, as a class.
    fn escaped_class(&mut self) -> Result<Option<String>> {
        let mut chars = self.rest[1..].chars();
        let class = match chars.next() {
            Some('d') => "[0-9]",
            Some('D') => "[^0-9]",
            Some('s') => r"[\t\n\f\r ]",
            Some('S') => r"[^\t\n\f\r ]",
            Some('w') => "[0-9A-Za-z_]",
            Some('W') => "[^0-9A-Za-z_]",
            Some(sign @ ('p' | 'P')) => {
                self.rest = chars.as_str();
                return self.unicode_class(sign == 'P').map(Some);
            }
            _ => return Ok(None),
        };
        self.rest = chars.as_str();
        Ok(Some(class.to_owned()))
    }

    /// The class of a category or script. Other properties, which the crate knows, are no part of RE2.
    fn unicode_class(&mut self, mut negated: bool) -> Result<String> {
        let name = if self.eat("{") {
            let (name, rest) = self.rest.split_once('}').ok_or(BAD_RANGE)?;
            self.rest = rest;
            name.to_owned()
        } else {
            self.take().ok_or(BAD_RANGE)?.to_string()
        };
        let plain = name.strip_prefix('^');
        negated ^= plain.is_some();
        let name = plain.unwrap_or(&name);
        if name.is_empty() || !name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
            return Err(BAD_RANGE);
        }
        let letter = if negated { 'P' } else { 'p' };
        let mut classes = ["gc", "sc"]
            .map(|kind| format!(r"\{letter}{{{kind}={name}}}"))
            .into_iter();
        classes
            .find(|class| regex::Regex::new(class).is_ok())
            .ok_or(BAD_RANGE)
    }

    /// The character of an escape such as `\n`, `\x41` or `\.`.
    fn escaped_char(&mut self) -> Result<char> {
        self.take();
        let c = self
            .take()
            .ok_or("trailing backslash at end of expression")?;
        Ok(match c {
            'a' => '\u{7}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => return self.hex(),
            // A single digit would refer to a group.
            '1'..='7' if !self.rest.starts_with(|c: char| c.is_digit(8)) => return Err(BAD_ESCAPE),
            '0'..='7' => {
                let end = self.rest.find(|c: char| !c.is_digit(8));
                let more = end.unwrap_or(self.rest.len()).min(2);
                let digits = format!("{c}{}", &self.rest[..more]);
                self.rest = &self.rest[more..];
                return code(&digits, 8);
            }
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
            _ => return Err(BAD_ESCAPE),
        })
    }

    fn hex(&mut self) -> Result<char> {
        let (digits, rest) = if self.eat("{") {
            self.rest.split_once('}').ok_or(BAD_ESCAPE)?
        } else {
            self.rest.split_at_checked(2).ok_or(BAD_ESCAPE)?
        };
        self.rest = rest;
        code(digits, 16)
    }

    /// A class in brackets.
    fn class(&mut self) -> Result<String> {
        self.take();
        let mut class = String::from("[");
        if self.eat("^") {
            class.push('^');
        }
        let mut first = true;
        while first || !self.rest.starts_with(']') {
            first = false;
            if self.rest.is_empty() {
                return Err("missing closing ]");
            }
            if let Some(named) = self.named_class()? {
                class.push_str(&named);
                continue;
            }
            if self.rest.starts_with('\\')
                && let Some(escaped) = self.escaped_class()?
            {
                class.push_str(&escaped);
                continue;
            }
            let low = self.class_char()?;
            let mut high = low;
            let mut ahead = self.rest.chars();
            if ahead.next() == Some('-') && !matches!(ahead.next(), None | Some(']')) {
                self.take();
                high = self.class_char()?;
            }
            if high < low {
                return Err(BAD_RANGE);
            }
            class.extend([&literal(low), "-", &literal(high)]);
        }
        self.take();
        class.push(']');
        Ok(class)
    }

    /// `[:alpha:]` inside a class.
    fn named_class(&mut self) -> Result<Option<String>> {
        let Some(end) = self
            .rest
            .strip_prefix("[:")
            .and_then(|rest| rest.find(":]"))
        else {
            return Ok(None);
        };
        let (name, rest) = (&self.rest[2..end + 2], &self.rest[end + 4..]);
        if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return Err(BAD_RANGE);
        }
        self.rest = rest;
        Ok(Some(format!("[:{name}:]")))
    }

    fn class_char(&mut self) -> Result<char> {
        if self.rest.starts_with('\\') {
            return self.escaped_char();
        }
        self.take().ok_or("missing closing ]")
    }
}

const BAD_GROUP: &str = "invalid or unsupported Perl syntax";
const BAD_ESCAPE: &str = "invalid escape sequence";
const BAD_RANGE: &str = "invalid character class range";

const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// The upper bound of a repetition.
#[derive(Clone, Copy)]
enum Max {
    Same,
    None,
    Number(u32),
}

/// The bounds of a repetition, and what follows it.
fn bounds(text: &str) -> Option<(u32, Max, &str)> {
    let (min, rest) = bound(text)?;
    if let Some(rest) = rest.strip_prefix('}') {
        return Some((min, Max::Same, rest));
    }
    let rest = rest.strip_prefix(',')?;
    if let Some(rest) = rest.strip_prefix('}') {
        return Some((min, Max::None, rest));
    }
    let (max, rest) = bound(rest)?;
    Some((min, Max::Number(max), rest.strip_prefix('}')?))
}

/// A number without leading zeros. One that is too large is replaced by another that is.
fn bound(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    if digits.is_empty() || digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    Some((digits.parse().unwrap_or(u32::MAX), rest))
}

/// A character without a special meaning, in a class and outside.
fn literal(c: char) -> String {
    if c.is_ascii_alphanumeric() || !c.is_ascii() {
        return c.to_string();
    }
    format!(r"\x{:02x}", u32::from(c))
}

fn code(digits: &str, radix: u32) -> Result<char> {
    let plain = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    let code = u32::from_str_radix(digits, radix).ok().filter(|_| plain);
    code.and_then(char::from_u32).ok_or(BAD_ESCAPE)
}
