//! Objects that the engine does not pass to the writer yet. Whether it may depends on their state on
//! the cluster, so it waits for the target watch to deliver them.

use std::collections::BTreeSet;

use object::{GroupKind, ObjectKey};

use super::Writer;

/// The objects that the engine waits for.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    /// Those that no target watch has delivered since the engine last asked for them.
    keys: BTreeSet<ObjectKey>,
    /// Those that a target watch has delivered since then.
    delivered: BTreeSet<ObjectKey>,
}

impl Awaited {
    /// A target watch has delivered an object, or its deletion.
    pub(super) fn deliver(&mut self, key: &ObjectKey) {
        if let Some(key) = self.keys.take(key) {
            self.delivered.insert(key);
        }
    }

    /// The list of a target watch is complete.
    pub(super) fn deliver_all(&mut self, kind: &GroupKind) {
        let of_kind = self.keys.extract_if(.., |key| key.kind == *kind);
        self.delivered.extend(of_kind);
    }
}

impl Writer {
    /// From now on, [`Writer::take_delivered`] returns this object once a target watch has delivered
    /// it, or a list of its kind is complete. Call it before reading the state of the object, so that
    /// no delivery is missed.
    pub(crate) fn await_delivery(&self, key: &ObjectKey) {
        self.state().awaited.keys.insert(key.clone());
    }

    /// Whether an awaited object has been delivered.
    pub(crate) fn has_delivered(&self) -> bool {
        !self.state().awaited.delivered.is_empty()
    }

    /// Takes the awaited objects that have been delivered. They are no longer awaited.
    pub(crate) fn take_delivered(&self) -> BTreeSet<ObjectKey> {
        std::mem::take(&mut self.state().awaited.delivered)
    }

    /// No object is awaited any more.
    pub(crate) fn await_nothing(&self) {
        self.state().awaited = Awaited::default();
    }

    /// How many objects are awaited.
    #[cfg(test)]
    pub(crate) fn awaited(&self) -> usize {
        self.state().awaited.keys.len()
    }
}
