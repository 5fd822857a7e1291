//! The surroundings of an evaluation.
//!
//! An [`Env`] is shared by all evaluations of a batch: the time, the key for random numbers,
//! the limits, the interrupt. A [`Scope`] belongs to one evaluation: the document `$`, the
//! item `$$`, and the origin of the document.
//!
//! Each evaluation counts its steps. A step is a call or a list item; values that are read as
//! a whole cost steps by their size. Too many steps are an error. The count also decides how
//! often the interrupt is checked.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use document::{Bounds, Tally, Value, mix};

use crate::error::ErrorKind;

/// The state that all evaluations of a batch share.
#[derive(Clone, Debug)]
pub struct Env {
    /// The value of `"@now"`, as `YYYY-MM-DDTHH:MM:SSZ`.
    pub now: Value,
    /// The key of `@rnd`: the same key gives the same numbers.
    pub random_key: u64,
    /// The limits of one evaluation.
    pub limits: Limits,
    /// Aborts the batch when it is raised.
    pub interrupt: Interrupt,
    /// The steps of the current evaluation so far.
    steps: Cell<u64>,
    /// Steps until the interrupt is checked again.
    unchecked: Cell<u64>,
    /// Whether a check found the interrupt raised.
    interrupted: Cell<bool>,
    /// The first deadline that evaluations have set since [`Env::take_deadline`].
    deadline: Cell<Option<i64>>,
}

/// The limits for evaluating one expression on one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Calls and list items evaluated. Values that are read as a whole count by their size.
    pub steps: u64,
    /// The cost of one CEL expression.
    pub cel_cost: u64,
    /// The size and depth of derived values.
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

/// For values that are read as a whole, this many bytes count as one step.
const BYTES: usize = 256;

/// For lists that are built, this many items count as one step.
const ITEMS: usize = 8;

/// The interrupt is checked after this many steps, which take a few milliseconds.
const CHECK_INTERVAL: u64 = 1 << 14;

/// Aborts a batch that takes too long. Evaluations check it from time to time. The default
/// is never raised.
#[derive(Clone, Default)]
pub struct Interrupt(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Interrupt {
    /// An interrupt that is raised when this returns true.
    pub fn when(raised: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(raised)))
    }

    /// Whether the batch should be aborted.
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
            unchecked: Cell::new(CHECK_INTERVAL),
            interrupted: Cell::new(false),
            deadline: Cell::new(None),
        }
    }

    /// Counts steps of the current evaluation.
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
        match self.unchecked.get().checked_sub(steps) {
            Some(left) => {
                self.unchecked.set(left);
                Ok(())
            }
            None => self.check_interrupt(),
        }
    }

    #[cold]
    fn check_interrupt(&self) -> Result<(), ErrorKind> {
        if self.is_interrupted() {
            return Err(ErrorKind::Interrupted);
        }
        self.unchecked.set(CHECK_INTERVAL);
        Ok(())
    }

    /// Checks whether the batch is aborted. Once the interrupt was raised, the answer stays
    /// true, all evaluations fail, and the caller must discard the results of the batch.
    pub fn is_interrupted(&self) -> bool {
        if !self.interrupted.get() && self.interrupt.is_raised() {
            self.interrupted.set(true);
            self.unchecked.set(0);
        }
        self.interrupted.get()
    }

    /// Counts a value that is read as a whole.
    pub(crate) fn charge_value(&self, value: &Value) -> Result<(), ErrorKind> {
        self.charge_bytes(value.measure().bytes as usize)
    }

    /// Counts a list that was built.
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

    /// Notes that the outcome of a comparison with `"@now"` changes at a Unix time.
    pub(crate) fn set_deadline(&self, at: i64) {
        let first = self.deadline.get().map_or(at, |first| first.min(at));
        self.deadline.set(Some(first));
    }

    /// The first Unix time at which one of the comparisons with `"@now"` that were evaluated since
    /// the last call changes its outcome.
    pub fn take_deadline(&self) -> Option<i64> {
        self.deadline.take()
    }

    /// Checks that a derived value is within the bounds.
    pub fn admit(&self, value: &Value) -> Result<(), ErrorKind> {
        Ok(self.limits.bounds.admit(value)?)
    }

    /// Measures a list or map while it is built.
    pub(crate) fn tally(&self) -> Tally {
        Tally::new(self.limits.bounds)
    }

    /// Merges `over` into `base`, see [`document::merge`].
    pub fn merge(&self, base: &Value, over: &Value) -> Result<Value, ErrorKind> {
        self.charge_value(base)?;
        self.charge_value(over)?;
        let merged = document::merge(base, over);
        self.admit(&merged)?;
        Ok(merged)
    }
}

/// The inputs of one evaluation: the document, the item, the time, the origin.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The state that all evaluations share.
    pub env: &'a Env,
    /// `$`
    pub document: &'a Value,
    /// The value of `"@now"`.
    pub now: &'a Value,
    /// A hash of the origin of the document, for `@rnd`.
    pub origin: u64,
    /// `$$`
    pub item: Option<Item<'a>>,
}

/// The item that `$$` refers to.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The item.
    pub value: &'a Value,
    /// A hash of its position and the positions of the enclosing items.
    pub(crate) positions: u64,
}

impl<'a> Scope<'a> {
    /// The scope of a document without an origin. The count of steps restarts at 0.
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

    /// This scope with an item that the caller provides.
    #[must_use]
    pub fn with_local(self, item: &'a Value) -> Self {
        self.with_item(item, 0)
    }

    /// This scope for one item of a function such as `@map`.
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
