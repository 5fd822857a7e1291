//! What a step has used of its budget. Once it has used too much, loops end as they are:
//! what they give is thrown away with the circuit.

use expr::Env;

use super::{Budget, BudgetError};

/// How many join candidates are looked at between two looks at the clock.
const CHECK_INTERVAL: u64 = 64;

/// What a step may still use.
#[derive(Debug)]
pub(crate) struct Meter {
    budget: Budget,
    candidates: u64,
    joined: usize,
    exceeded: Option<BudgetError>,
}

impl Meter {
    pub(crate) fn new(budget: Budget) -> Self {
        Self {
            budget,
            candidates: 0,
            joined: 0,
            exceeded: None,
        }
    }

    /// Which budget was exceeded.
    pub(crate) fn exceeded(&self) -> Option<BudgetError> {
        self.exceeded
    }

    /// Whether the step goes on.
    pub(crate) fn goes_on(&self) -> bool {
        self.exceeded.is_none()
    }

    /// A join looks at a document. Gives whether the step goes on.
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

    /// A join gives a document, which is held until the step is done. Gives whether the
    /// step goes on.
    pub(crate) fn joined(&mut self) -> bool {
        self.joined += 1;
        let limit = self.budget.outputs;
        if self.joined > limit {
            self.exceeded.get_or_insert(BudgetError::Outputs(limit));
        }
        self.goes_on()
    }

    /// A stage looks at a document. Gives whether the step goes on.
    pub(crate) fn document(&mut self, env: &Env) -> bool {
        if self.goes_on() && env.is_interrupted() {
            self.exceeded = Some(BudgetError::Time);
        }
        self.goes_on()
    }
}
