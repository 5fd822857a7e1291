//! Source texts, and the conversion of byte offsets to lines and columns.

use std::ops::Range;
use std::sync::Arc;

/// How many bytes one source may have.
pub const MAX_SIZE: usize = 64 * 1024 * 1024;

/// The byte order mark that some tools write at the start of a file. It is not part of the text.
pub(crate) const BOM: char = '\u{feff}';

/// A text, with its name in messages: a path, or `<stdin>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name in messages.
    pub name: String,
    /// The text.
    pub text: String,
}

/// A range of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// The byte offset where it starts.
    pub start: usize,
    /// The byte offset after its end; equal to `start` for an omitted value.
    pub end: usize,
    /// The line of its start, from 1.
    pub line: usize,
    /// The column of its start, in characters from 1.
    pub column: usize,
}

/// A source with the offsets of its lines, so that many offsets can be converted.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) source: Arc<Source>,
    /// The byte offsets of all lines; never empty.
    lines: Vec<usize>,
    /// How many lines of the file come before the text.
    lines_before: usize,
}

impl Text {
    pub(crate) fn new(source: Arc<Source>) -> Self {
        Self::part(source, 0)
    }

    /// A part of a file that begins after this many lines.
    pub(crate) fn part(source: Arc<Source>, lines_before: usize) -> Self {
        let first = if source.text.starts_with(BOM) {
            BOM.len_utf8()
        } else {
            0
        };
        let mut lines = vec![first];
        lines.extend(source.text.match_indices('\n').map(|(at, _)| at + 1));
        Self {
            source,
            lines,
            lines_before,
        }
    }

    /// The text itself.
    pub(crate) fn as_str(&self) -> &str {
        &self.source.text
    }

    /// The offset of the text, after a byte order mark.
    pub(crate) fn start(&self) -> usize {
        self.lines[0]
    }

    /// The span of these bytes. An offset beyond the text is moved to its end, one inside a
    /// character to the start of the character.
    pub(crate) fn span(&self, bytes: Range<usize>) -> Span {
        let start = floor(self.as_str(), bytes.start);
        let end = floor(self.as_str(), bytes.end).max(start);
        let line = self.lines.partition_point(|at| *at <= start).max(1);
        let before = self.as_str().get(self.lines[line - 1]..start);
        Span {
            start,
            end,
            line: self.lines_before + line,
            column: before.map_or(0, |text| text.chars().count()) + 1,
        }
    }

    /// The span of the one character at `offset`, or of nothing at the end.
    pub(crate) fn character(&self, offset: usize) -> Span {
        let start = floor(self.as_str(), offset);
        let length = self.as_str()[start..]
            .chars()
            .next()
            .map_or(0, char::len_utf8);
        self.span(start..start + length)
    }
}

/// The last offset at or before this one at which a character starts.
pub(crate) fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}
