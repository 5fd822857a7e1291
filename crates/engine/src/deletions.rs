//! `maxDeletions`: the removals that a list, a re-list or an edit of the Operator causes
//! are summed. If they are more than the limit, all of them are held.
//!
//! A removal caused by a single watch event takes effect at once. Removals of a batch that
//! counts wait until everything that the controller reads is synced, through views too:
//! only then is their number known. The writer keeps those that are held on targets, and
//! reports them with the other problems of an object; those in views are kept here.

mod held;

use std::collections::{BTreeMap, BTreeSet};

use dataflow::TargetChange;
use object::{GroupKind, ObjectKey, ObjectName};
use operator::spec::MaxDeletions;
use operator::{Controller, Operator};
use target::too_many_deletions;

use super::Task;
use super::views::{Stale, collection, view_of};
use crate::view_source::operator_of;

/// The removals of one controller that are being summed.
#[derive(Debug)]
pub(super) struct Removals {
    /// Whether a batch that counts was taken, and not all sources have been synced since.
    summing: bool,
    /// How many objects the controller held before that batch; `None` at a start, when the
    /// target watches count them.
    before: Option<usize>,
    /// What the controller does not derive any more.
    waiting: BTreeSet<Removed>,
}

/// Something that a controller does not derive any more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Removed {
    /// An object on the cluster.
    Target(ObjectKey),
    /// An object in the view of the target at this position.
    View(usize, ObjectName),
    /// What an earlier generation of the Operator left in a view.
    Stale(Stale),
}

/// An object of a view.
type PatchedObject = (GroupKind, ObjectName);

/// The removals of an operator.
#[derive(Debug, Default)]
pub(super) struct Deletions {
    /// Whether the Operator allows any number of removals.
    allowed: bool,
    /// The controllers whose removals were held when the Operator last ran. They stay held,
    /// even if they are a smaller share by now.
    held_last: BTreeSet<String>,
    /// How many objects of views each controller held before the start.
    views_before: BTreeMap<String, usize>,
    /// How many objects of each controller were removed since the start, until the sweep is
    /// done.
    swept: BTreeMap<String, usize>,
    /// The removals from views that are held, with their controllers.
    held: BTreeMap<PatchedObject, BTreeSet<(String, Removed)>>,
}

impl Removals {
    /// A start counts.
    pub(super) fn new() -> Self {
        Self {
            summing: true,
            before: None,
            waiting: BTreeSet::new(),
        }
    }

    /// How many removals wait until all sources are synced.
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

    /// The object of a view that it is about.
    fn place(&self, controller: Option<&Controller>) -> Option<PatchedObject> {
        match self {
            Self::Target(_) => None,
            Self::View(target, name) => {
                let resource = &controller?.targets[*target].resource;
                Some((collection(resource), name.clone()))
            }
            Self::Stale(stale) => Some((stale.collection.clone(), stale.name.clone())),
        }
    }
}

/// Whether a limit is a percentage: then the objects that there were before are counted.
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
    /// Before anything is derived. `held` are the controllers whose removals were held when
    /// the Operator last ran.
    pub(super) fn begin_start(&mut self, held: BTreeSet<String>) {
        self.deletions.held_last = held;
        if has_percentage(&self.operator) {
            self.deletions.views_before = self.views.held_before(&self.context.store);
        }
        self.begin_views();
    }

    /// From now on, what changes in the views of this operator counts for their readers.
    pub(super) fn begin_views(&self) {
        let targets = self.operator.controllers.iter().flat_map(|c| &c.targets);
        let targets = targets.map(|target| &target.resource);
        self.views.begin(self.context.views.causes(), targets);
    }

    /// A controller is about to take a batch that counts.
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
        task.removals.before = Some(task.outputs + held);
    }

    /// Notes a change. Returns whether it is a removal that has to wait; `counts` tells
    /// whether its batch counts.
    pub(super) fn waits(&mut self, number: usize, change: &TargetChange, counts: bool) -> bool {
        let controller = &self.operator.controllers[number];
        let waiting = &mut self.controllers[number].removals.waiting;
        if change.new.is_some() {
            // Most of the time there is nothing to look up.
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

    /// Removes or holds what waits, for each controller whose sources are all synced.
    pub(super) fn settle(&mut self) {
        for position in 0..self.order.len() {
            let number = self.order[position];
            if self.controllers[number].removals.summing && self.all_synced(number) {
                self.controllers[number].removals.summing = false;
                self.decide(number);
            }
        }
        let counts = |number: usize| self.controllers[number].removals.summing;
        self.views.end(self.context.views.causes(), counts);
    }

    /// Whether the sources of a controller, and those of all controllers upstream of it, are
    /// synced, and what they changed in views has been delivered.
    fn all_synced(&self, number: usize) -> bool {
        let feeders = self.graph.feeders(number).iter().copied();
        let mut all = std::iter::once(number).chain(feeders);
        all.all(|reader| self.controllers[reader].open && self.inputs_synced(reader))
    }

    fn inputs_synced(&self, number: usize) -> bool {
        let controller = &self.operator.controllers[number];
        controller.inputs.iter().enumerate().all(|(input, source)| {
            let Some(state) = self.ports.get(&(number, input)) else {
                return false;
            };
            let delivered = match view_of(&controller.sources[*source]) {
                None => true,
                Some(view) if operator_of(&view) == self.operator.name => {
                    self.views.version(&view) <= state.version
                }
                Some(view) => {
                    let causes = self.context.views.causes();
                    causes.is_over(&view, state.version)
                }
            };
            state.complete() && delivered
        })
    }

    /// Removes what waits for a controller, or holds it.
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
            // The sweep belongs to the same sum.
            *self.swept(&controller.name) += lost.len();
        }
        self.remove_derived(number, rest);
        if hold {
            self.hold_all(&controller.name, lost);
        } else {
            self.remove_derived(number, lost);
        }
        self.views
            .write(&self.context.store, &self.operator, &self.problem_log);
    }

    /// Removes what a controller does not derive any more.
    fn remove_derived(&mut self, number: usize, removed: Vec<Removed>) {
        let operator = self.operator.clone();
        let unread = self.unread(number);
        for removed in removed {
            match removed {
                Removed::Target(key) => self.want(number, &unread, key, None),
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

    /// How many objects a controller held before the start.
    fn count_before(&self, controller: &str) -> usize {
        let in_views = self.deletions.views_before.get(controller);
        self.writes.writer.held_before(controller) + in_views.copied().unwrap_or_default()
    }

    fn swept(&mut self, controller: &str) -> &mut usize {
        let swept = &mut self.deletions.swept;
        swept.entry(controller.to_owned()).or_default()
    }
}
