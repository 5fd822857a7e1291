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

use std::fmt;

use dataflow::ObjectName;
use document::{Key, Value};
use kube::discovery::ApiResource;
use operator::patch::MergeKeys;
use operator::spec::MaxDeletions;

pub use desired::{Author, Desired, Owner};
pub use live::Leftover;
pub use problem::{Problem, Report};
pub use writer::{Next, WriteError, Writer};

/// An object by kind and name; versions of a kind are one kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// The API group; `""` for the core group.
    pub group: Key,
    /// The Kind.
    pub kind: Key,
    /// Namespace (or `""`) and name.
    pub name: ObjectName,
}

impl ObjectKey {
    /// From texts.
    pub fn new(group: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            group: Key::new(group),
            kind: Key::new(kind),
            name: ObjectName::new(namespace, name),
        }
    }

    /// The key of an object of this kind; `None` without a name.
    pub fn of(group: &str, kind: &str, object: &Value) -> Option<Self> {
        Some(Self {
            group: Key::new(group),
            kind: Key::new(kind),
            name: ObjectName::of(object)?,
        })
    }

    /// The namespace, or `""`.
    pub fn namespace(&self) -> &str {
        self.name.namespace.as_str().unwrap_or_default()
    }

    /// The name.
    pub fn object_name(&self) -> &str {
        self.name.name.as_str().unwrap_or_default()
    }

    /// Whether this is a Secret, whose values nobody may see.
    pub fn is_secret(&self) -> bool {
        self.group.as_str().is_empty() && self.kind.as_str() == "Secret"
    }
}

/// As claims write it: `<group>/<Kind>/<namespace>/<name>`.
impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (namespace, name) = (self.namespace(), self.object_name());
        write!(f, "{}/{}/{namespace}/{name}", self.group, self.kind)
    }
}

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
