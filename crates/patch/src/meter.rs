//! The cost of one application of a patch, counted while it runs.

use cel_interpreter::{EvalError, Program};
use document::{Bounds, Location, Value};
use expr::{Env, Interrupt};

use crate::error::{Error, ErrorKind};

/// The limits for applying a patch to one document.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The cost of one evaluation of one expression; see [`cel_interpreter`](cel_interpreter#cost).
    pub expression: u64,
    /// The cost of all evaluations together.
    pub total: u64,
    /// The number of operations, summed over all items of `forEach`.
    pub operations: u64,
    /// The size of the document after each operation, and of the value of each expression.
    pub bounds: Bounds,
    /// Aborts the application when it is raised.
    pub interrupt: Interrupt,
}

impl Default for Limits {
    fn default() -> Self {
        Self::with_cost(cel_interpreter::Limits::default().cost)
    }
}

impl Limits {
    /// The default limits, with this cost limit for an expression.
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

/// What remains of [`Limits`] while a patch is applied.
#[derive(Debug)]
pub struct Meter {
    limits: Limits,
    cost: u64,
    operations: u64,
}

impl Meter {
    /// A meter with nothing spent.
    pub fn new(limits: &Limits) -> Self {
        Self {
            limits: limits.clone(),
            cost: limits.total,
            operations: limits.operations,
        }
    }

    /// Evaluates an expression, which is at this location of the patch.
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

    /// Checks that a value is within the bounds.
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
