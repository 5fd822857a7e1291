//! Paths of operations with CEL in them.
//!
//! The value of an expression in a segment or in the quotes of a filter is escaped, so that it
//! stays inside that segment or filter, whatever characters it contains:
//!
//! ```text
//! path     /metadata/labels/${key}
//! key      example.com/tier
//! result   /metadata/labels/example.com~1tier
//! ```

use std::fmt::Write;

use document::patch::{PatchPath, ReadCause};
use document::{Location, Value, View};

use crate::error::{CompileError, CompileErrorKind, Error, ErrorKind};
use crate::meter::Meter;
use crate::template::{Expression, Lookup, TextPart, parts};

/// The path of an operation: parsed once, or computed.
#[derive(Clone, Debug)]
pub(crate) enum PathTemplate {
    Fixed(PatchPath),
    Computed(Computed),
}

#[derive(Clone, Debug)]
pub(crate) struct Computed {
    parts: Box<[PathPart]>,
    /// The path as written.
    text: String,
    at: Location,
    /// How many segments there are, not counting those of a prefix.
    segments: usize,
    /// The path with other values for the expressions, if these are only in brackets: its steps are
    /// the same.
    known: Option<PatchPath>,
}

#[derive(Clone, Debug)]
enum PathPart {
    Text(String),
    Value(Expression, PathSlot),
}

/// The position of an expression in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathSlot {
    /// At the start, before any slash: the value is a path.
    Prefix,
    /// In a segment: a key, a position, or a part of a key.
    Segment,
    /// Between the brackets of a position.
    Position,
    /// Between the quotes of a filter.
    Filter,
}

impl PathTemplate {
    /// Compiles the field `field` of an operation.
    pub(crate) fn compile(
        text: &str,
        field: &'static str,
        at: &Location,
    ) -> Result<Self, CompileError> {
        if !text.contains("${") {
            return Ok(Self::Fixed(parse(text, text, field, at)?));
        }
        let parts = placed(parts(text, at)?, at)?;
        let sample = parse(&sample(&parts), text, field, at)?;
        if !parts.iter().any(|part| matches!(part, PathPart::Value(..))) {
            return Ok(Self::Fixed(sample));
        }
        let known = parts.iter().all(|part| match part {
            PathPart::Value(_, PathSlot::Prefix | PathSlot::Segment) => false,
            PathPart::Value(_, PathSlot::Position | PathSlot::Filter) | PathPart::Text(_) => true,
        });
        Ok(Self::Computed(Computed {
            parts: parts.into(),
            text: text.to_owned(),
            at: at.clone(),
            segments: segments(sample.as_str()),
            known: known.then_some(sample),
        }))
    }

    /// The path as written.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Fixed(path) => path.as_str(),
            Self::Computed(computed) => &computed.text,
        }
    }

    /// The path, if it contains no expression.
    pub(crate) fn fixed(&self) -> Option<&PatchPath> {
        match self {
            Self::Fixed(path) => Some(path),
            Self::Computed(_) => None,
        }
    }

    /// A path with the same steps, if these are known without evaluating expressions.
    pub(crate) fn known(&self) -> Option<&PatchPath> {
        match self {
            Self::Fixed(path) => Some(path),
            Self::Computed(computed) => computed.known.as_ref(),
        }
    }

    /// Visits the expressions.
    pub(crate) fn expressions<'a>(&'a self, visit: &mut impl FnMut(&'a Expression)) {
        let Self::Computed(computed) = self else {
            return;
        };
        for part in &computed.parts {
            if let PathPart::Value(expression, _) = part {
                visit(expression);
            }
        }
    }

    pub(crate) fn eval(
        &self,
        lookup: Lookup<'_>,
        meter: &mut Meter,
    ) -> Result<PatchPath, Box<Error>> {
        match self {
            Self::Fixed(path) => Ok(path.clone()),
            Self::Computed(computed) => computed.eval(lookup, meter),
        }
    }
}

fn parse(
    text: &str,
    written: &str,
    field: &'static str,
    at: &Location,
) -> Result<PatchPath, CompileError> {
    PatchPath::parse(text).map_err(|source| {
        let text = written.to_owned();
        CompileError::new(
            at,
            ReadCause::Path {
                field,
                text,
                source,
            },
        )
    })
}

/// Finds the position of each expression by scanning the text around it.
fn placed(parts: Vec<TextPart>, at: &Location) -> Result<Vec<PathPart>, CompileError> {
    let mut scanner = PathScanner::default();
    let mut placed = Vec::with_capacity(parts.len());
    let mut rest = parts.into_iter().peekable();
    let mut first = true;
    while let Some(part) = rest.next() {
        placed.push(match part {
            TextPart::Text(text) => {
                scanner.read(&text);
                PathPart::Text(text)
            }
            TextPart::Value(expression) => {
                let closes = match rest.peek() {
                    Some(TextPart::Text(text)) => text.starts_with(']'),
                    _ => false,
                };
                let place = match scanner.state {
                    State::Outside if first => PathSlot::Prefix,
                    State::Outside => PathSlot::Segment,
                    State::Quoted(_) => PathSlot::Filter,
                    State::Bracket { empty: true } if closes => PathSlot::Position,
                    State::Bracket { .. } => {
                        let kind = CompileErrorKind::ExpressionInBrackets;
                        return Err(CompileError::new(at, kind));
                    }
                };
                PathPart::Value(expression, place)
            }
        });
        first = false;
    }
    Ok(placed)
}

/// How many segments a path has: names and brackets.
fn segments(path: &str) -> usize {
    let mut scanner = PathScanner::default();
    let mut count = 0;
    let mut before = None;
    for c in path.chars() {
        if let State::Outside = scanner.state {
            // A bracket right after a slash is the segment of that slash.
            count += usize::from(c == '/' || (c == '[' && before != Some('/')));
        }
        scanner.step(c);
        before = Some(c);
    }
    count
}

/// Follows the text of a path through brackets and quotes.
#[derive(Default)]
struct PathScanner {
    state: State,
    /// Whether the previous character was a backslash in quotes.
    escaped: bool,
}

#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    Outside,
    Bracket {
        /// Whether this is right after the opening bracket.
        empty: bool,
    },
    Quoted(char),
}

impl PathScanner {
    fn read(&mut self, text: &str) {
        text.chars().for_each(|c| self.step(c));
    }

    fn step(&mut self, c: char) {
        self.state = match (self.state, c) {
            (State::Outside, '[') => State::Bracket { empty: true },
            (State::Outside, _) | (State::Bracket { .. }, ']') => State::Outside,
            (State::Bracket { .. }, '\'' | '"') => State::Quoted(c),
            (State::Bracket { .. }, _) => State::Bracket { empty: false },
            (State::Quoted(quote), _) if self.escaped => {
                self.escaped = false;
                State::Quoted(quote)
            }
            (State::Quoted(quote), '\\') => {
                self.escaped = true;
                State::Quoted(quote)
            }
            (State::Quoted(quote), c) if c == quote => State::Bracket { empty: false },
            (State::Quoted(quote), _) => State::Quoted(quote),
        };
    }
}

/// The path with a sample value for each expression, to find errors in the text around them.
fn sample(parts: &[PathPart]) -> String {
    let texts = parts.iter().map(|part| match part {
        PathPart::Text(text) => text,
        PathPart::Value(_, PathSlot::Prefix) => "",
        PathPart::Value(_, PathSlot::Segment | PathSlot::Filter) => "x",
        PathPart::Value(_, PathSlot::Position) => "0",
    });
    texts.collect()
}

impl Computed {
    fn eval(&self, lookup: Lookup<'_>, meter: &mut Meter) -> Result<PatchPath, Box<Error>> {
        let mut text = String::new();
        let mut count = self.segments;
        for part in &self.parts {
            match part {
                PathPart::Text(plain) => text.push_str(plain),
                PathPart::Value(expression, place) => {
                    let value = expression.eval(lookup, meter)?;
                    if *place == PathSlot::Prefix {
                        count += self.prefix(expression, &value, &mut text)?;
                    } else {
                        put(expression, *place, &value, &mut text)?;
                    }
                }
            }
        }
        let path = self.parse(&text)?;
        if segments(&text) != count {
            return Err(Error::new(&self.at, ErrorKind::PathShape));
        }
        Ok(path)
    }

    /// Appends a value that is a path. Returns how many segments it has.
    fn prefix(
        &self,
        expression: &Expression,
        value: &Value,
        text: &mut String,
    ) -> Result<usize, Box<Error>> {
        let Some(prefix) = value.as_str() else {
            return Err(refused(expression, "a path as a string", value));
        };
        text.push_str(prefix);
        self.parse(prefix)?;
        Ok(segments(prefix))
    }

    fn parse(&self, text: &str) -> Result<PatchPath, Box<Error>> {
        PatchPath::parse(text).map_err(|error| {
            let before = text.get(..error.offset).unwrap_or(text);
            let character = before.chars().count() + 1;
            Error::new(&self.at, ErrorKind::Path { character })
        })
    }
}

fn refused(expression: &Expression, expected: &'static str, value: &Value) -> Box<Error> {
    expression.error(ErrorKind::PathValue {
        expression: expression.text(),
        expected,
        found: value.kind(),
    })
}

/// Appends a value, escaped for its position.
fn put(
    expression: &Expression,
    place: PathSlot,
    value: &Value,
    path: &mut String,
) -> Result<(), Box<Error>> {
    if place == PathSlot::Position {
        let Some(position) = value.as_int().filter(|int| *int >= 0) else {
            return Err(refused(expression, "a position from 0 on", value));
        };
        // Writing to a string cannot fail.
        let _ = write!(path, "{position}");
        return Ok(());
    }
    let number;
    let text = match value.view() {
        View::Str(text) => text,
        View::Bool(_) | View::Int(_) | View::Float(_) => {
            number = value.to_string();
            &number
        }
        View::Null | View::List(_) | View::Map(_) | View::Bytes(_) => {
            return Err(refused(expression, "a string, number or boolean", value));
        }
    };
    path.push_str(&match place {
        PathSlot::Filter => PatchPath::escape_filter(text),
        PathSlot::Prefix | PathSlot::Segment | PathSlot::Position => {
            PatchPath::escape_segment(text)
        }
    });
    Ok(())
}
