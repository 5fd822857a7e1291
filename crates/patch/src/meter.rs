//! What one application of a patch may cost, counted while it runs.

use cel_bridge::{EvalError, Program};
use document::{Location, Value};

use crate::error::{Error, ErrorKind};
use crate::growth::{Growth, MAX_GROWTH, TooLarge};

/// What a patch may cost on one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One evaluation of one expression, see [`cel_bridge`](cel_bridge#cost).
    pub expression: u64,
    /// All evaluations together.
    pub total: u64,
    /// Operations, those of all items of `forEach` together.
    pub operations: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self::with_cost(cel_bridge::Limits::default().cost)
    }
}

impl Limits {
    /// The limits where one expression may cost so much.
    pub fn with_cost(expression: u64) -> Self {
        Self {
            expression,
            total: expression.saturating_mul(10),
            operations: 10_000,
        }
    }
}

/// What is left of [`Limits`].
#[derive(Debug)]
pub struct Meter {
    limits: Limits,
    cost: u64,
    operations: u64,
    growth: Growth,
}

impl Meter {
    /// All that the limits allow.
    pub fn new(limits: &Limits) -> Self {
        Self {
            limits: *limits,
            cost: limits.total,
            operations: limits.operations,
            growth: Growth::new(),
        }
    }

    /// The value of an expression at a place.
    pub(crate) fn eval(
        &mut self,
        program: &Program,
        variables: &dyn Fn(&str) -> Option<Value>,
        at: &Location,
    ) -> Result<Value, Box<Error>> {
        let limits = cel_bridge::Limits {
            cost: self.limits.expression.min(self.cost),
        };
        let (value, cost) = program.eval_with_cost(variables, &limits);
        let all = self.cost <= self.limits.expression;
        self.cost = self.cost.saturating_sub(cost);
        value.map_err(|error| {
            let kind = match error {
                EvalError::CostExceeded { .. } if all => ErrorKind::Limit {
                    what: "the cost of all expressions of the patch",
                    limit: self.limits.total,
                },
                error => ErrorKind::Cel {
                    expression: program.text().to_owned(),
                    error,
                },
            };
            Error::new(at, kind)
        })
    }

    /// Counts what an operation has added.
    pub(crate) fn growth(
        &mut self,
        old: &Value,
        new: &Value,
        at: &Location,
    ) -> Result<(), Box<Error>> {
        self.growth.charge(old, new).map_err(|TooLarge| {
            let kind = ErrorKind::Limit {
                what: "the number of bytes that the patch adds",
                limit: MAX_GROWTH as u64,
            };
            Error::new(at, kind)
        })
    }

    /// Counts one operation.
    pub(crate) fn operation(&mut self, at: &Location) -> Result<(), Box<Error>> {
        match self.operations.checked_sub(1) {
            Some(left) => {
                self.operations = left;
                Ok(())
            }
            None => Err(Error::new(
                at,
                ErrorKind::Limit {
                    what: "the number of operations",
                    limit: self.limits.operations,
                },
            )),
        }
    }
}
