//! Where target objects may be.
//!
//! The circuits check that: an object that cannot be where it is derived is an error of its origin.
//! They have to know whether the objects of a kind are in namespaces before one is written. So a kind
//! is only offered at first, and its objects wait until the engine has told the circuits:
//!
//! ```text
//! target watch ─▶ offer ─▶ take_offered ─▶ Circuit::set_scope ─▶ serve ─▶ objects are written
//! ```
//!
//! While a kind is not served, the last known scope stays in force.

use std::collections::BTreeMap;
use std::sync::Arc;

use object::{GroupKind, NameRule, ObjectKey, Placement};
use target::TargetKind;
use target::problem::{Cause, Problem};

use super::state::State;
use super::{Next, Writer};

/// What is known of the scopes of kinds.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    /// Whether the objects of a kind are in namespaces.
    known: BTreeMap<GroupKind, bool>,
    /// The kinds that the cluster serves, with a scope that is not known.
    offered: BTreeMap<GroupKind, TargetKind>,
}

impl Scopes {
    pub(super) fn served(&mut self, kind: &TargetKind) {
        self.offered.remove(&kind.kind);
        self.known.insert(kind.kind.clone(), kind.namespaced);
    }

    pub(super) fn not_served(&mut self, kind: &GroupKind) {
        self.offered.remove(kind);
    }
}

impl Writer {
    /// Records that the cluster serves this kind. If its scope is not known, it is not written
    /// before [`Writer::serve`] is called. Returns the objects to check again.
    pub fn offer(&self, kind: TargetKind) -> Vec<ObjectKey> {
        let mut state = self.state();
        if state.scopes.known.get(&kind.kind) == Some(&kind.namespaced) {
            return state.serve(kind);
        }
        state.stop_writing(&kind.kind);
        state.scopes.offered.insert(kind.kind.clone(), kind);
        Vec::new()
    }

    /// The kinds that were offered and are not served yet.
    pub fn take_offered(&self) -> Vec<TargetKind> {
        let mut state = self.state();
        std::mem::take(&mut state.scopes.offered)
            .into_values()
            .collect()
    }

    /// Whether the scope of a kind is known, or why it is not.
    pub fn is_looked_up(&self, kind: &GroupKind) -> bool {
        let state = self.state();
        state.scopes.known.contains_key(kind) || state.is_unknown(kind)
    }

    /// Reports that an object cannot be where it is derived, although its circuit did not know it;
    /// `None` if it can. Such an object is neither read nor written.
    pub(super) fn misplacement(&self, key: &ObjectKey) -> Option<Next> {
        let mut state = self.state();
        let why = state.placement(&key.kind).check(&key.name).err()?;
        let writers = state.entries.get(key).map(|entry| entry.wanted.writers());
        let writers = writers.into_iter().flatten();
        let cause = Cause::Misplaced(why);
        let problems: Vec<Problem> = writers.map(|by| by.problem(cause.clone())).collect();
        if problems.is_empty() {
            state.remove(key);
        }
        drop(state);
        self.report_problems(key, &problems);
        Some(if problems.is_empty() {
            Next::Settled
        } else {
            Next::Change
        })
    }
}

impl State {
    /// Where the objects of a kind may be.
    pub(super) fn placement(&self, kind: &GroupKind) -> Placement {
        Placement {
            namespaced: self.scopes.known.get(kind).copied(),
            boundary: self.boundary.clone(),
            names: NameRule::of(kind),
        }
    }

    /// The boundary that an object is outside of. What is outside is not written, and what it
    /// looks like does not matter.
    pub(super) fn outside(&self, key: &ObjectKey) -> Option<Arc<str>> {
        self.boundary.as_ref()?;
        self.placement(&key.kind).outside(&key.name).cloned()
    }
}
