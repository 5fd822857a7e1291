//! One change at all the places that a path matches.
//!
//! The places are known, and none is inside another. The document is rebuilt in one pass: a
//! list or map that contains several of the places is copied once, and everything else is
//! shared.

use super::error::{Cause, Failure};
use super::pointer::{Pointer, Token};
use super::rfc6902::{self, Change};
use crate::list::ListRef;
use crate::map::Map;
use crate::merge;
use crate::value::{Kind, Value};

/// The change that is made at every place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Edit<'a> {
    /// An operation of RFC 6902. An `add` creates missing parents.
    Change(Change<'a>),
    /// The `add` at the end of a `copy` or `move`. Its parent must exist.
    Put(&'a Value),
    /// A deep merge with a map.
    Merge(&'a Value),
}

impl Edit<'_> {
    /// The document with this change at all places. The pointers are in document order and
    /// have the same length.
    pub(super) fn apply(self, document: &Value, pointers: &[Pointer]) -> Result<Value, Failure> {
        match pointers {
            [] => Ok(document.clone()),
            pointers => self.rebuild(Some(document), pointers, 0),
        }
    }

    /// The value that all pointers reach after `depth` tokens, with the change made below it.
    /// There is at least one pointer.
    fn rebuild(
        self,
        value: Option<&Value>,
        pointers: &[Pointer],
        depth: usize,
    ) -> Result<Value, Failure> {
        let pointer = &pointers[0];
        let fail = |cause| Failure::new(pointer, cause);
        match (self, &pointer.tokens()[depth..]) {
            (Self::Merge(over), []) => merged(value, over).map_err(fail),
            (Self::Change(change), [] | [_]) => self.change(change, value, pointers, depth),
            (Self::Put(put), [] | [_]) => self.change(Change::Add(put), value, pointers, depth),
            (_, [Token::Key(key), ..]) => {
                // Only elements of lists match in numbers: all pointers share this key.
                let map = self.map(value).map_err(fail)?;
                let member = self.rebuild(map.get(key), pointers, depth + 1)?;
                Ok(rfc6902::set(&map, key, member).into())
            }
            (_, [Token::Index(_), ..]) => self.elements(value, pointers, depth),
            (_, [Token::End, ..]) => Err(fail(Cause::MergeEnd)),
        }
    }

    /// The list or map whose member changes, or the document if the whole of it changes.
    fn change(
        self,
        change: Change<'_>,
        value: Option<&Value>,
        pointers: &[Pointer],
        depth: usize,
    ) -> Result<Value, Failure> {
        let pointer = &pointers[0];
        let fail = |cause| Failure::new(pointer, cause);
        match pointer.tokens().get(depth) {
            None => rfc6902::root(value.unwrap_or(&Value::NULL), change).map_err(fail),
            Some(Token::Key(key)) => {
                let map = self.map(value).map_err(fail)?;
                Ok(rfc6902::map(&map, key, change).map_err(fail)?.into())
            }
            Some(Token::Index(_) | Token::End) => {
                let list = self.list(value, pointer.tokens().last()).map_err(fail)?;
                rfc6902::list(list, pointers, change)
            }
        }
    }

    /// The list with those elements rebuilt that the pointers lead into.
    fn elements(
        self,
        value: Option<&Value>,
        pointers: &[Pointer],
        depth: usize,
    ) -> Result<Value, Failure> {
        let step = |pointer: &Pointer| match pointer.tokens().get(depth) {
            Some(Token::Index(index)) => *index,
            _ => usize::MAX,
        };
        let fail = |cause| Failure::new(&pointers[0], cause);
        let list = self.list(value, None).map_err(fail)?;
        let mut changed = Vec::with_capacity(1);
        for group in pointers.chunk_by(|a, b| step(a) == step(b)) {
            let index = step(&group[0]);
            let element = list.get(index).ok_or_else(|| {
                let length = list.len();
                Failure::new(&group[0], Cause::OutOfBounds { length })
            })?;
            changed.push((index, self.rebuild(Some(element), group, depth + 1)?));
        }
        let mut changed = changed.into_iter().peekable();
        Ok(Value::list(list.iter().enumerate().map(|(at, old)| {
            match changed.next_if(|(index, _)| *index == at) {
                Some((_, new)) => new,
                None => old.clone(),
            }
        })))
    }

    /// The map at this place; an empty one if it is missing and may be created.
    fn map(self, value: Option<&Value>) -> Result<Map, Cause> {
        match value {
            Some(value) => value.as_map().cloned().ok_or(Cause::WrongType {
                found: value.kind(),
                expected: "a map",
            }),
            None if self.creates() => Ok(Map::from_sorted(Vec::new())),
            None => Err(Cause::NotFound),
        }
    }

    /// The list at this place; an empty one if it is missing and the next token appends to
    /// it.
    fn list<'v>(
        self,
        value: Option<&'v Value>,
        next: Option<&Token>,
    ) -> Result<ListRef<'v>, Cause> {
        match (value, next) {
            (Some(value), _) => value.as_list().ok_or(Cause::WrongType {
                found: value.kind(),
                expected: "a list",
            }),
            (None, Some(Token::End)) if self.creates() => Ok(ListRef::Flat(&[])),
            (None, _) => Err(Cause::NotFound),
        }
    }

    /// Whether missing parents are created.
    fn creates(self) -> bool {
        match self {
            Self::Change(Change::Add(_)) | Self::Merge(_) => true,
            Self::Change(Change::Replace(_) | Change::Remove) | Self::Put(_) => false,
        }
    }
}

fn merged(value: Option<&Value>, over: &Value) -> Result<Value, Cause> {
    match value {
        Some(value) if value.kind() != Kind::Map => Err(Cause::WrongType {
            found: value.kind(),
            expected: "a map to merge with",
        }),
        Some(value) => Ok(merge(value, over)),
        None => Ok(over.clone()),
    }
}

/// The value at a pointer.
pub(super) fn find<'v>(document: &'v Value, pointer: &Pointer) -> Option<&'v Value> {
    let mut value = document;
    for token in pointer.tokens() {
        value = match token {
            Token::Key(key) => value.as_map()?.get(key)?,
            Token::Index(index) => value.as_list()?.get(*index)?,
            Token::End => return None,
        };
    }
    Some(value)
}
