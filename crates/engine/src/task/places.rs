//! The scopes of target kinds, which the circuits need to check where objects are.
//!
//! Nothing is derived before the kinds of all targets have been looked up. A kind that the cluster
//! does not serve, or that cannot be looked up, has no scope at first. If its scope becomes known
//! later, or changes, and an output or an error is affected, the engine starts again: everything is
//! recovered from the cluster.

use target::TargetKind;

use super::Task;
use crate::kinds::Kinds;
use crate::writes::WriteReason;

/// What is known of the scopes of the targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Scopes {
    /// Some kinds have not been looked up yet.
    #[default]
    Unknown,
    /// The circuits know the scopes of all kinds that have one.
    Known,
    /// One has changed, so that the engine has to start again.
    Changed,
}

impl Task {
    /// Tells the circuits the scopes of kinds. Returns whether they may run. They do not while the
    /// Operator is being deleted: then kinds are only served, so that their objects can be deleted.
    pub(super) fn place_targets(&mut self) -> bool {
        if self.sweep.is_deleting() {
            self.serve_offered();
            return false;
        }
        if self.scopes == Scopes::Unknown {
            // What waits in the inbox is taken later.
            self.inbox.noticed();
        }
        for kind in self.writes.writer.take_offered() {
            let controllers = self.operator.controllers.iter();
            for (task, controller) in self.controllers.iter_mut().zip(controllers) {
                let targets = controller.targets.iter().enumerate();
                let mut of_kind = targets.filter(|(_, target)| target.resource.is(&kind.kind));
                if !of_kind.all(|(number, _)| task.circuit.set_scope(number, kind.namespaced)) {
                    self.scopes = Scopes::Changed;
                    return false;
                }
            }
            self.serve(kind);
        }
        if self.scopes == Scopes::Unknown {
            let kinds = Kinds::of(&self.operator);
            let mut kinds = kinds.iter();
            if kinds.all(|kind| self.writes.writer.is_looked_up(kind)) {
                self.scopes = Scopes::Known;
            }
        }
        self.scopes == Scopes::Known
    }

    /// Serves the kinds that wait for it.
    fn serve_offered(&mut self) {
        for kind in self.writes.writer.take_offered() {
            self.serve(kind);
        }
    }

    fn serve(&mut self, kind: TargetKind) {
        let changed = self.writes.writer.serve(kind);
        self.writes.look(changed, WriteReason::TargetChanged);
    }

    /// Whether the engine has to start again.
    pub(super) fn has_to_start_again(&self) -> bool {
        self.scopes == Scopes::Changed
    }
}
