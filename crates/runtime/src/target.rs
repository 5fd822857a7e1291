//! Converging targets to the derived state.
//!
//! What a target object should look like is data: a map from object to the documents that
//! the controllers of one operator derive for it. A [`Writer`] converges the cluster to
//! it from whatever it finds; retries, drift, restart and resync are the same code.
//!
//! ```text
//! derived documents ─▶ Wanted ─┐
//! target watches    ─▶ Live   ─┼─▶ decide ─▶ Action ─▶ request ─▶ answer ─▶ Outcome
//! answers of writes ─▶ Record ─┘      (pure)                       (pure)
//! ```
//!
//! `decide` looks at what is wanted, what is there and what the last write returned, and
//! names the next step; `Writer::converge` takes such steps until nothing is left to do.
//! All that must survive a restart stands on the objects themselves, see `claim` and
//! `written`.

pub mod answer;
pub mod claim;
pub mod decide;
pub mod desired;
mod fight;
pub mod live;
pub mod problem;
mod quantity;
pub mod request;
mod shape;
pub mod writer;
pub mod written;

use kube::discovery::ApiResource;
use operator::patch::MergeKeys;
use operator::spec::MaxDeletions;

pub use desired::{Author, Desired, Owner};
pub use live::Leftover;
pub use problem::{Problem, Report};
pub use writer::{Next, WriteError, Writer};

/// What the cluster says about a kind that is written.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetKind {
    /// Where its objects are found.
    pub resource: ApiResource,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether it has a `/status` of its own.
    pub status: bool,
    /// How the elements of its lists are told apart.
    pub keys: MergeKeys,
}

impl TargetKind {
    /// A kind, with the merge keys that are known without its schema.
    pub fn new(resource: ApiResource, namespaced: bool, status: bool) -> Self {
        Self {
            keys: MergeKeys::of_group(&resource.group),
            resource,
            namespaced,
            status,
        }
    }
}

/// Whether so many deletions at once are more than `options.maxDeletions` allows;
/// `total` is how many objects there were.
///
/// ```
/// use operator::spec::MaxDeletions;
/// use runtime::target::too_many_deletions;
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
