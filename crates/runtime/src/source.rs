//! Sources: what happens to objects on the cluster and in views, on its way into the
//! pipelines.
//!
//! ```text
//! kube watcher ─▶ Watch (one for each kind, selector, identity) ─▶ Sink ─┬▶ Input ─▶ Inbox
//! store watch  ─▶ views ───────────────────────────────────────────────┘
//! ```
//!
//! An [`Inbox`](inbox::Inbox) holds the last known state of each object until the task of
//! the operator takes it: a slow pipeline neither holds up others nor piles up events.

pub mod discovery;
pub mod inbox;
pub mod schema;
pub mod view;
pub mod watch;

use dataflow::ObjectName;
use dataflow::fields::Fields;
use document::Value;

pub use inbox::{Inbox, Input};
pub use watch::{Subscription, WatchKey, Watches};

use crate::object::Unreadable;

/// What a watch tells.
pub trait Sink: Send + Sync {
    /// What it reads of the objects, besides all of the metadata but managedFields: it
    /// may be told no more than that.
    fn fields(&self) -> Fields {
        Fields::all()
    }

    /// An object is there, in this state. In a `listing` it may have been known.
    fn apply(&self, name: &ObjectName, object: &Value, listing: bool);

    /// An object is there, and what this sink reads of it cannot be read. `object` is its
    /// metadata. What was known of it stays, and it counts as listed.
    fn unreadable(&self, name: &ObjectName, object: &Value, why: &Unreadable);

    /// An object is gone; `last` is what it was, if that is known.
    fn delete(&self, name: &ObjectName, last: Option<&Value>);

    /// Whether [`Resolved::lists`](discovery::Resolved::lists) is of interest, which takes
    /// another request.
    fn wants_lists(&self) -> bool {
        false
    }

    /// The kind is served like this.
    fn resolved(&self, _resolved: &discovery::Resolved) {}

    /// All objects are told anew.
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
