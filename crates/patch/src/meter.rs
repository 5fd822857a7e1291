//! What one application of a patch may cost, counted while it runs.

use cel_interpreter::{EvalError, Program};
use document::{Bounds, Location, Value};
use expr::{Env, Interrupt};

use crate::error::{Error, ErrorKind};

/// What a patch may cost on one document.
#[derive(Clone, Debug)]
pub struct Limits {
    /// One evaluation of one expression, see [`cel_interpreter`](cel_interpreter#cost).
    pub expression: u64,
    /// All evaluations together.
    pub total: u64,
    /// Operations, those of all items of `forEach` together.
    pub operations: u64,
    /// How large the document may be after any operation, and what an expression gives.
    pub bounds: Bounds,
    /// Whether to give up.
    pub interrupt: Interrupt,
}

impl Default for Limits {
    fn default() -> Self {
        Self::with_cost(cel_interpreter::Limits::default().cost)
    }
}

impl Limits {
    /// The limits where one expression may cost so much.
    pub fn with_cost(expression: u64) -> Self {
        Self {
            expression,
            total: expression.saturating_mul(10),
            operations: 10_000,
            bounds: Bounds::default(),
            interrupt: Interrupt::default(),
        }
    }
}

/// The limits of a batch.
impl From<&Env> for Limits {
    fn from(env: &Env) -> Self {
        Self {
            bounds: env.limits.bounds,
            interrupt: env.interrupt.clone(),
            ..Self::with_cost(env.limits.cel_cost)
        }
    }
}

/// What is left of [`Limits`].
#[derive(Debug)]
pub struct Meter {
    limits: Limits,
    cost: u64,
    operations: u64,
}

impl Meter {
    /// All that the limits allow.
    pub fn new(limits: &Limits) -> Self {
        Self {
            limits: limits.clone(),
            cost: limits.total,
            operations: limits.operations,
        }
    }

    /// The value of an expression at a place.
    pub(crate) fn eval(
        &mut self,
        program: &Program,
        variables: &dyn Fn(&str) -> Option<Value>,
        at: &Location,
    ) -> Result<Value, Box<Error>> {
        let limits = cel_interpreter::Limits {
            cost: self.limits.expression.min(self.cost),
        };
        let (value, cost) = program.eval_with_cost(variables, &limits);
        let all = self.cost <= self.limits.expression;
        self.cost = self.cost.saturating_sub(cost);
        let value = value.map_err(|error| {
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
        })?;
        self.admit(&value, at)?;
        Ok(value)
    }

    /// Checks that a value is not larger than it may be.
    pub(crate) fn admit(&self, value: &Value, at: &Location) -> Result<(), Box<Error>> {
        let admitted = self.limits.bounds.admit(value);
        admitted.map_err(|error| Error::new(at, ErrorKind::Bounds(error)))
    }

    /// Counts one operation.
    pub(crate) fn operation(&mut self, at: &Location) -> Result<(), Box<Error>> {
        if self.limits.interrupt.is_raised() {
            return Err(Error::new(at, ErrorKind::Interrupted));
        }
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
