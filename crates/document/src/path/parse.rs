//! Parsing of paths: roots, segments and selectors. Filters are in `parse_filter`.

use super::cursor::{Cursor, error_at};
use super::error::PathError;
use super::segment::{Segment, Selector, Slice};
use super::{MAX_LENGTH, Path, Root};
use crate::key::Key;

/// Parses a whole text as a path.
pub(super) fn path(text: &str) -> Result<Path, PathError> {
    if text.len() > MAX_LENGTH {
        let message = format!(
            "found a path of {} bytes, expected at most {MAX_LENGTH}",
            text.len()
        );
        return Err(error_at(text.floor_char_boundary(MAX_LENGTH), message));
    }
    let mut cursor = Cursor::new(text);
    cursor.expect("$", "`$`")?;
    let root = if cursor.eat("$") {
        Root::Item
    } else {
        Root::Document
    };
    if cursor.rest() == "." {
        return Ok(Path {
            text: text.into(),
            root,
            segments: Box::default(),
            ends: Box::default(),
        });
    }
    let path = cursor.path_from(root, 0)?;
    if cursor.peek().is_some() {
        return Err(cursor.unexpected("`.`, `[` or the end of the path"));
    }
    Ok(path)
}

impl Cursor<'_> {
    /// Parses the segments after a root. The text of the path begins at `start`.
    pub(super) fn path_from(&mut self, root: Root, start: usize) -> Result<Path, PathError> {
        let mut segments = Vec::new();
        let mut ends = Vec::new();
        while self.at_segment() {
            self.enter()?;
            segments.push(self.segment()?);
            ends.push(self.at() - start);
        }
        self.leave(segments.len());
        Ok(Path {
            text: self.since(start).into(),
            root,
            segments: segments.into(),
            ends: ends.into(),
        })
    }

    /// Whether a segment follows. Skips the white space before it.
    fn at_segment(&mut self) -> bool {
        let here = self.at();
        self.blank();
        let found = matches!(self.peek(), Some('.' | '['));
        if !found {
            self.back_to(here);
        }
        found
    }

    fn segment(&mut self) -> Result<Segment, PathError> {
        if self.eat("..") {
            let selectors = if self.peek() == Some('[') {
                self.bracket()?
            } else {
                vec![self.dotted("a name, `*` or `[`")?]
            };
            return Ok(Segment::Descendants(selectors.into()));
        }
        let selectors = if self.eat(".") {
            vec![self.dotted("a name or `*`")?]
        } else {
            self.bracket()?
        };
        Ok(Segment::of(selectors))
    }

    /// The selector after a dot.
    fn dotted(&mut self, expected: &str) -> Result<Selector, PathError> {
        match self.name() {
            "" => Err(self.unexpected(expected)),
            "*" => Ok(Selector::Wildcard),
            name => Ok(Selector::Name(Key::new(name))),
        }
    }

    /// `[…]`, with one selector or more.
    fn bracket(&mut self) -> Result<Vec<Selector>, PathError> {
        self.expect("[", "`[`")?;
        let mut selectors = Vec::new();
        loop {
            self.blank();
            selectors.push(self.selector()?);
            self.blank();
            if self.eat("]") {
                return Ok(selectors);
            }
            self.expect(",", "`,` or `]`")?;
        }
    }

    fn selector(&mut self) -> Result<Selector, PathError> {
        match self.peek() {
            Some('\'' | '"') => Ok(Selector::Name(Key::new(&self.string()?))),
            Some('*') => {
                self.next();
                Ok(Selector::Wildcard)
            }
            Some('?') => {
                self.next();
                self.filter().map(Selector::Filter)
            }
            Some('0'..='9' | '-' | ':') => self.index_or_slice(),
            _ => Err(self.unexpected("a quoted name, an index, a slice, `*` or `?`")),
        }
    }

    fn index_or_slice(&mut self) -> Result<Selector, PathError> {
        let start = self.optional_int()?;
        self.blank();
        if !self.eat(":") {
            return start
                .map(Selector::Index)
                .ok_or_else(|| self.unexpected("an index"));
        }
        self.blank();
        let end = self.optional_int()?;
        self.blank();
        let mut step = None;
        if self.eat(":") {
            self.blank();
            step = self.optional_int()?;
        }
        Ok(Selector::Slice(Slice {
            start,
            end,
            step: step.unwrap_or(1),
        }))
    }

    fn optional_int(&mut self) -> Result<Option<i64>, PathError> {
        match self.peek() {
            Some('0'..='9' | '-') => self.int().map(Some),
            _ => Ok(None),
        }
    }
}
