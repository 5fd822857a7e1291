//! Where the parts of a value stood: a tree of the same shape as the value.

use std::ops::Range;
use std::sync::Arc;

use document::{Key, Step};

/// The place of a value and of its parts. Cheap to clone: an alias shares the parts of
/// what it names.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) parts: Parts,
}

/// A stretch of bytes. Sources are bounded by `MAX_SIZE`, so `u32` holds every offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    start: u32,
    end: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum Parts {
    /// A scalar.
    None,
    List(Arc<Vec<Node>>),
    /// Sorted by key, each key once.
    Map(Arc<Vec<Member>>),
}

/// An entry of a map.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) key: Key,
    pub(crate) key_place: Place,
    pub(crate) node: Node,
}

impl Place {
    pub(crate) fn new(bytes: Range<usize>) -> Self {
        Self {
            start: bytes.start as u32,
            end: bytes.end.max(bytes.start) as u32,
        }
    }

    pub(crate) fn bytes(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl Node {
    /// The part one step further down.
    pub(crate) fn child(&self, step: &Step) -> Option<&Self> {
        match (step, &self.parts) {
            (Step::Index(index), Parts::List(nodes)) => nodes.get(*index),
            (Step::Key(key), Parts::Map(_)) => self.member(key).map(|member| &member.node),
            _ => None,
        }
    }

    /// The entry under `key`, if this is a map.
    pub(crate) fn member(&self, key: &str) -> Option<&Member> {
        let Parts::Map(members) = &self.parts else {
            return None;
        };
        members
            .binary_search_by(|member| member.key.as_str().cmp(key))
            .ok()
            .map(|at| &members[at])
    }
}
