//! How an operator stands: what its controllers report, as it goes into its status.

use std::collections::BTreeSet;

use document::Value;

/// How an operator stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperatorStatus {
    /// In the order of the spec; after them controllers that were removed from it and whose
    /// leftovers still have errors.
    pub controllers: Vec<ControllerStatus>,
}

impl OperatorStatus {
    /// The controllers whose removals are held.
    pub fn held(&self) -> BTreeSet<String> {
        let held = self.controllers.iter().filter(|c| c.counts.held > 0);
        held.map(|controller| controller.name.clone()).collect()
    }
}

/// How a controller stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ControllerStatus {
    /// Its name.
    pub name: String,
    /// Whether it does its work.
    pub ready: Ready,
    /// What is wrong, newest first, at most [`MAX_ERRORS`].
    pub errors: Vec<ReportedError>,
    /// How much it holds.
    pub counts: Counts,
}

/// How many errors a status lists.
pub const MAX_ERRORS: usize = 10;

/// The condition `Ready`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ready {
    /// True/Ready: all sources are read, and nothing is wrong.
    True,
    /// False/NotReady: a source or a kind is missing or cannot be read.
    False(String),
    /// Unknown/ReconciliationFailed: something is wrong with some objects.
    #[default]
    Failing,
    /// False/BudgetExceeded: it has stopped.
    Stopped(String),
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedError {
    /// The stable code.
    pub code: String,
    /// The stage, as a place in the controller's spec, or `target`.
    pub stage: String,
    /// Which objects.
    pub origin: Value,
    /// What happened.
    pub message: String,
}

/// How much a controller holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sources.
    pub sources: usize,
    /// Objects of all sources.
    pub objects: usize,
    /// Target objects.
    pub targets: usize,
    /// Errors that stand.
    pub errors: usize,
    /// Of these, removals that `maxDeletions` holds.
    pub held: usize,
}
