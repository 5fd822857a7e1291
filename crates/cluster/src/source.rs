//! Watches: what happens to objects on the cluster, for all who read them.
//!
//! ```text
//! kube watcher ─▶ Watch (one for each kind, selector, identity) ─▶ Sink, Sink, …
//! ```

pub mod arrival;
pub mod discovery;
pub mod schema;
pub mod watch;

pub use arrival::{Arrival, Reading, Reads};
use object::ObjectName;
pub use watch::{Subscription, WatchKey, Watches};

/// What a watch tells.
pub trait Sink: Send + Sync {
    /// What it reads of the objects: it may get no more than that.
    fn reads(&self) -> Reads {
        Reads::Everything
    }

    /// An object is there, in this state. In a `listing` it may have been known.
    ///
    /// If what this sink reads of it cannot be read, what was known of it stays, and it
    /// counts as listed.
    fn apply(&self, name: &ObjectName, object: &Arrival, listing: bool);

    /// An object is gone; `last` is what it was, if that is known.
    fn delete(&self, name: &ObjectName, last: Option<&Arrival>);

    /// Whether [`Resolved::lists`](discovery::Resolved::lists) is of interest, which takes
    /// another request.
    fn wants_lists(&self) -> bool {
        false
    }

    /// The kind is served like this.
    fn resolved(&self, _resolved: &discovery::Resolved) {}

    /// A list begins: all objects are delivered again.
    fn listing(&self) {}

    /// All objects that there are have been told.
    fn synced(&self);

    /// Nothing can be told any more, until the next [`Sink::synced`]. What was told stays.
    fn unavailable(&self, why: &Unavailable);
}

/// Why a source cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable {
    /// The stable code.
    pub code: &'static str,
    /// What happened, and what to do.
    pub message: String,
}
