//! Running stages: the state of each stage, and what it does with a change.
//!
//! A stage takes [`Change`]s and returns [`Change`]s. A change has the old and the new document
//! of an origin:
//!
//! ```text
//!                                (web, old: {replicas: 1}, new: {replicas: 3})
//! @select: replicas > 2          (web, old: none,          new: {replicas: 3})
//! @project: {n: "$.replicas"}    (web, old: none,          new: {n: 3})
//! ```
//!
//! `@select`, `@project`, `@patch` and `@unwind` look at one document at a time. They do not
//! store their outputs: they compute the old output again from the old input. Joins and groups
//! store what they need to find partners and members.
//!
//! # Holds
//!
//! A stage may fail on a document, for example because a field has the wrong type. An error
//! never deletes: the stage reports it and leaves its last good output in place. This output is
//! *held*. It cannot be computed from the input any more, so it is stored ([`Failing`]) until
//! the input changes:
//!
//! ```text
//! input      @project: {n: {"@add": ["$.a", 1]}}    stored
//! {a: 1}     {n: 2}                                 nothing
//! {a: "x"}   {n: 2}                                 held {n: 2}, the error
//! {a: 4}     {n: 5}                                 nothing
//! ```
//!
//! Stages that read `"@now"` also evaluate documents again that have not changed, see [`times`].
//!
//! `@select`, `@project` and `@patch` are in [`transform`], joins in [`join`] and [`soft_join`].
//! Every other stage has a file of its own name.

pub(crate) mod distinct;
pub(crate) mod gather;
pub(crate) mod group_by;
pub(crate) mod join;
pub(crate) mod join_table;
pub(crate) mod output;
mod reads;
pub(crate) mod sequence;
pub(crate) mod side;
pub(crate) mod soft_join;
pub(crate) mod sort;
pub(crate) mod source;
pub(crate) mod target;
pub(crate) mod times;
pub(crate) mod transform;
pub(crate) mod unwind;

use std::hash::{BuildHasher, Hash, Hasher};

use document::Value;
use expr::{Env, Scope};
use smallvec::SmallVec;

use crate::circuit::meter::Meter;
use crate::failure::{Failure, RunError};
use crate::origin::Origin;
use crate::recording::Recording;
use times::Clock;

/// A map without a stable order. Whatever is read from it by iteration is sorted afterwards.
pub(crate) type HashMap<K, V> = hashbrown::HashMap<K, V, foldhash::fast::FixedState>;

/// A change of the document of one origin. `old` and `new` differ, and one of them is present.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) origin: Origin,
    pub(crate) old: Option<Value>,
    pub(crate) new: Option<Value>,
}

impl Change {
    /// A change, or `None` if both are equal.
    pub(crate) fn new(origin: Origin, old: Option<Value>, new: Option<Value>) -> Option<Self> {
        (old != new).then_some(Self { origin, old, new })
    }
}

/// The changes of each input. Most branches have one or two.
pub(crate) type Batches = SmallVec<[Vec<Change>; 2]>;

/// A value that may be part of a document, and that a stage stores longer than the document
/// exists. A part keeps the memory of the whole document, so the stage stores a copy.
pub(crate) trait Detach: Sized {
    /// The same value, in memory of its own.
    fn detach(self) -> Self;
}

impl Detach for Value {
    fn detach(self) -> Self {
        self.detached()
    }
}

impl<T: Detach> Detach for Option<T> {
    fn detach(self) -> Self {
        self.map(T::detach)
    }
}

impl<T: Detach> Detach for Vec<T> {
    fn detach(self) -> Self {
        self.into_iter().map(T::detach).collect()
    }
}

/// The error of a stage on an origin, and the output that it holds.
#[derive(Clone, Debug)]
pub(crate) struct Failing<T> {
    pub(crate) held: T,
    pub(crate) failure: Failure,
}

impl<T: Detach> Failing<T> {
    pub(crate) fn new(held: T, failure: Failure) -> Self {
        let held = held.detach();
        Self { held, failure }
    }
}

/// The failing origins of a stage.
pub(crate) type FailingMap<T> = HashMap<Origin, Failing<T>>;

/// The groups with a document that is too large. Their last output stays in place.
pub(crate) type TooLarge = HashMap<Origin, Failure>;

/// The key of a group, with its hash. A hash table that grows needs the hashes again, and a
/// key may be a whole document.
#[derive(Clone, Debug)]
pub(crate) struct GroupKey {
    hash: u64,
    pub(crate) value: Value,
}

impl Detach for GroupKey {
    fn detach(self) -> Self {
        Self {
            value: self.value.detach(),
            ..self
        }
    }
}

impl From<Value> for GroupKey {
    fn from(value: Value) -> Self {
        let hash = foldhash::fast::FixedState::default().hash_one(&value);
        Self { hash, value }
    }
}

impl PartialEq for GroupKey {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.value == other.value
    }
}

impl Eq for GroupKey {}

impl Hash for GroupKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// Removes the error of an origin, because its input has changed. The empty map, which is the
/// common case, needs no lookup.
pub(crate) fn release<T>(failing: &mut FailingMap<T>, origin: &Origin) -> Option<Failing<T>> {
    if failing.is_empty() {
        return None;
    }
    failing.remove(origin)
}

/// The surroundings of a running stage during a step.
pub(crate) struct StepContext<'a> {
    pub(crate) env: &'a Env,
    pub(crate) branch: usize,
    pub(crate) stage: usize,
    /// The time of this step.
    pub(crate) clock: Clock,
    /// The errors of this step.
    pub(crate) errors: &'a mut Vec<RunError>,
    /// The budget of this step.
    pub(crate) meter: &'a mut Meter,
    /// Where the outputs of stages are recorded; `None` in ordinary steps.
    pub(crate) recording: Option<&'a mut Recording>,
}

impl StepContext<'_> {
    /// Checks the interrupt before the next document. Returns whether the step continues.
    pub(crate) fn goes_on(&mut self) -> bool {
        self.meter.document(self.env)
    }

    /// Records what this stage has put out, if this step is recorded.
    pub(crate) fn record(&mut self, changes: &[Change]) {
        if let Some(recording) = &mut self.recording {
            recording.add_stage(self.branch, self.stage, changes);
        }
    }

    /// Reports an error of this stage.
    pub(crate) fn report(&mut self, origin: &Origin, failure: &Failure) {
        self.errors.push(RunError {
            branch: self.branch,
            stage: self.stage,
            origin: origin.clone(),
            failure: failure.clone(),
        });
    }
}

/// The scope in which an expression is evaluated on a document.
pub(crate) fn scope<'a>(
    env: &'a Env,
    document: &'a Value,
    now: &'a Value,
    origin: u64,
) -> Scope<'a> {
    let mut scope = Scope::new(env, document);
    scope.now = now;
    scope.origin = origin;
    scope
}

/// Computes the inputs of a stage that are not part of the change.
pub(crate) trait Upstream {
    /// The current input of the stage for this origin.
    fn document(&self, origin: &Origin) -> Option<Value>;
}
