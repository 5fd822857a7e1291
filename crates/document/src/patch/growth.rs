//! Bounds on the documents that a patch may build.
//!
//! Values are shared, so a patch that copies a document into itself a few times builds one that
//! is small in memory but enormous when it is written out.

use super::error::Cause;
use super::{MAX_GROWTH, Pointer};
use crate::json::MAX_DEPTH;
use crate::measure::Measure;

/// Checks that a value of this depth may be at this place.
pub(super) fn check_depth(value: Measure, pointer: &Pointer) -> Result<(), Cause> {
    if pointer.tokens().len() + value.depth as usize > MAX_DEPTH {
        return Err(Cause::TooDeep);
    }
    Ok(())
}

/// How many more bytes of copies a patch may add.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth(usize);

impl Growth {
    pub(super) fn new() -> Self {
        Self(MAX_GROWTH)
    }

    /// Counts copies of a value.
    pub(super) fn take(&mut self, value: Measure, copies: usize) -> Result<(), Cause> {
        let bytes = (value.bytes as usize).saturating_mul(copies);
        self.0 = self.0.checked_sub(bytes).ok_or(Cause::TooLarge)?;
        Ok(())
    }
}
