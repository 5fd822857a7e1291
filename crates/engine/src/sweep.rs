//! What earlier runs left behind: objects with our claim that are not derived any more.

use document::Value;
use object::ObjectName;
use target::Leftover;

use super::Task;
use super::controller_task::ControllerTask;
use super::unread::{groups, names};
use super::upstream::Upstream;
use super::writes::WriteReason;

/// How far the cleaning is.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    /// Whether it was done once.
    done: bool,
    /// What it left in place: it is done again when that may go.
    kept: Option<Kept>,
    /// Everything goes, and nothing new is derived.
    deleting: bool,
}

/// What stays because what it came from may be missing.
#[derive(Debug)]
struct Kept {
    /// How many errors there were, at most, since it was looked at.
    errors: usize,
    /// What the controllers derived from when it was looked at.
    upstream: Vec<Upstream>,
    /// For each controller, how many objects wait for something upstream.
    waiting: Vec<usize>,
}

impl Sweep {
    /// Whether what was left behind has been looked for.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    pub(super) fn is_deleting(&self) -> bool {
        self.deleting
    }

    /// An error has gone, perhaps in exchange for another: what stays because of errors is
    /// looked at again.
    pub(super) fn error_gone(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept.errors = usize::MAX;
        }
    }

    /// Whether nothing is left that could be removed later.
    pub(super) fn is_over(&self) -> bool {
        self.done && self.kept.is_none()
    }

    /// Whether it is time to look.
    fn is_due(&mut self, errors: usize, upstream: &[Upstream]) -> bool {
        let Some(kept) = &mut self.kept else {
            return !self.done;
        };
        kept.errors = kept.errors.max(errors);
        errors < kept.errors || kept.upstream != upstream
    }
}

impl Task {
    /// Removes what is left behind, once all that could tell is known.
    pub(super) fn sweep(&mut self, upstream: &[Upstream]) {
        if self.sweep.deleting || self.sweep.is_over() || !self.all_listed() {
            return;
        }
        let errors = self.error_count();
        if !self.sweep.is_due(errors, upstream) {
            return;
        }
        let mut waiting = vec![0; upstream.len()];
        let mut kept = false;
        let leftovers = self.writes.writer.stale(|leftover| {
            let waits_for = self.waits_for(leftover, upstream);
            waits_for.inspect(|number| waiting[*number] += 1);
            let keeps = waits_for.is_some() || self.keeps(leftover, upstream);
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
        self.sweep.kept = kept.then(|| Kept {
            errors,
            upstream: upstream.to_vec(),
            waiting,
        });
    }

    /// Why what a controller no longer derives stays, or what it derives may be old.
    pub(super) fn held(&self, number: usize) -> Option<String> {
        let stopped = |feeder: &&usize| self.controllers[**feeder].stopped.is_some();
        if let Some(feeder) = self.graph.feeders(number).iter().find(stopped) {
            let name = &self.operator.controllers[*feeder].name;
            return Some(format!(
                "controller {name}, which it reads, is over its budget"
            ));
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
        self.controllers.iter().all(|controller| controller.open) && self.targets_told()
    }

    /// Whether all target watches are complete.
    fn targets_told(&self) -> bool {
        let targets = self.operator.controllers.iter().flat_map(|c| &c.targets);
        let mut native = targets.filter(|target| !target.resource.is_view());
        native.all(|target| {
            let resource = &target.resource;
            self.writes.writer.synced(&resource.group, &resource.kind)
        })
    }

    fn error_count(&self) -> usize {
        let circuits = self.controllers.iter();
        circuits.map(ControllerTask::error_count).sum()
    }

    /// The controller for whose upstream a leftover waits: its own, or, where its
    /// controller has gone, any that may have taken over.
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

    /// Whether a leftover stays because what it came from is in error, or is forgotten by
    /// a restart.
    fn keeps(&self, leftover: &Leftover, upstream: &[Upstream]) -> bool {
        let Some(number) = self.controller_of(leftover) else {
            // Its controller has gone: whoever took over may be in error.
            let mut all = upstream.iter();
            return all.any(|upstream| upstream.volatile || upstream.failure.is_some());
        };
        if upstream[number].volatile {
            return true;
        }
        let task = &self.controllers[number];
        let errors = task.failures();
        if errors.is_empty() && task.unreadable.is_empty() {
            return task.stopped.is_some();
        }
        let controller = &self.operator.controllers[number];
        if groups(controller) {
            return true;
        }
        let sources = &controller.pipeline.sources;
        let mut failed = errors.iter().map(|error| error.origin.describe(sources));
        let is_unreadable = |object: &(usize, ObjectName)| task.unreadable.contains_key(object);
        names(sources, &leftover.origin, is_unreadable)
            || failed.any(|origin| share_an_object(&leftover.origin, &origin))
    }

    /// Withdraws everything. Says whether nothing is left. What is derived is found by its
    /// claims, so that no source needs to be available.
    pub(super) fn delete_all(&mut self) -> bool {
        if !self.targets_told() {
            return false;
        }
        if !self.sweep.deleting {
            self.sweep.deleting = true;
            self.release();
            self.begin_views();
            self.views.clear(&self.context.store, &self.operator);
            for (number, controller) in self.operator.controllers.iter().enumerate() {
                self.controllers[number].pending.clear();
                for key in self.writes.writer.keys(Some(&controller.name)) {
                    self.writes.want(&key, controller, None);
                }
            }
        }
        let left = self.writes.writer.stale(|_| false);
        for leftover in &left {
            if self.writes.writer.withdraw(leftover) {
                self.writes
                    .look([leftover.key.clone()], WriteReason::Leftover);
            }
        }
        left.is_empty() && self.writes.writer.keys(None).is_empty()
    }
}

/// Whether nothing that the controllers yield may be missing.
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
