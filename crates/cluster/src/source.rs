//! Shared watches: the events of objects on the cluster, delivered to all sinks that read them.
//!
//! ```text
//! kube watcher ─▶ Watch (one for each kind, selector and identity) ─▶ Sink, Sink, …
//! ```
//!
//! Ten controllers that read Pods as one account share one watch. For a list the watch calls its
//! sinks in this order:
//!
//! ```text
//! listing, apply a, apply b, …, delete x (gone since the last list), synced
//! ```
//!
//! Then each event is one `apply` or `delete`. When the watch fails for longer, it calls
//! `unavailable`, and the sinks keep what they have.

pub mod arrival;
pub mod discovery;
pub mod schema;
pub mod watch;

pub use arrival::{Arrival, Reading, Reads};
use object::ObjectName;
pub use watch::{Subscription, WatchKey, Watches};

/// A receiver of the events of a watch.
pub trait Sink: Send + Sync {
    /// The parts of objects that this sink reads. Other parts may be missing from the objects that
    /// it gets.
    fn reads(&self) -> Reads {
        Reads::Everything
    }

    /// If set, this sink only gets the objects whose label
    /// [`marks::OPERATOR`](object::marks::OPERATOR) has this value. Such a sink reads
    /// [`Reads::Everything`].
    fn operator(&self) -> Option<&str> {
        None
    }

    /// An object exists and has this state. While `listing` it may be one that the sink has
    /// received before.
    ///
    /// If the parts that this sink reads are unreadable, the sink keeps the last state that it
    /// received. The object still counts as listed.
    fn apply(&self, name: &ObjectName, object: &Arrival, listing: bool);

    /// An object was deleted; `last` is its last state, if that is known.
    fn delete(&self, name: &ObjectName, last: Option<&Arrival>);

    /// Whether this sink needs [`Resolved::lists`](discovery::Resolved::lists). Reading them takes
    /// another request.
    fn wants_lists(&self) -> bool {
        false
    }

    /// The kind was found on the cluster.
    fn resolved(&self, _resolved: &discovery::Resolved) {}

    /// A list begins: all objects are delivered again.
    fn listing(&self) {}

    /// The list is complete: every object that exists has been delivered.
    fn synced(&self);

    /// The watch cannot deliver events until the next [`Sink::synced`]. The sink keeps the objects
    /// that it received.
    fn unavailable(&self, why: &Unavailable);

    /// Another function of this sink has panicked. The watch and the other sinks go on.
    fn crashed(&self) {}
}

/// The code if the cluster does not serve the kind, or not in this version.
pub const KIND_MISSING: &str = "kind-missing";
/// The code if the cluster does not serve the kind in any version, so that it has no objects.
pub const KIND_GONE: &str = "kind-gone";

/// Why the objects of a source are unavailable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable {
    /// The stable code.
    pub code: &'static str,
    /// What happened, and what to do.
    pub message: String,
}

impl Unavailable {
    /// Whether the cluster does not serve the kind.
    pub fn is_kind_missing(&self) -> bool {
        matches!(self.code, KIND_MISSING | KIND_GONE)
    }

    /// Whether the cluster certainly has no objects of the kind.
    pub fn is_kind_gone(&self) -> bool {
        self.code == KIND_GONE
    }
}
