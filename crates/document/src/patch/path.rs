//! Paths of operations: JSON pointers that may match several places.
//!
//! A text such as `/spec/containers[?(@.name=='app')]/env/-` is parsed into a [`PatchPath`],
//! which [resolves](PatchPath::resolve) to all [`Pointer`]s that match in a document. An invalid
//! path or an unsupported filter is an error when it is parsed.

use std::fmt::{self, Write as _};

use super::error::Failure;
use super::pointer::{Pointer, Token};
use super::resolve;
use crate::key::Key;
use crate::path::PathError;
use crate::path::cursor::{Cursor, error_at};
use crate::value::Value;

/// How many bytes the text of a path may have.
pub const MAX_LENGTH: usize = 8192;

/// How many places one path may match in a document.
pub const MAX_MATCHES: usize = 100_000;

/// A path of an operation, which may match several places.
///
/// Segments are separated by slashes, as in a JSON pointer (RFC 6901). A segment is a key, or in
/// a list a position or `-`, the position after the last element. In keys `~0` means `~` and
/// `~1` means `/`; as additions to the RFC, `~2` means `[` and `~3` means `]`. Brackets, after a
/// key or alone in a segment, select elements of a list: `[0]` the one at a position, `[*]`
/// all, `[?(@.a.b=='v')]` those whose field has that string form.
///
/// ```
/// use document::json;
/// use document::patch::PatchPath;
///
/// let pod = json!({"containers": [{"name": "app"}, {"name": "log"}, {"name": "app"}]});
/// let path: PatchPath = "/containers[?(@.name=='app')]/image".parse()?;
/// let places: Vec<_> = path.resolve(&pod).unwrap().iter().map(ToString::to_string).collect();
/// assert_eq!(places, ["/containers/0/image", "/containers/2/image"]);
/// # Ok::<(), document::PathError>(())
/// ```
#[derive(Clone)]
pub struct PatchPath {
    text: Box<str>,
    pub(super) segments: Box<[Segment]>,
}

/// A step of a [`PatchPath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchStep<'a> {
    /// A key of a map.
    Key(&'a str),
    /// A key of a map, or a position in a list: `0` or `-`.
    KeyOrPosition(&'a str),
    /// Elements of a list, with the path to the field that a filter compares; empty without one.
    Element(&'a [Key]),
}

/// One segment of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// Between slashes: a key of a map, or a position in a list.
    Name(Key, Position),
    /// `[0]`: an element of a list.
    Index(usize),
    /// `[*]`: all elements of a list.
    All,
    /// `[?(@.a.b=='v')]`: the elements of a list that match.
    Where(Filter),
}

impl Segment {
    fn is_filter(&self) -> bool {
        matches!(self, Self::All | Self::Where(_))
    }

    /// Whether this segment is the same as a token of a pointer.
    fn is(&self, token: &Token) -> bool {
        match (self, token) {
            (Self::Name(key, _), Token::Key(other)) => key == other,
            (Self::Name(_, Position::At(index)) | Self::Index(index), Token::Index(other)) => {
                index == other
            }
            _ => false,
        }
    }
}

/// The meaning of a name in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// Nothing.
    None,
    /// An element.
    At(usize),
    /// An element that no list has, because its position does not fit a `usize`.
    Beyond,
    /// `-`: the position after the last element.
    End,
}

/// `@.a.b == 'v'`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filter {
    /// The path to the field; never empty.
    pub(super) fields: Box<[Key]>,
    pub(super) text: Box<str>,
}

impl PatchPath {
    /// Parses a path. It is empty for the document itself, and starts with `/` otherwise.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.len() > MAX_LENGTH {
            let message = format!(
                "found {} bytes, expected at most {MAX_LENGTH} bytes",
                text.len()
            );
            return Err(error_at(text.floor_char_boundary(MAX_LENGTH), message));
        }
        Ok(Self {
            text: text.into(),
            segments: parse(text)?.into(),
        })
    }

    /// The places that this path matches in a document, in document order.
    ///
    /// A place need not exist: missing keys, and a position at the end of the path, are taken
    /// as written, and the operation decides whether it accepts them. Filters and `[*]` match
    /// existing elements only; if their list is missing, they match nothing.
    pub fn resolve(&self, document: &Value) -> Result<Vec<Pointer>, Failure> {
        resolve::pointers(&self.segments, document)
    }

    /// Whether this path may match several places, or none: it has a filter or `[*]`.
    pub fn has_filter(&self) -> bool {
        self.segments.iter().any(Segment::is_filter)
    }

    /// Whether the last segment is a filter or `[*]`.
    pub(super) fn ends_with_filter(&self) -> bool {
        self.segments.last().is_some_and(Segment::is_filter)
    }

    /// Whether the matches of this path are inside the place of `pointer`. A filter is never
    /// considered equal to a token.
    pub(super) fn goes_into(&self, pointer: &Pointer) -> bool {
        let tokens = pointer.tokens();
        let same = |(segment, token): (&Segment, &Token)| segment.is(token);
        self.segments.len() > tokens.len() && self.segments.iter().zip(tokens).all(same)
    }

    /// The steps of this path, for code that analyses it.
    pub fn steps(&self) -> impl Iterator<Item = PatchStep<'_>> {
        self.segments.iter().map(|segment| match segment {
            Segment::Name(key, Position::None) => PatchStep::Key(key.as_str()),
            Segment::Name(key, Position::At(_) | Position::Beyond | Position::End) => {
                PatchStep::KeyOrPosition(key.as_str())
            }
            Segment::Index(_) | Segment::All => PatchStep::Element(&[]),
            Segment::Where(filter) => PatchStep::Element(&filter.fields),
        })
    }

    /// The text of this path.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Escapes a text so that it is one key between slashes.
    ///
    /// ```
    /// use document::patch::PatchPath;
    ///
    /// assert_eq!(PatchPath::escape_segment("a/b~[0]"), "a~1b~0~20~3");
    /// ```
    pub fn escape_segment(text: &str) -> String {
        let mut escaped = String::with_capacity(text.len());
        for c in text.chars() {
            match ESCAPES.iter().find(|(_, meaning)| *meaning == c) {
                Some((digit, _)) => escaped.extend(['~', *digit]),
                None => escaped.push(c),
            }
        }
        escaped
    }

    /// Escapes a text so that it is the value in a filter, between single or double quotes.
    ///
    /// ```
    /// use document::patch::PatchPath;
    ///
    /// assert_eq!(PatchPath::escape_filter("it's"), r"it\u0027s");
    /// ```
    pub fn escape_filter(text: &str) -> String {
        let mut escaped = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                '\\' => escaped.push_str("\\\\"),
                // Written as code points, quotes are safe between both kinds of quotes.
                c if c < ' ' || matches!(c, '\'' | '"') => {
                    // Writing to a string cannot fail.
                    let _ = write!(escaped, "\\u{:04x}", u32::from(c));
                }
                c => escaped.push(c),
            }
        }
        escaped
    }
}

/// The meaning of `~` and a digit in a key. RFC 6901 has only the first two.
const ESCAPES: [(char, char); 4] = [('0', '~'), ('1', '/'), ('2', '['), ('3', ']')];

fn parse(text: &str) -> Result<Vec<Segment>, PathError> {
    let mut cursor = Cursor::new(text);
    let mut segments = Vec::new();
    while cursor.peek().is_some() {
        let expected = if segments.is_empty() {
            "`/`"
        } else {
            "`/` or `[`"
        };
        cursor.expect("/", expected)?;
        cursor.enter()?;
        if cursor.peek() != Some('[') {
            segments.push(name(&mut cursor)?);
        }
        while cursor.peek() == Some('[') {
            cursor.enter()?;
            segments.push(bracket(&mut cursor)?);
        }
    }
    Ok(segments)
}

/// A key or position between slashes; it may be empty.
fn name(cursor: &mut Cursor<'_>) -> Result<Segment, PathError> {
    let start = cursor.at();
    let mut text = String::new();
    loop {
        match cursor.peek() {
            None | Some('/' | '[') => break,
            Some(']') => return Err(cursor.unexpected("`[` before it, or `~3` for the character")),
            Some('~') => {
                cursor.next();
                let meaning = |digit| ESCAPES.iter().find(|(d, _)| *d == digit);
                let Some((_, c)) = cursor.peek().and_then(meaning) else {
                    return Err(cursor.unexpected("`0`, `1`, `2` or `3` after `~`"));
                };
                cursor.next();
                text.push(*c);
            }
            Some(_) => text.push_str(cursor.take_while(|c| !matches!(c, '/' | '[' | ']' | '~'))),
        }
    }
    // A name with an escape is never a position.
    let position = position(cursor.since(start));
    Ok(Segment::Name(Key::new(&text), position))
}

fn position(text: &str) -> Position {
    if text == "-" {
        return Position::End;
    }
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits || (text.starts_with('0') && text != "0") {
        return Position::None;
    }
    text.parse().map_or(Position::Beyond, Position::At)
}

/// A segment in brackets. The opening bracket is next.
fn bracket(cursor: &mut Cursor<'_>) -> Result<Segment, PathError> {
    cursor.expect("[", "`[`")?;
    let start = cursor.at();
    let segment = match cursor.peek() {
        Some('*') => {
            cursor.next();
            Segment::All
        }
        Some('?') => Segment::Where(filter(cursor)?),
        Some(c) if c.is_ascii_digit() => {
            let digits = cursor.take_while(|c| c.is_ascii_digit());
            match position(digits) {
                Position::At(index) => Segment::Index(index),
                Position::None | Position::Beyond | Position::End => {
                    let message = "found a bad position, expected digits without leading zeros";
                    return Err(error_at(start, message));
                }
            }
        }
        _ => return Err(cursor.unexpected("a position, `*`, or a filter `?(@.field=='value')`")),
    };
    cursor.expect("]", "`]`")?;
    Ok(segment)
}

/// `?(@.a.b=='v')`, with optional white space between the parts.
fn filter(cursor: &mut Cursor<'_>) -> Result<Filter, PathError> {
    cursor.expect("?", "`?`")?;
    cursor.expect("(", "`(`: a filter is `?(@.field=='value')`")?;
    cursor.blank();
    cursor.expect("@", "`@.` and a field")?;
    let mut fields = Vec::new();
    while cursor.eat(".") {
        cursor.in_filter = true;
        let field = cursor.name();
        if field.is_empty() {
            return Err(cursor.unexpected("the name of a field"));
        }
        fields.push(Key::new(field));
    }
    if fields.is_empty() {
        return Err(cursor.unexpected("`.` and the name of a field"));
    }
    cursor.blank();
    cursor.expect("==", "`==`, the only comparison of a filter")?;
    cursor.blank();
    if !matches!(cursor.peek(), Some('\'' | '"')) {
        return Err(cursor.unexpected("a value in quotes"));
    }
    let text = cursor.string()?;
    cursor.blank();
    cursor.expect(")", "`)`: a filter has one comparison")?;
    Ok(Filter {
        fields: fields.into(),
        text: text.into(),
    })
}

impl std::str::FromStr for PatchPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

/// Paths are equal if they have the same segments, no matter how they are written.
impl PartialEq for PatchPath {
    fn eq(&self, other: &Self) -> bool {
        self.segments == other.segments
    }
}

impl Eq for PatchPath {}

/// The text that the path was parsed from.
impl fmt::Display for PatchPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for PatchPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PatchPath({})", self.text)
    }
}
