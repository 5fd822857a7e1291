//! What earlier runs left behind: objects with our claim that are not derived any more.

use std::collections::BTreeMap;

use dataflow::ObjectName;
use document::Value;

use super::Task;
use super::controller::ControllerTask;
use super::unread::{groups, names};
use super::writes::WriteReason;
use crate::target::{Leftover, too_many_deletions};

/// How far the cleaning is.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    done: bool,
    /// Something stays because its origin is in error: looked at again when there are
    /// fewer errors.
    kept_at: Option<usize>,
    allowed: bool,
    /// Everything goes, and nothing new is derived.
    deleting: bool,
}

impl Sweep {
    pub(super) fn is_deleting(&self) -> bool {
        self.deleting
    }

    /// An error has gone, perhaps in exchange for another: what stays because of errors is
    /// looked at again.
    pub(super) fn error_gone(&mut self) {
        self.kept_at = self.kept_at.map(|_| usize::MAX);
    }
}

impl Task {
    /// Removes what is left behind, once all that could tell is known.
    pub(super) fn sweep(&mut self) {
        if self.sweep.deleting || !self.all_told() {
            return;
        }
        let errors = self.error_count();
        let again = self.sweep.kept_at.is_some_and(|kept| errors < kept);
        if self.sweep.done && !again {
            return;
        }
        let upstream_errors: Vec<bool> = (0..self.controllers.len())
            .map(|number| self.upstream_in_error(number))
            .collect();
        let mut kept = false;
        let leftovers = self.writes.writer.stale(|leftover| {
            let keeps = self.keeps(leftover, &upstream_errors);
            kept |= keeps;
            keeps
        });
        self.sweep.done = true;
        // What is left in views waits for the last error to go.
        self.sweep.kept_at = (kept || errors > 0).then_some(errors);
        self.remove(&leftovers);
        if errors == 0 {
            self.views.sweep(&self.context.store, &self.operator);
        }
    }

    /// Whether all controllers are open and all target watches are complete.
    fn all_told(&self) -> bool {
        let targets = self.operator.controllers.iter().flat_map(|c| &c.targets);
        let mut native = targets.filter(|target| !target.resource.is_view());
        self.controllers.iter().all(|controller| controller.open)
            && native.all(|target| {
                let resource = &target.resource;
                self.writes.writer.synced(&resource.group, &resource.kind)
            })
    }

    fn error_count(&self) -> usize {
        let circuits = self.controllers.iter();
        circuits.map(ControllerTask::error_count).sum()
    }

    fn in_error(&self, number: usize) -> bool {
        self.controllers[number].in_error()
    }

    /// Whether a controller that this one reads, at whatever distance, is in error.
    fn upstream_in_error(&self, number: usize) -> bool {
        self.upstream(number).any(|feeder| self.in_error(feeder))
    }

    /// The other controllers that this one reads, at whatever distance.
    pub(super) fn upstream(&self, number: usize) -> impl Iterator<Item = usize> {
        let controllers = &self.operator.controllers;
        let mut seen = vec![false; controllers.len()];
        let mut todo = vec![number];
        while let Some(reader) = todo.pop() {
            for (feeder, controller) in controllers.iter().enumerate() {
                if !seen[feeder] && controller.feeds(&controllers[reader]) {
                    seen[feeder] = true;
                    todo.push(feeder);
                }
            }
        }
        let feeders = seen.into_iter().enumerate();
        feeders.filter_map(move |(feeder, seen)| (seen && feeder != number).then_some(feeder))
    }

    /// Whether a leftover stays because what it came from is in error.
    fn keeps(&self, leftover: &Leftover, upstream_errors: &[bool]) -> bool {
        let named = |c: &operator::Controller| c.name == leftover.controller;
        let Some(number) = self.operator.controllers.iter().position(named) else {
            // Its controller has gone: whoever took over may be in error.
            return (0..self.controllers.len()).any(|number| self.in_error(number));
        };
        if upstream_errors[number] {
            return true;
        }
        let task = &self.controllers[number];
        let errors = task.circuit.errors();
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

    /// Withdraws leftovers, or holds them where they are too many.
    fn remove(&mut self, leftovers: &[Leftover]) {
        let mut deletions: BTreeMap<&str, usize> = BTreeMap::new();
        for leftover in leftovers.iter().filter(|leftover| leftover.deletes) {
            *deletions.entry(&leftover.controller).or_default() += 1;
        }
        let writer = &self.writes.writer;
        let kept: BTreeMap<&str, usize> = deletions
            .keys()
            .map(|controller| (*controller, writer.count(controller)))
            .collect();
        for leftover in leftovers {
            let controllers = &mut self.operator.controllers.iter();
            let controller = controllers.find(|c| c.name == leftover.controller);
            let max = controller.and_then(|controller| controller.options.max_deletions);
            let of = |counts: &BTreeMap<&str, usize>| {
                let count = counts.get(leftover.controller.as_str());
                count.copied().unwrap_or_default()
            };
            let count = of(&deletions);
            let total = of(&kept) + count;
            let hold = !self.sweep.allowed && too_many_deletions(max, count, total);
            writer.hold(&leftover.key, hold && leftover.deletes);
            if writer.withdraw(leftover) {
                self.writes
                    .look([leftover.key.clone()], WriteReason::Leftover);
            }
        }
    }

    /// Lets held deletions go on.
    pub(super) fn allow_deletions(&mut self) {
        self.sweep.allowed = true;
        let held = self.writes.writer.held();
        for key in &held {
            self.writes.writer.hold(key, false);
        }
        self.writes.look(held, WriteReason::Leftover);
    }

    /// Withdraws everything. Says whether nothing is left.
    pub(super) fn delete_all(&mut self) -> bool {
        if !self.all_told() {
            return false;
        }
        if !self.sweep.deleting {
            self.sweep.deleting = true;
            self.views.clear(&self.context.store);
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
