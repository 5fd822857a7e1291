//! The bounds of what a patch may build.
//!
//! Values are shared, so a few copies of a document into itself would make one that takes
//! no room here and all memory where it is written out.

use super::error::Cause;
use super::{MAX_GROWTH, Pointer};
use crate::json::MAX_DEPTH;
use crate::measure::Measure;

/// Whether a value so large may stand at this place.
pub(super) fn check_depth(value: Measure, pointer: &Pointer) -> Result<(), Cause> {
    if pointer.tokens().len() + value.depth as usize > MAX_DEPTH {
        return Err(Cause::TooDeep);
    }
    Ok(())
}

/// How much a patch may still add in copies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth(usize);

impl Growth {
    pub(super) fn new() -> Self {
        Self(MAX_GROWTH)
    }

    /// Counts so many copies of a value.
    pub(super) fn take(&mut self, value: Measure, copies: usize) -> Result<(), Cause> {
        let bytes = (value.bytes as usize).saturating_mul(copies);
        self.0 = self.0.checked_sub(bytes).ok_or(Cause::TooLarge)?;
        Ok(())
    }
}
