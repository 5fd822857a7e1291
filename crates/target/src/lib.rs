//! What a target object should look like, who claims it, what the next write is, and what an
//! answer means. Pure: no clock, no requests, no client library.
//!
//! ```text
//! derived documents ─▶ Wanted ─┐
//! what is observed  ─▶ Live   ─┼─▶ decide ─▶ Action ─▶ (a driver carries it out) ─▶ judge ─▶ Outcome
//! answers of writes ─▶ Record ─┘
//! ```
//!
//! [`decide::decide`] looks at what is wanted, what is there and what the last write returned,
//! and names the next step. A driver takes such steps until nothing is left to do, so that
//! retries, drift, restart and resync are the same code. All that must survive a restart is on
//! the objects themselves, see [`claim`] and [`written`].
//!
//! Views and the offline runner need no requests: [`batch::settle`] takes all steps at once.
//! Both follow the same rules: `updater` for what an Updater leaves to others, [`layer`] for
//! patches and how they are taken back, [`outgoing`] for what of a document is written.

pub mod answer;
pub mod batch;
pub mod claim;
pub mod decide;
pub mod desired;
pub mod layer;
pub mod live;
pub mod outgoing;
pub mod problem;
mod updater;
pub mod written;

use fieldset::MergeKeys;
use object::GroupKind;
use operator::spec::MaxDeletions;

pub use desired::{Author, Desired, Owner};
pub use live::Leftover;
pub use problem::{Problem, Report};

/// What is known about a kind that is written.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetKind {
    /// The kind.
    pub kind: GroupKind,
    /// The version in which it is written.
    pub version: String,
    /// Its name in the paths of requests.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether it has a `/status` of its own.
    pub status: bool,
    /// How the elements of its lists are told apart.
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

/// Whether so many deletions at once are more than `options.maxDeletions` allows;
/// `total` is how many objects there were.
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
