//! The running stages. `@select`, `@project` and `@patch` share `transform`; each other stage has
//! a file of its own, and a join has several.
//!
//! Changes go in, changes come out: each says for one origin which document was there
//! and which is there now. A stage that fails on an origin leaves what it last put out
//! in place, and remembers it ([`Failing`]); nothing else is remembered by stages that
//! look at one document at a time.

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
pub(crate) mod transform;
pub(crate) mod unwind;

use std::hash::{BuildHasher, Hash, Hasher};

use document::Value;
use expr::{Env, Scope};
use smallvec::SmallVec;

use crate::circuit::meter::Meter;
use crate::failure::{Failure, RunError};
use crate::origin::Origin;

/// Maps that are only looked up, never walked: their order cannot show.
pub(crate) type HashMap<K, V> = hashbrown::HashMap<K, V, foldhash::fast::FixedState>;

/// What changed for one origin. `old` and `new` differ, and one of them is there.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) origin: Origin,
    pub(crate) old: Option<Value>,
    pub(crate) new: Option<Value>,
}

impl Change {
    /// A change, unless nothing changed.
    pub(crate) fn new(origin: Origin, old: Option<Value>, new: Option<Value>) -> Option<Self> {
        (old != new).then_some(Self { origin, old, new })
    }
}

/// The changes of each of several inputs; mostly there are one or two.
pub(crate) type Batches = SmallVec<[Vec<Change>; 2]>;

/// What a stage stores for longer than the document that it is a part of. A part of a document
/// keeps all of it in memory, so a copy is stored.
pub(crate) trait Detach: Sized {
    /// The same, which is no part of another document.
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

/// An origin on which a stage fails, and what the stage leaves in place for it.
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

/// The groups whose document is larger than it may be: what they last put out stays.
pub(crate) type TooLarge = HashMap<Origin, Failure>;

/// A value by which things are grouped. It knows its hash: a table that grows hashes its keys
/// again, and these may be whole documents.
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

/// Ends the failure of an origin, if it fails: its input has changed. Nearly always
/// nothing fails, and nothing is looked up.
pub(crate) fn release<T>(failing: &mut FailingMap<T>, origin: &Origin) -> Option<Failing<T>> {
    if failing.is_empty() {
        return None;
    }
    failing.remove(origin)
}

/// What a stage is given besides its input.
pub(crate) struct StepContext<'a> {
    pub(crate) env: &'a Env,
    pub(crate) branch: usize,
    pub(crate) stage: usize,
    /// What was evaluated in this step and failed.
    pub(crate) errors: &'a mut Vec<RunError>,
    /// What this step may still use.
    pub(crate) meter: &'a mut Meter,
}

impl StepContext<'_> {
    /// A stage looks at a document. Gives whether the step goes on.
    pub(crate) fn goes_on(&mut self) -> bool {
        self.meter.document(self.env)
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

/// The scope of a document of this origin.
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

/// The documents that a stage gets, by origin: for stages that need one that is not
/// part of the change at hand.
pub(crate) trait Upstream {
    /// The document that reaches the stage under this origin now.
    fn document(&self, origin: &Origin) -> Option<Value>;
}
