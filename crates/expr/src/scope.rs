//! What an expression is evaluated in: the document, the item, the time, and what it may
//! cost.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use document::{Bounds, Tally, Value, mix};

use crate::error::ErrorKind;

/// What all evaluations of a batch share.
#[derive(Clone, Debug)]
pub struct Env {
    /// What `"@now"` gives; `YYYY-MM-DDTHH:MM:SSZ`.
    pub now: Value,
    /// The key of `@rnd`: the same key gives the same numbers.
    pub random_key: u64,
    /// What one evaluation may cost.
    pub limits: Limits,
    /// Whether the batch is to be given up.
    pub interrupt: Interrupt,
    /// Steps that the running evaluation has taken.
    steps: Cell<u64>,
    /// Steps until the interrupt is asked again.
    unasked: Cell<u64>,
    /// Whether the interrupt was raised when it was asked.
    interrupted: Cell<bool>,
}

/// What one evaluation of one expression on one document may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Operators and list items evaluated. What is read as a whole counts by its size.
    pub steps: u64,
    /// The cost of one CEL expression.
    pub cel_cost: u64,
    /// How large a value may be that is derived.
    pub bounds: Bounds,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 10_000_000,
            cel_cost: 1_000_000,
            bounds: Bounds::default(),
        }
    }
}

/// Bytes of a value that is read as a whole and count as one step.
const BYTES: usize = 256;

/// Items of a list that is made and count as one step.
const ITEMS: usize = 8;

/// The interrupt is asked every so many steps, which is a few milliseconds.
const ASKED_EVERY: u64 = 1 << 14;

/// Says whether a batch is to be given up. It is asked now and then, so that whoever runs
/// a batch need not wait for its end; by default nothing is given up.
#[derive(Clone, Default)]
pub struct Interrupt(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Interrupt {
    /// Gives up when this says so.
    pub fn when(raised: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(raised)))
    }

    /// Whether to give up.
    pub fn is_raised(&self) -> bool {
        self.0.as_ref().is_some_and(|raised| raised())
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Interrupt").field(&self.0.is_some()).finish()
    }
}

impl Default for Env {
    fn default() -> Self {
        Self::new(Value::from("1970-01-01T00:00:00Z"), 0)
    }
}

impl Env {
    /// An environment at this time, with this key for `@rnd`.
    pub fn new(now: Value, random_key: u64) -> Self {
        Self {
            now,
            random_key,
            limits: Limits::default(),
            interrupt: Interrupt::default(),
            steps: Cell::new(0),
            unasked: Cell::new(ASKED_EVERY),
            interrupted: Cell::new(false),
        }
    }

    /// Counts steps of the running evaluation.
    pub fn charge(&self, steps: usize) -> Result<(), ErrorKind> {
        let steps = steps as u64;
        let taken = self.steps.get().saturating_add(steps);
        self.steps.set(taken);
        if taken > self.limits.steps {
            return Err(ErrorKind::Limit {
                what: "the number of evaluation steps",
                limit: self.limits.steps,
            });
        }
        match self.unasked.get().checked_sub(steps) {
            Some(left) => {
                self.unasked.set(left);
                Ok(())
            }
            None => self.ask(),
        }
    }

    #[cold]
    fn ask(&self) -> Result<(), ErrorKind> {
        if self.is_interrupted() {
            return Err(ErrorKind::Interrupted);
        }
        self.unasked.set(ASKED_EVERY);
        Ok(())
    }

    /// Whether the batch is to be given up: asks the interrupt until it is raised. From then
    /// on all evaluations fail, and what the batch gives is to be thrown away.
    pub fn is_interrupted(&self) -> bool {
        if !self.interrupted.get() && self.interrupt.is_raised() {
            self.interrupted.set(true);
            self.unasked.set(0);
        }
        self.interrupted.get()
    }

    /// Counts a value that is read as a whole.
    pub(crate) fn charge_value(&self, value: &Value) -> Result<(), ErrorKind> {
        self.charge_bytes(value.measure().bytes as usize)
    }

    /// Counts a list that was made.
    pub(crate) fn charge_list(&self, value: &Value) -> Result<(), ErrorKind> {
        match value.as_list() {
            Some(items) if items.len() >= ITEMS => self.charge(items.len() / ITEMS),
            _ => Ok(()),
        }
    }

    /// Counts bytes that are read.
    pub(crate) fn charge_bytes(&self, bytes: usize) -> Result<(), ErrorKind> {
        if bytes < BYTES {
            return Ok(());
        }
        self.charge(bytes / BYTES)
    }

    /// Checks that a value is not larger than what is derived may be.
    pub fn admit(&self, value: &Value) -> Result<(), ErrorKind> {
        Ok(self.limits.bounds.admit(value)?)
    }

    /// For a list or map that is built.
    pub(crate) fn tally(&self) -> Tally {
        Tally::new(self.limits.bounds)
    }

    /// `base` with `over` on top, see [`document::merge`].
    pub fn merge(&self, base: &Value, over: &Value) -> Result<Value, ErrorKind> {
        self.charge_value(base)?;
        self.charge_value(over)?;
        let merged = document::merge(base, over);
        self.admit(&merged)?;
        Ok(merged)
    }
}

/// What an expression sees: the document, the item, the time, the origin.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// What is shared.
    pub env: &'a Env,
    /// `$`
    pub document: &'a Value,
    /// What `"@now"` gives here.
    pub now: &'a Value,
    /// A hash of the origin of the document, for `@rnd`.
    pub origin: u64,
    /// `$$`
    pub item: Option<Item<'a>>,
}

/// The item that `$$` stands for.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The item.
    pub value: &'a Value,
    /// A hash of its position and the positions of the items around it.
    pub(crate) positions: u64,
}

impl<'a> Scope<'a> {
    /// The scope of a document without an origin; the steps of the budget start anew.
    pub fn new(env: &'a Env, document: &'a Value) -> Self {
        env.steps.set(0);
        Self {
            env,
            document,
            now: &env.now,
            origin: 0,
            item: None,
        }
    }

    /// This scope with `$$` given from outside.
    #[must_use]
    pub fn with_local(self, item: &'a Value) -> Self {
        self.with_item(item, 0)
    }

    /// This scope inside an operator with items.
    #[must_use]
    pub(crate) fn with_item<'b>(&self, value: &'b Value, index: usize) -> Scope<'b>
    where
        'a: 'b,
    {
        let outer = self.item.map_or(0, |item| item.positions);
        Scope {
            item: Some(Item {
                value,
                positions: mix(outer, index as u64 + 1),
            }),
            ..*self
        }
    }

    /// `$$`, or null.
    pub(crate) fn item_or_null(&self) -> &'a Value {
        static NULL: Value = Value::NULL;
        self.item.map_or(&NULL, |item| item.value)
    }
}
