//! The spans of a value and its parts: a tree of the same shape as the value.
//!
//! ```text
//! a: [x, yy]        0..10  map
//!                   └ a: key 0..1, value 3..10  list
//!                                  ├ 4..5   scalar
//!                                  └ 7..9   scalar
//! ```

use std::ops::Range;
use std::sync::Arc;

use document::{Key, LocationStep};

/// The range of a value, and the spans of its parts. It is cheap to clone: an alias shares the
/// spans of the value that it refers to.
#[derive(Clone, Debug)]
pub(crate) struct SpanTree {
    pub(crate) range: ByteRange,
    pub(crate) children: Children,
}

/// A range of bytes. Sources are bounded by `MAX_SIZE`, so `u32` is enough for every offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteRange {
    start: u32,
    end: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum Children {
    /// A scalar.
    None,
    List(Arc<Vec<SpanTree>>),
    /// Sorted by key, each key once.
    Map(Arc<Vec<MemberSpans>>),
}

/// The spans of a map entry.
#[derive(Clone, Debug)]
pub(crate) struct MemberSpans {
    pub(crate) key: Key,
    pub(crate) key_range: ByteRange,
    pub(crate) spans: SpanTree,
}

impl ByteRange {
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

impl SpanTree {
    /// The spans of the part that a step of a location leads to.
    pub(crate) fn child(&self, step: &LocationStep) -> Option<&Self> {
        match (step, &self.children) {
            (LocationStep::Index(index), Children::List(spans)) => spans.get(*index),
            (LocationStep::Key(key), Children::Map(_)) => {
                self.member(key).map(|member| &member.spans)
            }
            _ => None,
        }
    }

    /// The entry under `key`, if this is a map.
    pub(crate) fn member(&self, key: &str) -> Option<&MemberSpans> {
        let Children::Map(members) = &self.children else {
            return None;
        };
        members
            .binary_search_by(|member| member.key.as_str().cmp(key))
            .ok()
            .map(|at| &members[at])
    }
}
