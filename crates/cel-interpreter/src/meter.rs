//! The cost of an evaluation, counted while it runs.
//!
//! One unit is one step of the interpreter, one element of a list or map that is built, compared
//! or converted, or [`BYTES`] bytes of a string. A value that can grow is charged for before it
//! is built, so that the limit bounds memory as well as time.

use crate::error::EvalError;

/// Bytes of a string that cost one unit.
pub(crate) const BYTES: usize = 16;

pub(crate) struct Meter {
    left: u64,
    limit: u64,
}

impl Meter {
    pub(crate) fn new(limit: u64) -> Self {
        Self { left: limit, limit }
    }

    /// Charges `units`; an error if the limit is exceeded.
    pub(crate) fn charge(&mut self, units: u64) -> Result<(), EvalError> {
        match self.left.checked_sub(units) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                // After this, every charge fails.
                self.left = 0;
                Err(EvalError::CostExceeded { limit: self.limit })
            }
        }
    }

    /// The cost so far.
    pub(crate) fn spent(&self) -> u64 {
        self.limit - self.left
    }

    /// Charges for `count` elements.
    pub(crate) fn items(&mut self, count: usize) -> Result<(), EvalError> {
        self.charge(count as u64)
    }

    /// Charges for `length` bytes of text.
    pub(crate) fn bytes(&mut self, length: usize) -> Result<(), EvalError> {
        self.charge((length / BYTES) as u64)
    }
}
