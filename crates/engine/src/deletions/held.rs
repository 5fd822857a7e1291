//! Held removals, and the removal of leftovers of earlier runs.

use std::collections::BTreeMap;

use operator::spec::TargetType;
use target::{Leftover, too_many_deletions};

use super::{Removed, Task, named};
use crate::views::Stale;
use crate::writes::WriteReason;

/// Leftovers of earlier runs.
impl Task {
    /// Removes leftovers, or holds them if they are too many.
    pub(crate) fn remove_left(&mut self, leftovers: Vec<Leftover>, stale: Vec<Stale>) {
        let mut all: BTreeMap<String, (Vec<Removed>, Vec<Removed>)> = BTreeMap::new();
        for leftover in leftovers {
            let (lost, rest) = all.entry(leftover.controller).or_default();
            let removed = Removed::Target(leftover.key);
            if leftover.removes {
                lost.push(removed);
            } else {
                rest.push(removed);
            }
        }
        for stale in stale {
            let (lost, _) = all.entry(stale.controller.clone()).or_default();
            lost.push(Removed::Stale(stale));
        }
        for (controller, (lost, rest)) in all {
            let hold = self.is_too_much(&controller, lost.len());
            for removed in rest {
                self.remove(&controller, removed);
            }
            if hold {
                self.hold_all(&controller, lost);
                continue;
            }
            for removed in lost {
                self.remove(&controller, removed);
            }
        }
    }

    /// Whether the leftovers of a controller are too many to be removed.
    fn is_too_much(&mut self, controller: &str, count: usize) -> bool {
        let max = match named(&self.operator, controller) {
            Some(number) => self.operator.controllers[number].options.max_deletions,
            None => self.operator.max_deletions,
        };
        let before = self.count_before(controller);
        let sum = *self.swept(controller) + count;
        let still = max.is_some() && self.deletions.held_last.contains(controller);
        let too_many = still || too_many_deletions(max, sum, before);
        let hold = too_many && !self.deletions.allowed;
        if !hold {
            *self.swept(controller) = sum;
        }
        hold
    }

    /// The stale objects in views whose removal is not held.
    pub(crate) fn stale(&self) -> Vec<Stale> {
        let mut stale = self.views.stale(&self.context.store, &self.operator);
        stale.retain(|stale| {
            let held = self.deletions.held.get(&stale.key);
            let one = (stale.controller.clone(), Removed::Stale(stale.clone()));
            held.is_none_or(|held| !held.contains(&one))
        });
        stale
    }
}

/// Removing and holding.
impl Task {
    /// Removes a leftover, or an object from a view.
    pub(super) fn remove(&mut self, controller: &str, removed: Removed) {
        let operator = self.operator.clone();
        match removed {
            Removed::Target(key) => {
                if self.writes.writer.withdraw(&key, controller) {
                    self.writes.look([key], WriteReason::Leftover);
                }
            }
            Removed::View(target, name) => {
                if let Some(number) = named(&operator, controller) {
                    let by = &operator.controllers[number];
                    self.views.change((number, target), by, name, None);
                }
            }
            Removed::Stale(stale) => {
                let (store, causes) = (&self.context.store, self.context.views.causes());
                let own = &mut self.own_views;
                self.views
                    .remove_stale(store, &operator, own, causes, &stale);
            }
        }
    }

    /// Holds removals of a controller.
    pub(super) fn hold_all(&mut self, controller: &str, removed: Vec<Removed>) {
        for removed in removed {
            self.hold(controller, removed);
        }
    }

    fn hold(&mut self, controller: &str, removed: Removed) {
        if let Removed::Target(key) = removed {
            self.writes.writer.hold(&key, controller);
            self.writes.look([key], WriteReason::Leftover);
            return;
        }
        let by = named(&self.operator, controller);
        let by = by.map(|number| &self.operator.controllers[number]);
        if let Some(key) = removed.view_object(by) {
            self.problem_log.held(controller, &key, true);
            let held = self.deletions.held.entry(key).or_default();
            held.insert((controller.to_owned(), removed));
        }
    }

    /// How many removals of a controller are held.
    pub(super) fn count_held(&self, controller: &str) -> usize {
        let in_views = self.deletions.held.values().flatten();
        let in_views = in_views.filter(|(by, _)| by == controller);
        in_views.count() + self.writes.writer.held(controller)
    }

    /// Ends the hold on an object of a view that is derived again. For targets the writer does
    /// this.
    pub(super) fn unhold(&mut self, number: usize, derived: &Removed) {
        let operator = self.operator.clone();
        let controller = &operator.controllers[number];
        let (Removed::View(target, _), Some(key)) =
            (derived, derived.view_object(Some(controller)))
        else {
            return;
        };
        let Some(held) = self.deletions.held.remove(&key) else {
            return;
        };
        let whole = controller.targets[*target].kind != TargetType::Patcher;
        let patcher = format!("{}/{target}", controller.name);
        for (by, removed) in held {
            let again = match &removed {
                Removed::Stale(stale) => match &stale.patcher {
                    Some(by) => *by == patcher,
                    None => whole,
                },
                same => by == controller.name && same == derived,
            };
            let taken_over = whole && matches!(removed, Removed::View(..));
            if again || taken_over {
                self.problem_log.held(&by, &key, false);
            }
            if !again && taken_over {
                // Another controller derives the object now.
                self.remove(&by, removed);
            } else if !again {
                let held = self.deletions.held.entry(key.clone()).or_default();
                held.insert((by, removed));
            }
        }
    }

    /// Sets whether any number of removals is allowed. If so, the held ones are carried out.
    pub(crate) fn allow_deletions(&mut self, allowed: bool) {
        self.deletions.allowed = allowed;
        if allowed {
            self.deletions.held_last.clear();
            self.release();
            self.settle();
        }
    }

    /// Carries out all held removals.
    pub(crate) fn release(&mut self) {
        let released = self.writes.writer.release();
        self.writes.look(released, WriteReason::Leftover);
        for (key, held) in std::mem::take(&mut self.deletions.held) {
            let causes = self.context.views.causes();
            causes.begin(&self.operator.name, &key.kind);
            for (controller, removed) in held {
                self.problem_log.held(&controller, &key, false);
                self.remove(&controller, removed);
            }
        }
        self.write_views(None);
    }
}
