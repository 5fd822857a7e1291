//! How large and how deep a value is: the bounds of what a patch may build.
//!
//! Values are shared, so a few copies of a document into itself would make one that takes
//! no room here and all memory where it is written out.

use super::error::Cause;
use super::{MAX_GROWTH, Pointer};
use crate::json::MAX_DEPTH;
use crate::value::{Value, View};

/// The size of a value. Beyond the bounds it is not measured on: then it is just too
/// large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    /// About how many bytes it takes, shared parts counted every time.
    bytes: usize,
    /// How deep lists and maps are nested.
    depth: usize,
}

impl Extent {
    pub(super) fn of(value: &Value) -> Self {
        let mut extent = Self::default();
        extent.add(value, 0);
        extent
    }

    fn add(&mut self, value: &Value, level: usize) {
        if self.bytes > MAX_GROWTH || self.depth > MAX_DEPTH {
            return;
        }
        self.bytes += size_of::<Value>();
        match value.view() {
            View::Null | View::Bool(_) | View::Int(_) | View::Float(_) => {}
            View::Str(text) => self.bytes += text.len(),
            View::Bytes(bytes) => self.bytes += bytes.len(),
            View::List(list) => {
                self.depth = self.depth.max(level + 1);
                list.iter().for_each(|item| self.add(item, level + 1));
            }
            View::Map(map) => {
                self.depth = self.depth.max(level + 1);
                for (key, member) in map {
                    self.bytes += key.as_str().len();
                    self.add(member, level + 1);
                }
            }
        }
    }

    /// Whether such a value may stand at this place.
    pub(super) fn check_depth(self, pointer: &Pointer) -> Result<(), Cause> {
        if pointer.tokens().len() + self.depth > MAX_DEPTH {
            return Err(Cause::TooDeep);
        }
        Ok(())
    }
}

/// How much a patch may still add in copies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth(usize);

impl Growth {
    pub(super) fn new() -> Self {
        Self(MAX_GROWTH)
    }

    /// Counts so many copies of a value.
    pub(super) fn take(&mut self, extent: Extent, copies: usize) -> Result<(), Cause> {
        let bytes = extent.bytes.saturating_mul(copies);
        self.0 = self.0.checked_sub(bytes).ok_or(Cause::TooLarge)?;
        Ok(())
    }
}
