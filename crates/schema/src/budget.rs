//! A limit on the work of inference.

use std::cell::Cell;

/// How much work is left. Types share their parts, so a few bytes can describe a type that would
/// take forever to visit: whoever visits a type pays for each part, and treats the rest as unknown
/// when the budget is spent.
#[derive(Debug)]
pub struct Budget(Cell<u32>);

impl Default for Budget {
    /// Enough for every pipeline that people write: some hundred milliseconds at most.
    fn default() -> Self {
        Self::new(200_000)
    }
}

impl Budget {
    /// A budget of this many parts of types.
    pub fn new(parts: u32) -> Self {
        Self(Cell::new(parts))
    }

    /// Pays for one part. False if the budget is spent.
    pub fn take(&self) -> bool {
        self.pay(1)
    }

    /// Pays for several parts. False if the budget does not suffice.
    pub fn pay(&self, parts: usize) -> bool {
        let left = self.0.get();
        let parts = u32::try_from(parts).unwrap_or(u32::MAX);
        self.0.set(left.saturating_sub(parts));
        left >= parts
    }

    /// Spends all that is left.
    pub fn spend(&self) {
        self.0.set(0);
    }

    /// Whether it is spent.
    pub fn is_spent(&self) -> bool {
        self.0.get() == 0
    }
}
