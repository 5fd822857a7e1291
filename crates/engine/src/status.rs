//! The status of an Operator, as its engine reports it.

use std::collections::BTreeSet;

use document::Value;

use crate::kinds::Kinds;

/// The status of an Operator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperatorStatus {
    /// The controllers in the order of the spec. After them, controllers that are no longer in
    /// the spec, if there is a problem with what they left behind.
    pub controllers: Vec<ControllerStatus>,
    /// Why it does not run: an error in deltic itself. The controllers are as they were before.
    pub crashed: Option<String>,
    /// The kinds that may hold objects of the Operator; `None` before its engine reports.
    pub kinds: Option<Kinds>,
    /// How many objects a predecessor of the same name left; `None` while that is not known.
    pub orphans: Option<usize>,
    /// Why objects of some kinds cannot be listed.
    pub unlisted: Vec<String>,
}

impl OperatorStatus {
    /// The controllers whose removals are held.
    pub fn held(&self) -> BTreeSet<String> {
        let held = self.controllers.iter().filter(|c| c.counts.held > 0);
        held.map(|controller| controller.name.clone()).collect()
    }
}

/// The status of a controller.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ControllerStatus {
    /// Its name.
    pub name: String,
    /// Whether it works.
    pub ready: Ready,
    /// Current errors, newest first, at most [`MAX_ERRORS`].
    pub errors: Vec<ReportedError>,
    /// Counts of objects and errors.
    pub counts: Counts,
}

/// How many errors a status lists.
pub const MAX_ERRORS: usize = 10;

/// The condition `Ready`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ready {
    /// True/Ready: all sources are read, and every derived object is as derived.
    True,
    /// False/Syncing: some objects are not as derived yet, with their number.
    Syncing(String),
    /// False/NotReady: a source or a kind is missing or cannot be read.
    False(String),
    /// Unknown/ReconciliationFailed: there are errors for some objects.
    #[default]
    Failing,
    /// False/BudgetExceeded: it has stopped, because it exceeded this budget.
    Stopped(String),
}

/// An error, as the status and Events show it.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedError {
    /// The stable code.
    pub code: String,
    /// The path of the stage in the controller's spec, or `target`.
    pub stage: String,
    /// The source objects that it concerns.
    pub origin: Value,
    /// What is wrong, for people.
    pub message: String,
}

/// Counts of a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sources.
    pub sources: usize,
    /// Objects of all sources.
    pub objects: usize,
    /// Derived objects.
    pub targets: usize,
    /// Current errors.
    pub errors: usize,
    /// Of these, removals that `maxDeletions` holds.
    pub held: usize,
}
