//! Resolves a path to the places that it matches in a document.

use super::error::{Cause, Failure};
use super::path::{Filter, MAX_MATCHES, Position, Segment};
use super::pointer::{Pointer, Token};
use crate::list::ListRef;
use crate::value::{Kind, Value, View};

/// All matches, in document order.
pub(super) fn pointers(segments: &[Segment], document: &Value) -> Result<Vec<Pointer>, Failure> {
    let mut walk = Walk {
        here: Vec::with_capacity(segments.len()),
        found: Vec::new(),
    };
    match walk.go(segments, Some(document)) {
        Ok(()) => Ok(walk.found),
        Err(cause) => Err(Failure {
            pointer: Pointer::new(walk.here),
            cause,
        }),
    }
}

/// A depth-first walk through a document.
struct Walk {
    /// The current position; after an error, the position of the error.
    here: Vec<Token>,
    /// The matches so far.
    found: Vec<Pointer>,
}

impl Walk {
    /// Continues at `value`, which is `None` if there is no value.
    fn go(&mut self, segments: &[Segment], value: Option<&Value>) -> Result<(), Cause> {
        let Some((segment, rest)) = segments.split_first() else {
            if self.found.len() == MAX_MATCHES {
                return Err(Cause::TooManyMatches);
            }
            self.found.push(Pointer::new(self.here.clone()));
            return Ok(());
        };
        match (segment, value.map(Value::view)) {
            (Segment::Name(key, _), Some(View::Map(map))) => {
                self.step(Token::Key(key.clone()), rest, map.get(key))
            }
            (Segment::Name(_, position), Some(View::List(list))) => match position {
                Position::At(index) => self.element(*index, rest, list),
                Position::End => self.end(rest, list.len()),
                Position::Beyond => Err(out_of_bounds(list.len())),
                Position::None => Err(Cause::NotPosition),
            },
            (Segment::Name(key, position), None) => match position {
                Position::None => self.step(Token::Key(key.clone()), rest, None),
                Position::End if rest.is_empty() => self.end(rest, 0),
                Position::End | Position::At(_) | Position::Beyond => Err(Cause::NoList),
            },
            (Segment::Index(index), Some(View::List(list))) => self.element(*index, rest, list),
            (Segment::Index(_), None) => Err(Cause::NoList),
            (Segment::All, Some(View::List(list))) => self.elements(rest, list, |_| true),
            (Segment::Where(filter), Some(View::List(list))) => {
                self.elements(rest, list, |element| filter.matches(element))
            }
            (Segment::All | Segment::Where(_), None) => Ok(()),
            (Segment::Name(..), Some(_)) => Err(wrong_type(value, "a map or a list")),
            (Segment::Index(_) | Segment::All | Segment::Where(_), Some(_)) => {
                Err(wrong_type(value, "a list"))
            }
        }
    }

    fn element(&mut self, index: usize, rest: &[Segment], list: ListRef<'_>) -> Result<(), Cause> {
        let element = list.get(index);
        if element.is_none() && !rest.is_empty() {
            self.here.push(Token::Index(index));
            return Err(out_of_bounds(list.len()));
        }
        self.step(Token::Index(index), rest, element)
    }

    /// The position after the last element. There is no value to continue from.
    fn end(&mut self, rest: &[Segment], length: usize) -> Result<(), Cause> {
        if !rest.is_empty() {
            self.here.push(Token::End);
            return Err(out_of_bounds(length));
        }
        self.step(Token::End, rest, None)
    }

    fn elements(
        &mut self,
        rest: &[Segment],
        list: ListRef<'_>,
        matches: impl Fn(&Value) -> bool,
    ) -> Result<(), Cause> {
        for (index, element) in list.iter().enumerate() {
            if matches(element) {
                self.step(Token::Index(index), rest, Some(element))?;
            }
        }
        Ok(())
    }

    fn step(&mut self, token: Token, rest: &[Segment], value: Option<&Value>) -> Result<(), Cause> {
        self.here.push(token);
        self.go(rest, value)?;
        self.here.pop();
        Ok(())
    }
}

fn out_of_bounds(length: usize) -> Cause {
    Cause::OutOfBounds { length }
}

fn wrong_type(value: Option<&Value>, expected: &'static str) -> Cause {
    Cause::WrongType {
        found: value.map_or(Kind::Null, Value::kind),
        expected,
    }
}

impl Filter {
    /// Whether the element has the field, with this string form. Null and opaque bytes have
    /// none.
    fn matches(&self, element: &Value) -> bool {
        let mut value = element;
        for field in &self.fields {
            match value.as_map().and_then(|map| map.get(field)) {
                Some(member) => value = member,
                None => return false,
            }
        }
        match value.view() {
            View::Str(text) => text == &*self.text,
            View::Bool(b) => *self.text == *if b { "true" } else { "false" },
            View::Int(_) | View::Float(_) => value.to_string() == *self.text,
            // A long value is printed only if the first character can match.
            View::List(_) => self.text.starts_with('[') && value.to_string() == *self.text,
            View::Map(_) => self.text.starts_with('{') && value.to_string() == *self.text,
            View::Null | View::Bytes(_) => false,
        }
    }
}
