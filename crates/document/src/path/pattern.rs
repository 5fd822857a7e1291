//! Regular expressions in filters, bounded in size.

use regex::{Regex, RegexBuilder};

/// How much memory a compiled pattern may take, in bytes.
const MAX_COMPILED: usize = 1 << 20;

/// How many bytes a pattern that comes out of a document may have.
const MAX_COMPUTED: usize = 1000;

/// How much of a text a pattern must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it: `match(…)`.
    Whole,
    /// Any part of it: `search(…)` and `=~`.
    Part,
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    regex: Regex,
    ignore_case: bool,
}

impl Pattern {
    /// Compiles a pattern; the error says what is wrong with it.
    pub(super) fn new(source: &str, extent: Extent, ignore_case: bool) -> Result<Self, String> {
        let compile = |source: &str| {
            RegexBuilder::new(source)
                // As RFC 9485 has it, `.` matches neither line feed nor carriage return.
                .crlf(true)
                .case_insensitive(ignore_case)
                .size_limit(MAX_COMPILED)
                .build()
                .map_err(|error| reason(&error))
        };
        let plain = compile(source)?;
        let regex = match extent {
            Extent::Part => plain,
            // Only a pattern that is good on its own is wrapped: `a)|(b` is none.
            Extent::Whole => compile(&format!(r"\A(?:{source})\z"))?,
        };
        Ok(Self { regex, ignore_case })
    }

    /// Compiles a pattern that comes out of a document, if it is a good one.
    pub(super) fn computed(source: &str, extent: Extent) -> Option<Self> {
        if source.len() > MAX_COMPUTED {
            return None;
        }
        Self::new(source, extent, false).ok()
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

/// Patterns are equal if they were written alike, with the same options.
impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.regex.as_str() == other.regex.as_str() && self.ignore_case == other.ignore_case
    }
}

impl Eq for Pattern {}

/// The last line of the regex crate's message: the others draw the pattern.
fn reason(error: &regex::Error) -> String {
    if let regex::Error::CompiledTooBig(limit) = error {
        return format!("it takes more than {limit} bytes");
    }
    let text = error.to_string();
    let line = text.lines().last().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}
