//! `maxDeletions`: holds removals when a list, a re-list or an edit of the Operator causes too
//! many of them.
//!
//! A removal that a single watch event causes is carried out at once. Removals of a batch that
//! counts wait until everything that the controller reads has synced, including views: only then
//! is their number known. Then all of them are carried out, or all of them are held.
//!
//! ```text
//! maxDeletions: 2
//!
//! re-list without pods a, b, c ──▶ remove a, b, c: 3 > 2   all three are held
//! event: pod d is deleted      ──▶ remove d                at once
//! ```
//!
//! Held removals of targets are kept by the writer, which reports them with the other problems
//! of the object. Held removals from views are kept here.

mod held;

use std::collections::{BTreeMap, BTreeSet};

use dataflow::TargetChange;
use object::{ObjectKey, ObjectName};
use operator::spec::MaxDeletions;
use operator::{Controller, Operator};
use target::too_many_deletions;

use super::Task;
use super::views::{Stale, collection, view_of};
use crate::view_source::operator_of;

/// The removals of one controller that are being summed.
#[derive(Debug)]
pub(super) struct Removals {
    /// Whether the current batch counts: set by a list, a re-list or an edit, until all sources
    /// have synced.
    summing: bool,
    /// How many objects the controller held before that batch; `None` after a start, when the
    /// target watches count them.
    before: Option<usize>,
    /// The removals that wait for the sum.
    waiting: BTreeSet<Removed>,
}

/// An object that a controller no longer derives.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Removed {
    /// An object on the cluster.
    Target(ObjectKey),
    /// An object in the view of the target at this position.
    View(usize, ObjectName),
    /// An object that an earlier generation of the Operator left in a view.
    Stale(Stale),
}

/// The removals of an Operator.
#[derive(Debug, Default)]
pub(super) struct Deletions {
    /// Whether the Operator allows any number of removals.
    allowed: bool,
    /// The controllers whose removals were held when the Operator last ran. These stay held,
    /// even if they have become a smaller share.
    held_last: BTreeSet<String>,
    /// How many objects each controller had in views before the start.
    views_before: BTreeMap<String, usize>,
    /// How many objects of each controller have been removed since the start, until the sweep
    /// has run.
    swept: BTreeMap<String, usize>,
    /// The held removals from views, each with its controller.
    held: BTreeMap<ObjectKey, BTreeSet<(String, Removed)>>,
}

impl Removals {
    /// The first batch after a start counts.
    pub(super) fn new() -> Self {
        Self {
            summing: true,
            before: None,
            waiting: BTreeSet::new(),
        }
    }

    /// How many removals wait until all sources have synced.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Drops the removals that wait.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }
}

impl Removed {
    fn new(controller: &Controller, change: &TargetChange) -> Self {
        let resource = &controller.targets[change.target].resource;
        if resource.is_view() {
            return Self::View(change.target, change.key.clone());
        }
        Self::Target(ObjectKey {
            kind: resource.group_kind(),
            name: change.key.clone(),
        })
    }

    /// The object of a view that is removed; `None` for a target.
    fn view_object(&self, controller: Option<&Controller>) -> Option<ObjectKey> {
        match self {
            Self::Target(_) => None,
            Self::View(target, name) => {
                let resource = &controller?.targets[*target].resource;
                Some(ObjectKey {
                    kind: collection(resource),
                    name: name.clone(),
                })
            }
            Self::Stale(stale) => Some(stale.key.clone()),
        }
    }
}

/// Whether a limit is a percentage, so that the objects before the start have to be counted.
pub(super) fn has_percentage(operator: &Operator) -> bool {
    let limits = operator.controllers.iter().map(|c| c.options.max_deletions);
    let mut limits = limits.chain([operator.max_deletions]);
    limits.any(|max| matches!(max, Some(MaxDeletions::Percent(_))))
}

/// The position of the controller with this name.
fn named(operator: &Operator, controller: &str) -> Option<usize> {
    let mut controllers = operator.controllers.iter();
    controllers.position(|c| c.name == controller)
}

impl Task {
    /// Prepares a start, before anything is derived. `held` are the controllers whose removals
    /// were held when the Operator last ran.
    pub(super) fn begin_start(&mut self, held: BTreeSet<String>) {
        self.deletions.held_last = held;
        if has_percentage(&self.operator) {
            self.deletions.views_before = self.views.held_before(&self.context.store);
        }
        self.begin_views();
    }

    /// From now on, changes in the views of this Operator count for their readers.
    pub(super) fn begin_views(&self) {
        let targets = self.operator.controllers.iter().flat_map(|c| &c.targets);
        let targets = targets.map(|target| &target.resource);
        self.views.begin(self.context.views.causes(), targets);
    }

    /// Prepares for a batch that counts.
    pub(super) fn begin_sum(&mut self, number: usize) {
        let controller = &self.operator.controllers[number];
        let targets = controller.targets.iter().map(|target| &target.resource);
        self.views.begin(self.context.views.causes(), targets);
        if self.controllers[number].removals.summing {
            return;
        }
        let max = controller.options.max_deletions;
        let held = match max {
            Some(MaxDeletions::Percent(_)) => self.count_held(&controller.name),
            Some(MaxDeletions::Count(_)) | None => 0,
        };
        let task = &mut self.controllers[number];
        task.removals.summing = true;
        task.removals.before = Some(task.outputs() + held);
    }

    /// Records a change. Returns whether it is a removal that has to wait; `counts` says
    /// whether its batch counts.
    pub(super) fn waits(&mut self, number: usize, change: &TargetChange, counts: bool) -> bool {
        let controller = &self.operator.controllers[number];
        let waiting = &mut self.controllers[number].removals.waiting;
        if change.new.is_some() {
            // Usually both are empty, and no lookup is needed.
            if !waiting.is_empty() || !self.deletions.held.is_empty() {
                let derived = Removed::new(controller, change);
                waiting.remove(&derived);
                self.unhold(number, &derived);
            }
            return false;
        }
        let limited = controller.options.max_deletions.is_some() && !self.deletions.allowed;
        let waits = counts && limited;
        if waits {
            waiting.insert(Removed::new(controller, change));
        }
        waits
    }

    /// Removes or holds the waiting removals of each controller whose sources have all synced.
    pub(super) fn settle(&mut self) {
        for position in 0..self.order.len() {
            let number = self.order[position];
            if self.controllers[number].removals.summing && self.all_synced(number) {
                self.controllers[number].removals.summing = false;
                self.decide(number);
            }
        }
    }

    /// After a batch is written: the changes of views no longer count if single events cause them.
    pub(super) fn end_views(&self) {
        let counts = |number: usize| self.controllers[number].removals.summing;
        self.views.end(self.context.views.causes(), counts);
    }

    /// Whether the sources of a controller and of all controllers upstream of it have synced,
    /// and the changes that they caused in views have been delivered.
    fn all_synced(&self, number: usize) -> bool {
        let feeders = self.graph.feeders(number).iter().copied();
        let mut all = std::iter::once(number).chain(feeders);
        all.all(|reader| {
            let open = self.controllers[reader].open && !self.own_views.waits(reader);
            open && self.inputs_synced(reader)
        })
    }

    fn inputs_synced(&self, number: usize) -> bool {
        let controller = &self.operator.controllers[number];
        controller.inputs.iter().enumerate().all(|(input, source)| {
            let Some(state) = self.ports.get(&(number, input)) else {
                return false;
            };
            let delivered = match view_of(&controller.sources[*source]) {
                Some(view) if operator_of(&view) != self.operator.name => {
                    let causes = self.context.views.causes();
                    causes.is_over(&view, state.version)
                }
                Some(_) | None => true,
            };
            state.complete() && delivered
        })
    }

    /// Carries out the waiting removals of a controller, or holds them.
    fn decide(&mut self, number: usize) {
        let operator = self.operator.clone();
        let controller = &operator.controllers[number];
        let removals = &mut self.controllers[number].removals;
        let before = removals.before.take();
        let waiting = std::mem::take(&mut removals.waiting);
        if waiting.is_empty() {
            return;
        }
        let before = before.unwrap_or_else(|| self.count_before(&controller.name));
        let (lost, rest): (Vec<_>, Vec<_>) = waiting
            .into_iter()
            .partition(|removed| self.loses(number, removed));
        let max = controller.options.max_deletions;
        let hold = !self.deletions.allowed && too_many_deletions(max, lost.len(), before);
        if !hold && !self.sweep.is_done() {
            // The sweep adds to the same sum.
            *self.swept(&controller.name) += lost.len();
        }
        self.remove_derived(number, rest);
        if hold {
            self.hold_all(&controller.name, lost);
        } else {
            self.remove_derived(number, lost);
        }
        self.write_views(None);
    }

    /// Removes objects that a controller no longer derives.
    fn remove_derived(&mut self, number: usize, removed: Vec<Removed>) {
        let operator = self.operator.clone();
        let doubts = self.doubts();
        for removed in removed {
            match removed {
                Removed::Target(key) => self.want(number, &doubts[number], key, None),
                other => self.remove(&operator.controllers[number].name, other),
            }
        }
    }

    /// Whether a removal deletes an object or undoes a patch.
    fn loses(&self, number: usize, removed: &Removed) -> bool {
        let controller = &self.operator.controllers[number];
        match removed {
            Removed::Target(key) => self.writes.writer.removes(key, &controller.name),
            Removed::View(target, name) => {
                let at = (number, *target);
                self.views.removes(&self.operator, at, name)
            }
            Removed::Stale(_) => true,
        }
    }

    /// How many objects a controller had before the start.
    fn count_before(&self, controller: &str) -> usize {
        let in_views = self.deletions.views_before.get(controller);
        self.writes.writer.held_before(controller) + in_views.copied().unwrap_or_default()
    }

    fn swept(&mut self, controller: &str) -> &mut usize {
        let swept = &mut self.deletions.swept;
        swept.entry(controller.to_owned()).or_default()
    }
}
