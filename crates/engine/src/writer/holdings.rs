//! What the Operator holds on the cluster: kinds that have no objects, objects of predecessors and
//! of other Operators.

use std::collections::BTreeSet;

use object::{GroupKind, ObjectKey, OperatorId};
use target::claim::Claim;
use target::live::{Live, is_held, is_orphan};
use target::problem::{Cause, Conflict, Problem};

use super::Writer;
use super::entry::TargetEntry;
use super::state::State;

impl Writer {
    /// The objects that wait for another Operator to release them. They have to be checked when
    /// that Operator may be gone.
    pub fn contested(&self) -> Vec<ObjectKey> {
        self.state().contested()
    }

    /// Records that the cluster no longer serves this kind. Its objects wait; if it is `gone`
    /// in all versions, it has none.
    pub fn unserve(&self, group: &str, kind: &str, gone: bool) {
        let unwanted = self.state().unserve(&GroupKind::new(group, kind), gone);
        for key in unwanted {
            self.report_problems(&key, &[]);
        }
    }

    pub(super) fn touch(&self, key: &ObjectKey) {
        self.noting_orphans(|state| state.touch(key, &self.operator));
    }

    /// Drops the entry of an object that is neither wanted nor marked.
    pub(super) fn tidy(&self, key: &ObjectKey) {
        let dropped = self.state().tidy(key, &self.operator);
        if dropped {
            self.report.changed();
        }
    }

    /// Changes the state, and reports if there are more or fewer orphans afterwards, or objects
    /// that could not be judged before.
    pub(super) fn noting_orphans<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let counts = |state: &State| (state.count_orphans(), state.unjudged.came_up);
        let (result, changed) = self.changing(|state| {
            let before = counts(state);
            let result = change(state);
            (result, counts(state) != before)
        });
        if changed {
            self.report.changed();
        }
        result
    }

    /// Whether the cluster does not serve this kind, so that it has no objects.
    pub fn is_gone(&self, kind: &GroupKind) -> bool {
        self.state().is_gone(kind)
    }

    /// Whether objects of this kind are wanted or have marks of this Operator.
    pub fn holds(&self, kind: &GroupKind) -> bool {
        self.state().holds(kind, &self.operator)
    }

    /// Whether something is left on objects of this kind that is no longer derived.
    pub fn has_leftovers(&self, kind: &GroupKind) -> bool {
        let state = self.state();
        let mut left = state.leftovers(&self.operator).into_iter();
        left.any(|leftover| leftover.key.kind == *kind)
    }

    /// The objects that this Operator has created and that are being deleted, with their finalizers.
    pub fn leaving(&self) -> Vec<(ObjectKey, Vec<String>)> {
        self.state().leaving(&self.operator)
    }

    /// How many objects an Operator of the same name that existed before has left, and this one
    /// does not derive.
    pub fn orphans(&self) -> usize {
        self.state().orphans()
    }

    /// Whether the state of an object is unknown, so that its marks are, too.
    pub(crate) fn is_in_doubt(&self, key: &ObjectKey) -> bool {
        let mut state = self.state();
        let entry = state.get(key);
        entry.is_some_and(|entry| entry.live == Live::Unknown)
    }

    /// How many objects have come up that the last [`Writer::leftovers`] could not judge.
    pub(crate) fn came_up(&self) -> u64 {
        self.state().unjudged.came_up
    }
}

/// The objects that [`Writer::leftovers`] could not judge. Something may be left on them.
#[derive(Debug, Default)]
pub(super) struct Unjudged {
    /// Those whose state was unknown, for example because a request for them had failed.
    in_doubt: BTreeSet<ObjectKey>,
    /// How many of these have become known since the start. Objects of an earlier Operator of the
    /// same name count when they are taken over: what its controllers have recorded there is ours
    /// from then on.
    came_up: u64,
}

impl State {
    pub(super) fn is_gone(&self, kind: &GroupKind) -> bool {
        self.gone.contains(kind)
    }

    /// Drops the entry of an object that nobody wants, if its kind is gone. Returns whether it
    /// did.
    pub(super) fn drop_gone(&mut self, key: &ObjectKey) -> bool {
        let unwanted = |entry: &&TargetEntry| entry.wanted.writers().next().is_none();
        let entry = self.entries.get(key).map(Box::as_ref);
        let drops = self.is_gone(&key.kind) && entry.as_ref().is_some_and(unwanted);
        if drops {
            self.remove(key);
        }
        drops
    }

    pub(super) fn holds(&self, kind: &GroupKind, operator: &OperatorId) -> bool {
        let of_kind = self.entries.iter().filter(|(key, _)| key.kind == *kind);
        let mut held = of_kind.filter(|(key, entry)| match &entry.live {
            _ if !entry.wanted.is_empty() => true,
            Live::Present(observed) => is_held(&observed.object, key, operator),
            Live::Unknown => true,
            Live::Unseen | Live::Absent => false,
        });
        held.next().is_some()
    }

    pub(super) fn leaving(&self, operator: &OperatorId) -> Vec<(ObjectKey, Vec<String>)> {
        let leaving = self.entries.iter().filter_map(|(key, entry)| {
            let Live::Present(observed) = &entry.live else {
                return None;
            };
            let claim = Claim::read(&observed.object, key)?;
            let leaves = observed.is_being_deleted() && claim.created && claim.is_of(operator);
            leaves.then(|| (key.clone(), observed.finalizers()))
        });
        leaving.collect()
    }

    pub(super) fn orphans(&self) -> usize {
        let underived = |key: &&ObjectKey| {
            let entry = self.entries.get(*key);
            entry.is_some_and(|entry| entry.wanted.is_empty())
        };
        self.orphans.iter().filter(underived).count()
    }

    /// How many objects have a claim of a predecessor.
    pub(super) fn count_orphans(&self) -> usize {
        self.orphans.len()
    }

    /// Notes whether an object is one that a predecessor left.
    pub(super) fn note_orphan(&mut self, key: &ObjectKey, operator: &OperatorId) {
        let live = self.entries.get(key).map(|entry| &entry.live);
        let orphan = matches!(live, Some(Live::Present(observed))
            if !observed.is_being_deleted() && is_orphan(&observed.object, key, operator));
        let present = matches!(live, Some(Live::Present(_)));
        let taken_over = !orphan && !self.orphans.is_empty() && self.orphans.remove(key);
        let in_doubt = &mut self.unjudged.in_doubt;
        let known = present && !in_doubt.is_empty() && in_doubt.remove(key);
        self.unjudged.came_up += u64::from(known || (taken_over && present));
        if orphan {
            self.orphans.insert(key.clone());
        }
    }

    /// Notes the objects that cannot be judged now, because their state is unknown.
    pub(super) fn note_doubts(&mut self) {
        let entries = self.entries.iter();
        let unknown = entries.filter(|(_, entry)| entry.live == Live::Unknown);
        self.unjudged.in_doubt = unknown.map(|(key, _)| key.clone()).collect();
    }

    /// The objects that another Operator has claimed.
    pub(super) fn contested(&self) -> Vec<ObjectKey> {
        let theirs =
            |problem: &Problem| matches!(problem.cause, Cause::Conflict(Conflict::Operator { .. }));
        let contested = self.entries.iter();
        let contested = contested.filter(|(_, entry)| entry.problems.iter().any(theirs));
        contested.map(|(key, _)| key.clone()).collect()
    }
}
