//! Regular expressions in filters, bounded in size.

use regex::{Regex, RegexBuilder};

/// How much memory a compiled pattern may use, in bytes.
const MAX_COMPILED: usize = 1 << 20;

/// How many bytes a pattern from a document may have.
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
                // In RFC 9485 `.` matches neither line feed nor carriage return.
                .crlf(true)
                .case_insensitive(ignore_case)
                .size_limit(MAX_COMPILED)
                .build()
                .map_err(|error| reason(&error))
        };
        let plain = compile(source)?;
        let regex = match extent {
            Extent::Part => plain,
            // A pattern must be valid before it is wrapped: `a)|(b` is not.
            Extent::Whole => compile(&format!(r"\A(?:{source})\z"))?,
        };
        Ok(Self { regex, ignore_case })
    }

    /// Compiles a pattern from a document, if it is valid.
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

/// Patterns are equal if they have the same text and options.
impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.regex.as_str() == other.regex.as_str() && self.ignore_case == other.ignore_case
    }
}

impl Eq for Pattern {}

/// The last line of the message of the regex crate. The other lines show the pattern.
fn reason(error: &regex::Error) -> String {
    if let regex::Error::CompiledTooBig(limit) = error {
        return format!("it takes more than {limit} bytes");
    }
    let text = error.to_string();
    let line = text.lines().last().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}
