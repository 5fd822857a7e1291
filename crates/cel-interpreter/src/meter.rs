//! The cost of an evaluation, counted while it runs.
//!
//! One unit is one step of the interpreter, one element of a list or map that is made,
//! compared or converted, or [`BYTES`] bytes of a string. Whatever can grow is paid for
//! before it is made, so that the limit bounds memory as well as time.

use crate::error::EvalError;

/// Bytes of a string that cost one unit.
pub(crate) const BYTES: usize = 16;

/// What a call into the library costs on top of its arguments: they are copied there
/// and back.
pub(crate) const LIBRARY_CALL: u64 = 10;

pub(crate) struct Meter {
    left: u64,
    limit: u64,
}

impl Meter {
    pub(crate) fn new(limit: u64) -> Self {
        Self { left: limit, limit }
    }

    /// Pays for `units`, or ends the evaluation.
    pub(crate) fn charge(&mut self, units: u64) -> Result<(), EvalError> {
        match self.left.checked_sub(units) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                // Nothing else may be paid for after the limit is reached.
                self.left = 0;
                Err(EvalError::CostExceeded { limit: self.limit })
            }
        }
    }

    /// What was paid so far.
    pub(crate) fn spent(&self) -> u64 {
        self.limit - self.left
    }

    /// Pays for `count` elements.
    pub(crate) fn items(&mut self, count: usize) -> Result<(), EvalError> {
        self.charge(count as u64)
    }

    /// Pays for `length` bytes of text.
    pub(crate) fn bytes(&mut self, length: usize) -> Result<(), EvalError> {
        self.charge((length / BYTES) as u64)
    }
}
