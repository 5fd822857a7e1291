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

use std::collections::{BTreeMap, BTreeSet};

use object::{GroupKind, ObjectKey, abridged};
use target::Leftover;
use target::answer::MAX_MESSAGE;
use tokio::time::Instant;

use super::Task;
use super::controller_task::ControllerTask;
use super::unread::groups;
use super::upstream::Upstream;
use super::writes::WriteReason;
use crate::forgotten::next_look;
use crate::in_error::{Claimed, InError, failed};
use crate::kinds::{Kinds, writes};
use crate::running::Left;

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
    /// How often errors had ended.
    ended: u64,
    /// How many there were, and when they were looked through.
    errors: usize,
    looked: Instant,
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

    /// Whether the objects of a kind were known when it last ran.
    pub(super) fn has_swept(&self, kind: &GroupKind) -> bool {
        self.swept.contains(kind)
    }

    /// Lets it run again.
    fn run_again(&mut self) {
        self.done = false;
        self.kept = None;
    }

    /// Whether it has to run now; `listed` are the kinds whose lists are complete, `ended` is how often
    /// errors have ended.
    fn is_due(
        &self,
        ended: u64,
        upstream: &[Upstream],
        listed: &BTreeSet<GroupKind>,
        came_up: u64,
    ) -> bool {
        if !self.done || !self.swept.is_superset(listed) || self.came_up != came_up {
            return true;
        }
        let Some(kept) = &self.kept else {
            return false;
        };
        let rests = next_look(kept.errors, Some(kept.looked));
        let may_look = rests.is_none_or(|at| at <= Instant::now());
        (kept.ended != ended && may_look) || kept.upstream != upstream
    }

    /// When it has to run again because an error has ended, unless it does so at once.
    fn next_look(&self, ended: u64) -> Option<Instant> {
        let kept = self.kept.as_ref()?;
        let rests = next_look(kept.errors, Some(kept.looked));
        rests.filter(|_| kept.ended != ended)
    }
}

impl Task {
    /// Removes what is left behind, once everything is known that it depends on.
    pub(super) fn sweep(&mut self, upstream: &[Upstream]) {
        if self.sweep.deleting || self.is_swept() || !self.all_listed() {
            return;
        }
        let ended = self.ended_errors();
        let listed = self.listed_kinds();
        let came_up = self.writes.writer.came_up();
        if !self.sweep.is_due(ended, upstream, &listed, came_up) {
            // A kind that the cluster no longer serves is swept again when it is back.
            self.sweep.swept = listed;
            return;
        }
        let mut waiting = vec![0; upstream.len()];
        let mut kept = false;
        let in_error = self.in_error();
        let leftovers = self.writes.writer.leftovers(|leftover| {
            let waits_for = self.waits_for(leftover, upstream);
            waits_for.inspect(|number| waiting[*number] += 1);
            let keeps = waits_for.is_some() || self.keeps(leftover, upstream, &in_error);
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
            ended,
            errors: self.error_count(),
            looked: Instant::now(),
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

    /// How often errors have ended.
    fn ended_errors(&self) -> u64 {
        self.controllers.iter().map(|task| task.ended).sum()
    }

    /// Looks which errors since the start have ended.
    pub(super) fn look_at_errors(&mut self) {
        let controllers = self.operator.controllers.iter();
        for (task, controller) in self.controllers.iter_mut().zip(controllers) {
            task.look_at_forgotten(controller);
        }
    }

    /// When errors have to be looked through again because one of them may have ended.
    pub(super) fn next_look(&self) -> Option<Instant> {
        let running = self.controllers.iter();
        let running = running.filter(|task| task.stopped.is_none());
        let looks = running.filter_map(|task| task.forgotten.next_look());
        looks.chain(self.sweep.next_look(self.ended_errors())).min()
    }

    /// What is in error in each controller.
    fn in_error(&self) -> Vec<InError> {
        let controllers = self.operator.controllers.iter().zip(&self.controllers);
        let all = controllers.map(|(controller, task)| {
            let errors = InError::new(controller, &failed(controller, task));
            errors.with_unreadable(controller, task.unreadable().keys())
        });
        all.collect()
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

    /// The controller that has written a mark, if it is still in the spec.
    pub(super) fn controller_of(&self, leftover: &Leftover) -> Option<usize> {
        let named = |c: &operator::Controller| c.name == leftover.controller;
        self.operator.controllers.iter().position(named)
    }

    /// Whether a leftover stays because its origin is in error, because a controller waits to write
    /// it, or because it may be an object that a restart has lost. Since an edit, another controller may
    /// derive it.
    fn keeps(&self, leftover: &Leftover, upstream: &[Upstream], in_error: &[InError]) -> bool {
        let (key, kind) = (&leftover.key, &leftover.key.kind);
        let mut tasks = self.controllers.iter();
        if tasks.any(|task| task.pending.wants(key)) {
            return true;
        }
        let controllers = &self.operator.controllers;
        let by = self.controller_of(leftover);
        let fails = |upstream: &Upstream| upstream.volatile || upstream.failure.is_some();
        if by.map_or_else(|| upstream.iter().any(fails), |by| upstream[by].volatile) {
            return true;
        }
        let claimed = Claimed::new(&leftover.origin, by.and_then(|by| controllers.get(by)));
        let mut tasks = self.controllers.iter().zip(controllers).enumerate();
        tasks.any(|(number, (task, controller))| {
            let own = by.is_none_or(|by| by == number);
            if !own && !writes(controller, kind) {
                return false;
            }
            let groups = groups(controller);
            let mut errors = [&in_error[number], task.forgotten.index().as_ref()].into_iter();
            task.stopped.is_some()
                || errors.any(|errors| {
                    (own && groups && errors.hides())
                        || errors.concerns(kind, &claimed, own || groups)
                })
        })
    }

    /// Withdraws everything. Returns what is left; `None` while that is not known. Derived objects
    /// are found by their claims, so that no source needs to be available.
    pub(super) fn delete_all(&mut self) -> Option<Left> {
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
        let leaving = self.writes.writer.leaving();
        let waits = leaving
            .iter()
            .find(|(_, finalizers)| !finalizers.is_empty());
        let waits = waits.map(|(key, finalizers)| self.waits_for_finalizers(key, finalizers));
        let left = left.into_iter().map(|leftover| leftover.key);
        let left = left.chain(self.writes.writer.keys(None));
        let left: BTreeSet<ObjectKey> = left
            .chain(leaving.into_iter().map(|(key, _)| key))
            .collect();
        let mut kinds = BTreeMap::new();
        for key in left {
            *kinds.entry(key.kind).or_default() += 1;
        }
        Some(Left { kinds, waits })
    }

    fn waits_for_finalizers(&self, key: &ObjectKey, finalizers: &[String]) -> String {
        let object = self.masks.shown(key);
        let finalizers = abridged(&finalizers.join(", "), MAX_MESSAGE);
        format!("{object} waits for its finalizers: {finalizers}")
    }
}

/// Whether the output of all controllers is complete.
fn complete(upstream: &[Upstream]) -> bool {
    let mut all = upstream.iter();
    all.all(|upstream| upstream.missing.is_none() && upstream.failure.is_none())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dataflow::fields::{Fields, Intake, Keep};
    use document::{Value, json};
    use object::ObjectName;
    use object::marks::OWNER;
    use target::TargetKind;
    use target::claim::Claim;

    use super::*;

    const MANY: usize = 2_000;

    /// A source object, of which `n` is a number or not.
    fn put(task: &Task, name: &str, n: &Value) {
        let metadata = json!({"name": name, "namespace": "ns"});
        let object = json!({"metadata": metadata, "n": (n.clone())});
        let object = Keep::new(&Fields::all(), Intake::default()).of(&object);
        let name = ObjectName::new("ns", name);
        task.inbox.put((0, 0), name, Some(object), false);
    }

    /// An earlier process has derived an object from each source object, all of which are in error
    /// now.
    fn task() -> Task {
        let task = crate::task::fixture::task(&[json!({
            "name": "c", "sources": [{"apiGroup": "example.com", "kind": "A"}],
            "pipeline": [{"@project": {
                "metadata": {"name": "$.metadata.name", "namespace": "ns"},
                "data": {"n": {"@string": {"@int": "$.n"}}},
            }}],
            "target": {"apiGroup": "", "kind": "ConfigMap"},
        })]);
        let writer = &task.writes.writer;
        let kind = GroupKind::new("", "ConfigMap");
        writer.serve(TargetKind::new(kind, "v1", "configmaps"));
        writer.listing("", "ConfigMap");
        for number in 0..MANY {
            let name = format!("o{number}");
            let key = ObjectKey::new("", "ConfigMap", "ns", &name);
            let origin = json!([{"source": "A", "namespace": "ns", "name": (name.as_str())}]);
            let claim = Claim::new(writer.operator(), "c", &origin, true).print(&key);
            let object = json!({"metadata": {
                "name": (name.as_str()), "namespace": "ns", "resourceVersion": "1",
                "annotations": {OWNER: claim},
            }});
            writer.observe("", "ConfigMap", &object);
            put(&task, &name, &json!("none"));
        }
        writer.listed("", "ConfigMap");
        task.inbox.set((0, 0), |port| port.listed = true);
        task
    }

    /// A sweep looks through all errors and leftovers.
    #[tokio::test(start_paused = true)]
    async fn of_many_errors_each_one_that_ends_causes_no_sweep() {
        let mut task = task();
        task.guarded_take();
        let swept = |task: &Task| task.sweep.kept.as_ref().map(|kept| kept.ended);
        let first = swept(&task);
        assert!(first.is_some());
        for number in 0..10 {
            put(&task, &format!("o{number}"), &json!(1));
            task.guarded_take();
            assert_eq!(swept(&task), first);
        }
        assert!(task.next_look().is_some());
        tokio::time::advance(Duration::from_secs(1)).await;
        task.guarded_take();
        assert_eq!(swept(&task), Some(task.ended_errors()));
        assert_ne!(swept(&task), first);
        assert_eq!(task.next_look(), None);
    }
}
