//! Pure logic for target objects: the desired state, who claims an object, the next write, and
//! the meaning of an answer. No clock, no requests, no client library.
//!
//! ```text
//! derived documents ─▶ Wanted ─┐
//! observed objects  ─▶ Live   ─┼─▶ decide ─▶ Action ─▶ (a driver executes it) ─▶ judge ─▶ Outcome
//! answers to writes ─▶ Record ─┘
//! ```
//!
//! [`decide::decide`] returns the next action. A driver carries it out, stores the answer, and
//! asks again until nothing is left to do, so that retries, drift, restarts and resyncs take
//! the same path. Everything that must survive a restart is stored on the objects themselves,
//! see [`claim`] and `written`.
//!
//! Views and the offline runner need no requests: [`batch::settle`] takes all steps at once.
//! Both follow the same rules: `updater` for what an Updater leaves to others, `layer` for
//! patches and how they are taken back, `outgoing` for the parts of a document that are written.
//! Values that change their shape are in `reshaped`, list elements that move in `relocated`.
//! [`in_place`] is for Patchers that change the objects which their own controller reads.

pub mod answer;
pub mod batch;
pub mod claim;
pub mod decide;
pub mod desired;
pub mod in_place;
mod layer;
pub mod live;
mod others;
mod outgoing;
pub mod owners;
pub mod peers;
mod places;
pub mod problem;
mod relocated;
mod reshaped;
pub mod siblings;
mod updater;
mod written;

use fieldset::MergeKeys;
use object::GroupKind;
use operator::spec::MaxDeletions;

pub use desired::{Author, Desired, Owner};
pub use live::Leftover;
pub use problem::{Problem, Report};

/// A kind of target objects.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetKind {
    /// The kind.
    pub kind: GroupKind,
    /// The version that is written.
    pub version: String,
    /// Its name in request paths.
    pub plural: String,
    /// Whether its objects are namespaced.
    pub namespaced: bool,
    /// Whether it has the subresource `/status`.
    pub status: bool,
    /// The fields that identify the elements of its lists.
    pub keys: MergeKeys,
}

impl TargetKind {
    /// A kind, with the merge keys that are known without its schema.
    pub fn new(kind: GroupKind, version: &str, plural: &str) -> Self {
        Self {
            keys: MergeKeys::of_group(kind.group.as_str()),
            kind,
            version: version.to_owned(),
            plural: plural.to_owned(),
            namespaced: true,
            status: false,
        }
    }

    /// The `apiVersion` of its objects.
    pub fn api_version(&self) -> String {
        match self.kind.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }
}

/// Whether `options.maxDeletions` forbids this many deletions at once; `total` is how many
/// objects there were before.
///
/// ```
/// use operator::spec::MaxDeletions;
/// use target::too_many_deletions;
///
/// assert!(!too_many_deletions(None, 100, 100));
/// assert!(too_many_deletions(Some(MaxDeletions::Count(3)), 4, 100));
/// assert!(!too_many_deletions(Some(MaxDeletions::Percent(10)), 10, 100));
/// assert!(too_many_deletions(Some(MaxDeletions::Percent(10)), 2, 10));
/// ```
pub fn too_many_deletions(max: Option<MaxDeletions>, deletions: usize, total: usize) -> bool {
    match max {
        None => false,
        Some(MaxDeletions::Count(count)) => deletions > count as usize,
        Some(MaxDeletions::Percent(percent)) => {
            deletions.saturating_mul(100) > total.saturating_mul(usize::from(percent))
        }
    }
}
