//! Removes what earlier runs left behind: objects with our claim that are no longer derived.
//!
//! While a process runs, a circuit emits a deletion for everything that it stops deriving. What
//! happened while no process ran, or between two generations of the Operator, is found by the
//! sweep instead. It runs once all controllers are open and all target watches have synced, and
//! compares the claims on the cluster with what is derived now:
//!
//! ```text
//! ConfigMap a   claimed by controller c   derived       stays
//! ConfigMap b   claimed by controller c   not derived   is deleted
//! ConfigMap c   claimed by controller c   not derived, its Pod is in error   stays for now
//! ```
//!
//! An object stays for now if its origin is in error, or if something upstream of its
//! controller may be missing (see [`upstream`](super::upstream)). Then the sweep runs again
//! when an error is cleared, or when the state upstream changes. It also runs again when an object
//! comes up that it could not judge: one whose state was unknown, or that an earlier Operator of the
//! same name had claimed and that was taken over since.

mod failing;

use std::collections::{BTreeMap, BTreeSet};

use document::Value;
pub(crate) use failing::{FailingOrigins, covers};
use object::{GroupKind, ObjectKey, ObjectName};
use target::Leftover;

use super::Task;
use super::controller_task::ControllerTask;
use super::unread::{groups, names};
use super::upstream::Upstream;
use super::writes::WriteReason;
use crate::kinds::Kinds;

/// The progress of the sweep.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    /// Whether it has run.
    done: bool,
    /// The kinds whose lists were complete when it last ran.
    swept: BTreeSet<GroupKind>,
    /// How many objects that it could not judge had come up when it last ran.
    came_up: u64,
    /// Set if it has kept objects: it runs again when these may be removed.
    kept: Option<Kept>,
    /// Whether the Operator is being deleted: everything is removed, and nothing new is derived.
    deleting: bool,
}

/// The state in which the last sweep kept objects.
#[derive(Debug)]
struct Kept {
    /// The largest number of errors since then.
    errors: usize,
    /// The inputs of the controllers at that time.
    upstream: Vec<Upstream>,
    /// For each controller, how many objects wait for something upstream.
    waiting: Vec<usize>,
}

impl Sweep {
    /// Whether the sweep has run.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    pub(super) fn is_deleting(&self) -> bool {
        self.deleting
    }

    /// Records that an error was cleared, even if another one replaced it: objects that were
    /// kept because of errors have to be checked again.
    pub(super) fn error_gone(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept.errors = usize::MAX;
        }
    }

    /// Whether the objects of a kind were known when it last ran.
    pub(super) fn has_swept(&self, kind: &GroupKind) -> bool {
        self.swept.contains(kind)
    }

    /// Lets it run again.
    fn run_again(&mut self) {
        self.done = false;
        self.kept = None;
    }

    /// Whether it has to run now; `listed` are the kinds whose lists are complete.
    fn is_due(
        &mut self,
        errors: usize,
        upstream: &[Upstream],
        listed: &BTreeSet<GroupKind>,
        came_up: u64,
    ) -> bool {
        if !self.done || !self.swept.is_superset(listed) || self.came_up != came_up {
            return true;
        }
        let Some(kept) = &mut self.kept else {
            return false;
        };
        kept.errors = kept.errors.max(errors);
        errors < kept.errors || kept.upstream != upstream
    }
}

impl Task {
    /// Removes what is left behind, once everything is known that it depends on.
    pub(super) fn sweep(&mut self, upstream: &[Upstream]) {
        if self.sweep.deleting || self.is_swept() || !self.all_listed() {
            return;
        }
        let errors = self.error_count();
        let listed = self.listed_kinds();
        let came_up = self.writes.writer.came_up();
        if !self.sweep.is_due(errors, upstream, &listed, came_up) {
            // A kind that the cluster no longer serves is swept again when it is back.
            self.sweep.swept = listed;
            return;
        }
        let mut waiting = vec![0; upstream.len()];
        let mut kept = false;
        let failing = self.failing_origins();
        let leftovers = self.writes.writer.leftovers(|leftover| {
            let waits_for = self.waits_for(leftover, upstream);
            waits_for.inspect(|number| waiting[*number] += 1);
            let keeps = waits_for.is_some() || self.keeps(leftover, upstream, &failing);
            kept |= keeps;
            keeps
        });
        let stale = if complete(upstream) {
            self.stale()
        } else {
            kept = true;
            Vec::new()
        };
        self.remove_left(leftovers, stale);
        self.sweep.done = true;
        self.sweep.swept = listed;
        self.sweep.came_up = came_up;
        self.sweep.kept = kept.then(|| Kept {
            errors,
            upstream: upstream.to_vec(),
            waiting,
        });
    }

    /// Whether the sweep has run on everything that is known by now, and has kept nothing.
    pub(super) fn is_swept(&self) -> bool {
        let done = self.sweep.done && self.sweep.kept.is_none();
        let latest = self.sweep.came_up == self.writes.writer.came_up();
        done && latest && self.listed_kinds() == self.sweep.swept
    }

    /// The kinds whose lists are complete.
    fn listed_kinds(&self) -> BTreeSet<GroupKind> {
        let writer = &self.writes.writer;
        let kinds = self.kinds.iter();
        let listed = kinds.filter(|kind| writer.synced(kind.group.as_str(), kind.kind.as_str()));
        listed.cloned().collect()
    }

    /// Sweeps again if an object that is no longer wanted has a mark of a controller that no longer
    /// exists. Its successor, such as the same controller under a new name, wanted the object when
    /// the sweep ran, but has not written it.
    pub(super) fn sweep_predecessor(&mut self, key: &ObjectKey) {
        if !self.sweep.is_done() {
            return;
        }
        let writer = &self.writes.writer;
        let marks = writer.marks(key).unwrap_or_default();
        let is_of_predecessor = |mark: &Leftover| self.controller_of(mark).is_none();
        if writer.is_in_doubt(key) || marks.iter().any(is_of_predecessor) {
            self.sweep.run_again();
        }
    }

    /// Why a controller keeps objects that it no longer derives, or why its output may be
    /// outdated.
    pub(super) fn held(&self, number: usize) -> Option<String> {
        let stopped = |feeder: &&usize| self.controllers[**feeder].stopped.is_some();
        if let Some(feeder) = self.graph.feeders(number).iter().find(stopped) {
            let name = &self.operator.controllers[*feeder].name;
            return Some(format!(
                "controller {name}, which it reads, is over its budget"
            ));
        }
        if number == 0
            && let Some(why) = self.unlisted_former()
        {
            return Some(why);
        }
        let kept = self.sweep.kept.as_ref()?;
        let count = kept.waiting[number];
        let why = kept.upstream[number].missing.as_ref()?;
        match count {
            0 => None,
            1 => Some(format!("1 object that is no longer derived stays: {why}")),
            _ => Some(format!(
                "{count} objects that are no longer derived stay: {why}"
            )),
        }
    }

    /// Whether all controllers are open and all target watches are complete.
    fn all_listed(&self) -> bool {
        let open = self.controllers.iter().all(|controller| controller.open);
        open && self.are_known(&Kinds::of(&self.operator))
    }

    /// Whether all objects of these kinds are known. A kind that the cluster does not serve has
    /// none.
    fn are_known(&self, kinds: &Kinds) -> bool {
        let writer = &self.writes.writer;
        kinds.iter().all(|kind| {
            let (group, name) = (kind.group.as_str(), kind.kind.as_str());
            writer.synced(group, name) || writer.is_gone(kind)
        })
    }

    fn error_count(&self) -> usize {
        let circuits = self.controllers.iter();
        circuits.map(ControllerTask::error_count).sum()
    }

    /// The origins of each controller that are in error.
    fn failing_origins(&self) -> Vec<FailingOrigins> {
        let controllers = self.operator.controllers.iter().zip(&self.controllers);
        let failing = controllers.map(|(controller, task)| FailingOrigins::of(controller, task));
        failing.collect()
    }

    /// The controller whose upstream a leftover waits for: its own or, if that is no longer in
    /// the spec, any one that may have taken over.
    fn waits_for(&self, leftover: &Leftover, upstream: &[Upstream]) -> Option<usize> {
        let missing = |number: &usize| upstream[*number].missing.is_some();
        match self.controller_of(leftover) {
            Some(number) => Some(number).filter(missing),
            None => (0..upstream.len()).find(missing),
        }
    }

    fn controller_of(&self, leftover: &Leftover) -> Option<usize> {
        let named = |c: &operator::Controller| c.name == leftover.controller;
        self.operator.controllers.iter().position(named)
    }

    /// Whether a leftover stays because its origin is in error, or may be an object that a
    /// restart has lost.
    fn keeps(
        &self,
        leftover: &Leftover,
        upstream: &[Upstream],
        failing: &[FailingOrigins],
    ) -> bool {
        let Some(number) = self.controller_of(leftover) else {
            // Its controller is no longer in the spec: the one that took over may be in error.
            let mut all = upstream.iter().zip(failing);
            return all.any(|(upstream, failing)| {
                upstream.volatile || upstream.failure.is_some() || failing.misplace(leftover)
            });
        };
        let (task, failing) = (&self.controllers[number], &failing[number]);
        if upstream[number].volatile || failing.misplace(leftover) {
            return true;
        }
        if failing.hiding.is_empty() && task.unreadable().is_empty() {
            return task.stopped.is_some();
        }
        let controller = &self.operator.controllers[number];
        if groups(controller) {
            return true;
        }
        let sources = &controller.pipeline.sources;
        let mut failed = failing.hiding.iter();
        let is_unreadable = |object: &(usize, ObjectName)| task.unreadable().contains_key(object);
        names(sources, &leftover.origin, is_unreadable)
            || failed.any(|origin| share_an_object(&leftover.origin, origin))
    }

    /// Withdraws everything. Returns how many objects of each kind are left; `None` while that is
    /// not known. Derived objects are found by their claims, so that no source needs to be
    /// available.
    pub(super) fn delete_all(&mut self) -> Option<BTreeMap<GroupKind, usize>> {
        if !self.are_known(&self.kinds) {
            return None;
        }
        if !self.sweep.deleting {
            self.sweep.deleting = true;
            self.release();
            self.begin_views();
            self.views.clear(&self.context.store, &self.operator);
            for (number, controller) in self.operator.controllers.iter().enumerate() {
                self.controllers[number].pending.take();
                for key in self.writes.writer.keys(Some(&controller.name)) {
                    self.writes.want(&key, controller, None);
                }
            }
        }
        let left = self.writes.writer.leftovers(|_| false);
        for leftover in &left {
            if self
                .writes
                .writer
                .withdraw(&leftover.key, &leftover.controller)
            {
                self.writes
                    .look([leftover.key.clone()], WriteReason::Leftover);
            }
        }
        let left = left.into_iter().map(|leftover| leftover.key);
        let left: BTreeSet<ObjectKey> = left.chain(self.writes.writer.keys(None)).collect();
        let mut kinds = BTreeMap::new();
        for key in left {
            *kinds.entry(key.kind).or_default() += 1;
        }
        Some(kinds)
    }
}

/// Whether the output of all controllers is complete.
fn complete(upstream: &[Upstream]) -> bool {
    let mut all = upstream.iter();
    all.all(|upstream| upstream.missing.is_none() && upstream.failure.is_none())
}

/// Whether two origins have an object in common.
fn share_an_object(one: &Value, other: &Value) -> bool {
    let objects = |origin: &Value| -> Vec<Value> {
        let parts = origin.as_list().into_iter().flatten();
        parts
            .filter(|part| !part.get("name").is_null())
            .cloned()
            .collect()
    };
    let other = objects(other);
    objects(one).iter().any(|object| other.contains(object))
}
