//! Counts what a step uses of its budget.
//!
//! All loops of a step ask the meter whether to continue. After the budget is exceeded they
//! return early with incomplete results. That is safe, because the circuit stops and discards
//! them.

use expr::Env;

use super::{Budget, BudgetError};

/// The number of join candidates between two checks of the interrupt.
const CHECK_INTERVAL: u64 = 64;

/// The memory of a document that `@unwind` puts out, apart from what it shares with others.
const UNWOUND_BYTES: usize = 384;

/// The limit for `@unwind` where the budget has no limit of bytes.
const MAX_UNWOUND_BYTES: usize = 4 << 30;

/// The use of a budget by one step.
#[derive(Debug)]
pub(crate) struct Meter {
    budget: Budget,
    candidates: u64,
    joined: usize,
    /// How many documents `@unwind` has put out.
    unwound: usize,
    exceeded: Option<BudgetError>,
}

impl Meter {
    /// A meter for a step, after others have checked this many candidates of the same budget.
    pub(crate) fn new(budget: Budget, candidates: u64) -> Self {
        Self {
            budget,
            candidates,
            joined: 0,
            unwound: 0,
            exceeded: None,
        }
    }

    /// The candidates that were checked, including those of others.
    pub(crate) fn candidates(&self) -> u64 {
        self.candidates
    }

    /// The exceeded limit.
    pub(crate) fn exceeded(&self) -> Option<BudgetError> {
        self.exceeded
    }

    /// Whether the step continues.
    pub(crate) fn goes_on(&self) -> bool {
        self.exceeded.is_none()
    }

    /// Counts a candidate of a join. Returns whether the step continues.
    pub(crate) fn candidate(&mut self, env: &Env) -> bool {
        self.candidates += 1;
        let limit = self.budget.candidates;
        if self.candidates > limit {
            self.exceeded.get_or_insert(BudgetError::Candidates(limit));
        }
        if self.candidates.is_multiple_of(CHECK_INTERVAL) {
            return self.document(env);
        }
        self.goes_on()
    }

    /// Counts a document that a join puts out, which stays in memory until the end of the step.
    /// Returns whether the step continues.
    pub(crate) fn joined(&mut self) -> bool {
        self.joined += 1;
        let limit = self.budget.outputs;
        if self.joined > limit {
            self.exceeded.get_or_insert(BudgetError::Outputs(limit));
        }
        self.goes_on()
    }

    /// Counts documents that `@unwind` puts out, old and new, which stay in memory until the end of
    /// the step. A list can be built by an expression, so a few stages could turn one object into a
    /// billion documents. Returns whether the step continues.
    pub(crate) fn unwound(&mut self, documents: usize) -> bool {
        self.unwound += documents;
        let limit = self.budget.bytes.unwrap_or(MAX_UNWOUND_BYTES);
        if self.unwound > limit / UNWOUND_BYTES {
            self.exceeded.get_or_insert(BudgetError::Unwound(limit));
        }
        self.goes_on()
    }

    /// Checks the interrupt before the next document. Returns whether the step continues.
    pub(crate) fn document(&mut self, env: &Env) -> bool {
        if self.goes_on() && env.is_interrupted() {
            self.exceeded = Some(BudgetError::Time);
        }
        self.goes_on()
    }
}
