//! What enters and leaves a batch.

use dataflow::BudgetError;
use document::Value;
use operator::Report;

/// The type of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventType {
    /// The object was deleted.
    Deleted,
    /// The object was created.
    Added,
    /// The object was changed.
    Modified,
}

impl EventType {
    /// The name that Kubernetes uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// A watch event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The type of the event.
    pub kind: EventType,
    /// The object; for a deletion its last state.
    pub object: Value,
}

/// The result of a batch.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The events of targets: deletes first, in key order.
    pub events: Vec<Event>,
    /// The errors of evaluations in this batch.
    pub errors: Vec<Report>,
}

/// An error of a batch as a whole.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OfflineError {
    /// An object has no kind or no name.
    #[error("an object needs a kind and a metadata.name, found {0}")]
    NoName(String),
    /// A controller exceeded its budget.
    #[error("controller {controller}: {error}")]
    Budget {
        /// The name of the controller.
        controller: String,
        /// The limit that it exceeded.
        error: BudgetError,
    },
}

impl OfflineError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoName(_) => "no-name",
            Self::Budget { error, .. } => error.code(),
        }
    }
}

/// An object without a key, for messages.
pub(crate) fn describe(object: &Value) -> String {
    let kind = object.get("kind").as_str().unwrap_or("no kind");
    match object.get("metadata").get("name").as_str() {
        Some(name) => format!("{kind} {name}"),
        None => format!("{kind} without a name"),
    }
}
